"""Options that several commands of ``sluice-lab`` have."""

from __future__ import annotations

import argparse
import math
import os
from typing import Any

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


def tolerance(text: str, what: str = "tolerance of 0 or more") -> float:
    """Parse a finite number of at least 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no {what}")
    return value


def seconds(text: str) -> float:
    """Parse a finite number above 0."""
    value = tolerance(text, what := "number of seconds above 0")
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no {what}")
    return value


def add(
    parser: argparse.ArgumentParser,
    names: str,
    metavar: str | None = None,
    help: str | None = None,
    several: bool = False,
    **more: Any,
) -> None:
    """Add an argument, or with ``several`` one that can be repeated.

    One with the metavar "" is a flag.
    """
    if metavar:
        more["metavar"] = metavar
    if several:
        more |= {"action": "append", "default": []}
    elif metavar == "":
        more["action"] = "store_true"
    parser.add_argument(*names.split(), help=help, **more)


def add_program(parser: argparse.ArgumentParser) -> None:
    """Add PROGRAM and --batch."""
    add(
        parser, "program", "PROGRAM",
        "a built-in network, a Python script, a model of ONNX or PaddlePaddle, "
        "or a saved program",
    )
    add(parser, "--batch", None, "for sizes left open", type=count, default=32)


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add --place, whose default is None."""
    add(parser, "--place", None, "such as cuda:0; the CPU by default")


def add_all(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --all."""
    add(parser, "--all", "", f"print all {what}, changed or not")


def add_seconds(
    parser: argparse.ArgumentParser, option: str, default: float, what: str
) -> None:
    """Add an option for a number of seconds."""
    add(parser, option, "SECONDS", what, type=seconds, default=default)


def add_kernel_sets(parser: argparse.ArgumentParser) -> None:
    """Add PROGRAM, A, B, --batch, --place, --rtol and --atol."""
    add_program(parser)
    add_place(parser)
    add(parser, "a", "A", "a kernel set")
    add(parser, "b", "B", "another one")
    add(
        parser, "--rtol", "R",
        "results may differ by atol + R max(|a|, |b|); by what rounding "
        "explains where neither is given", type=tolerance,
    )
    add(parser, "--atol", "R", type=tolerance)
