"""Formats and prints times, counts and tables, alike for all commands."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable

from sluice import _lab
from sluice.display import counted as count  # noqa: F401
from sluice.display import kernel_name as kernel  # noqa: F401
from sluice.display import printable
from sluice.show.explanation import screen

WIDTH = 80
_BOLD, _DIM, _RED = "1", "2", "31"


def time(seconds: float) -> str:
    """A measured time with three digits, in us, ms or s."""
    return _lab._time_text(seconds)


def wrap(text: str, first: int = 0, other: int = 2) -> str:
    """The text in lines of at most 80 columns, with these indents."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=" " * first,
        subsequent_indent=" " * other,
        break_on_hyphens=False,
    )


def table(rows: list[list[str]], align: Callable[[str, int], str]) -> list[str]:
    """Lines with columns as wide as their longest cells."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(align, row, widths)).rstrip() for row in rows]


def doing(what: str) -> None:
    """Say on standard error what takes its time."""
    print(f"{what} ...", file=sys.stderr, flush=True)


def show(text: object, bold: str = "", dim: str = "") -> None:
    """Print a text, on a terminal in colour.

    What matches the patterns is bold or dim, and what is wrong is red.
    """
    output = str(text).rstrip("\n")
    if screen()[1]:
        wrong = r"\b(?:WRONG|DIFFERS?|FAIL|REFUSED)\b"
        for pattern, style in ((dim, _DIM), (bold, _BOLD), (wrong, _RED)):
            if pattern:
                output = re.sub(
                    pattern, f"\033[{style}m\\g<0>\033[0m", output, flags=re.M
                )
    print(printable(output))
