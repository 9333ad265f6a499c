"""Functions that move, repeat and select elements, with Fluid's names."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import UnimplementedError
from ..feed_values import positive
from ..layer_helper import (
    Pair,
    index_of,
    make,
    ranked_shape,
    reshape_sizes,
    size_list,
    variable_list,
    where,
    wrong,
)
from ..program import Variable

__all__ = [
    "argsort", "diag", "diagonal", "full_like", "meshgrid",
    "ones_like", "pixel_shuffle", "roll", "size", "space_to_depth", "split",
    "stack", "trace", "unbind", "unfold", "unstack", "zeros_like",
]

_LAST = 2**63 - 1


class Argsort(NamedTuple):
    """The outputs of argsort."""

    out: Variable
    indices: Variable


def _times(size: int | None, factor: int, divisor: int = 1) -> int | None:
    return None if size is None else size * factor // divisor


def _cut(
    x: Variable, axis: int, start: int, end: int, name: str | None = None
) -> Variable:
    return make("slice", x, name, starts=[start], ends=[end], axes=[axis])


def _named(name: str | None, i: int) -> str | None:
    return None if name is None else f"{name}.{i}"


def split(
    input: Variable,
    num_or_sections: int | Sequence[int],
    dim: int = -1,
    name: str | None = None,
) -> list[Variable]:
    """Cut a tensor into parts along one dim.

    Args:
        input: of known rank.
        num_or_sections: the number of equal parts, which needs a known size; or
            the size of each part, of which one may be -1: what is left.
        dim: the dim that is cut.
        name: parts are called ``name.0``, ``name.1``, ...

    Returns:
        The parts. Their gradients are joined by one copy.

    Raises:
        InvalidArgumentError: the parts are not all of the input.
    """
    shape = ranked_shape("split: input", input, 1)
    axis = index_of("split: dim", dim, len(shape))
    size = shape[axis]
    if isinstance(num_or_sections, Sequence):
        sections = [operator.index(each) for each in num_or_sections]
    else:
        num = positive("split: num_or_sections", num_or_sections)
        if size is None or size % num:
            raise wrong(
                f"split: dim {axis} of {input!r} cannot be cut into {num} "
                "equal parts"
            )
        sections = [size // num] * num
    left = [i for i, section in enumerate(sections) if section == -1]
    fixed = sum(section for section in sections if section != -1)
    fits = size is None or (fixed <= size if left else fixed == size)
    if not sections or len(left) > 1 or min(sections) < -1 or not fits:
        raise wrong(
            f"split: sections {sections} are not dim {axis} of {input!r}; "
            "expected sizes that add up to it, one of them -1 or none"
        )
    parts, start = [], 0
    for i, section in enumerate(sections):
        if left and i >= left[0]:  # counted from the end
            rest = sum(sections[i + 1 :])
            start = start if section == -1 else -rest - section
            end = -rest if rest else _LAST
        else:
            end = start + section
        parts.append(_cut(input, axis, start, end, _named(name, i)))
        start = end
    return parts


def stack(
    x: Sequence[Variable], axis: int = 0, name: str | None = None
) -> Variable:
    """Join tensors of one shape along a new dim.

    Args:
        x: the tensors.
        axis: where the new dim is in the result.
        name: what the result is called.
    """
    parts = variable_list("stack: x", x)
    rows = [make("unsqueeze", part, axes=[axis]) for part in parts]
    return make("concat", rows, name, axis=axis)


def unstack(
    x: Variable, axis: int = 0, num: int | None = None
) -> list[Variable]:
    """Take a tensor apart along one dim, which the results lack.

    Args:
        x: of known rank.
        axis: the dim.
        num: its size, needed if that is unknown.

    Returns:
        As many tensors as the dim has elements.
    """
    shape = ranked_shape("unstack: x", x, 1)
    axis = index_of("unstack: axis", axis, len(shape))
    if num is None and shape[axis] is None:
        raise wrong(f"unstack: dim {axis} of {x!r} is unknown; num says it")
    count = shape[axis] if num is None else operator.index(num)
    if shape[axis] not in (None, count):
        raise wrong(f"unstack: num = {num}, and dim {axis} of {x!r} differs")
    return [
        make("squeeze", _cut(x, axis, i, i + 1), axes=[axis])
        for i in range(count)
    ]


def unbind(input: Variable, axis: int = 0) -> list[Variable]:
    """Do what :func:`unstack` does; PyTorch's name."""
    return unstack(input, axis)


