"""Tunes a LeNet for 28x28 pixels, and shows what it gains.

Every kernel of a training step is compared with the reference of its op and
raced against the others. Then the old plan, chosen by estimates alone, and the
plan by records take turns. Writes a report of each, and a page about the new
plan and its changes.
"""

from __future__ import annotations

import argparse
import os
import textwrap
from pathlib import Path

import console


def change(row: dict, timed: bool) -> str:
    """The change of one op, with its times in runs of both plans if given."""
    kernels, times = [], []
    for op in (row["old"], row["new"]):
        kernel = f"{op['library'].lower()}/{op['variant']}" if op else "-"
        kernels.append(kernel.removeprefix("plain/"))
        if timed:
            times.append(f"{op['measured']['median'] * 1e6:.0f}" if op else "-")
    op = row["new"] or row["old"]
    return (
        f"{op['index']:>3} {op['op'][:17]:18}{kernels[0]:21}{kernels[1]:21}"
        f"{' -> '.join(times)}"
    )


def print_changes(found: dict, batch: int) -> None:
    """Print which ops have another kernel, and what that made of the run."""
    timed = not found["why_no_times"]
    print(
        f"ops with another kernel: {len(found['ops'])}, from what to what"
        + ", in us" * timed
    )
    if not timed:
        print(textwrap.fill(found["why_no_times"], 80))
    for row in found["ops"]:
        print(change(row, timed))
    print(
        f"a training step of {batch} images: {found['verdict']}\n"
        f"  {found['old']['run_text']} by estimates,\n"
        f"  {found['new']['run_text']} by records"
    )


FILES = {
    "report.html": "the new plan and its changes, for a browser",
    "before.json": "the plan by estimates, as data",
    "after.json": "the plan by records, as data",
    "after.trace.json": "its timeline, for ui.perfetto.dev",
    "after.svg": "a drawing of it",
}


def given() -> argparse.Namespace:
    """The arguments of the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default="build/lab", help="folder of the report"
    )
    parser.add_argument(
        "--budget", type=float, default=20, help="seconds of tuning"
    )
    parser.add_argument("--seconds", type=float, default=12, help="of the race")
    parser.add_argument("--batch", type=int, default=32, help="images a run")
    parser.add_argument("--threads", type=int, help="default: all processors")
    return parser.parse_args()


def main() -> None:
    """Tune, compare and write the reports."""
    arguments = given()
    arguments.out.mkdir(parents=True, exist_ok=True)
    # A new file, so that the old plan has no records.
    records = arguments.out.resolve() / "records.jsonl"
    records.unlink(missing_ok=True)
    os.environ["SLUICE_RECORDS"] = str(records)
    os.environ["SLUICE_TUNE"] = "estimate"
    import sluice as sl
    from sluice import lab
    from sluice.lab.report import difference

    print(
        f"LeNet is tuned, timed before and after, and a page written: about "
        f"{arguments.budget + 1.7 * arguments.seconds + 5:.0f} s"
    )
    if arguments.threads is not None:
        sl.set_num_threads(arguments.threads)
    job = lab.load("lenet", arguments.batch)
    exe = sl.Executor()
    run = job.program, job.feed, job.fetch_list
    before = exe.prepare(*run)
    with console.progress("tuning", arguments.budget, seconds=True):
        tuned = sl.tune(*run, arguments.budget, False, scope=job.scope)
    print(tuned)
    after = exe.prepare(*run)
    with console.progress(
        "timing both plans", 1.3 * arguments.seconds, seconds=True
    ):
        old, new = lab.report_plans(
            [before, after],
            job.program,
            job.feed,
            seconds=arguments.seconds,
            scope=job.scope,
            names=["lenet by estimates", "lenet by records"],
        )
    found = difference(old.data, new.data)
    print_changes(found, arguments.batch)
    with console.progress("writing the page"):
        for name in FILES:
            (old if name == "before.json" else new).save(
                arguments.out / name,
                against=old if name == "report.html" else None,
            )
    console.finish(
        {arguments.out / name: what for name, what in FILES.items()},
        "sluice-lab report mlp, or a model of yours: report net.onnx",
    )


if __name__ == "__main__":
    main()
