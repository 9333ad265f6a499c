"""Formats times and counts, in the same way for all commands."""

from __future__ import annotations

from collections.abc import Callable


def time(seconds: float) -> str:
    """A time with two decimals, in us, ms or s."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.2f} us"
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def count(number: int, noun: str) -> str:
    """A text such as "1 signature", "2 signatures"."""
    return f"{number} {noun}" + "s" * (number != 1)


def table(rows: list[list[str]], align: Callable[[str, int], str]) -> list[str]:
    """Lines with columns as wide as their longest cells."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(align, row, widths)).rstrip() for row in rows]
