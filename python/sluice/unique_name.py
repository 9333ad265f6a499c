"""Generates names that are unique in the process."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator

__all__ = ["UniqueNameGenerator", "generate", "guard", "switch"]

_prefix: list[str] = []


@dataclasses.dataclass
class UniqueNameGenerator:
    """Counts names; ``prefix`` begins all of them."""

    prefix: str = ""
    ids: dict[str, int] = dataclasses.field(default_factory=dict, repr=False)


generator = UniqueNameGenerator()


def generate(key: str) -> str:
    """Return ``key_0``, then ``key_1`` and so on, in the scopes around it."""
    scopes = "".join(f"{name}/" for name in _prefix)
    if not scopes or not key.startswith(scopes):  # the name of a layer in them
        key = scopes + generator.prefix + key
    number = generator.ids.get(key, 0)
    generator.ids[key] = number + 1
    return f"{key}_{number}"


@contextlib.contextmanager
def guard(
    new_generator: str | UniqueNameGenerator | None = None,
) -> Iterator[None]:
    """Count from 0 inside the block, so that a rebuilt program has the same
    names. A text begins all names of the block, as in Fluid; a generator counts
    on.
    """
    inner = new_generator
    if not isinstance(inner, UniqueNameGenerator):
        inner = UniqueNameGenerator(generator.prefix + (inner or ""))
    outer, _ = switch(inner)
    try:
        yield
    finally:
        switch(outer)


def switch(
    new_generator: UniqueNameGenerator | None = None,
    new_para_name_checker: None = None,
) -> tuple[UniqueNameGenerator, None]:
    """Count by a generator from here on, or from 0; return the one before."""
    global generator
    before = generator
    generator = new_generator or UniqueNameGenerator(before.prefix)
    return before, None


@contextlib.contextmanager
def scope(name: str) -> Iterator[None]:
    """Prefix all names of the block with ``name/``."""
    _prefix.append(name)
    try:
        yield
    finally:
        _prefix.pop()
