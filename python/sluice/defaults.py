"""The default programs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from . import unique_name
from .elsewhere import checked
from .program import Program, Variable

_main = Program()
_startup = Program()


def default_main_program() -> Program:
    """The program that layers append to."""
    return _main


def default_startup_program() -> Program:
    """The program that initialises parameters; run it once."""
    return _startup


@contextlib.contextmanager
def program_guard(
    main_program: Program, startup_program: Program | None = None
) -> Iterator[None]:
    """Make these the default programs inside the block."""
    global _main, _startup
    outer = _main, _startup
    _main, _startup = main_program, startup_program or _startup
    try:
        yield
    finally:
        _main, _startup = outer


@checked
def data(
    name: str,
    shape: Sequence[int | None],
    dtype: Any = "float32",
    lod_level: int = 0,
) -> Variable:
    """Declare a variable of the default main program to feed.

    Args:
        name: its name in ``feed``.
        shape: the sizes; None for those that differ between feeds.
        dtype: the element type.
        lod_level: 1 if rows are sequences, one after the other: a list of
            sequences is fed, and ``name@LOD`` has their offsets; 2 if these are
            again sequences, and so on.

    Raises:
        InvalidArgumentError: the name is taken, or a size is negative.
    """
    return _main.data(name, shape, dtype, lod_level)


def name_scope(name: str) -> contextlib.AbstractContextManager[None]:
    """Prefix the names that the block creates with ``name/``."""
    return unique_name.scope(name)
