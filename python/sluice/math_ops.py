"""The operators of variables: ``x + y``, ``2 * x``, ``x @ y``."""

from __future__ import annotations

import numbers
from typing import Any

__all__ = ["VariableMath"]


class VariableMath:
    """What makes + - * / @ append ops. Mixed into Variable."""

    __slots__ = ()

    def _append(self, type: str, inputs: dict[str, Any], **attrs: Any) -> Any:
        return self.program.append_op(type, inputs, attrs=attrs)["Out"]  # type: ignore[attr-defined]

    def _scale(self, scale: float = 1.0, bias: float = 0.0) -> Any:
        return self._append("scale", {"X": self}, scale=scale, bias=bias)

    def _binary(self, type: str, other: Any) -> Any:
        if not isinstance(other, VariableMath):
            return NotImplemented
        return self._append(type, {"X": self, "Y": other})

    def __add__(self, other: Any) -> Any:
        if isinstance(other, numbers.Real):
            return self._scale(bias=other)
        return self._binary("elementwise_add", other)

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, numbers.Real):
            return self._scale(bias=-other)
        return self._binary("elementwise_sub", other)

    def __mul__(self, other: Any) -> Any:
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
        if isinstance(other, numbers.Real):
            return self._scale(scale=-1.0, bias=other)
        return NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        if not isinstance(other, numbers.Real):
            return NotImplemented
        ones = self.program.append_op(  # type: ignore[attr-defined]
            "fill_constant",
            attrs={"shape": [1], "value": other, "dtype": self.dtype},  # type: ignore[attr-defined]
        )["Out"]
        return ones / self

    def __neg__(self) -> Any:
        return self._scale(scale=-1.0)
