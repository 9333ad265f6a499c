"""The command ``sluice-lab report``."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from typing import Any

from sluice.display import call_name
from sluice.errors import NotFoundError
from sluice.lab import arguments, programs, text

from . import libraries
from .collect import report
from .difference import shown
from .document import Report, read
from .view import first_lines

_DESCRIPTION = """\
Measures a program and writes a page about its plan: which kernel runs each op
and why, with all candidates, their times and errors; memory; the machine's
roofline. PROGRAM is what `sluice-lab tune` takes, or a report that was saved
with --json, of which the page is made without measuring anything.
  sluice-lab report lenet -o before.html --json before.json
  sluice-lab report lenet -o after.html --against before.json"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command ``report``."""
    parser = commands.add_parser(
        "report",
        help="write a page about a program's plan: start here",
        description=_DESCRIPTION,
    )
    parser.set_defaults(run=run)
    arguments.add_program(parser)
    arguments.add_place(parser)
    arguments.add(
        parser, "-o --output", "FILE.html", "the page", default="report.html",
    )
    arguments.add(parser, "--json", "FILE", "the report as JSON")
    arguments.add(
        parser, "--trace", "FILE", "a real run and medians, for Perfetto",
    )
    arguments.add(parser, "--svg", "FILE", "a drawing of the plan")
    arguments.add(
        parser, "--against", "FILE.json",
        "an older report: say what has changed since",
    )
    arguments.add_seconds(
        parser,
        "--budget",
        10,
        "for measuring kernels that have no records yet",
    )
    arguments.add(
        parser, "--no-tune", "",
        "measure no kernel by itself: records and estimates as they are",
    )
    arguments.add_seconds(parser, "--seconds", 3, "for running the plan")


def _measured(parsed: argparse.Namespace) -> Report:
    job = programs.load(parsed.program, parsed.batch)
    tuning = "" if parsed.no_tune else f"kernels for {parsed.budget:g} s, "
    text.doing(f"report: measures {tuning}runs for {parsed.seconds:g} s")
    return report(
        job.program,
        job.feed,
        job.fetch_list,
        tune=None if parsed.no_tune else parsed.budget,
        seconds=parsed.seconds,
        place=parsed.place,
        scope=job.scope,
        name=os.path.basename(job.name),
        role=programs.role(parsed.program),
    )


def summary(data: dict[str, Any], page: str) -> str:
    """What is wrong, the run's time, the type of ops that takes most of it,
    unless their times are not listed, and the page to open."""
    run = data["plan"]["times"]["run"]
    sentences = [f"a run takes {text.time(run['median'])}"]
    seconds: Counter[str] = Counter()
    for op in data["plan"]["ops"]:
        seconds[call_name(op)] += op["measured"]["median"]
    _, why_no_times = shown(data)
    total = data["summary"]["op_seconds"]
    if total > 0 and not why_no_times:
        ((slowest, most),) = seconds.most_common(1)
        sentences.append(f"{most / total:.0%} {slowest}".replace("%", " %"))
    wrong = "".join(f"{each}\n" for each in first_lines(data))
    end = f"open {page}" if page else "no page"
    return f"{wrong}{', '.join(sentences)}; {end}"


def run(parsed: argparse.Namespace) -> int:
    """Write the files; the last line is the run's time and the page's path.

    Returns 1 without a page.
    """
    page = parsed.output
    try:
        libraries.d3()
    except NotFoundError as error:
        if not (parsed.json or parsed.trace or parsed.svg):
            raise
        print(f"sluice-lab: no page: {error}", file=sys.stderr)
        page = ""
    against = read(parsed.against) if parsed.against else None
    saved = parsed.program.endswith(".json")
    report = read(parsed.program) if saved else _measured(parsed)
    if saved and parsed.trace:
        raise SystemExit(
            "sluice-lab: --trace needs a program: a saved report has no run"
        )
    text.doing("report: writes the page")
    # If a text cannot be created, existing files are not changed.
    texts = [
        (path, make())
        for path, make in (
            (parsed.json, report.to_json),
            (parsed.trace, lambda: report.chrome_trace),
            (parsed.svg, report.draw),
            (page, lambda: report.to_html(against)),
        )
        if path
    ]
    for path, content in texts:
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        if path != page:
            print(f"wrote {path}")
    text.show(summary(report.data, page), r"^.*$")
    sys.stdout.flush()
    return 0 if page else 1
