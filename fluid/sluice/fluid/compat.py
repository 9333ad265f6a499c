"""``paddle.compat``: what scripts for Python 2 and 3 call; Fluid's own
``wrapped_decorator``."""

from __future__ import annotations

import contextlib
import math
from typing import Any

__all__ = ["get_exception_message", "long_type", "round", "to_bytes", "to_text"]

long_type, get_exception_message = int, str
signature_safe_contextmanager = contextlib.contextmanager


def to_text(obj: Any, encoding: str = "utf-8", inplace: bool = False) -> Any:
    """Bytes as a text; a list or a set of them likewise."""
    return _by(lambda b: b.decode(encoding), bytes, obj, inplace)


def to_bytes(obj: Any, encoding: str = "utf-8", inplace: bool = False) -> Any:
    """A text as bytes; a list or a set of them likewise."""
    return _by(lambda text: text.encode(encoding), str, obj, inplace)


def _by(convert: Any, kind: type, obj: Any, inplace: bool) -> Any:
    """Convert what is of a kind; a list or a set of them perhaps in place."""
    if not isinstance(obj, (list, set)):
        return convert(obj) if isinstance(obj, kind) else obj
    made = [_by(convert, kind, each, inplace) for each in obj]
    if not inplace:
        return type(obj)(made)
    obj.clear()
    (obj.extend if isinstance(obj, list) else obj.update)(made)
    return obj


def round(x: float, d: int = 0) -> float:
    """Rounded to d digits, half away from 0."""
    scale = 10**d
    return math.copysign(math.floor(abs(x) * scale + 0.5) / scale, x)
