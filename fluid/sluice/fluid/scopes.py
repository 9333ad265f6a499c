"""Scopes with the methods of Fluid's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _core
from .. import executor as sluice_executor
from ..display import Shown
from ..errors import NotFoundError
from ..framework import created
from .executor import LoDTensor


class StoredTensor(LoDTensor):
    """The value of a variable, which :meth:`set` replaces in the scope."""

    def __init__(self, scope: _core.Scope, name: str) -> None:
        value = scope.find_var(name)
        super().__init__(None if value is None else value.numpy())
        self._scope, self._name = scope, name

    def set(self, array: Any, place: Any = None) -> None:
        """Let the variable have this value; runs move it to their place."""
        super().set(np.array(array, order="C"))
        self._scope[self._name] = self._array


class StoredVariable(Shown):
    """A variable of a scope."""

    def __init__(self, scope: _core.Scope, name: str) -> None:
        self._scope, self.name = scope, name

    def get_tensor(self) -> StoredTensor:
        """Its value, as a copy."""
        return StoredTensor(self._scope, self.name)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.get_tensor(), dtype)


class Scope(Shown):
    """Variables that outlive a run: parameters, statistics.

    Attributes:
        sluice: the scope of Sluice.
    """

    def __init__(self, sluice: _core.Scope | None = None) -> None:
        self.sluice = _core.Scope() if sluice is None else sluice

    def find_var(self, name: str) -> StoredVariable | None:
        """The variable; None if neither this scope nor a parent has it."""
        return self.var(name) if name in self.sluice else None

    def var(self, name: str) -> StoredVariable:
        """The variable, which may have no value yet."""
        return StoredVariable(self.sluice, name)

    def new_scope(self) -> Scope:
        """A child scope, which finds this one's variables, too."""
        return Scope(self.sluice.new_scope())

    def __getitem__(self, name: str) -> Any:
        return self.sluice[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.sluice[name] = value


def global_scope() -> Scope:
    """The scope that runs use by default."""
    return Scope(sluice_executor.global_scope())


@contextlib.contextmanager
def scope_guard(scope: Scope) -> Iterator[None]:
    """Make ``scope`` the global one inside the block."""
    with sluice_executor.scope_guard(getattr(scope, "sluice", scope)):
        yield


def fetch_var(name: str, scope: Any = None, return_numpy: bool = True) -> Any:
    """The value of a stored variable, as a copy."""
    scope = global_scope() if scope is None else scope
    found = (scope if isinstance(scope, Scope) else Scope(scope)).find_var(name)
    if found is None:
        raise NotFoundError(
            f"the scope has no {name!r}{created()}", "fluid.fetch_var"
        )
    value = found.get_tensor()
    return np.asarray(value) if return_numpy else value
