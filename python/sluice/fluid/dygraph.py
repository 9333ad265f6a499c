"""``fluid.dygraph``: layers of Fluid whose values are asked for at once.

Inside of :func:`guard` layers are appended to a program of its own, and
``numpy()`` of a variable runs what it depends on. There are no layers with
parameters of their own, such as ``Linear``: those of a program are faster.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import unique_name
from .backward import gradients
from .executor import Executor
from .framework import Program, Variable, default_main_program, program_guard
from .left_out import refusing
from .scopes import Scope

__all__ = [
    "BackwardStrategy", "disable_dygraph", "enable_dygraph", "enabled", "guard",
    "no_grad", "to_variable",
]  # fmt: skip


class _Eager(Program):
    """A program whose variables have values while it is written."""

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[str, np.ndarray] = {}
        self.losses: list[Variable] = []  # of which backward was asked for
        self.cleared: dict[str, int] = {}  # how many of them do not count

    def value_of(self, variable: Variable) -> np.ndarray:
        # The first run of an executor, so that draws are the same each time.
        run = Executor().run
        return run(self, self.given, variable, scope=Scope())[0]

    def gradient_of(self, variable: Variable) -> np.ndarray | None:
        losses = self.losses[self.cleared.get(variable.name, 0) :]
        if not self.losses or variable.stop_gradient:
            return None
        if not losses:
            return np.zeros_like(self.value_of(variable))
        (gradient,) = gradients(losses, [variable])
        return None if gradient is None else self.value_of(gradient)

    def clear_gradient(self, variable: Variable) -> None:
        self.cleared[variable.name] = len(self.losses)


class BackwardStrategy:
    """Takes any attribute and does nothing: sums are in one order."""


@contextlib.contextmanager
def guard(place: Any = None) -> Iterator[None]:
    """Compute the layers of the block at once, on the CPU."""
    with program_guard(_Eager(), Program()):
        yield


_entered = contextlib.ExitStack()


def enable_dygraph(place: Any = None) -> None:
    """Begin a :func:`guard` that :func:`disable_dygraph` ends."""
    if not enabled():
        _entered.enter_context(guard(place))


def disable_dygraph() -> None:
    """End what :func:`enable_dygraph` began."""
    _entered.close()


def enabled() -> bool:
    """Whether layers are computed at once."""
    return isinstance(default_main_program(), _Eager)


def no_grad(function: Any = None) -> Any:
    """The function unchanged, or a context: gradients are never kept."""
    return contextlib.nullcontext() if function is None else function


def to_variable(
    value: Any, name: str | None = None, zero_copy: bool | None = None
) -> Variable:
    """An array as a variable, inside of :func:`guard`."""
    if isinstance(value, Variable):
        return value
    program = default_main_program()
    if not isinstance(program, _Eager):
        refusing("fluid.dygraph", {})("Layer")()
    array = np.array(value)
    name = name or unique_name.generate("generated_var")
    made = program.block0.data(name, array.shape, array.dtype.name, 0)
    program.given[name] = array
    return made


__getattr__ = refusing("fluid.dygraph", {})