def full_like(
    x: Variable, fill_value: float, dtype: Any = None, name: str | None = None
) -> Variable:
    """A tensor of one number, in the shape of another.

    Args:
        x: has the shape.
        fill_value: the number.
        dtype: that of x if None.
        name: what the result is called.
    """
    dtype = x.dtype if dtype is None else dtype
    if isinstance(fill_value, int) and abs(fill_value) > 2**53:
        one = make("cast", x._constant(fill_value), dtype=dtype)
        like = make("shape", x)
        one = make("reshape", one, shape=[])
        return make("expand", {"X": one, "Shape": like}, name)
    return make("fill_any_like", x, name, dtype=dtype, value=fill_value)


def zeros_like(x: Variable, dtype: Any = None) -> Variable:
    """Zeros in the shape of x, in its dtype unless another is given."""
    return full_like(x, 0.0, dtype)


def ones_like(x: Variable, dtype: Any = None) -> Variable:
    """Ones in the shape of x, in its dtype unless another is given."""
    return full_like(x, 1.0, dtype)


def size(input: Variable) -> Variable:
    """The number of elements, an int64 scalar."""
    return make("reduce_prod", make("shape", input))


def diag(diagonal: Variable, offset: int = 0) -> Variable:
    """A matrix with this vector as its diagonal, or the diagonal of a matrix.

    Args:
        diagonal: [N], or a matrix.
        offset: the diagonal: positive ones are above, negative ones below the
            main one.
    """
    shape = ranked_shape("diag: diagonal", diagonal, 1)
    if len(shape) > 2:
        raise wrong(f"diag: expected a vector or a matrix, got {diagonal!r}")
    if len(shape) == 2:
        return _diagonal(diagonal, offset)
    count = make("reshape", size(diagonal), shape=[1])
    index = make("range", {"End": count})
    rows = make("unsqueeze", index, axes=[1])
    out = where(rows == index, diagonal, 0.0)
    above, below = max(offset, 0), max(-offset, 0)
    if offset:
        out = make("pad", out, pads=[below, above, above, below])
    return out


def _diagonal(x: Variable, offset: int, name: str | None = None) -> Variable:
    """The diagonals of matrices in the last two dims."""
    *batch, rows, columns = x.shape
    if columns is None:
        raise wrong(
            f"diagonal: the number of columns of {x!r} is unknown",
            UnimplementedError,
        )
    offset = operator.index(offset)
    begin = offset if offset >= 0 else -offset * columns
    end = max(columns - offset, 0) * columns
    if rows == 0 or columns == 0 or end <= begin:
        empty = _cut(x, len(batch), 0, 0)
        return make("reduce_sum", empty, name, dim=[-1])
    sizes = [*batch, _times(rows, columns)]
    if batch:
        sizes = reshape_sizes("diagonal", sizes)
    elif rows is None:
        sizes = [-1]
    flat = make("reshape", x, shape=sizes)
    return make(
        "slice",
        flat,
        name,
        starts=[begin],
        ends=[end],
        axes=[len(batch)],
        steps=[columns + 1],
    )


def diagonal(
    x: Variable,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    name: str | None = None,
) -> Variable:
    """The diagonals of matrices, as numpy.diagonal: the last dim of the result.

    Args:
        x: of rank 2 at least.
        offset: positive ones are above, negative ones below the main one.
        axis1: the dim of the rows.
        axis2: that of the columns, whose size must be known.
        name: what the result is called.
    """
    rank = len(ranked_shape("diagonal: x", x, 2))
    first = index_of("diagonal: axis1", axis1, rank)
    second = index_of("diagonal: axis2", axis2, rank)
    if first == second:
        raise wrong(f"diagonal: axis1 and axis2 are both dim {first}")
    order = [i for i in range(rank) if i not in (first, second)]
    order += [first, second]
    if order != list(range(rank)):
        x = make("transpose", x, axis=order)
    return _diagonal(x, offset, name)


