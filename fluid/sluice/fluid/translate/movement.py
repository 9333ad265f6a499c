"""Ops that move elements: shapes, slices, joins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ... import layers
from ...framework import Variable
from .declaration import Attribute, FluidOp, Single
from .numbers import (
    are_variables,
    first,
    fixed,
    integers,
    known,
    note,
    vector,
)
from .table import Dim, Many, Op, row


def sizes_of(op: Op, X: Variable, numbers: Sequence[Any]) -> list[int] | None:
    """Attribute shape of reshape from numbers, some of them sizes of variables:
    0 for the same size of X, -1 for at most one other.
    """
    shape = []
    for axis, number in enumerate(numbers):
        if isinstance(number, Dim):
            number = 0 if number == Dim(X.name, axis) else -1
        shape.append(-1 if number is None else number)
    return shape if shape.count(-1) <= 1 else None


@FluidOp(
    "reshape2 reshape",
    unused="inplace",
    defaults={"shape": ()},
    shape=Attribute("shape", "Shape", "ShapeTensor"),
    actual_shape="Shape",
)
def reshape(
    op, x, shape: list, actual_shape=None, act=None, inplace=False, name=None
):
    """0 keeps a size, and -1 is the rest."""
    shape = shape if are_variables(shape) else first(actual_shape, shape)
    if not are_variables(shape):
        return op.reshape(x, *(shape or ()))
    numbers, whole = vector(op, shape)
    sizes = None if numbers is None else sizes_of(op, x, numbers)
    if sizes is not None:
        return op.reshape(x, *sizes)
    return op.append("reshape", {"X": x, "Shape": whole})


@FluidOp("squeeze2 squeeze", defaults={"axes": ()})
def squeeze(op, input, axes: list[int], name=None):
    """Drop dims of size 1: these, where they are 1, or all."""
    shape = op.shape(input)
    picked = [a % len(shape) for a in axes] or list(range(len(shape)))
    picked = [a for a in picked if shape[a] == 1 or (axes and shape[a] is None)]
    out = op.squeeze(input, axes=picked) if picked else input
    if len(picked) == len(shape):
        out = op.reshape(out, 1)
    return out


@FluidOp(
    "unsqueeze2 unsqueeze",
    defaults={"axes": ()},
    axes=Attribute("axes", "AxesTensor", "AxesTensorList"),
)
def unsqueeze(op, input, axes: list[int], name=None):
    """New dims of size 1, each into the shape that those before it left."""
    if are_variables(axes):
        axes = integers(op, "axes", axes)
    old = [False] * op.rank(input)
    for axis in axes:
        at = axis + len(old) + 1 if axis < 0 else axis
        if not 0 <= at <= len(old):
            op.wrong(f"axis {axis} is beyond {len(old)} dims")
        old.insert(at, True)
    places = [k for k, new in enumerate(old) if new]
    return op.unsqueeze(input, axes=places)


@row("flatten_contiguous_range")
def flatten_contiguous_range(op, X, *, start_axis=1, stop_axis=1):
    """The dims from start to stop become one."""
    shape = list(op.shape(X))
    rank = max(len(shape), 1)
    start, stop = start_axis % rank, stop_axis % rank
    part = shape[start : stop + 1]
    joined = -1 if None in part else math.prod(part)  # type: ignore[arg-type]
    sizes = [0 if s is None else s for s in shape[:start]] + [joined]
    for size in shape[stop + 1 :]:
        if size is None:
            if joined == -1:
                op.refuse(f"more than one size of {X!r} is unknown")
            joined = -1
        sizes.append(-1 if size is None else size)
    return op.reshape(X, *sizes)


@FluidOp(axis=Attribute("axis", "AxisTensor"))
def concat(op, input: list[Variable], axis=0, name=None):
    """Joined along a dim."""
    if isinstance(axis, Variable):
        (axis,) = integers(op, "axis", axis)
    input = op.cut_alike(*input) if axis else input
    out = op.concat(input, axis=axis)
    parts = [known(op, each) for each in input]
    if all(part is not None for part in parts):
        note(op, out, [number for part in parts for number in part or []])
    return out


@row("split")
def split(
    op, X, AxisTensor=None, SectionsTensorList: Many = None, *, axis=0, num=0,
    sections=(),
):  # fmt: skip
    """Parts of equal sizes, or of these."""
    if AxisTensor is not None:
        (axis,) = integers(op, "axis", AxisTensor)
    if SectionsTensorList:
        sections = integers(op, "sections", SectionsTensorList)
    return layers.split(X, list(sections) or num, axis)


@FluidOp(outputs="Y")
def stack(op, x: list[Variable], axis=0):
    """Joined along a new dim."""
    out = layers.stack(x, axis)
    parts = [known(op, each) for each in x]
    if all(part is not None and len(part) == 1 for part in parts):
        note(op, out, [part[0] for part in parts])  # type: ignore[index]
    return out


@FluidOp(
    defaults={"expand_times": ()},
    expand_times=Attribute(
        "expand_times", "ExpandTimes", "expand_times_tensor"
    ),
)
def expand(op, x, expand_times: list, name=None):
    """Each dim repeated so often."""
    return _tile(op, x, expand_times)


@row("tile")
def tile(
    op, X, RepeatTimes=None, repeat_times_tensor: Many = None, *,
    repeat_times=(),
):  # fmt: skip
    """Each dim repeated so often, missing ones of X of size 1."""
    return _tile(op, X, first(repeat_times_tensor, RepeatTimes, repeat_times))


def _tile(op: Op, X: Variable, times: Any) -> Variable:
    if are_variables(times):
        times, whole = vector(op, times)
        if not fixed(times):
            return op.tile(X, Repeats=whole)
    repeats, rank = list(times or ()), op.rank(X)
    if len(repeats) > rank:
        axes = list(range(len(repeats) - rank))
        X = op.unsqueeze(X, axes=axes)
    repeats = [1] * (rank - len(repeats)) + repeats
    return op.tile(X, repeats=repeats)


@row("expand_v2")
def expand_v2(
    op, X, Shape=None, expand_shapes_tensor: Many = None, *, shape=()
):
    """Broadcast to a shape; -1 keeps a size."""
    shape = first(expand_shapes_tensor, Shape, shape)
    if are_variables(shape):
        shape, whole = vector(op, shape)
        if not fixed(shape):
            return op.expand(X, Shape=whole)
    sizes: list[Any] = list(shape or ())
    known_sizes = [1] * (len(sizes) - op.rank(X)) + list(op.shape(X))
    sizes = [
        (1 if known is None else known) if size == -1 else size
        for size, known in zip(sizes, known_sizes, strict=True)
    ]
    return op.expand(X, shape=sizes)


@FluidOp(target_tensor="target_tensor")
def expand_as(op, x, target_tensor, name=None):
    """Repeated to the sizes of another variable."""
    shape, sizes = op.shape(x), op.shape(target_tensor)
    if all(a == 1 or a == b for a, b in zip(shape, sizes, strict=True)):
        return op.expand_as(x, target_tensor)
    wanted, there = (op.append("shape", {"X": v}) for v in (target_tensor, x))
    return op.tile(x, Repeats=op.elementwise_floordiv(wanted, there))


@row("expand_as_v2")
def expand_as_v2(op, X, Y=None, *, target_shape=()):
    """Broadcast to the sizes of another variable."""
    if Y is None:
        return op.expand(X, shape=list(target_shape))
    return op.expand_as(X, Y)


@FluidOp(
    "slice strided_slice",
    defaults={"starts": (), "ends": ()},
    starts=Attribute("starts", "StartsTensor", "StartsTensorList"),
    ends=Attribute("ends", "EndsTensor", "EndsTensorList"),
    input="Input",
)
def slice(
    op, input, axes: list[int], starts: list, ends: list, *, StridesTensor=None,
    StridesTensorList: list[Variable] | None = None, strides=(),
    decrease_axis=(),
):  # fmt: skip
    """A part; ``decrease_axis`` are dims of size 1 that are dropped."""
    inputs: dict[str, Any] = {"X": input}
    attrs: dict[str, Any] = {"axes": list(axes)}
    steps = first(StridesTensor, StridesTensorList, strides)
    for name, values in ("starts", starts), ("ends", ends), ("steps", steps):
        late = are_variables(values)
        numbers, whole = vector(op, values) if late else (values, None)
        if late and not fixed(numbers):
            inputs[name.capitalize()] = whole
        elif numbers or name != "steps":
            attrs[name] = list(numbers or ())
    out = op.append("slice", inputs, **attrs)
    numbers = known(op, input)
    if numbers is not None and list(axes) == [0] and "Starts" not in inputs:
        (start,), (end,) = attrs["starts"], attrs["ends"]
        note(op, out, numbers[start:end])
    return _dropped(op, out, decrease_axis)


def _dropped(op: Op, out: Variable, axes: Sequence[int]) -> Variable:
    if not axes:
        return out
    numbers = known(op, out)
    if len(axes) == op.rank(out):  # Fluid keeps [1]
        return note(op, op.reshape(out, 1), numbers)
    return op.squeeze(out, axes=list(axes))


@FluidOp(input="Input")
def shape(op, input):
    """The sizes, int32."""
    out = op.cast(op.append("shape", {"X": input}), "int32")
    sizes = [
        Dim(input.name, axis) if size is None else size
        for axis, size in enumerate(op.shape(input))
    ]
    return note(op, out, sizes)


@row("assign", "share_data")
def assign(op, X):
    """A copy."""
    return note(op, op.assign(X), known(op, X))


@row("cast")
def cast(op, X, *, out_dtype, in_dtype=None):
    """Convert the elements."""
    out = op.append("cast", {"X": X}, dtype=out_dtype)
    return note(op, out, known(op, X))


@FluidOp("reverse flip", defaults={"axis": None})
def reverse(op, x, axis: Single, *, dims: Any = None):
    """Backwards along these dims."""
    axes = dims if axis is None else axis
    axes = list(axes) if isinstance(axes, (list, tuple)) else [axes]
    ends = {"starts": -1, "ends": -(2**31), "steps": -1}
    attrs = {name: [end] * len(axes) for name, end in ends.items()}
    return op.append("slice", {"X": x}, axes=axes, **attrs)


@FluidOp()
def pad(op, x, paddings: list, pad_value=0.0, name=None):
    """Before and after each dim in turn."""
    pads = [*paddings[0::2], *paddings[1::2]]
    return op.pad(x, pads=pads, value=pad_value)


_MODES = {"replicate": "edge", "circular": "wrap"}


@FluidOp(
    defaults={"paddings": (0, 0, 0, 0)},
    paddings=Attribute("paddings", "Paddings"),
)
def pad2d(
    op, input, paddings=[0, 0, 0, 0], mode="constant", pad_value=0.0,  # noqa: B006
    data_format="NCHW", name=None,
):  # fmt: skip
    """Top, bottom, left and right of images."""
    top, bottom, left, right = _paddings(op, paddings)
    axes = [1, 2] if data_format == "NHWC" else [2, 3]
    attrs = {"axes": axes, "pads": [top, left, bottom, right], "mode": mode}
    return op.pad(input, **attrs, value=pad_value)


def _paddings(op: Op, values: Any) -> Sequence[int]:
    several = are_variables(values)
    return integers(op, "paddings", values) if several else values


@row("pad3d")
def pad3d(
    op, X, Paddings=None, *, paddings=(0,) * 6, mode="constant", value=0.0,
    data_format="NCDHW",
):  # fmt: skip
    """Left, right, top, bottom, front and back."""
    paddings = _paddings(op, first(Paddings, paddings))
    axes = [1, 2, 3] if data_format == "NDHWC" else [2, 3, 4]
    pads = [*paddings[-2::-2], *paddings[-1::-2]]
    attrs = {"axes": axes, "pads": pads, "mode": _MODES.get(mode, mode)}
    return op.pad(X, **attrs, value=value)


@FluidOp()
def pad_constant_like(op, x, y, pad_value=0.0, name=None):
    """Y, padded at its ends to the sizes of X."""
    sizes = [op.append("shape", {"X": each}) for each in (x, y)]
    parts = [sizes[0] * 0, sizes[0] - sizes[1]]
    pads = op.concat(parts, axis=0)
    return op.pad(y, Pads=pads, value=pad_value)


@FluidOp(
    "crop crop_tensor",
    defaults={"shape": (), "offsets": ()},
    shape=Attribute("shape", "Y"),
    offsets=Attribute("offsets", "Offsets"),
)
def crop(
    op, x, shape: list | None = None, offsets: list | None = None, name=None, *,
    Y=None, Shape=None, ShapeTensor: list[Variable] | None = None, Offsets=None,
    OffsetsTensor: list[Variable] | None = None,
):  # fmt: skip
    """The part of a shape, or of that of Y, from offsets on."""
    if Y is not None:
        if Offsets is not None:
            return op.crop(x, Y, Offsets=Offsets)
        return op.crop(x, Y, offsets=list(offsets))
    offsets = list(offsets) or [0] * op.rank(x)
    places, starts = _integers(op, first(OffsetsTensor, Offsets), offsets)
    sizes, counts = _integers(op, first(ShapeTensor, Shape), shape)
    known_sizes = [
        op.shape(x)[k] if size == -1 else size for k, size in enumerate(sizes)
    ]
    if None not in [*places, *known_sizes]:
        sizes = [
            n - place if size == -1 else n
            for n, place, size in zip(known_sizes, places, sizes, strict=True)
        ]
        return op.crop(x, offsets=places, shape=sizes)
    rest = op.append("shape", {"X": x}) - starts
    whole = op.less_than(counts, starts * 0)
    counts = op.where(Condition=whole, X=rest, Y=counts)
    ends = {"Starts": starts, "Ends": starts + counts}
    axes = list(range(op.rank(x)))
    return op.append("slice", {"X": x, **ends}, axes=axes)


def _integers(op: Op, tensors: Any, values: Any) -> tuple[list[Any], Variable]:
    """Integers, None for one that a run computes, and a variable of them."""
    if tensors is None:
        values = [*values]
        attrs = {"shape": [len(values)], "dtype": "int64", "values": []}
        return values, op.assign_value(int_values=values, **attrs)
    found, whole = vector(op, tensors)
    found = found or [None] * op.size(whole, 0)
    return [n if isinstance(n, int) else None for n in found], whole


@FluidOp(defaults={"group": 1})
def shuffle_channel(op, x, group: int, name=None):
    """Channels of all groups in turn."""
    channels = op.size(x, 1)
    rest = [-1 if size is None else size for size in op.shape(x)[2:]]
    split = [0, group, channels // group, *rest]
    parts = op.reshape(x, *split)
    order = [0, 2, 1, *range(3, len(split))]
    parts = op.transpose(parts, axis=order)
    return op.reshape(parts, 0, channels, *rest)


@row("diagonal")
def diagonal(op, Input, *, offset=0, axis1=0, axis2=1):
    """A diagonal, as the last dim."""
    out = layers.diagonal(Input, offset, axis1, axis2)
    if out.shape[-1] == 0:
        op.refuse(f"a diagonal of no element, {offset} of {Input!r}")
    return out
