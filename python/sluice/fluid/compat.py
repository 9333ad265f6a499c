"""``paddle.compat``: what scripts for Python 2 and 3 call."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["get_exception_message", "long_type", "round", "to_bytes", "to_text"]

long_type, get_exception_message = int, str


def to_text(obj: Any, encoding: str = "utf-8", inplace: bool = False) -> Any:
    """Bytes as a text; a list or a set of them likewise."""
    if isinstance(obj, (list, set)):
        made = [to_text(each, encoding) for each in obj]
        return _again(obj, made, inplace)
    return obj.decode(encoding) if isinstance(obj, bytes) else obj


def to_bytes(obj: Any, encoding: str = "utf-8", inplace: bool = False) -> Any:
    """A text as bytes; a list or a set of them likewise."""
    if isinstance(obj, (list, set)):
        made = [to_bytes(each, encoding) for each in obj]
        return _again(obj, made, inplace)
    return obj.encode(encoding) if isinstance(obj, str) else obj


def _again(obj: Any, made: list[Any], inplace: bool) -> Any:
    """The values as a list or a set, the given one if that is asked for."""
    if not inplace:
        return type(obj)(made)
    obj.clear()
    (obj.extend if isinstance(obj, list) else obj.update)(made)
    return obj


def round(x: float, d: int = 0) -> float:
    """Rounded to d digits, half away from 0."""
    scale = 10**d
    return math.copysign(math.floor(abs(x) * scale + 0.5) / scale, x)
