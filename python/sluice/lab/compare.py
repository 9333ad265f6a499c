"""Compares two kernel sets on a program, op by op."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import sluice as sl
from sluice import _lab

from . import arguments, measuring, programs, text
from .bisect import DIFFERS
from .kernel_sets import checked

_ABOUT = """\
Compares two kernel sets on a program, op by op: results, with what each op is
fed under A, and times, of whole runs that take turns. A and B are `default`,
`reference`, a file of kernel hints, or hints:
  sluice-lab compare lenet reference default
  sluice-lab compare lenet "exclude library=ONEDNN" default --all
Exits with 3 where results differ by more than rounding explains."""


def compare(
    program: sl.Program,
    feed: Mapping[str, Any] | None,
    a: str,
    b: str,
    fetch_list: Sequence[Any] | None = None,
    *,
    place: Any = None,
    **options: Any,
) -> _lab.Comparison:
    """Do what ``sl.compare`` does, for kernel sets (:func:`kernel_set`)."""
    options |= {"place": place or "cpu", "fetch_list": fetch_list}
    return measuring.compare(program, feed, checked(a), checked(b), **options)


def add_parser(commands: Any) -> None:
    """Add the command ``compare``."""
    parser = commands.add_parser(
        "compare",
        help="compare two kernel sets: errors and times, op by op",
        description=_ABOUT,
    )
    arguments.add_kernel_sets(parser)
    arguments.add_seconds(parser, "--budget", 1, "for the times")
    arguments.add_all(parser, "ops")
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    options = {k: getattr(parsed, k) for k in ("rtol", "atol", "budget")}
    result = programs.call(
        compare, parsed, parsed.a, parsed.b, place=parsed.place, **options
    )
    report = result.all if parsed.all else result
    text.show(report, r"^(?:B is|no diff).*$", r"^.*  same$")
    return 0 if result else DIFFERS
