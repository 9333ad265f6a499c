"""Checks of sizes and channels that several layers share."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from .. import _core
from ..errors import InvalidArgumentError
from ..framework import Variable, created, require_variable
from ..layer_helper import LayerHelper

Pair = int | Sequence[int]


def size_list(
    what: str, value: Pair, dims: int = 2, exactly: bool = False
) -> list[int]:
    """One integer for height and width (and depth), or a list of integers; as
    many as there are dims and all above 0 if ``exactly``.
    """
    try:
        several = isinstance(value, (list, tuple))
        numbers = [operator.index(e) for e in (value if several else [value])]
        numbers *= 1 if several else dims
        if not exactly or (len(numbers) == dims and min(numbers) > 0):
            return numbers
    except TypeError:
        pass
    instead = ""
    if isinstance(value, str):
        instead = (
            '; "VALID" is 0; "SAME", for an odd filter and stride 1, is '
            "filter_size // 2 * dilation"
        )
    raise InvalidArgumentError(
        f"{what}: expected an integer{' above 0' * exactly} or "
        f"{'[height, width]' if dims == 2 else '[depth, height, width]'}, got "
        f"{_core._shown(value)}{instead}{created()}",
        "python.pair",
    )


def channels_of(
    what: str, x: Variable, rank: int | None = None, layout: str = "NCHW"
) -> int:
    """The number of channels, of an input of ``rank`` or of 2 and more."""
    require_variable(what, x)
    known = None if x.shape is None else len(x.shape)
    if known is None or (known < 2 if rank is None else known != rank):
        raise InvalidArgumentError(
            f"{what} must have rank {rank or '2 or more'}, got {x!r}"
            f"{created()}",
            "python.rank",
        )
    channels = x.shape[-1 if layout == "NHWC" else 1]  # type: ignore[index]
    if channels is None:
        raise InvalidArgumentError(
            f"{what}: the number of channels must be known, got {x!r}"
            f"{created()}",
            "python.channels",
        )
    return channels


def one_of(what: str, value: Any, allowed: Iterable[Any]) -> Any:
    """Return ``value`` if it is one of ``allowed``, else raise."""
    allowed = list(allowed)
    if any(type(value) is type(each) and value == each for each in allowed):
        return value
    *others, last = map(repr, allowed)
    layer, got, instead = what.partition(":")[0], _core._shown(value), ""
    if isinstance(value, Variable):
        got, instead = repr(value), f"; sl.layers.ops.{layer} takes variables"
    raise InvalidArgumentError(
        f"{what}: expected {', '.join(others)} or {last}, got {got}{instead}"
        f"{created()}",
        "python.one_of",
    )


def index_of(what: str, value: Any, size: int) -> int:
    """An index below ``size``; a negative one counts from the end."""
    try:
        index = size if isinstance(value, bool) else operator.index(value)
    except TypeError:
        index = size
    if not -size <= index < size:
        raise InvalidArgumentError(
            f"{what}: expected an integer from {-size} to {size - 1}, got "
            f"{_core._shown(value)}{created()}",
            "python.index",
        )
    return index % size


def move_axis(
    helper: LayerHelper,
    x: Variable,
    source: int,
    target: int,
    name: str | None = None,
) -> Variable:
    """``x`` with one dim at another place, as by numpy.moveaxis."""
    order = list(range(len(x.shape or ())))
    moved = order.pop(source)
    order.insert(target % (len(order) + 1), moved)
    if order == sorted(order):
        return x
    outputs, attrs = {"Out": name} if name else None, {"axis": order}
    return helper.append_op("transpose", {"X": x}, outputs, attrs)["Out"]
