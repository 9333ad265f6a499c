"""Checks of arguments of functions that all ranks call together."""

from __future__ import annotations

import operator
import os
from typing import Any

from .. import _core
from ..errors import InvalidArgumentError
from ..framework import Program


def check_path(what: str, path: Any) -> None:
    """Raise InvalidArgumentError, naming ``what``, unless it is a path."""
    good = isinstance(path, (str, os.PathLike)) and path != ""
    if not good or "\0" in os.fsdecode(path):
        raise InvalidArgumentError(
            f"{what}: path is {_core._shown(path)}; expected the path of a "
            "file, a str or os.PathLike",
            "distributed.path",
        )


def check_program(what: str, program: Any) -> None:
    """Raise InvalidArgumentError unless it is a program."""
    if not isinstance(program, Program):
        raise InvalidArgumentError(
            f"{what}: program is {_core._shown(program)}; expected a "
            "sluice.Program",
            "distributed.program",
        )


def check_scope(what: str, scope: Any) -> None:
    """Raise InvalidArgumentError unless it is a scope."""
    if not isinstance(scope, _core.Scope):
        raise InvalidArgumentError(
            f"{what}: scope is {_core._shown(scope)}; expected a sluice.Scope",
            "distributed.scope",
        )


def integer(value: Any) -> int | None:
    """An integer from 0 to 2**63 - 1; None for anything else, even a bool."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None
    return number if 0 <= number < 1 << 63 else None
