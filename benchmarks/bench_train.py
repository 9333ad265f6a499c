"""What a training step and an inference cost, from Python, on one thread.

  ./dev bench train [--json FILE]

train/mlp64/t1: 64-128-64-10, batch 64, one step of SGD with the loss fetched;
train/lenet64/t1: LeNet (20 and 50 filters 5x5, 500) on 28x28, the same;
infer/lenet_b1/t1 and infer/lenet_b64/t1: its forward pass; medians, in us.
startup/lenet_first_step_ms: preparing and running its first step, in a process
that has run something before. startup/import_ms: `import sluice` in a fresh
interpreter that has NumPy already.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

import numpy as np

import sluice as sl

BATCH = 64


def mlp(image):
    x = image
    for units in (128, 64):
        x = sl.layers.fc(x, units, act="relu")
    return sl.layers.fc(x, 10)


def lenet(image):
    x = image
    for filters in (20, 50):
        x = sl.layers.conv2d(x, filters, 5, act="relu")
        x = sl.layers.pool2d(x, 2)
    return sl.layers.fc(sl.layers.fc(x, 500, act="relu"), 10)


def build(make, shape):
    """Programs for training, inference and the start; loss and logits."""
    train, startup = sl.Program(), sl.Program()
    with sl.program_guard(train, startup):
        image = sl.data("image", [None, *shape])
        label = sl.data("label", [None, 1], "int64")
        logits = make(image)
        loss = sl.layers.mean(
            sl.layers.softmax_with_cross_entropy(logits, label)
        )
        infer = train.clone(for_test=True)
        sl.optimizer.SGD(0.01).minimize(loss)
    return train, infer, startup, loss, logits


def feed_of(shape, batch):
    random = np.random.default_rng(0)
    return {
        "image": random.random((batch, *shape), np.float32),
        "label": random.integers(0, 10, (batch, 1)),
    }


def median_us(call, seconds):
    """The median time of a call, over as many as fit into `seconds`."""
    for _ in range(5):
        call()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


def import_ms():
    """`import sluice` behind NumPy, the median of fresh interpreters."""
    code = (
        "import time, numpy; t = time.perf_counter(); import sluice; "
        "print((time.perf_counter() - t) * 1e3)"
    )
    runs = [
        float(subprocess.run([sys.executable, "-c", code],
                             capture_output=True, check=True).stdout)
        for _ in range(7)
    ]
    return statistics.median(runs)


def first_step_ms():
    """Prepare and the first step of a new LeNet, with all else warm."""
    shape = (1, 28, 28)
    times = []
    for _ in range(5):
        train, _, startup, loss, _ = build(lenet, shape)
        exe, scope = sl.Executor(), sl.Scope()
        exe.run(startup, scope=scope)
        feed = feed_of(shape, BATCH)
        begin = time.perf_counter()
        exe.run(train, feed=feed, fetch_list=[loss], scope=scope)
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def rows(seconds):
    for name, make, shape in (
        ("mlp64", mlp, (64,)),
        ("lenet64", lenet, (1, 28, 28)),
    ):
        train, infer, startup, loss, logits = build(make, shape)
        exe, scope = sl.Executor(), sl.Scope()
        exe.run(startup, scope=scope)
        feed = feed_of(shape, BATCH)
        step = lambda: exe.run(  # noqa: E731
            train, feed=feed, fetch_list=[loss], scope=scope
        )
        yield f"train/{name}/t1", "us", median_us(step, seconds)
        if make is not lenet:
            continue
        for batch in (1, BATCH):
            image = {"image": feed["image"][:batch]}
            forward = lambda: exe.run(  # noqa: E731
                infer, feed=image, fetch_list=[logits], scope=scope
            )
            yield f"infer/lenet_b{batch}/t1", "us", median_us(forward, seconds)
    yield "startup/lenet_first_step_ms", "ms", first_step_ms()
    yield "startup/import_ms", "ms", import_ms()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="write the rows to this file")
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    sl.set_num_threads(1)
    written = []
    for name, unit, value in rows(options.seconds):
        print(f"{name:28} {value:10.1f} {unit}", flush=True)
        written.append(
            {"id": name, "unit": unit, "value": value, "limit": None,
             "peers": {}}
        )
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"rows": written}, file, indent=1)


if __name__ == "__main__":
    main()
