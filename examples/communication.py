"""Measures what a training step exchanges with other ranks."""

from __future__ import annotations

import json
import math
import statistics

import numpy as np

import sluice as sl

_RUNS = 20


def measure(
    exe: sl.Executor, network, feed: dict[str, np.ndarray], scope: sl.Scope
) -> dict:
    """Measure a step of a network of train_digits.py. All ranks call it.

    Trains for some more steps. Times are medians over 20 runs on this rank:

    - wait_ms: how long the thread of a step waits for all-reduces. If other
      ranks are late, as with more ranks than cores, it waits for them, too.
    - alone_ms: from the start of each all-reduce of the same sizes to its end,
      with all ranks there and nothing beside it; the sum.
    - hidden: the share of the second that is not in the first, at least 0.

    Returns:
        These, "gradient_bytes" and "all_reduces"; for one rank no times.
    """
    buckets = _buckets(network.train)
    gradients = [
        network.train.var(op.inputs["Grad"][0])
        for op in network.train.ops
        if "Grad" in op.inputs
    ]
    found = {
        "gradient_bytes": sum(map(_bytes, gradients)),
        "all_reduces": len(buckets),
    }
    if sl.distributed.size() == 1:
        return found
    wait = statistics.median(
        sum(
            event["dur"]
            for event in _events(exe, network.train, feed, network.loss, scope)
            if event["cat"] == "collective wait"
        )
        for _ in range(_RUNS)
    )
    alone = sum(_alone(exe, bucket) for bucket in buckets)
    return found | {
        "wait_ms": wait / 1e3,
        "alone_ms": alone / 1e3,
        "hidden": max(0.0, 1 - wait / alone),
    }


def _bytes(variable: sl.Variable) -> int:
    return math.prod(variable.shape) * np.dtype(str(variable.dtype)).itemsize


def _buckets(program: sl.Program) -> list[list[sl.Variable]]:
    return [
        [program.var(name) for name in op.inputs["X"]]
        for op in program.ops
        if op.type == "c_allreduce_sum"
    ]


def _events(exe, program, feed, fetch, scope) -> list[dict]:
    run = exe.run_traced(program, feed, [fetch], scope)
    events = json.loads(run.trace)["traceEvents"]
    return [event for event in events if event["ph"] == "X"]


def _alone(exe: sl.Executor, bucket: list[sl.Variable]) -> float:
    """Microseconds of an all-reduce of these tensors."""
    program = sl.Program()
    with sl.program_guard(program, sl.Program()), sl.unique_name.guard():
        # A small all-reduce waits until all ranks are there.
        (meeting,) = sl.layers.c_allreduce_sum([sl.data("one", [1])])
        feed = {"one": np.ones(1, np.float32)}
        given = []
        for number, variable in enumerate(bucket):
            name = f"x{number}"
            feed[name] = np.zeros(variable.shape, np.float32)
            data = sl.data(name, variable.shape)
            # Computed by an op, so that tensors are moved together, like
            # gradients.
            given.append(sl.layers.elementwise_mul(data, meeting))
        last = sl.layers.c_allreduce_sum(given)[-1]
    times = []
    for _ in range(_RUNS):
        flights = [
            event["dur"]
            for event in _events(exe, program, feed, last, sl.Scope())
            if event["cat"] == "collective"
        ]
        times.append(flights[-1])
    return statistics.median(times)
