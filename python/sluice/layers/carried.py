"""Values that loops carry and blocks return: variables, also ragged, arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from .. import _core
from ..errors import argument_error
from ..program import Variable, require_variable
from .tensor_array import TensorArray, _filled

Value = Variable | TensorArray


def values_of(what: str, value: Any) -> list[Value]:
    """The variables and arrays that a block returns, one alone as a list."""
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return [
        each if isinstance(each, TensorArray) else require_variable(what, each)
        for each in values
    ]


def same_count(what: str, got: int, expected: int) -> None:
    """Raise unless both are equal."""
    if got != expected:
        raise argument_error(
            f"{what}: expected {expected}, one for each variable that is "
            f"carried on, got {got}",
            "python.block_count",
        )


def step_of(layer: str, fn: Callable[..., Any], *lists: list[Any]) -> Any:
    """Call the function of a scan; return the two lists that it gives."""
    cause: Exception | None = None
    try:
        step = fn(*lists)
    except (IndexError, ValueError) as error:
        if not re.search("list index out of range|s to unpack", str(error)):
            raise
        step = cause = error
    if isinstance(step, (list, tuple)) and len(step) == 2:
        return step
    raise argument_error(
        f"{layer}: fn gets lists of {len(lists[0])} and {len(lists[1])}, for "
        "init and xs, and must return two, the next carried variables and what "
        f"to collect, as [state], []; got {_core._shown(step)}",
        "python.scan_fn",
    ) from cause


def _parts(what: str, value: Value) -> list[Variable]:
    if isinstance(value, TensorArray):
        return _filled(what, value)._parts()
    return [value]


class Carried:
    """Values as the variables that blocks hand on.

    Attributes:
        values: as they were given.
        variables: of all values, one after the other.
    """

    def __init__(self, what: str, values: Sequence[Value]) -> None:
        self.values = values
        self.variables: list[Variable] = []
        self._places: list[range] = []  # of each value's parts
        for value in values:
            begin = len(self.variables)
            self.variables += _parts(what, value)
            self._places.append(range(begin, len(self.variables)))

    def shapes(self, of_values: Sequence[Any] | None) -> list[Any]:
        """The shapes of all variables, from those of the values."""
        shapes: list[Any] = []
        for at, value in enumerate(self.values):
            if isinstance(value, TensorArray):
                shapes += value._shapes()
            else:
                shape = value.shape if of_values is None else of_values[at]
                shapes.append(shape)
        return shapes

    def values_from(self, variables: Sequence[Variable]) -> list[Value]:
        """The values that other variables make."""
        return [
            value._with([variables[at] for at in places])
            if isinstance(value, TensorArray)
            else variables[places[0]]
            for value, places in zip(self.values, self._places, strict=True)
        ]

    def same(
        self,
        what: str,
        values: Sequence[Value],
        carried: Sequence[Variable] | None = None,
    ) -> list[Variable]:
        """The variables of other values of this kind.

        Their sizes are those that a loop's variables ``carried`` have.
        """
        same_count(what, len(values), len(self.values))
        found: list[Variable] = []
        for i, (first, value, places) in enumerate(
            zip(self.values, values, self._places, strict=True)
        ):
            parts = _parts(what, value)
            array = isinstance(first, TensorArray)
            if isinstance(value, TensorArray) != array or (
                len(parts) != len(places)
            ):
                raise argument_error(
                    f"{what}: number {i} is {_kind(value)}; expected "
                    f"{_kind(first)}, as {first!r} is",
                    "python.block_kind",
                )
            if array and value.capacity != first.capacity:
                raise argument_error(
                    f"{what}: number {i} is {value!r}; expected the capacity "
                    f"of {first!r}",
                    "python.block_capacity",
                )
            found += parts
        for at, (first, before, after) in enumerate(
            zip(self.variables, carried or found, found, strict=True)
        ):
            if not _agree(before.shape, after.shape):
                like = f"{first.name} has; shapes= says which sizes change"
                like = like if "while" in what else f"init[{at}] has"
                raise argument_error(
                    f"{what}: {after.name} has shape {list(after.shape)}, "
                    f"expected {list(before.shape)} as {like}",
                    "python.carried_shape",
                )
        return found


def _agree(one: Any, other: Any) -> bool:
    """Whether shapes may be equal, where None is an unknown size or rank."""
    if one is None or other is None:
        return True
    return len(one) == len(other) and all(
        a == b or None in (a, b) for a, b in zip(one, other, strict=True)
    )


def _kind(value: Value) -> str:
    if isinstance(value, TensorArray):
        return f"an array of {len(value._stacks) - 1} levels of sequences"
    if value.lod_level:
        return f"ragged, {value.lod_level} levels of sequences"
    return "a variable that is not ragged"
