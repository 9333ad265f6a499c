"""Generates names that are unique in the process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["generate", "guard", "switch"]

_counts: dict[str, int] = {}
_prefix: list[str] = []
_begin = ""


def generate(key: str) -> str:
    """Return ``key_0``, then ``key_1`` and so on."""
    key = "/".join([*_prefix, _begin + key])
    number = _counts.get(key, 0)
    _counts[key] = number + 1
    return f"{key}_{number}"


@contextlib.contextmanager
def guard(new_generator: str | None = None) -> Iterator[None]:
    """Count from 0 inside the block, so that a rebuilt program has the same
    names. A text begins all names of the block, as in Fluid.
    """
    outer, _ = switch(({}, _begin + (new_generator or "")))
    try:
        yield
    finally:
        switch(outer)


def switch(
    new_generator: tuple[dict[str, int], str] | None = None,
    new_para_name_checker: None = None,
) -> tuple[tuple[dict[str, int], str], None]:
    """Count from 0 from here on, or as a switch before returned; return what
    a later switch takes to count on.
    """
    global _counts, _begin
    before = _counts, _begin
    _counts, _begin = new_generator or ({}, _begin)
    return before, None


@contextlib.contextmanager
def scope(name: str) -> Iterator[None]:
    """Prefix all names of the block with ``name/``."""
    _prefix.append(name)
    try:
        yield
    finally:
        _prefix.pop()
