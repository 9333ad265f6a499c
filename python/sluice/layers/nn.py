"""Layers with parameters, based on LayerHelper."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from .. import _core
from ..errors import InvalidArgumentError
from ..framework import Variable, created, positive, require_variable
from ..initializer import Constant, Normal, Uniform
from ..layer_helper import LayerHelper

Pair = int | Sequence[int]


def _pair(what: str, value: Pair, dims: int = 2) -> list[int]:
    """One integer for height and width (and depth), or a list of integers."""
    try:
        if isinstance(value, (list, tuple)):
            return [operator.index(each) for each in value]
        return [operator.index(value)] * dims
    except TypeError:
        pass
    instead = ""
    if isinstance(value, str):
        instead = (
            '; "VALID" is 0; "SAME", for an odd filter and stride 1, is '
            "filter_size // 2 * dilation"
        )
    raise InvalidArgumentError(
        f"{what}: expected an integer or "
        f"{'[height, width]' if dims == 2 else '[depth, height, width]'}, got "
        f"{_core._shown(value)}{instead}{created()}",
        "python.pair",
    )


def _channels(
    layer: str, x: Variable, rank: int = 4, data_format: str = "NCHW"
) -> int:
    require_variable(f"{layer}: input", x)
    if x.shape is None or len(x.shape) != rank:
        raise InvalidArgumentError(
            f"{layer}: input must have rank {rank}, got {x!r}{created()}",
            "python.rank",
        )
    channels = x.shape[3 if data_format == "NHWC" else 1]
    if channels is None:
        raise InvalidArgumentError(
            f"{layer}: the number of channels must be known, got "
            f"{x!r}{created()}",
            "python.channels",
        )
    return channels


def fc(
    input: Variable,
    size: int,
    num_flatten_dims: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Fully connected layer: ``act(input @ weight + bias)``.

    Args:
        input: rank 2 or more; dimensions from ``num_flatten_dims`` on are
            flattened, and their sizes must be known.
        size: number of outputs.
        num_flatten_dims: leading dimensions that are kept.
        param_attr: for the weight [inputs, size]; Xavier by default.
        bias_attr: for the bias [size]; zeros by default, False for none.
        act: an op with input X and output Out, such as ``"relu"``.
        name: the layer's name.

    Returns:
        [leading dimensions of input..., size].

    Raises:
        InvalidArgumentError: a size is unknown, or the rank too small.
    """
    require_variable("fc: input", input)
    size = positive("fc: size", size)
    shape = input.shape or ()
    if not 0 < num_flatten_dims < len(shape):
        raise InvalidArgumentError(
            f"fc: num_flatten_dims must be between 1 and the input's rank less "
            f"one, got {num_flatten_dims} for {input!r}{created()}",
            "python.num_flatten_dims",
        )
    helper = LayerHelper("fc", name, input.program)
    rows = shape[num_flatten_dims:]
    inputs = None if None in rows else math.prod(rows)  # type: ignore[arg-type]
    weight = helper.create_parameter(param_attr, [inputs, size], input.dtype)  # type: ignore[list-item]
    bias = helper.create_parameter(bias_attr, [size], input.dtype, is_bias=True)
    attrs = {"x_num_col_dims": num_flatten_dims, "y_num_col_dims": 1}
    out = helper.append_op("mul", {"X": input, "Y": weight}, attrs=attrs)["Out"]
    return helper.append_activation(helper.append_bias(out, bias), act)


