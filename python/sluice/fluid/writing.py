"""Layers that may write to a variable that there is already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .framework import Variable, code_of
from .layer_helper import LayerHelper

__all__ = [
    "assign", "equal", "fill_constant", "greater_equal", "greater_than",
    "increment", "less_equal", "less_than", "logical_and", "logical_not",
    "logical_or", "logical_xor", "not_equal", "ones", "sums", "zeros",
    "zeros_like",
]  # fmt: skip


def into(
    type: str, inputs: Any, attrs: Any, out: Variable | None, name: Any = None
) -> Variable:
    """Append an op whose output is ``out``, or a new variable."""
    helper = LayerHelper(type, name)
    if out is None:
        return helper.append(type, inputs, attrs)
    helper.block.append_op(type, inputs, {"Out": out}, attrs)
    return out


def assign(input: Any, output: Variable | None = None) -> Variable:
    """A copy of a variable, or an array as a variable."""
    if isinstance(input, Variable):
        return into("assign", {"X": input}, {}, output)
    array = np.asarray(input)
    names = {"f": "fp32_values", "b": "bool_values"}
    slot = names.get(array.dtype.kind, f"{array.dtype}_values")
    attrs = {"shape": list(array.shape), "dtype": code_of(array.dtype)}
    attrs[slot] = array.ravel().tolist()
    return into("assign_value", {}, attrs, output)


def increment(
    x: Variable, value: float = 1.0, in_place: bool = True
) -> Variable:
    """x + value, by default into x."""
    attrs = {"step": float(value)}
    return into("increment", {"X": x}, attrs, x if in_place else None)


def fill_constant(
    shape: Sequence[int],
    dtype: Any,
    value: float,
    force_cpu: bool = False,
    out: Variable | None = None,
    name: str | None = None,
) -> Variable:
    """Full of one number."""
    attrs = {
        "shape": list(shape), "dtype": code_of(dtype), "value": float(value)
    }  # fmt: skip
    return into("fill_constant", {}, attrs, out, name)


def ones(shape: Sequence[int], dtype: Any, force_cpu: bool = False) -> Variable:
    """Full of 1."""
    return fill_constant(shape, dtype, 1.0)


def zeros(
    shape: Sequence[int],
    dtype: Any,
    force_cpu: bool = False,
    name: str | None = None,
) -> Variable:
    """Full of 0."""
    return fill_constant(shape, dtype, 0.0, name=name)


def zeros_like(x: Variable, out: Variable | None = None) -> Variable:
    """As many zeros."""
    return into("fill_zeros_like", {"X": x}, {}, out)


def sums(input: Any, out: Variable | None = None) -> Variable:
    """The sum of variables."""
    many = input if isinstance(input, (list, tuple)) else [input]
    return into("sum", {"X": list(many)}, {}, out)


def _comparison(type: str) -> Any:
    def layer(
        x: Variable, y: Variable, force_cpu: Any = None, cond: Any = None
    ) -> Variable:
        return into(type, {"X": x, "Y": y}, {}, cond)

    layer.__name__ = type
    layer.__doc__ = f"The op ``{type}``, perhaps into ``cond``."
    return layer


less_than, less_equal = _comparison("less_than"), _comparison("less_equal")
greater_than = _comparison("greater_than")
greater_equal = _comparison("greater_equal")
equal, not_equal = _comparison("equal"), _comparison("not_equal")


def _logical(type: str) -> Any:
    def layer(
        x: Variable,
        y: Variable,
        out: Variable | None = None,
        name: str | None = None,
    ) -> Variable:
        return into(type, {"X": x, "Y": y}, {}, out, name)

    layer.__name__ = type
    layer.__doc__ = f"The op ``{type}``, perhaps into ``out``."
    return layer


logical_and, logical_or = _logical("logical_and"), _logical("logical_or")
logical_xor = _logical("logical_xor")


def logical_not(
    x: Variable, out: Variable | None = None, name: str | None = None
) -> Variable:
    """Whether elements are false, perhaps into ``out``."""
    return into("logical_not", {"X": x}, {}, out, name)
