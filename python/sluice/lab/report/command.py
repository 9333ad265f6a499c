"""The command ``sluice-lab report``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from sluice.lab import programs

from .collect import report
from .document import Report, read

_DESCRIPTION = """\
Measures a program and writes a page about its plan: which kernel runs each op
and why, with all candidates, their times and errors; memory; the machine's
roofline. PROGRAM is what `sluice-lab tune` takes, or a report that was saved
with --json, of which the page is made without measuring anything.
  sluice-lab report lenet -o before.html --json before.json
  sluice-lab report lenet -o after.html --against before.json"""


def add_parser(
    commands: argparse._SubParsersAction,
    seconds: Callable[[str], float],
    count: Callable[[str], int],
) -> None:
    """Add the command; the functions read numbers above 0."""
    parser = commands.add_parser(
        "report",
        help="a page about a program's plan",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    parser.add_argument("program", metavar="PROGRAM")
    parser.add_argument(
        "-o",
        "--output",
        default="report.html",
        metavar="FILE.html",
        help="the page",
    )
    parser.add_argument("--json", metavar="FILE", help="the report as JSON")
    parser.add_argument(
        "--trace", metavar="FILE", help="one run as a Chrome trace"
    )
    parser.add_argument("--dot", metavar="FILE", help="the graph for Graphviz")
    parser.add_argument(
        "--against",
        metavar="FILE.json",
        help="an older report: say what has changed since",
    )
    parser.add_argument(
        "--budget",
        type=seconds,
        default=10,
        metavar="SECONDS",
        help="for measuring kernels that have no records yet",
    )
    parser.add_argument(
        "--no-tune",
        action="store_true",
        help="measure no kernel by itself: records and estimates as they are",
    )
    parser.add_argument(
        "--seconds",
        type=seconds,
        default=3,
        metavar="SECONDS",
        help="for running the plan",
    )
    parser.add_argument(
        "--batch", type=count, default=32, help="for sizes left open"
    )
    parser.add_argument("--place", help="such as cuda:0; the CPU by default")


def _measured(arguments: argparse.Namespace) -> Report:
    job = programs.load(arguments.program, arguments.batch)
    return report(
        job.program,
        job.feed,
        job.fetch_list,
        tune=None if arguments.no_tune else arguments.budget,
        seconds=arguments.seconds,
        place=arguments.place,
        scope=job.scope,
        name=os.path.basename(job.name),
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the requested files; the page's path is printed last."""
    against = read(arguments.against) if arguments.against else None
    saved = arguments.program.endswith(".json")
    made = read(arguments.program) if saved else _measured(arguments)
    if saved and arguments.trace:
        raise SystemExit(
            "sluice-lab: --trace needs a program: a saved report has no run"
        )
    # If a text cannot be created, existing files are not changed.
    texts = [
        (path, text())
        for path, text in (
            (arguments.json, made.to_json),
            (arguments.trace, lambda: made.chrome_trace),
            (arguments.dot, made.to_dot),
            (arguments.output, lambda: made.to_html(against)),
        )
        if path
    ]
    for path, text in texts:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        print(path)
    sys.stdout.flush()
