"""One rank of bench_simulation.py: what there is to simulate, and what to hold
the simulation against. Rank 0 prints one object:

  link: [[bytes, seconds of one round of an all-reduce on two ranks]]
  networks: by name, bucket_bytes and what Schedule has, and
    alone: seconds of the steps of each rank without collectives
    both: for turns, the medians of steps without and with collectives, until
      the last rank is done
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import bench_report  # noqa: F401  (finds the modules in peers/)
import distributed_worker as worker
import numpy as np
import ranks

import sluice as sl

BUCKETS = [1 << 16, 1 << 18, 1 << 20, 1 << 22]
SHOWN = 1 << 20  # the default, whose steps are measured
LINK_BYTES = [16, 256, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22]
CHAINED = 16
TRACES = 9
SECONDS = 20.0
LEAST_ALONE, MOST_ALONE = 50, 400  # steps
# Of a smoke run.
SMOKE_BUCKETS = [1 << 16, SHOWN]
SMOKE_LINK_BYTES = [16, 1 << 22]
SMOKE_CHAINED = 2


class Step:
    """A network's step on this rank."""

    def __init__(self, network: str, bucket_bytes: int | None) -> None:
        image, label = ranks.batch(network, sl.distributed.rank())
        self.feed = {"image": image, "label": label[:, None]}
        self.program, startup = sl.Program(), sl.Program()
        with sl.program_guard(self.program, startup), sl.unique_name.guard():
            self.loss = worker.loss_of_network(network)
            optimizer = worker.momentum()
            if bucket_bytes is not None:
                optimizer = sl.distributed.DataParallel(optimizer, bucket_bytes)
            optimizer.minimize(self.loss)
        self.scope, self.exe = sl.Scope(), sl.Executor(sl.CPUPlace())
        self.exe.run(startup, scope=self.scope)

    def __call__(self) -> None:
        self.exe.run(self.program, self.feed, [self.loss], self.scope)

    def instructions(self, traces: int) -> list[dict]:
        """Those of the plan, with the medians of their times."""
        arguments = self.program, self.feed, [self.loss]
        rounds = []
        with sl.scope_guard(self.scope):
            plan = json.loads(self.exe.prepare(*arguments).explain_json())
        for _ in range(traces):
            run = self.exe.run_traced(*arguments, self.scope)
            trace = json.loads(run.trace)
            events = trace["traceEvents"] if "traceEvents" in trace else trace
            rounds.append([
                each["dur"] * 1e-6 for each in events
                if each["ph"] == "X" and each["tid"] == 0
            ])
        times = [statistics.median(each) for each in zip(*rounds, strict=True)]
        ops = {op["index"]: op for op in plan["ops"]}
        return [
            {"kind": each["kind"], "op": ops.get(each["op_index"]),
             "seconds": seconds}
            for each, seconds in zip(plan["instructions"], times, strict=True)
        ]


def names(op: dict, side: str) -> list[str]:
    return [each["var"] for each in op[side]]


def schedule(with_sums: Step, without: Step, traces: int) -> dict:
    """As Schedule has it. Ops take as long as without collectives, where the
    same op is there."""
    alone = {
        (each["op"]["op"], *names(each["op"], "outputs")): each["seconds"]
        for each in without.instructions(traces) if each["op"]
    }
    found, sizes, made_by = [], [], {}
    pending: list[int] = []
    waits: list[int] = []  # instructions whose collectives are not known yet

    def end_waits(needed):
        if waits and needed:
            found[waits[0]]["waits"] = sorted(needed)
            pending[:] = [each for each in pending if each not in needed]
        waits.clear()

    for each in with_sums.instructions(traces):
        op = each["op"]
        if op is None:
            waits.append(len(found))
            found.append({"op": each["kind"], "seconds": 0.0})
            continue
        read = {made_by.get(var) for var in names(op, "inputs")}
        end_waits(read & set(pending))
        entry = {"op": op["op"], "seconds": 0.0}
        if op["library"] == "MPI":
            entry["starts"] = len(sizes)
            pending.append(len(sizes))
            made_by.update(dict.fromkeys(names(op, "outputs"), len(sizes)))
            sizes.append(sum(
                4 * int(np.prod(one["shape"])) for one in op["inputs"]
            ))
        else:
            key = op["op"], *names(op, "outputs")
            entry["seconds"] = round(alone.get(key, each["seconds"]), 8)
        found.append(entry)
    end_waits(set(pending))
    return {"instructions": found, "collectives": sizes}


def link(world: ranks.Ranks) -> list[list[float]]:
    """Of two ranks: a small all-reduce has one round, a larger one two."""
    found = []
    smoke = world.options.smoke
    chained = SMOKE_CHAINED if smoke else CHAINED
    exe = sl.Executor(sl.CPUPlace())
    for size in SMOKE_LINK_BYTES if smoke else LINK_BYTES:
        program = sl.Program()
        with sl.program_guard(program, sl.Program()):
            x = sl.data("x", [size // 4])
            sums = [sl.layers.scale(x, scale=0.5)]
            for _ in range(chained):
                sums = sl.layers.c_allreduce_sum(sums)
        feed = {"x": np.zeros(size // 4, np.float32)}

        def run(program=program, feed=feed, sums=sums):
            exe.run(program, feed, sums)

        # The least: others on the machine make it longer, never shorter.
        once = world.some(run, 1 if smoke else 3, False)
        count = 1 if smoke else int(np.clip(1 / once, 1, 100))
        seconds = min(world.some(run, 1, False) for _ in range(count)) / chained
        is_ring = size >= 2 * 4096
        found.append([size / 2, seconds / 2] if is_ring else [size, seconds])
    return found


def network(name: str, world: ranks.Ranks) -> dict:
    smoke = world.options.smoke
    traces = 1 if smoke else TRACES
    buckets = SMOKE_BUCKETS if smoke else BUCKETS
    steps = {size: Step(name, size) for size in buckets}
    without = Step(name, None)
    found = {
        "buckets": {
            size: schedule(step, without, traces)
            for size, step in steps.items()
        }
    }
    both = world.take_turns({"without": without, "with": steps[SHOWN]})
    alone = []
    begin = time.perf_counter()
    while len(alone) < LEAST_ALONE or time.perf_counter() - begin < SECONDS / 4:
        alone.append(ranks.seconds(without))
        if smoke or len(alone) == MOST_ALONE:
            break
    return {**found, "both": both, "alone": alone}


def main() -> int:
    sl.set_num_threads(1)
    sl.distributed.init()
    options = ranks.parse_arguments(["link", *worker.LOGITS])
    rank, size = sl.distributed.rank(), sl.distributed.size()
    world = ranks.Ranks(rank, size, worker.make_reduced(), options)
    if options.what == "link":
        ranks.report(rank, {"link": link(world)})
    else:
        ranks.report(rank, network(options.what, world))
    return 0


if __name__ == "__main__":
    sys.exit(main())
