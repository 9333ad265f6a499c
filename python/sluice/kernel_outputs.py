"""Checks of what a Python kernel writes into its outputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np


class BadOutput(Exception):
    """The return value of a function does not match its op."""


# Bytes that are no ordinary number in any dtype.
_PATTERNS = 0xFA, 0xA5


def plain(value: Any, dtype: np.dtype) -> np.ndarray:
    """The array of ``value``; BadOutput if ``dtype`` would lose what it has."""
    array = np.asarray(value)
    if np.ma.is_masked(value):
        raise BadOutput("gave a masked array; fill it by filled(value)")
    if array.dtype.kind not in "biufV":
        raise BadOutput(f"gave {array.dtype}, expected numbers for {dtype}")
    return array


class _Exact(np.ndarray):
    """An output that refuses numbers which its dtype would change."""

    def __setitem__(self, key: Any, value: Any) -> None:
        array = plain(value, self.dtype)
        if self.dtype.kind in "iub" and array.dtype.kind != "V":
            with np.errstate(invalid="ignore"):
                if (array.astype(self.dtype) != array).any():
                    raise BadOutput(
                        f"wrote {array.dtype} into out, which is {self.dtype} "
                        "and cannot hold it; convert it by astype"
                    )
        super().__setitem__(key, value)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.flags.c_contiguous


def arrays_of(inputs: list[Any], outputs: list[Any]) -> list[Any]:
    """The outputs that are arrays, with memory that no input has."""
    lists = [each if isinstance(each, list) else [each] for each in outputs]
    taken = [each for each in inputs if _is_array(each)]
    return [
        array
        for array in itertools.chain.from_iterable(lists)
        if _is_array(array)
        and not any(np.may_share_memory(array, each) for each in taken)
    ]


def _left(array: Any, pattern: int) -> Any:
    """The elements that consist of these bytes only."""
    size = array.dtype.itemsize
    number = int.from_bytes(bytes([pattern] * size), "little")
    return array.reshape(-1).view(f"u{size}") == number


def require_all_written(
    write: Callable[[list[Any]], None], outputs: list[Any], arrays: list[Any]
) -> None:
    """Run, and refuse a function that leaves elements of out as they are.

    An element that has both of two patterns afterwards was not written.
    """
    unwritten = [np.ones(array.size, bool) for array in arrays]
    for pattern in _PATTERNS:
        for array in arrays:
            array.reshape(-1).view("uint8").fill(pattern)
        write([x.view(_Exact) if _is_array(x) else x for x in outputs])
        for mask, array in zip(unwritten, arrays, strict=True):
            mask &= _left(array, pattern)
        if not any(mask.any() for mask in unwritten):
            return
    for mask in unwritten:
        if mask.any():
            text = f"left {mask.sum()} of {mask.size} elements of out unwritten"
            if mask.all():
                text += "; out[...] = x writes x, out = x names it only"
            raise BadOutput(text)
