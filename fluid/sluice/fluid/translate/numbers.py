"""Small vectors of integers whose elements are known while a program is made.

Fluid's programs compute shapes: the sizes that ``shape`` gives are cut, joined
and handed to ``reshape2``. As numbers, or as sizes of variables, they need not
be read in a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...framework import Variable
from .table import Dim, Op

Number = int | Dim | None


def known(op: Op, x: Variable) -> list[Number] | None:
    """The elements of a variable; None if it is none of those."""
    return op.numbers.get(x.name)


def note(op: Op, out: Variable, numbers: Sequence[Number] | None) -> Variable:
    """Remember the elements of a variable; return it."""
    if numbers is not None:
        op.numbers[out.name] = list(numbers)
    return out


def fixed(numbers: Sequence[Number] | None) -> bool:
    """Whether all elements are known, and as numbers."""
    return numbers is not None and all(isinstance(n, int) for n in numbers)


def first(*tensors: Any) -> Any:
    """The first that is given: a variable or a list of some; else None."""
    for each in tensors:
        if each is not None and not (isinstance(each, list) and not each):
            return each
    return None


def are_variables(value: Any) -> bool:
    """Whether it is a variable, or a list of some."""
    one = value[0] if isinstance(value, list) and value else value
    return isinstance(one, Variable)


def vector(op: Op, tensors: Any) -> tuple[list[Number] | None, Variable]:
    """The elements of a variable, or of several of one element, and one
    variable int64 of them.
    """
    given = tensors if isinstance(tensors, list) else [tensors]
    parts = [known(op, each) for each in given]
    numbers = None
    if all(part is not None for part in parts):
        numbers = [number for part in parts for number in part or []]
    flat = [op.cast(op.reshape(each, -1), "int64") for each in given]
    whole = flat[0] if len(flat) == 1 else op.concat(flat, axis=0)
    return numbers, whole


def integers(op: Op, what: str, tensors: Any) -> list[int]:
    """Elements that must be known as numbers; refused otherwise."""
    given = tensors if isinstance(tensors, list) else [tensors]
    parts = [known(op, each) for each in given]
    found = [number for part in parts for number in part or [None]]
    if None in parts or not fixed(found):
        op.refuse(
            f"{what} is computed; Sluice takes it as a number or as the result "
            "of fill_constant or assign_value"
        )
    return found  # type: ignore[return-value]
