"""Layers over ragged variables: sequences of rows, packed without padding.

Their inputs come from ``sl.data(..., lod_level=1)`` or from other layers that
keep rows apart. Names and defaults are Fluid's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import UnimplementedError, argument_error
from ..feed_values import positive
from ..indexing import constant
from ..layer_helper import LayerHelper, make, size_list
from ..program import Variable, require_variable

__all__ = [
    "im2sequence", "lod_reset", "row_conv", "sequence_concat", "sequence_conv",
    "sequence_expand", "sequence_first_step", "sequence_last_step",
    "sequence_mask", "sequence_pad", "sequence_pool",
]


class Padded(NamedTuple):
    """The outputs of sequence_pad."""

    out: Variable
    length: Variable


def require_ragged(layer: str, x: Any, what: str = "input") -> Variable:
    """Return the argument, or raise unless its rows are sequences."""
    require_variable(f"{layer}: {what}", x)
    if x.offsets is None:
        raise argument_error(
            f"{layer}: {what} is not ragged: {x!r}; declare it by sl.data(..., "
            "lod_level=1), or use lod_reset",
            "python.not_ragged",
        )
    return x


def _width(layer: str, x: Variable) -> int:
    size = (x.shape or (None,))[-1]
    if size is None or len(x.shape or ()) != 2:
        raise argument_error(
            f"{layer}: input must be [rows, columns] with known columns, got "
            f"{x!r}",
            "python.sequence_width",
        )
    return size


def sequence_pool(
    input: Variable,
    pool_type: str,
    is_test: bool = False,
    pad_value: float = 0.0,
) -> Variable:
    """One row for each sequence, computed from its rows, column by column.

    Args:
        input: [N, ...], ragged.
        pool_type: ``"sum"``, ``"average"``, ``"sqrt"`` (the sum over the square
            root of the length), ``"max"``, ``"first"`` or ``"last"``.
        is_test: has no effect.
        pad_value: the result for an empty sequence.

    Returns:
        [B, ...]; of two levels of sequences it is ragged itself.

    Raises:
        InvalidArgumentError: for another ``pool_type``.
    """
    require_ragged("sequence_pool", input)
    kind = str(pool_type).upper()
    return make("sequence_pool", input, pooltype=kind, pad_value=pad_value)


def sequence_first_step(input: Variable) -> Variable:
    """The first row of each sequence; zeros for an empty one."""
    return sequence_pool(input, "first")


def sequence_last_step(input: Variable) -> Variable:
    """The last row of each sequence; zeros for an empty one."""
    return sequence_pool(input, "last")


def sequence_conv(
    input: Variable,
    num_filters: int,
    filter_size: int = 3,
    filter_stride: int = 1,
    padding: bool = True,
    padding_start: int | None = None,
    bias_attr: Any = None,
    param_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """A convolution along each sequence, zeros past its ends.

    Row t is the product of rows t + padding_start to t + padding_start +
    filter_size - 1, side by side, and the filter.

    Args:
        input: [N, D], ragged.
        num_filters: columns of the result.
        filter_size: rows of a window.
        filter_stride: 1.
        padding: True.
        padding_start: where windows start; -(filter_size // 2) if None.
        bias_attr: for the bias [num_filters]; False for none.
        param_attr: for the filter [filter_size * D, num_filters].
        act: an op such as ``"relu"``.
        name: the layer's name.

    Returns:
        [N, num_filters], ragged.

    Raises:
        UnimplementedError: for another stride, or without padding.
    """
    require_ragged("sequence_conv", input)
    if filter_stride != 1 or not padding:
        raise argument_error(
            "sequence_conv: expected filter_stride = 1 and padding = True, got "
            f"{filter_stride} and {padding}",
            "python.sequence_conv",
            UnimplementedError,
        )
    size = positive("sequence_conv: filter_size", filter_size)
    filters = positive("sequence_conv: num_filters", num_filters)
    start = -(size // 2) if padding_start is None else padding_start
    helper = LayerHelper("sequence_conv", name, input.program)
    weight = helper.create_parameter(
        param_attr,
        [size * _width("sequence_conv", input), filters],
        input.dtype,
    )
    bias = helper.create_parameter(
        bias_attr, [filters], input.dtype, is_bias=True
    )
    windows = make("sequence_context", input, start=start, length=size)
    out = helper.append_op("mul", {"X": windows, "Y": weight})["Out"]
    return helper.append_activation(helper.append_bias(out, bias), act)


def row_conv(
    input: Variable,
    future_context_size: int,
    param_attr: Any = None,
    act: str | None = None,
) -> Variable:
    """Lookahead convolution: row t is the sum of rows t + k times filter row k.

    Args:
        input: [N, D], ragged.
        future_context_size: rows after the current one.
        param_attr: for the filter [future_context_size + 1, D].
        act: an op such as ``"relu"``.

    Returns:
        [N, D], ragged.
    """
    require_ragged("row_conv", input)
    width = _width("row_conv", input)
    size = positive("row_conv: rows of the filter", future_context_size + 1)
    helper = LayerHelper("row_conv", program=input.program)
    weight = helper.create_parameter(param_attr, [size, width], input.dtype)
    windows = make("sequence_context", input, start=0, length=size)
    windows = make("reshape", windows, shape=[0, size, width])
    products = make("elementwise_mul", {"X": windows, "Y": weight})
    out = make("reduce_sum", products, dim=[1])
    return helper.append_activation(out, act)


def sequence_expand(
    x: Variable, y: Variable, ref_level: int = -1, name: str | None = None
) -> Variable:
    """Repeat each sequence of ``x`` as often as ``y`` has elements there.

    Args:
        x: [B, ...]: each row is repeated; or ragged: each sequence is, and the
            rows of the result are known in the run only.
        y: ragged; only its offsets are used.
        ref_level: the level of ``y`` that says how often, 0 for the outermost,
            -1 for the innermost.
        name: has no effect.

    Returns:
        Ragged; for a ragged ``x`` in two levels, the copies and for each
        sequence of ``y`` its copies.

    Raises:
        InvalidArgumentError: ``y`` has no such level.
        UnimplementedError: an outer level for rows that are not ragged.
    """
    require_ragged("sequence_expand", y, "y")
    levels = y.lod
    if not -len(levels) <= ref_level < len(levels):
        raise argument_error(
            f"sequence_expand: ref_level = {ref_level}, y has {len(levels)} "
            "levels",
            "python.ref_level",
        )
    below = [*levels[1:], y][ref_level]  # what the level cuts
    outer = below is not y
    if x.offsets is None:
        if outer:
            raise argument_error(
                "sequence_expand: rows that are not ragged are repeated by the "
                "innermost level of y only",
                "python.ref_level_of_rows",
                UnimplementedError,
            )
        return make("sequence_expand_as", {"X": x, "Y": y})
    inputs = {"Y": below, "YOffsets": levels[ref_level]}
    inputs["Capacity"] = make("sequence_expand_rows", {"X": x, **inputs})
    return make("sequence_expand", {"X": x, **inputs}, of_offsets=outer)


def sequence_pad(
    x: Variable,
    pad_value: Variable,
    maxlen: int | None = None,
    name: str | None = None,
) -> Padded:
    """Ragged rows as a dense tensor.

    Args:
        x: [N, ...], ragged.
        pad_value: one element, or a row: what follows each sequence.
        maxlen: T; the longest sequence if None, which each run finds out and
            prepares a plan for: give it where you can.
        name: has no effect.

    Returns:
        out [B, T, ...], and length [B], int64.

    Raises:
        InvalidArgumentError: at run time, for a longer sequence.
    """
    require_ragged("sequence_pad", x, "x")
    inputs = {"X": x, "PadValue": pad_value}
    attrs = {}
    if maxlen is None:
        inputs["PaddedLength"] = make("sequence_longest", x)
    else:
        attrs["padded_length"] = positive("sequence_pad: maxlen", maxlen)
    outputs = x.program.append_op("sequence_pad", inputs, attrs=attrs)
    return Padded(outputs["Out"], outputs["Length"])


def sequence_mask(
    x: Variable,
    maxlen: int | Variable | None = None,
    dtype: Any = "int64",
    name: str | None = None,
) -> Variable:
    """For each length 1 at the positions below it, 0 elsewhere.

    Args:
        x: lengths of any shape, int64 or int32.
        maxlen: positions; the largest length if None, which each run finds out.
        dtype: the element type of the result.
        name: has no effect.

    Returns:
        [..., maxlen].
    """
    if maxlen is None:
        maxlen = make("reduce_max", x, reduce_all=True)
    inputs, attrs = {}, {"dtype": x.dtype}
    if isinstance(maxlen, Variable):
        inputs = {"End": maxlen}
    else:
        attrs["end"] = float(positive("sequence_mask: maxlen", maxlen))
    positions = x.program.append_op("range", inputs, attrs=attrs)["Out"]
    below = make(
        "less_than", {"X": positions, "Y": make("unsqueeze", x, axes=[-1])}
    )
    return make("cast", below, dtype=dtype)


def sequence_concat(
    input: Sequence[Variable], name: str | None = None
) -> Variable:
    """Sequence b is sequence b of each input, one after the other.

    Args:
        input: ragged variables of as many sequences.
        name: has no effect.
    """
    if not isinstance(input, (list, tuple)) or not input:
        raise argument_error(
            "sequence_concat: input must be a list of variables, got "
            f"{input!r}",
            "python.sequence_concat",
        )
    for each in input:
        require_ragged("sequence_concat", each)
    return make("sequence_concat", list(input))


def lod_reset(
    x: Variable,
    y: Variable | None = None,
    target_lod: Sequence[int] | None = None,
) -> Variable:
    """The rows of ``x`` cut into other sequences.

    Args:
        x: [N, ...], ragged or not.
        y: a ragged variable that has the offsets, or offsets as int64 or int32.
        target_lod: offsets as numbers, if ``y`` is None.

    Raises:
        InvalidArgumentError: neither is given; at run time, offsets that fall
            or end elsewhere than the rows.
    """
    if y is not None:
        offsets = y.offsets
        if offsets is None:
            flat = make("reshape", y, shape=[-1])
            offsets = make("cast", flat, dtype="int64")
    elif target_lod is not None:
        values = [int(each) for each in target_lod]
        offsets = constant(x.program, values, "int64")
    else:
        raise argument_error(
            "lod_reset: expected y or target_lod, got neither",
            "python.lod_reset",
        )
    return make("lod_reset", {"X": x, "Offsets": offsets})


def im2sequence(
    input: Variable,
    filter_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    input_image_size: Any = None,
    out_stride: Any = 1,
    name: str | None = None,
) -> Variable:
    """Each image as a sequence: a row for each window of it.

    Args:
        input: [B, C, H, W].
        filter_size: one number, or height and width of a window.
        stride: one number, or down and across.
        padding: one number, two (up and down, left and right), or four: up,
            left, down, right.
        input_image_size: None.
        out_stride: 1.
        name: has no effect.

    Returns:
        [B * windows, C * height * width], ragged.

    Raises:
        UnimplementedError: with ``input_image_size``.
    """
    if input_image_size is not None or out_stride != 1:
        raise argument_error(
            "im2sequence: expected images of one size: input_image_size = None "
            "and out_stride = 1",
            "python.im2sequence",
            UnimplementedError,
        )
    pads = size_list("im2sequence: padding", padding)
    return make(
        "im2sequence",
        input,
        kernels=size_list("im2sequence: filter_size", filter_size),
        strides=size_list("im2sequence: stride", stride),
        paddings=pads if len(pads) == 4 else [*pads, *pads],
    )


# By op: how rows are pooled, and what the result is without any.
_REDUCTIONS = {
    "mean": ("AVERAGE", float("nan")),
    "reduce_mean": ("AVERAGE", float("nan")),
    "reduce_sum": ("SUM", 0.0),
    "reduce_max": ("MAX", float("-inf")),
    "reduce_min": ("MAX", float("-inf")),
}


def reduces_rows(op: str, x: Any, attrs: Any) -> bool:
    """Whether the op is a reduction over the rows of a ragged variable."""
    if op not in _REDUCTIONS or not isinstance(x, Variable) or not x.lod_level:
        return False
    dims = list(attrs.get("dim") or [0])
    return bool(
        attrs.get("reduce_all") or 0 in dims or -len(x.shape or ()) in dims
    )


def reduce_rows(op: str, x: Variable, attrs: Any) -> Variable:
    """The reduction over the true rows, leaving out the padding."""
    if op == "reduce_min":
        negative = make("scale", x, scale=-1.0)
        most = reduce_rows("reduce_max", negative, attrs)
        return make("scale", most, scale=-1.0)
    pooltype, empty = _REDUCTIONS[op]
    out = make(
        "sequence_reduce",
        x,
        pooltype=pooltype,
        pad_value=empty if x.dtype.is_floating else 0.0,
    )
    rank = len(x.shape or ())
    dims = list(attrs.get("dim") or [])
    if not dims or attrs.get("reduce_all"):
        dims = list(range(rank))
    rest = sorted({d % rank for d in dims} - {0})
    if rest:
        over = "reduce_mean" if op == "mean" else op
        out = make(over, out, dim=[d - 1 for d in rest])
    if attrs.get("keep_dim"):
        out = make("unsqueeze", out, axes=[0, *rest])
    return out
