"""Finds the kernels that make two kernel sets differ."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import Any

import sluice as sl
from sluice import _lab
from sluice.program import unread

from . import arguments, programs, text
from .kernel_sets import kernel_set
from .reproduce import write_script

_ABOUT = """\
Finds the kernels that make two kernel sets differ, in results or, with --time,
in time. A and B are `default`, `reference`, a file of kernel hints, or hints:
  sluice-lab bisect lenet reference default
  sluice-lab bisect net.py default "relu: require variant=mine" --script found
A runs once, and its values are kept. Then ranges of ops run with B's kernels on
the inputs that they have under A, until single ops are found. --script writes a
folder for each with a Python file that shows the difference by itself.
Exits with 3 where something differs."""

DIFFERS = 3


def bisect(
    program: sl.Program,
    feed: Mapping[str, Any] | None,
    a: str,
    b: str,
    fetch_list: Sequence[Any] | None = None,
    *,
    time: bool = False,
    place: Any = None,
    scope: sl.Scope | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    race_seconds: float = 0.5,
    budget: float = 60,
    most_runs: int = 200,
) -> _lab.BisectResult:
    """Find the kernels that make two kernel sets differ.

    The plans are those that ``Executor.run`` uses. The outputs of random ops
    are taken from ``a``; parameters are not modified.

    Args:
        program, feed, fetch_list, place, scope: as for :func:`sluice.tune`.
        a: a kernel set, see :func:`kernel_set`.
        b: the other one.
        time: whether to search for differences in time instead of results.
        rtol: results differ if ``abs(a - b)`` is more than ``atol + rtol *
            max(abs(a), abs(b))``; by default, if it is more than rounding
            explains.
        atol: see ``rtol``.
        race_seconds: seconds for each comparison of two times, or as long as
            five turns take.
        budget: seconds for all of these.
        most_runs: the search ends after this many runs.

    Returns:
        The result; true if a difference was found. Print it for sentences.

    Raises:
        SluiceError: what preparing either plan or running ``a`` raises.
    """
    return _lab._bisect(
        program,
        feed,
        unread(program) if fetch_list is None else fetch_list,
        kernel_set(a),
        kernel_set(b),
        sl.CPUPlace() if place is None else place,
        sl.global_scope() if scope is None else scope,
        time,
        rtol,
        atol,
        float(race_seconds),
        float(budget),
        most_runs,
    )


def add_parser(commands: Any) -> None:
    """Add the command ``bisect`` to the parser."""
    parser = commands.add_parser(
        "bisect",
        help="find the kernels that make two kernel sets differ",
        description=_ABOUT,
    )
    arguments.add_kernel_sets(parser)
    arguments.add(parser, "--time", "", "differences in time")
    arguments.add_seconds(parser, "--budget", 60, "for races of --time")
    arguments.add(parser, "--script", "FOLDER", "where to write reproducers")
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    names = "rtol", "atol", "time", "budget"
    options = {name: getattr(parsed, name) for name in names}
    result = programs.call(
        bisect, parsed, parsed.a, parsed.b, place=parsed.place, **options
    )
    text.show(result)
    if parsed.script:
        script = parsed.program if parsed.program.endswith(".py") else None
        for i, finding in enumerate(result.findings):
            folder = os.path.join(parsed.script, str(i))
            place = parsed.place
            print(write_script(finding, folder, script=script, place=place))
    return DIFFERS if result else 0
