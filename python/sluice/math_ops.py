"""The operators of variables: ``x + y``, ``2 * x``, ``x @ y``, ``x < y``,
``x[1:]``.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from ._core import _op_names

# The method of the right operand, by the name of the left one's ufunc.
_SWAPPED = {
    "add": "__radd__", "subtract": "__rsub__", "multiply": "__rmul__",
    "divide": "__rtruediv__", "true_divide": "__rtruediv__",
    "floor_divide": "__rfloordiv__", "remainder": "__rmod__",
    "power": "__rpow__", "matmul": "__rmatmul__", "equal": "__eq__",
    "not_equal": "__ne__", "less": "__gt__", "less_equal": "__ge__",
    "greater": "__lt__", "greater_equal": "__le__", "bitwise_and": "__rand__",
    "bitwise_or": "__ror__", "bitwise_xor": "__rxor__",
}  # fmt: skip

# Layers with another name than NumPy's function.
_LAYERS = {
    "absolute": "abs", "add": "elementwise_add", "add.reduce": "reduce_sum",
    "maximum": "elementwise_max", "minimum": "elementwise_min",
    "multiply": "elementwise_mul",
}  # fmt: skip

# Ops that are faster than a power, and exact.
_POWERS = {2: "square", 0.5: "sqrt", -1: "reciprocal"}


def _operator(type: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    """An operator of a variable and of another one or a number."""
    return lambda self, other: self._with_number(type, other, swapped)


def _bitwise(op: str) -> Callable[[Any, Any], Any]:
    """One that is logical for booleans."""
    return lambda self, other: self._with_number(
        f"{'logical' if self.dtype == 'bool' else 'bitwise'}_{op}", other
    )


class VariableMath:
    """The mixin of Variable whose operators append ops.

    ``==`` compares elements, as in Fluid and PyTorch; ``x is y`` compares
    identity. Variables are hashed by identity, so they can be keys.
    """

    __slots__ = ()

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **options: Any
    ) -> Any:
        """np.float32(2) * x appends an op; functions of NumPy compute none."""
        name, operator = ufunc.__name__, _SWAPPED.get(ufunc.__name__)
        operates = operator and method == "__call__" and not options
        if operates and inputs[1] is self:
            left = inputs[0]
            left = left[()] if isinstance(left, np.ndarray) else left
            result = getattr(self, operator)(left)
            if result is not NotImplemented:
                return result
            raise TypeError(
                f"unsupported operands of {name}: {type(left).__name__} and "
                "Variable; arrays are fed: declare sl.data(name, shape, dtype)"
            )
        name += "" if method == "__call__" else f".{method}"
        layer = _LAYERS.get(name, name)
        instead = f"{layer}(...)" if layer in _op_names() else "..."
        raise TypeError(
            f"np.{name} computes numbers, and {self!r} has none yet: write "
            f"sl.layers.{instead}, which appends an op"
        )

    def _append(self, type: str, inputs: dict[str, Any], **attrs: Any) -> Any:
        return self.program.append_op(type, inputs, attrs=attrs)["Out"]  # type: ignore[attr-defined]

    def _scale(self, scale: float = 1.0, bias: float = 0.0) -> Any:
        return self._append("scale", {"X": self}, scale=scale, bias=bias)

    def _binary(self, type: str, other: Any) -> Any:
        if not isinstance(other, VariableMath):
            return NotImplemented
        return self._append(type, {"X": self, "Y": other})

    def _as(self, dtype: Any) -> Any:
        """This variable as another dtype; itself if it has it."""
        if self.dtype == dtype:  # type: ignore[attr-defined]
            return self
        return self._append("cast", {"X": self}, dtype=dtype)

    def _operand(self, other: Any) -> Any:
        """Convert an integer that a float (for scale) may not represent."""
        if not isinstance(other, numbers.Integral) or abs(int(other)) <= 2**53:
            return other
        if self.dtype.name.startswith(("int", "uint")):  # type: ignore[attr-defined]
            return self._constant(other)
        return float(other)

    def __add__(self, other: Any) -> Any:
        other = self._operand(other)
        if isinstance(other, numbers.Real):
            return self._scale(bias=other)
        return self._binary("elementwise_add", other)

    def __sub__(self, other: Any) -> Any:
        other = self._operand(other)
        if isinstance(other, numbers.Real):
            return self._scale(bias=-other)
        return self._binary("elementwise_sub", other)

    def __mul__(self, other: Any) -> Any:
        other = self._operand(other)
        if isinstance(other, numbers.Real):
            return self._scale(scale=other)
        return self._binary("elementwise_mul", other)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, numbers.Real):
            return self._scale(scale=1.0 / other)
        return self._binary("elementwise_div", other)

    def __matmul__(self, other: Any) -> Any:
        return self._binary("matmul", other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: Any) -> Any:
        other = self._operand(other)
        if isinstance(other, numbers.Real):
            return self._scale(scale=-1.0, bias=other)
        if not isinstance(other, VariableMath):
            return NotImplemented
        return other - self

    def __rtruediv__(self, other: Any) -> Any:
        if not isinstance(other, numbers.Real):
            return NotImplemented
        return self._constant(other) / self

    def __neg__(self) -> Any:
        return self._scale(scale=-1.0)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self._append("abs", {"X": self})

    def _with_number(self, type: str, other: Any, swapped: bool = False) -> Any:
        """An op of this variable and of another one or a number."""
        if isinstance(other, numbers.Real):
            other = self._constant(other)
        if swapped and isinstance(other, VariableMath):
            return other._binary(type, self)
        return self._binary(type, other)

    __floordiv__ = _operator("elementwise_floordiv")
    __rfloordiv__ = _operator("elementwise_floordiv", True)
    __mod__ = _operator("elementwise_mod")
    __rmod__ = _operator("elementwise_mod", True)
    __rpow__ = _operator("elementwise_pow", True)

    def __pow__(self, other: Any) -> Any:
        dtype = self.dtype  # type: ignore[attr-defined]
        number = other if isinstance(other, numbers.Real) else None
        if dtype.is_floating and number in _POWERS:
            return self._append(_POWERS[number], {"X": self})
        if dtype in ("float32", "float64") and number == 3:
            return self._append("square", {"X": self}) * self
        return self._with_number("elementwise_pow", other)

    __and__, __or__, __xor__ = map(_bitwise, ("and", "or", "xor"))
    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Any:
        logical = self.dtype == "bool"  # type: ignore[attr-defined]
        op = "logical_not" if logical else "bitwise_not"
        return self._append(op, {"X": self})

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(
            f"{self!r} cannot be changed in place: sl.layers.scatter_elements, "
            "scatter_nd and where return a changed one"
        )

    def __len__(self) -> int:
        shape = self.shape  # type: ignore[attr-defined]
        if shape and shape[0] is not None:
            return shape[0]
        raise TypeError(
            f"{self!r} has no length while the program is written: "
            "sl.layers.shape and size say it when it runs"
            if shape is None or shape
            else f"{self!r} has no dims, so it has no length"
        )

    def __contains__(self, value: Any) -> bool:
        return value in iter(self)

    def __iter__(self) -> Any:
        raise TypeError(
            f"{self!r} is not iterable: sl.layers.unstack(x) is a list of its "
            "rows, sl.layers.scan a loop over them, x[i] is one of them"
        )

    def _constant(self, value: numbers.Real) -> Any:
        """A variable of one number, with the dtype of this one."""
        dtype = self.dtype  # type: ignore[attr-defined]
        op, attrs = "fill_constant", {"value": float(value)}
        if dtype.name in ("int64", "uint64") and abs(value) > 2**53:
            op = "assign_value"
            attrs = {"values": [], "int_values": [int(value)]}
        attrs |= {"shape": [1] if self.shape else [], "dtype": dtype}  # type: ignore[attr-defined]
        return self.program.append_op(op, attrs=attrs)["Out"]  # type: ignore[attr-defined]

    __eq__ = _operator("equal")  # type: ignore[assignment]
    __ne__ = _operator("not_equal")  # type: ignore[assignment]
    __lt__ = _operator("less_than")
    __le__ = _operator("less_equal")
    __gt__ = _operator("greater_than")
    __ge__ = _operator("greater_equal")

    __hash__ = object.__hash__
