"""Checks of numbers from users: no value is lost, no text is parsed."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from . import _core
from .errors import InvalidArgumentError, argument_error


def number(what: str, value: Any) -> float:
    """Return ``value`` as a float.

    Raises InvalidArgumentError, naming ``what``, for text, a bool, None or
    anything else that is not a number.
    """
    try:
        if not isinstance(value, bool) and hasattr(type(value), "__float__"):
            return float(value)
    except (TypeError, ValueError, OverflowError):
        pass  # several elements, or too large for a float
    raise InvalidArgumentError(
        f"{what} must be a number, got {_core._shown(value)}", "python.number"
    )


def finite(what: str, value: Any) -> float:
    """Return ``value`` as a finite float, or raise like :func:`number`."""
    result = number(what, value)
    if not math.isfinite(result):
        raise InvalidArgumentError(
            f"{what} must be finite, got {value}", "python.finite"
        )
    return result


def integer(value: Any, least: int, end: float) -> int | None:
    """An integer from ``least`` up to ``end``, not included; None for anything
    else, even a bool.
    """
    try:
        number = operator.index(value)
    except TypeError:
        return None
    within = least <= number < end and not isinstance(value, bool)
    return number if within else None


def _integer_from(
    least: int, what: str, value: Any, wanted: str, check_id: str
) -> int:
    number = integer(value, least, math.inf)
    if number is not None:
        return number
    raise argument_error(
        f"{what}: expected an integer {wanted}, got {_core._shown(value)}",
        check_id,
    )


def natural(what: str, value: Any) -> int:
    """Return ``value`` if it is an integer from 0 on, else raise."""
    return _integer_from(0, what, value, "from 0 on", "loader.natural")


def positive(what: str, value: Any) -> int:
    """Return ``value`` if it is a positive integer, else raise."""
    return _integer_from(1, what, value, "above 0", "python.positive")


def unmasked(value: Any) -> np.ndarray:
    """The array of ``value``, or an error if some of it is masked."""
    if np.ma.is_masked(value):
        raise InvalidArgumentError(
            "masked elements are no numbers; fill them by filled(value)",
            "python.masked_array",
        )
    return np.asarray(value)


def _first(mask: np.ndarray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask)[0])


def _refuse(name: str, dtype: np.dtype, value: Any, at: tuple) -> None:
    where = f" at {list(at)}" if at else ""
    raise InvalidArgumentError(
        f"feed {name}: expected numbers that {dtype} can hold, got "
        f"{str(value)[:80]}{where}",
        "python.feed_value",
    )


def limits(dtype: np.dtype) -> Any:
    """The least and the largest integer; None for other dtypes."""
    if dtype.kind in "iu":
        return np.iinfo(dtype)
    if dtype.name in ("int4", "uint4", "int2", "uint2"):
        import ml_dtypes

        return ml_dtypes.iinfo(dtype)
    return None


def _lost(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The elements that the dtype cannot represent; rounding is allowed."""
    if dtype.kind == "b":
        return (array != 0) & (array != 1)
    held = limits(dtype)
    if held is not None:
        if array.dtype.kind in "biu" and (
            array.size == 0
            or (held.min <= int(array.min()) and int(array.max()) <= held.max)
        ):
            return np.zeros(array.shape, bool)
        # Compares as Python's numbers: no dtype represents the limits of all.
        wide = array.astype(object)
        with np.errstate(invalid="ignore"):  # a NaN is outside
            within = (wide >= held.min) & (wide <= held.max)
        if array.dtype.kind not in "biuO":
            within &= np.trunc(array) == array
        return ~within.astype(bool)
    with np.errstate(over="ignore"):
        held = array.astype(dtype).astype(np.float64)
        return ~np.isfinite(held) & np.isfinite(array)


def as_dtype(name: str, value: Any, dtype: np.dtype) -> np.ndarray:
    """Return ``value``, fed as ``name``, as an array of ``dtype``.

    Raises InvalidArgumentError for a value that is not a number, or that the
    dtype cannot represent: 1.5 or 300 as int8, 1e300 as float32.
    """
    array = np.asarray(value)
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "V" and array.dtype.type.__module__ != "numpy":
        array = array.astype(np.float64)  # one of ml_dtypes
    if array.dtype.kind not in "biuf":
        flat = array.astype(object)
        strange = [not isinstance(v, (int, float)) for v in flat.ravel()]
        mask = np.array(strange, bool).reshape(flat.shape)
        if mask.any():
            at = _first(mask)
            _refuse(name, dtype, repr(flat[at]), at)
        array = flat  # integers beyond 64 bits
        if dtype.kind not in "biu" and limits(dtype) is None:
            array = flat.astype(np.float64)
    lost = np.asarray(_lost(array, dtype), bool)
    if lost.any():
        at = _first(lost)
        _refuse(name, dtype, array[at], at)
    return array.astype(dtype)