def trace(
    input: Variable,
    offset: int = 0,
    dim1: int = 0,
    dim2: int = 1,
    name: str | None = None,
) -> Variable:
    """The sum of a diagonal; the arguments are those of :func:`diagonal`."""
    row = diagonal(input, offset, dim1, dim2)
    return make("reduce_sum", row, name, dim=[-1])


def meshgrid(
    input: Sequence[Variable], name: str | None = None
) -> list[Variable]:
    """Repeat k vectors into k tensors of k dims: numpy's ``indexing="ij"``.

    Args:
        input: vectors. For gradients their sizes must be known.
        name: results are called ``name.0``, ``name.1``, ...
    """
    vectors = variable_list("meshgrid: input", input)
    sizes = []
    for i, each in enumerate(vectors):
        if each.shape is None or len(each.shape) != 1:
            raise wrong(
                f"meshgrid: input[{i}]: expected a vector, got {each!r}"
            )
        sizes.append(each.shape[0])
    inputs, attrs = {}, {"shape": sizes}
    if None in sizes:
        shapes = [make("shape", each) for each in vectors]
        inputs, attrs = {"Shape": make("concat", shapes)}, {}
    results = []
    for i, each in enumerate(vectors):
        others = [k for k in range(len(vectors)) if k != i]
        if others:
            each = make("unsqueeze", each, axes=others)
        results.append(
            make("expand", {"X": each, **inputs}, _named(name, i), **attrs)
        )
    return results


def roll(
    input: Variable,
    shifts: int | Sequence[int],
    dims: int | Sequence[int] | None = None,
) -> Variable:
    """Move elements along dims; those that leave come in at the other end.

    Args:
        input: any tensor.
        shifts: how far, towards higher indices, for each of ``dims``.
        dims: the dims; if None, the elements are moved as one row.
    """
    shifts = [shifts] if isinstance(shifts, int) else list(shifts)
    if dims is not None:
        axes = [dims] if isinstance(dims, int) else list(dims)
        return make("roll", input, shifts=shifts, axis=axes)
    shape = ranked_shape("roll: input", input)
    flat = make("reshape", input, shape=[-1])
    out = make("roll", flat, shifts=shifts, axis=[0] * len(shifts))
    if shape.count(None) <= 1:
        sizes = [-1 if each is None else each for each in shape]
        return make("reshape", out, shape=sizes)
    whole = make("shape", input)
    return make("reshape", {"X": out, "Shape": whole})


def _regrouped(
    x: Variable,
    groups: list[int | None],
    order: list[int],
    sizes: list[int | None],
    what: str,
    name: str | None,
) -> Variable:
    """Reshape to ``groups``, permute these dims and reshape to ``sizes``."""
    x = make("reshape", x, shape=reshape_sizes(what, groups))
    x = make("transpose", x, axis=order)
    return make("reshape", x, name, shape=reshape_sizes(what, sizes))


def _image(what: str, x: Any, channels: int, height: int) -> list[int | None]:
    """[N, C, H, W] of x, whose sizes the given numbers divide."""
    shape = list(ranked_shape(what, x))
    if len(shape) != 4 or shape[1] is None:
        raise wrong(f"{what}: expected [N, C, H, W] with a known C, got {x!r}")
    for axis, by in ((1, channels), (2, height), (3, height)):
        if shape[axis] is not None and shape[axis] % by:
            raise wrong(f"{what}: {by} does not divide dim {axis} of {x!r}")
    return shape


def pixel_shuffle(
    x: Variable, upscale_factor: int, name: str | None = None
) -> Variable:
    """Turn channels into pixels: [N, C r^2, H, W] to [N, C, H r, W r].

    Args:
        x: images; H or W may be unknown.
        upscale_factor: r.
        name: what the result is called.
    """
    r = positive("pixel_shuffle: upscale_factor", upscale_factor)
    n, c, h, w = _image("pixel_shuffle: x", x, r * r, 1)
    c //= r * r
    return _regrouped(
        x,
        [n, c, r, r, h, w],
        [0, 1, 4, 2, 5, 3],
        [n, c, _times(h, r), _times(w, r)],
        "pixel_shuffle: x",
        name,
    )


