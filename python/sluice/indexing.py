"""``x[...]`` of a variable, by NumPy's rules, as ops."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import _core
from .errors import (
    InvalidArgumentError,
    OutOfRangeError,
    UnimplementedError,
    argument_error,
)
from .math_ops import VariableMath

_FIRST, _LAST = -(2**63), 2**63 - 1


def _wrong(x: Any, what: str, kind: type = InvalidArgumentError) -> Exception:
    return argument_error(f"index of {x!r}: {what}", "python.index", kind)


def _is_bound(value: Any) -> bool:
    """Whether a bound of a slice is a variable: its value is known late."""
    return isinstance(value, VariableMath)


def _bound(x: Any, value: Any, default: int) -> Any:
    if value is None or _is_bound(value):
        return default if value is None else value
    try:
        return min(max(operator.index(value), _FIRST), _LAST)
    except TypeError:
        raise _wrong(
            x,
            "a slice has integers, None or integer variables, got "
            f"{_core._shown(value)}",
        ) from None


def constant(program: Any, array: Any, dtype: Any = None) -> Any:
    """A variable with the integers or booleans of ``array``."""
    array = np.asarray(array)
    attrs = {
        "shape": list(array.shape),
        "dtype": str(dtype or array.dtype),
        "values": [],
        "int_values": [int(value) for value in array.ravel()],
    }
    return program.append_op("assign_value", attrs=attrs)["Out"]


def _vector(program: Any, bounds: list[Any]) -> Any:
    """The bounds, some of them variables, as one int64 vector."""
    parts = []
    for bound in bounds:
        if not _is_bound(bound):
            parts.append(constant(program, [bound], "int64"))
            continue
        bound = bound._as("int64")
        parts.append(bound._append("reshape", {"X": bound}, shape=[1]))
    return program.append_op("concat", {"X": parts})["Out"]


def _indices(x: Any, each: Any) -> Any:
    """A variable of integers or booleans, made of a list or an array."""
    if isinstance(each, (list, np.ndarray)):
        each = np.asarray(each)
        kind = "int64" if each.size == 0 else each.dtype.kind
        if kind not in ("int64", "i", "u", "b"):
            raise _wrong(x, f"a list has integers or booleans, got {each!r}")
        each = constant(x.program, each, "bool" if kind == "b" else "int64")
    if isinstance(each, VariableMath):
        if each.dtype not in ("bool", "int32", "int64"):
            raise _wrong(x, f"{each!r} has neither integers nor booleans")
        if each.shape is None:
            raise _wrong(x, f"{each!r}: unknown rank", UnimplementedError)
    return each


class _Reading:
    """An index, read from left to right."""

    def __init__(self, x: Any, items: list[Any]) -> None:
        self.x = x
        self.slices: dict[int, tuple[Any, Any, int]] = {}  # by dim of x
        self.dropped: list[int] = []  # dims that an integer indexes
        self.added: list[int] = []  # where the result has new dims
        self.picked: tuple[int, Any] | None = None  # a dim, and its indices
        self.places: list[int] = []  # dims of integers and indices
        self.axis = self.out = 0
        for each in items:
            self.read(each)

    def read(self, each: Any) -> None:
        if each is None:
            self.added.append(self.out)
            self.out += 1
            return
        if isinstance(each, slice):
            self.read_slice(each)
        elif isinstance(each, VariableMath):
            self.read_indices(each)
        else:
            self.read_integer(each)
        self.axis += 1

    def read_slice(self, each: slice) -> None:
        step = _bound(self.x, each.step, 1)
        if _is_bound(step) or step == 0:
            raise _wrong(self.x, "a step is an integer, and not 0")
        begin, end = (0, _LAST) if step > 0 else (_LAST, _FIRST)
        start = _bound(self.x, each.start, begin)
        stop = _bound(self.x, each.stop, end)
        # A variable must not be compared: that appends an op.
        late = _is_bound(start) or _is_bound(stop)
        if late or (start, stop, step) != (0, _LAST, 1):
            self.slices[self.axis] = start, stop, step
        self.out += 1

    def read_integer(self, each: Any) -> None:
        try:
            if isinstance(each, (bool, np.bool_)):
                raise TypeError
            index = operator.index(each)
        except TypeError:
            raise _wrong(
                self.x,
                "expected integers, slices, ..., None, or one variable or list "
                f"of integers or booleans, got {_core._shown(each)}",
            ) from None
        size = self.x.shape[self.axis]
        if size is not None and not -size <= index < size:
            raise _wrong(
                self.x,
                f"{index} is out of range for dim {self.axis}, which has "
                f"{size} elements",
                OutOfRangeError,
            )
        end = _LAST if index == -1 else index + 1
        self.slices[self.axis] = index, end, 1
        self.dropped.append(self.axis)
        self.places.append(self.axis)

    def read_indices(self, each: Any) -> None:
        if self.picked is not None:
            raise _wrong(
                self.x,
                "only one of its entries may be a variable or a list; "
                "sl.layers.gather_nd takes an index for several dims",
                UnimplementedError,
            )
        self.picked = self.axis, each
        if each.shape:
            self.places.append(self.axis)
        self.out += len(each.shape)

    def apply(self) -> Any:
        x = self.x
        if self.slices:
            x = self.cut(x)
        if self.picked is not None:
            x = self.pick(x)
        if self.dropped:
            at, extra = _LAST, 0
            if self.picked is not None:
                at, extra = self.picked[0], len(self.picked[1].shape) - 1
            axes = [axis + extra * (axis > at) for axis in self.dropped]
            x = x._append("squeeze", {"X": x}, axes=axes)
        if self.added:
            x = x._append("unsqueeze", {"X": x}, axes=self.added)
        return x._append("assign", {"X": x}) if x is self.x else x

    def cut(self, x: Any) -> Any:
        inputs, attrs = {"X": x}, {}
        starts, ends, steps = map(list, zip(*self.slices.values(), strict=True))
        for name, bounds in (("starts", starts), ("ends", ends)):
            if any(map(_is_bound, bounds)):
                inputs[name.title()] = _vector(x.program, bounds)
            else:
                attrs[name] = bounds
        return x._append(
            "slice", inputs, **attrs, axes=list(self.slices), steps=steps
        )

    def pick(self, x: Any) -> Any:
        """Take the elements that one variable or list names."""
        axis, index = self.picked
        if len(self.places) > 1 and max(self.places) - min(self.places) >= len(
            self.places
        ):
            raise _wrong(
                self.x,
                "NumPy would move the dims of a list that is apart from an "
                "integer to the front; index twice, x[i][...], to say where "
                "they go",
                UnimplementedError,
            )
        if index.dtype != "bool":
            return x._append("gather", {"X": x, "Index": index}, axis=axis)
        if len(index.shape) != 1:
            raise _wrong(
                self.x,
                "a mask of several dims must be the only entry",
                UnimplementedError,
            )
        return x._append("compress", {"X": x, "Condition": index}, axis=axis)


def _mask(x: Any, mask: Any) -> Any:
    """The elements, or slices, of x where a mask is true."""
    rank = len(mask.shape)
    if rank == 0:
        raise _wrong(x, f"the mask {mask!r} has no dims", UnimplementedError)
    pairs = zip(x.shape, mask.shape, strict=False)
    differs = any(None not in pair and pair[0] != pair[1] for pair in pairs)
    if differs or rank > len(x.shape):
        raise _wrong(x, f"the mask {mask!r} has other dims")
    rows, where = x, mask
    if rank > 1:
        rest = x.shape[rank:]
        if None in rest or 0 in rest:
            raise _wrong(
                x,
                "a mask of several dims needs known sizes of the others",
                UnimplementedError,
            )
        rows = x._append("reshape", {"X": x}, shape=[-1, *rest])
        where = x._append("reshape", {"X": mask}, shape=[-1])
    return x._append("compress", {"X": rows, "Condition": where}, axis=0)


def item(x: Any, key: Any) -> Any:
    """Return ``x[key]`` as a new variable.

    Args:
        x: a variable of known rank.
        key: integers, slices with steps of either sign, ``...``, ``None``, and
            at most one list, array or variable of integers or booleans, or a
            tuple of these. The bounds of slices may be integer variables.

    Raises:
        OutOfRangeError: an integer is out of range. Indices in variables are
            checked when the op runs.
        InvalidArgumentError: something else, or more than x has dims.
        UnimplementedError: several lists or variables, or an unknown rank.
    """
    if x.shape is None:
        raise _wrong(x, "its rank is unknown", UnimplementedError)
    items = list(key) if isinstance(key, tuple) else [key]
    items = [_indices(x, each) for each in items]
    first = items[0] if len(items) == 1 else None
    if isinstance(first, VariableMath) and first.dtype == "bool":
        return _mask(x, first)
    dots = [i for i, each in enumerate(items) if each is Ellipsis]
    if len(dots) > 1:
        raise _wrong(x, "`...` may be there once")
    used = len(items) - len(dots) - sum(each is None for each in items)
    if used > len(x.shape):
        raise _wrong(x, f"{used} entries for {len(x.shape)} dims")
    at = dots[0] if dots else len(items)
    whole = [slice(None)] * (len(x.shape) - used)
    return _Reading(x, items[:at] + whole + items[at + 1 :]).apply()
