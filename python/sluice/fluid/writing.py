"""Layers that may write to a variable that there is already."""

from __future__ import annotations

from typing import Any

import numpy as np

from .framework import Variable, code_of
from .layer_helper import LayerHelper, layer

__all__ = ["assign", "increment"]


@layer("input, output=None")
def assign(helper: LayerHelper, a: Any) -> Variable:
    """A copy of a variable, or an array as a variable."""
    if isinstance(a.input, Variable):
        return helper.append("assign", {"X": a.input}, into=a.output)
    array = np.asarray(a.input)
    names = {"f": "fp32_values", "b": "bool_values"}
    slot = names.get(array.dtype.kind, f"{array.dtype}_values")
    attrs = {"shape": list(array.shape), "dtype": code_of(array.dtype)}
    attrs[slot] = array.ravel().tolist()
    return helper.append("assign_value", {}, attrs, into=a.output)


@layer("x, value=1.0, in_place=True")
def increment(helper: LayerHelper, a: Any) -> Variable:
    """x + value, by default into x."""
    attrs = {"step": float(a.value)}
    into = a.x if a.in_place else None
    return helper.append("increment", {"X": a.x}, attrs, into=into)
