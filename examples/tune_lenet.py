"""Tunes a LeNet for 28x28 pixels, and measures what it gains.

Every kernel of a training step is compared with the reference of its op and
raced against the others. Then the plan from before, chosen by estimates alone,
and the plan by records take turns. Writes the result as JSON; its path is
printed last.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path

STEPS = 5  # of each plan at a time
SECONDS = 12  # for all turns


def take_turns(plans: dict, job, sl) -> dict[str, list[float]]:
    """Seconds of one step in each round, by the name of the plan."""
    rounds: dict[str, list[float]] = {name: [] for name in plans}
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or len(rounds["after"]) < 5:
        for name, plan in plans.items():
            rounds[name].append(
                sl._core._measure_plan(
                    plan, job.program, job.feed, job.scope, STEPS
                )
            )
    return rounds


def main() -> None:
    """Tune, compare and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/lab"))
    parser.add_argument("--budget", type=float, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument(
        "--threads", type=int, help="all processors if left out"
    )
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    # A file of its own, so that the plan from before knows no records.
    records = arguments.out.resolve() / "records.jsonl"
    records.unlink(missing_ok=True)
    os.environ["SLUICE_RECORDS"] = str(records)
    os.environ["SLUICE_TUNE"] = "estimate"
    import sluice as sl
    from sluice import lab

    if arguments.threads is not None:
        sl.set_num_threads(arguments.threads)
    job = lab.load("lenet", arguments.batch)
    exe = sl.Executor()
    before = exe.prepare(job.program, job.feed, job.fetch_list)
    tuned = sl.tune(
        job.program,
        job.feed,
        job.fetch_list,
        arguments.budget,
        scope=job.scope,
    )
    print(tuned)
    after = exe.prepare(job.program, job.feed, job.fetch_list)
    rounds = take_turns({"before": before, "after": after}, job, sl)
    median = {name: statistics.median(row) for name, row in rounds.items()}
    # Of each round, so that what disturbed both does not count.
    gain = statistics.median(
        b / a for b, a in zip(rounds["before"], rounds["after"], strict=True)
    )
    print(
        f"a training step of {arguments.batch} images: "
        f"{median['before'] * 1e3:.2f} ms by estimates, "
        f"{median['after'] * 1e3:.2f} ms by records, "
        f"{gain:.2f} times as fast"
    )
    wrong = [
        {"kernel": kernel.name, "message": kernel.message}
        for signature in tuned.signatures
        for kernel in signature.kernels
        if kernel.verdict == "wrong"
    ]
    path = arguments.out / "lenet.json"
    path.write_text(
        json.dumps(
            {
                "program": "lenet",
                "batch": arguments.batch,
                "threads": sl.num_threads(),
                "seconds_before": median["before"],
                "seconds_after": median["after"],
                "times_as_fast": gain,
                "rounds": len(rounds["after"]),
                "tuned_seconds": tuned.seconds,
                "signatures": len(tuned.signatures),
                "wrong": wrong,
                "records": str(records),
            },
            indent=1,
        )
        + "\n"
    )
    print(path)


if __name__ == "__main__":
    main()
