"""Looks for times that contradict each other on the screens that show them.

Each of five screens is made several times while two processes spin: compare,
profile, explain(measure=True), what-if, the lab demo with its page. Prints the
run and the sum of its ops of each, and fails where they contradict each other
and the ops are listed all the same, or where an interval is of fewer than ten
runs:
  PYTHONPATH=build/release/python build/venv/bin/python \\
    tests/python/show/times_on_screens.py
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
TIME = r"([0-9.]+) (us|ms|s)\b"
RUN = re.compile(
    rf"\brun (?:takes |now |before: |after: )?{TIME} \((.*?)(\d+) runs?(?: only)?(?:, machine busy)?\)"
)
OPS = re.compile(rf"(?:\bops|calls takes?|calls take|call takes) {TIME}")
# What-if: the time by parts, and the measured one.
PARTS = re.compile(
    rf"(?:predicted: a run takes|would take) {TIME}.*?(?:measured: a run|and) takes {TIME}"
)
NOT_LISTED = re.compile("the ops are not listed|no prediction:")


def seconds(number, unit):
    return float(number) * UNITS[unit]


def contradictions(text):
    """What is wrong with a screen, and its pairs of a run and its ops."""
    text = re.sub(r"\s+", " ", text).replace("µs", "us")
    runs = [m.groups() for m in RUN.finditer(text)]
    ops = [seconds(*m.groups()) for m in OPS.finditer(text)]
    wrong = []
    for *time, interval, count in runs:
        if ("to" in interval) != (int(count) >= 10):
            wrong.append(f"{time}: an interval of {count} runs, or none")
    pairs = [
        (seconds(*run[:2]), sum_) for run, sum_ in zip(runs, ops, strict=False)
    ] + [
        (seconds(*m[3:5]), seconds(*m[1:3]))
        for m in ((None, *found.groups()) for found in PARTS.finditer(text))
    ]
    for run, sum_ in pairs:
        apart = max(run, sum_) > 1.5 * min(run, sum_) and abs(run - sum_) > 5e-6
        if apart and not NOT_LISTED.search(text):
            wrong.append(f"a run of {run:.3g} s over ops of {sum_:.3g} s")
    return wrong, pairs


def compare_and_others():
    """The screens of one process, by name."""
    import sluice as sl
    from sluice import lab

    job = lab.load("lenet", 16)
    given = (job.program, job.feed, job.fetch_list)
    exe = sl.Executor()
    exe.run(*given, scope=job.scope)
    return {
        "compare": lab.compare(
            *given[:2], "reference", "default", given[2], scope=job.scope
        ),
        "profile": exe.profile(*given, scope=job.scope),
        "explain": exe.explain(
            job.program, measure=True, feed=job.feed, scope=job.scope
        ),
        "what-if": lab.what_if(*given, scope=job.scope, budget=2),
    }


def lab_demo(folder):
    """Its terminal and its page, which must say the same."""
    command = [
        sys.executable,
        ROOT / "examples" / "tune_lenet.py",
        "--out",
        folder,
    ]
    command += ["--budget", "1", "--seconds", "1", "--batch", "8"]
    said = subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout
    page = (Path(folder) / "report.html").read_text(encoding="utf-8")
    data = json.loads(
        re.search(r'id="data"[^>]*>(.*?)</script>', page, re.S)[1]
    )
    changes = data["changes"]
    for text in (
        changes["verdict"],
        changes["old"]["run_text"],
        changes["new"]["run_text"],
    ):
        if text not in said:
            raise SystemExit(
                f"the page of the lab demo has {text!r}, the terminal:\n{said}"
            )
    ops = data["summary"]["op_seconds"]
    return f"{said}\na run {data['run_text']}, ops {ops * 1e3:.3f} ms; {data['why_no_times']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    os.environ.setdefault("SLUICE_RECORDS", "off")
    spin = [sys.executable, "-c", "while True: pass"]
    spinning = [subprocess.Popen(spin) for _ in range(2)]
    failures = []
    try:
        for turn in range(runs):
            screens = compare_and_others()
            with tempfile.TemporaryDirectory() as folder:
                screens["lab demo"] = lab_demo(folder)
            for name, screen in screens.items():
                wrong, pairs = contradictions(str(screen))
                listed = "not listed" if NOT_LISTED.search(str(screen)) else "listed"
                told = ", ".join(
                    f"{a * 1e3:.3g} / {b * 1e3:.3g} ms" for a, b in pairs
                )
                print(
                    f"{turn + 1:>2} {name:9} run / ops: {told or '-'}; {listed} {wrong or ''}",
                    flush=True,
                )
                failures += wrong
    finally:
        for process in spinning:
            process.kill()
    print(f"{len(failures)} contradictions on {5 * runs} screens")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
