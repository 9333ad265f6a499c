"""The default programs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

from . import unique_name
from .elsewhere import checked
from .program import Program, Variable

P = TypeVar("P")


class DefaultPrograms(Generic[P]):
    """A main and a startup program, which a guard replaces for a while."""

    def __init__(self, kind: type[P]) -> None:
        self.main, self.startup = kind(), kind()

    @contextlib.contextmanager
    def guard(self, main: P, startup: P | None) -> Iterator[None]:
        """Replace them inside the block, the startup program if it is given."""
        outer = self.main, self.startup
        self.main, self.startup = main, startup or self.startup
        try:
            yield
        finally:
            self.main, self.startup = outer


PROGRAMS = DefaultPrograms(Program)


def default_main_program() -> Program:
    """The program that layers append to."""
    return PROGRAMS.main


def default_startup_program() -> Program:
    """The program that initialises parameters; run it once."""
    return PROGRAMS.startup


def program_guard(
    main_program: Program, startup_program: Program | None = None
) -> contextlib.AbstractContextManager[None]:
    """Make these the default programs inside the block."""
    return PROGRAMS.guard(main_program, startup_program)


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
    return PROGRAMS.main.data(name, shape, dtype, lod_level)


def name_scope(name: str) -> contextlib.AbstractContextManager[None]:
    """Prefix the names that the block creates with ``name/``."""
    return unique_name.scope(name)
