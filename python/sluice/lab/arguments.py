"""Options that several commands of ``sluice-lab`` have."""

from __future__ import annotations

import argparse
import math
import os

from sluice.errors import NotFoundError


class Formatter(argparse.RawDescriptionHelpFormatter):
    """A help formatter that shows the defaults of options."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        default = action.default
        if default in (None, False, argparse.SUPPRESS) or default == []:
            return action.help
        if isinstance(default, list):
            default = ",".join(map(str, default))
        return f"{action.help} (default: {default})"


# Options that name a file to write.
_FILES = ("output", "json", "svg", "trace", "dot")


def check_files(parsed: argparse.Namespace) -> None:
    """Raise NotFoundError for an output file that cannot be written.

    A folder for scripts is created later, so only its parent must exist.
    """
    for option in (*_FILES, "script"):
        path = getattr(parsed, option, None)
        if not path:
            continue
        folder = os.path.dirname(os.path.abspath(path))
        while option == "script" and not os.path.exists(folder):
            folder = os.path.dirname(folder)
        why = ""
        if not os.path.isdir(folder):
            why = f"there is no folder {folder}"
        elif os.path.isdir(path) and option != "script":
            why = "this is a folder"
        there = path if os.path.exists(path) else folder
        if not why and not os.access(there, os.W_OK):
            why = f"{there} cannot be written"
        if why:
            raise NotFoundError(f"--{option} {path}: {why}", "lab.output")


def count(text: str) -> int:
    """Parse a number of at least 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return int(text)


def index(text: str) -> int:
    """Parse a number of at least 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return int(text)


def counts(text: str) -> list[int]:
    """Parse numbers of at least 1 with commas between them."""
    return [count(number.strip()) for number in text.split(",")]


def seconds(text: str) -> float:
    """Parse a finite number above 0."""
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
    """Parse a number of at least 0."""
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
    """Add PROGRAM and --batch."""
    parser.add_argument(
        "program",
        metavar="PROGRAM",
        help="a built-in network, a Python script, an ONNX model or a saved "
        "program",
    )
    parser.add_argument(
        "--batch", type=count, default=32, help="for sizes left open"
    )


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add --place, whose default is None."""
    parser.add_argument("--place", help="such as cuda:0; the CPU by default")


def add_all(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --all."""
    parser.add_argument(
        "--all", action="store_true", help=f"print all {what}, changed or not"
    )


def add_seconds(
    parser: argparse.ArgumentParser, option: str, default: float, what: str
) -> None:
    """Add an option for a number of seconds."""
    parser.add_argument(
        option, type=seconds, default=default, metavar="SECONDS", help=what
    )


def add_kernel_sets(parser: argparse.ArgumentParser) -> None:
    """Add PROGRAM, A, B, --batch, --place, --rtol and --atol."""
    add_program(parser)
    add_place(parser)
    parser.add_argument("a", metavar="A", help="a kernel set")
    parser.add_argument("b", metavar="B", help="another one")
    parser.add_argument(
        "--rtol",
        type=tolerance,
        metavar="R",
        help="results may differ by atol + R max(|a|, |b|); by what rounding "
        "explains where neither is given",
    )
    parser.add_argument("--atol", type=tolerance, metavar="R")
