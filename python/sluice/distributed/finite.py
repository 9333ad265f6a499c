"""Finds the ranks that have a NaN."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..errors import FailedPreconditionError, InvalidArgumentError
from ..feed_values import number
from .together import together


def check_finite(value: Any, name: str = "the loss") -> None:
    """Find the ranks with a NaN or infinity. All ranks call it together.

    A NaN of one rank makes the mean over all ranks, and after the next update
    every parameter, NaN on all of them. Its origin is known only before the
    mean::

        local, mean = exe.run(feed=feed, fetch_list=[loss, optimizer.loss])
        if not np.isfinite(mean):  # the same on all ranks
            sl.distributed.check_finite(local)

    Args:
        value: this rank's value: a number, an array of floats or a tensor, of
            any shape.
        name: its name in errors.

    Raises:
        InvalidArgumentError: a rank's value is not a number in float64, or an
            array or tensor of such numbers.
        FailedPreconditionError: on all ranks if a value on one is not finite;
            lists ranks and values.
    """
    reports = together("check_finite", lambda: _report(value))
    if any(reports):
        lines = "".join(
            f"\n  rank {rank}: {report}"
            for rank, report in enumerate(reports)
            if report
        )
        bad = sum(map(bool, reports))
        raise FailedPreconditionError(
            f"check_finite: {name} must be finite; it is not on {bad} of "
            f"{len(reports)} ranks{lines}",
            "distributed.not_finite",
        )


def _report(value: Any) -> str:
    try:
        array = _array(value)
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"check_finite: value is {_core._shown(value)}; expected a number "
            "that float64 can hold, an array or a tensor",
            "distributed.value",
        ) from error
    bad = ~np.isfinite(array)
    count = int(bad.sum())
    if count == 0:
        return ""
    if array.size == 1:
        return str(array[bad][0])
    first = np.unravel_index(int(bad.argmax()), array.shape)
    at = [int(index) for index in first]
    return (
        f"{count} of {array.size} values of {list(array.shape)}, the first is "
        f"{array[first]} at {at}"
    )


def _array(value: Any) -> np.ndarray:
    """An array of real numbers; TypeError or ValueError for anything else."""
    if isinstance(value, _core.Tensor):
        value = value.numpy()  # also of a device
    array = np.asarray(value)
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "V" and array.dtype.type.__module__ != "numpy":
        return array.astype(np.float64)  # e.g. bfloat16
    if array.dtype.kind != "O":
        raise TypeError(f"an array of {array.dtype}")
    numbers = [number("value", each) for each in array.ravel()]
    return np.array(numbers, np.float64).reshape(array.shape)