def space_to_depth(
    x: Variable,
    blocksize: int,
    formula: str = "fluid",
    name: str | None = None,
) -> Variable:
    """Turn pixels into channels: [N, C, H, W] to [N, C b^2, H / b, W / b].

    Args:
        x: images.
        blocksize: b.
        formula: ``"fluid"``: what its op computes, the order of Darknet: the
            channels of x become pixels, and the elements of the result are
            those in row-major order; b^2 divides C. ``"onnx"``: channel
            (i b + j) C + c is the pixels (i, j) of each block in channel c.
        name: what the result is called.
    """
    b = positive("space_to_depth: blocksize", blocksize)
    if formula not in ("fluid", "onnx"):
        raise wrong(
            f"space_to_depth: formula = {formula!r}; expected 'fluid' or 'onnx'"
        )
    fluid = formula == "fluid"
    n, c, h, w = _image("space_to_depth: x", x, b * b if fluid else 1, b)
    rows, columns = _times(h, 1, b), _times(w, 1, b)
    sizes = [n, c * b * b, rows, columns]
    groups = [n, c, rows, b, columns, b]
    order = [0, 3, 5, 1, 2, 4]
    if fluid:
        groups = [n, b, b, c // (b * b), h, w]
        order = [0, 3, 4, 1, 5, 2]
    return _regrouped(x, groups, order, sizes, "space_to_depth: x", name)


def unfold(
    x: Variable,
    kernel_sizes: Pair,
    strides: Pair = 1,
    paddings: Pair = 0,
    dilations: Pair = 1,
    name: str | None = None,
) -> Variable:
    """The elements under a window that slides over images, as columns.

    Args:
        x: [N, C, H, W].
        kernel_sizes: of the window: height, width.
        strides: from one window to the next.
        paddings: zeros around x: height, width; or top, left, bottom, right, in
            Fluid's order.
        dilations: from one element of the window to the next.
        name: what the result is called.

    Returns:
        [N, C * elements of the window, windows].
    """
    pads = size_list("unfold: paddings", paddings)
    if len(pads) == 4:
        pads = [pads[0], pads[2], pads[1], pads[3]]
    return make(
        "unfold",
        x,
        name,
        kernel_sizes=size_list("unfold: kernel_sizes", kernel_sizes),
        strides=size_list("unfold: strides", strides),
        paddings=pads,
        dilations=size_list("unfold: dilations", dilations),
    )


def argsort(
    input: Variable,
    axis: int = -1,
    descending: bool = False,
    name: str | None = None,
) -> Argsort:
    """Sort along one dim; equal elements keep their order.

    Args:
        input: of known rank. NaN is larger than all numbers.
        axis: the dim.
        descending: the largest first.
        name: what the sorted tensor is called.

    Returns:
        The sorted tensor, which passes gradients, and the int64 indices of its
        elements in the input.
    """
    shape = ranked_shape("argsort: input", input)
    axis = index_of("argsort: axis", axis, max(len(shape), 1))
    order = list(range(len(shape)))
    transposed = axis + 1 < len(shape)
    x = input
    if transposed:
        order[axis], order[-1] = order[-1], order[axis]
        x = make("transpose", x, axis=order)
    inputs, attrs = {"X": x}, {"largest": descending}
    count = shape[axis] if shape else 1
    if count is None:
        inputs["K"] = make("shape", input, start=axis, end=axis + 1)
    else:
        attrs["k"] = count
    outputs = input.program.append_op("top_k", inputs, attrs=attrs)
    indices = outputs["Indices"]
    if transposed:
        indices = make("transpose", indices, axis=order)
    # gather_elements has a gradient.
    both = {"X": input, "Index": indices}
    return Argsort(make("gather_elements", both, name, axis=axis), indices)
