"""Checks of arguments of functions that all ranks call together."""

from __future__ import annotations

import os
from typing import Any

from .. import _core
from ..errors import InvalidArgumentError
from ..program import Program


def check_path(what: str, path: Any) -> None:
    """Raise InvalidArgumentError, naming ``what``, unless it is a path."""
    good = isinstance(path, (str, os.PathLike)) and path != ""
    if not good or "\0" in os.fsdecode(path):
        raise InvalidArgumentError(
            f"{what}: path is {_core._shown(path)}; expected the path of a "
            "file, a str or os.PathLike",
            "distributed.path",
        )


def check_owners(what: str, program: Any, scope: Any) -> None:
    """Raise InvalidArgumentError unless they are a program and a scope."""
    for name, value, kind in (
        ("program", program, Program),
        ("scope", scope, _core.Scope),
    ):
        if not isinstance(value, kind):
            raise InvalidArgumentError(
                f"{what}: {name} is {_core._shown(value)}; expected a "
                f"sluice.{kind.__name__}",
                f"distributed.{name}",
            )
