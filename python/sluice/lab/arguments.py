"""Options that several commands of ``sluice-lab`` have."""

from __future__ import annotations

import argparse
import math


def count(text: str) -> int:
    """A number of at least 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return int(text)


def seconds(text: str) -> float:
    """A finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of seconds above 0"
        )
    return value


def tolerance(text: str) -> float:
    """A number of at least 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no tolerance of 0 or more"
        )
    return value


def add_program(parser: argparse.ArgumentParser) -> None:
    """PROGRAM, --batch and --place."""
    parser.add_argument(
        "program",
        metavar="PROGRAM",
        help="a built-in network, a Python script or a saved program",
    )
    parser.add_argument(
        "--batch", type=count, default=32, help="for sizes left open"
    )
    parser.add_argument("--place", help="such as cuda:0; the CPU by default")


def add_tolerances(parser: argparse.ArgumentParser) -> None:
    """--rtol and --atol; both None if they are left out."""
    parser.add_argument(
        "--rtol",
        type=tolerance,
        metavar="R",
        help="results may differ by atol + R max(|a|, |b|); by what rounding "
        "explains where neither is given",
    )
    parser.add_argument("--atol", type=tolerance, metavar="R")
