"""The operators of variables: ``x + y``, ``2 * x``, ``x @ y``, ``x < y``."""

from __future__ import annotations

import numbers
from typing import Any

__all__ = ["VariableMath"]


class VariableMath:
    """The mixin of Variable whose operators append ops.

    ``==`` compares elements, as in Fluid and PyTorch; ``x is y`` compares
    identity. Variables are hashed by identity, so they can be keys.
    """

    __slots__ = ()

    # np.float32(2) * x appends an op, instead of a NumPy operation.
    __array_ufunc__ = None

    def _append(self, type: str, inputs: dict[str, Any], **attrs: Any) -> Any:
        return self.program.append_op(type, inputs, attrs=attrs)["Out"]  # type: ignore[attr-defined]

    def _scale(self, scale: float = 1.0, bias: float = 0.0) -> Any:
        return self._append("scale", {"X": self}, scale=scale, bias=bias)

    def _binary(self, type: str, other: Any) -> Any:
        if not isinstance(other, VariableMath):
            return NotImplemented
        return self._append(type, {"X": self, "Y": other})

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

    def _constant(self, value: numbers.Real) -> Any:
        """A variable of one number, with the dtype of this one."""
        dtype = self.dtype  # type: ignore[attr-defined]
        op, attrs = "fill_constant", {"value": float(value)}
        if dtype.name in ("int64", "uint64") and abs(value) > 2**53:
            op = "assign_value"
            attrs = {"values": [], "int_values": [int(value)]}
        attrs |= {"shape": [1] if self.shape else [], "dtype": dtype}  # type: ignore[attr-defined]
        return self.program.append_op(op, attrs=attrs)["Out"]  # type: ignore[attr-defined]

    def _compare(self, type: str, other: Any) -> Any:
        if isinstance(other, numbers.Real):
            other = self._constant(other)
        return self._binary(type, other)

    def __eq__(self, other: Any) -> Any:
        return self._compare("equal", other)

    def __ne__(self, other: Any) -> Any:
        return self._compare("not_equal", other)

    def __lt__(self, other: Any) -> Any:
        return self._compare("less_than", other)

    def __le__(self, other: Any) -> Any:
        return self._compare("less_equal", other)

    def __gt__(self, other: Any) -> Any:
        return self._compare("greater_than", other)

    def __ge__(self, other: Any) -> Any:
        return self._compare("greater_equal", other)

    __hash__ = object.__hash__