def conv2d(
    input: Variable,
    num_filters: int,
    filter_size: Pair,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Variable:
    """2-d convolution, with a bias and an activation.

    Args:
        input: [N, C, H, W], or [N, H, W, C] for NHWC.
        num_filters: channels of the output.
        filter_size: one number, or height and width, like the next three.
        stride: pixels from one window to the next.
        padding: rows and columns of zeros around the input.
        dilation: pixels from one element of the filter to the next.
        groups: number of groups of channels.
        param_attr: for the filter [num_filters, C / groups, height, width].
        bias_attr: for the bias [num_filters]; False for none.
        act: an op with input X and output Out, such as ``"relu"``.
        name: the layer's name.
        data_format: ``"NCHW"`` or ``"NHWC"``.

    Returns:
        [N, num_filters, H', W'], or [N, H', W', num_filters].

    Raises:
        InvalidArgumentError: the input has another rank, channels are unknown
            or not divisible by groups, or the filter does not fit.
    """
    return _convolution(
        "conv2d",
        input,
        num_filters,
        (filter_size, stride, padding, dilation),
        groups,
        (param_attr, bias_attr),
        act,
        name,
        data_format=data_format,
    )


def conv3d(
    input: Variable,
    num_filters: int,
    filter_size: Pair,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """3-d convolution, with a bias and an activation.

    Args:
        input: [N, C, D, H, W].
        num_filters: channels of the output.
        filter_size: one number, or depth, height and width, like the next
            three.
        stride: elements from one window to the next.
        padding: zeros around the input.
        dilation: distance of the filter's elements.
        groups: number of groups of channels.
        param_attr: for the filter [num_filters, C / groups, depth, height,
            width].
        bias_attr: for the bias [num_filters]; False for none.
        act: an op with input X and output Out, such as ``"relu"``.
        name: the layer's name.

    Returns:
        [N, num_filters, D', H', W'].

    Raises:
        InvalidArgumentError: the input has another rank, channels are unknown
            or not divisible by groups, or the filter does not fit.
    """
    return _convolution(
        "conv3d",
        input,
        num_filters,
        (filter_size, stride, padding, dilation),
        groups,
        (param_attr, bias_attr),
        act,
        name,
    )


def _convolution(
    layer: str,
    input: Variable,
    num_filters: int,
    sizes: tuple[Pair, Pair, Pair, Pair],
    groups: int,
    parameters: tuple[Any, Any],
    act: str | None,
    name: str | None,
    **attrs: str,
) -> Variable:
    """Append conv2d or conv3d with its filter, bias and activation."""
    dims = 2 if layer == "conv2d" else 3
    channels = _channels(layer, input, dims + 2, **attrs)
    num_filters = positive(f"{layer}: num_filters", num_filters)
    if channels % positive(f"{layer}: groups", groups) != 0:
        raise InvalidArgumentError(
            f"{layer}: {channels} input channels cannot be divided into "
            f"{groups} groups{created()}",
            "python.groups",
        )
    window, strides, paddings, dilations = (
        _pair(f"{layer}: {what}", each, dims)
        for what, each in zip(
            ("filter_size", "stride", "padding", "dilation"), sizes, strict=True
        )
    )
    helper = LayerHelper(layer, name, input.program)
    shape = [num_filters, channels // groups, *window]
    deviation = math.sqrt(2.0 / max(math.prod(shape[1:]), 1))
    weight = helper.create_parameter(
        parameters[0], shape, input.dtype, Normal(0.0, deviation)
    )
    bias = helper.create_parameter(
        parameters[1], [num_filters], input.dtype, is_bias=True
    )
    inputs = {"Input": input, "Filter": weight, "Bias": bias}
    of_op = {
        "strides": strides,
        "paddings": paddings,
        "dilations": dilations,
        "groups": groups,
        **attrs,
    }
    out = helper.append_op(layer, inputs, attrs=of_op)["Output"]
    return helper.append_activation(out, act)


def pool2d(
    input: Variable,
    pool_size: Pair = 2,
    pool_type: str = "max",
    pool_stride: Pair | None = None,
    pool_padding: Pair = 0,
    global_pooling: bool = False,
    ceil_mode: bool = False,
    exclusive: bool = True,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Variable:
    """The maximum or the mean of each window.

    Args:
        input: [N, C, H, W], or [N, H, W, C] for NHWC.
        pool_size: one number, or height and width of the window.
        pool_type: ``"max"`` or ``"avg"``.
        pool_stride: pixels between windows; the window's size if None.
        pool_padding: pixels that windows may extend beyond the input.
        global_pooling: one window over everything.
        ceil_mode: whether remaining pixels get a window.
        exclusive: whether means exclude the padding.
        name: the output's name.
        data_format: ``"NCHW"`` or ``"NHWC"``.

    Returns:
        The input's shape with H and W divided by the stride.
    """
    return _pool(
        "pool2d",
        input,
        (pool_size, pool_stride, pool_padding),
        name,
        pooling_type=pool_type,
        global_pooling=global_pooling,
        ceil_mode=ceil_mode,
        exclusive=exclusive,
        data_format=data_format,
    )


def pool3d(
    input: Variable,
    pool_size: Pair = 2,
    pool_type: str = "max",
    pool_stride: Pair | None = None,
    pool_padding: Pair = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    name: str | None = None,
    dilation: Pair = 1,
) -> Variable:
    """The maximum or the mean of each window.

    Args:
        input: [N, C, D, H, W].
        pool_size: one number, or depth, height and width of the window.
        pool_type: ``"max"`` or ``"avg"``.
        pool_stride: elements between windows; the window's size if None.
        pool_padding: elements that windows may extend beyond the input.
        ceil_mode: whether remaining elements get a window.
        exclusive: whether means exclude the padding.
        name: the output's name.
        dilation: distance of a window's elements.

    Returns:
        The input's shape with D, H and W divided by the stride.
    """
    return _pool(
        "pool3d",
        input,
        (pool_size, pool_stride, pool_padding),
        name,
        pooling_type=pool_type,
        dilations=_pair("pool3d: dilation", dilation, 3),
        ceil_mode=ceil_mode,
        exclusive=exclusive,
    )


def _pool(
    layer: str,
    input: Variable,
    sizes: tuple[Pair, Pair | None, Pair],
    name: str | None,
    **attrs: Any,
) -> Variable:
    """Append pool2d or pool3d with size, stride and padding of its window."""
    require_variable(f"{layer}: input", input)
    dims = 2 if layer == "pool2d" else 3
    size, stride, padding = sizes
    window = _pair(f"{layer}: pool_size", size, dims)
    attrs |= {
        "ksize": window,
        "strides": window
        if stride is None
        else _pair(f"{layer}: pool_stride", stride, dims),
        "paddings": _pair(f"{layer}: pool_padding", padding, dims),
    }
    outputs = {"Out": name} if name else None
    return input.program.append_op(layer, {"X": input}, outputs, attrs)["Out"]


def batch_norm(
    input: Variable,
    act: str | None = None,
    is_test: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    param_attr: Any = None,
    bias_attr: Any = None,
    data_format: str = "NCHW",
    name: str | None = None,
    sync: bool = False,
) -> Variable:
    """Normalise each channel over batch and image, then scale and shift it.

    The moving averages of mean and variance are persistables that training
    updates; they replace the batch's in a program cloned for testing.

    Args:
        input: [N, C, H, W], or [N, H, W, C] for NHWC.
        act: an op with input X and output Out, such as ``"relu"``.
        is_test: use the moving averages.
        momentum: the momentum of the moving averages.
        epsilon: added to the variance.
        param_attr: for the scale [C]; ones by default.
        bias_attr: for the shift [C]; zeros by default.
        data_format: ``"NCHW"`` or ``"NHWC"``.
        name: the layer's name.
        sync: use mean and variance over the batches of all ranks
            (:mod:`sluice.distributed`); otherwise each rank uses its own, and
            has its own moving averages.

    Returns:
        A variable of the input's shape.
    """
    size = [_channels("batch_norm", input, data_format=data_format)]
    helper, dtype = LayerHelper("batch_norm", name, input.program), input.dtype
    scale = helper.create_parameter(param_attr, size, dtype, Constant(1.0))
    bias = helper.create_parameter(bias_attr, size, dtype, is_bias=True)
    mean = helper.create_persistable(
        f"{helper.name}.mean", size, dtype, Constant(0.0)
    )
    variance = helper.create_persistable(
        f"{helper.name}.variance", size, dtype, Constant(1.0)
    )
    inputs = {
        "X": input,
        "Scale": scale,
        "Bias": bias,
        "Mean": mean,
        "Variance": variance,
    }
    outputs = {"MeanOut": mean, "VarianceOut": variance}
    attrs = {
        "momentum": momentum,
        "epsilon": epsilon,
        "is_test": is_test,
        "data_format": data_format,
    }
    op = "sync_batch_norm" if sync else "batch_norm"
    out = helper.append_op(op, inputs, outputs, attrs)["Y"]
    return helper.append_activation(out, act)


def dropout(
    x: Variable,
    dropout_prob: float = 0.5,
    is_test: bool = False,
    seed: int = 0,
    name: str | None = None,
    dropout_implementation: str = "upscale_in_train",
) -> Variable:
    """Set elements to zero at random while training.

    Args:
        x: a variable of any shape.
        dropout_prob: the share that becomes zero.
        is_test: disable it; ``clone(for_test=True)`` sets this.
        seed: the seed of the random numbers.
        name: the output's name.
        dropout_implementation: ``"upscale_in_train"`` divides kept elements by
            ``1 - dropout_prob``; ``"downgrade_in_infer"`` multiplies by it in
            tests.

    Returns:
        A variable of the shape of x.
    """
    require_variable("dropout: x", x)
    attrs = {
        "dropout_prob": dropout_prob,
        "is_test": is_test,
        "seed": seed,
        "dropout_implementation": dropout_implementation,
    }
    outputs = {"Out": name} if name else None
    return x.program.append_op("dropout", {"X": x}, outputs, attrs)["Out"]


def embedding(
    input: Variable,
    size: Sequence[int],
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
    name: str | None = None,
) -> Variable:
    """Look up rows of a table of parameters by index.

    Args:
        input: row indices, int64.
        size: [rows, columns] of the table.
        padding_idx: a row index that yields zeros; a negative one counts from
            the end, as in Fluid.
        param_attr: attribute of the table.
        dtype: element type of the table.
        name: the layer's name.

    Returns:
        [shape of input..., columns] (a last dimension of 1 is removed).

    Raises:
        OutOfRangeError: at run time, for an index outside of the table.
        InvalidArgumentError: size is not a pair of integers above 0, or
            padding_idx is not a row.
    """
    require_variable("embedding: input", input)
    rows, columns = _table_size(size)
    attrs = {}
    if padding_idx is not None:
        attrs["padding_idx"] = _row("embedding: padding_idx", padding_idx, rows)
    helper = LayerHelper("embedding", name, input.program)
    limit = 1.0 / math.sqrt(columns)
    table = helper.create_parameter(
        param_attr, [rows, columns], dtype, Uniform(-limit, limit)
    )
    inputs = {"W": table, "Ids": input}
    return helper.append_op("lookup_table", inputs, attrs=attrs)["Out"]


def _table_size(size: Any) -> list[int]:
    if not isinstance(size, (list, tuple)) or len(size) != 2:
        raise InvalidArgumentError(
            "embedding: size: expected [rows, columns], got "
            f"{_core._shown(size)}{created()}",
            "python.embedding_size",
        )
    return [positive(f"embedding: size {list(size)}", each) for each in size]


def _row(what: str, value: Any, rows: int) -> int:
    """The index of a row; a negative one counts from the end."""
    try:
        row = operator.index(value)
    except TypeError:
        row = rows
    if not -rows <= row < rows:
        raise InvalidArgumentError(
            f"{what}: expected an integer from {-rows} to {rows - 1}, got "
            f"{_core._shown(value)}{created()}",
            "python.row",
        )
    return row % rows
