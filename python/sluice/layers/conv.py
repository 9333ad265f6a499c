"""Convolutions, transposed convolutions and pooling."""

from __future__ import annotations

import math
from typing import Any

from ..errors import InvalidArgumentError
from ..framework import Variable, created, positive, require_variable
from ..initializer import Normal
from ..layer_helper import LayerHelper
from .shapes import Pair, channels_of, size_list


def conv2d(
    input: Variable,
    num_filters: int,
    filter_size: Pair,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int | None = 1,
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
        groups: number of groups of channels; None is 1.
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
    groups: int | None = 1,
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
        groups: number of groups of channels; None is 1.
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
    groups: int | None,
    parameters: tuple[Any, Any],
    act: str | None,
    name: str | None,
    **attrs: str,
) -> Variable:
    """Append conv2d or conv3d with its filter, bias and activation."""
    dims = 2 if layer == "conv2d" else 3
    channels = channels_of(f"{layer}: input", input, dims + 2, *attrs.values())
    num_filters = positive(f"{layer}: num_filters", num_filters)
    groups = _divided(layer, "input channels", channels, groups)
    window, strides, paddings, dilations = (
        size_list(f"{layer}: {what}", each, dims)
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


def _divided(layer: str, what: str, channels: int, groups: int | None) -> int:
    """The number of groups, which must divide the number of channels."""
    groups = 1 if groups is None else positive(f"{layer}: groups", groups)
    if channels % groups != 0:
        raise InvalidArgumentError(
            f"{layer}: {channels} {what} cannot be divided into {groups} "
            f"groups{created()}",
            "python.groups",
        )
    return groups


def conv2d_transpose(
    input: Variable,
    num_filters: int,
    output_size: Pair | None = None,
    filter_size: Pair | None = None,
    padding: Pair = 0,
    stride: Pair = 1,
    dilation: Pair = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Variable:
    """2-d transposed convolution, with a bias and an activation.

    It enlarges images as a conv2d of the same arguments shrinks them. The op
    alone, which takes variables instead of making parameters, is
    ``sluice.layers.ops.conv2d_transpose``.

    Args:
        input: [N, C, H, W], or [N, H, W, C] for NHWC.
        num_filters: channels of the output.
        output_size: its height and width, one number or two. A stride of s
            allows s of them; None is the smallest.
        filter_size: one number, or height and width, like the next three; None
            is the one that gives ``output_size``.
        padding: rows and columns of the output that are left out; or [top,
            bottom, left, right].
        stride: pixels of the output from one pixel of the input to the next.
        dilation: pixels from one element of the filter to the next.
        groups: number of groups of channels; None is 1.
        param_attr: for the filter [C, num_filters / groups, height, width];
            Xavier by default.
        bias_attr: for the bias [num_filters]; False for none.
        act: an op with input X and output Out, such as ``"relu"``.
        name: the layer's name.
        data_format: ``"NCHW"`` or ``"NHWC"``.

    Returns:
        [N, num_filters, H', W'], or [N, H', W', num_filters], with H' = (H - 1)
        * stride - paddings + dilation * (height of the filter - 1) + 1, or
        output_size.

    Raises:
        InvalidArgumentError: the input has another rank, channels are unknown
            or not divisible by groups, or output_size cannot be.
    """
    return _transposed(
        "conv2d_transpose",
        input,
        num_filters,
        (output_size, filter_size, padding, stride, dilation),
        groups,
        (param_attr, bias_attr),
        act,
        name,
        data_format=data_format,
    )


def conv3d_transpose(
    input: Variable,
    num_filters: int,
    output_size: Pair | None = None,
    filter_size: Pair | None = None,
    padding: Pair = 0,
    stride: Pair = 1,
    dilation: Pair = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """3-d transposed convolution: conv2d_transpose of volumes.

    The op alone, which takes variables instead of making parameters, is
    ``sluice.layers.ops.conv3d_transpose``.

    Args:
        input: [N, C, D, H, W].
        num_filters: channels of the output.
        output_size: its depth, height and width, one number or three.
        filter_size: one number, or depth, height and width, like the next
            three; None is the one that gives ``output_size``.
        padding: elements of the output that are left out at each end.
        stride: elements of the output from one of the input to the next.
        dilation: distance of the filter's elements.
        groups: number of groups of channels; None is 1.
        param_attr: for the filter [C, num_filters / groups, depth, height,
            width]; Xavier by default.
        bias_attr: for the bias [num_filters]; False for none.
        act: an op with input X and output Out, such as ``"relu"``.
        name: the layer's name.

    Returns:
        [N, num_filters, D', H', W'], with sizes as those of conv2d_transpose.

    Raises:
        InvalidArgumentError: the input has another rank, channels are unknown
            or not divisible by groups, or output_size cannot be.
    """
    return _transposed(
        "conv3d_transpose",
        input,
        num_filters,
        (output_size, filter_size, padding, stride, dilation),
        groups,
        (param_attr, bias_attr),
        act,
        name,
    )


def _transposed(
    layer: str,
    input: Variable,
    num_filters: int,
    sizes: tuple[Pair | None, Pair | None, Pair, Pair, Pair],
    groups: int | None,
    parameters: tuple[Any, Any],
    act: str | None,
    name: str | None,
    **attrs: str,
) -> Variable:
    """Append a transposed convolution with filter, bias and activation."""
    dims = 2 if layer == "conv2d_transpose" else 3
    last = attrs.get("data_format") == "NHWC"
    channels = channels_of(f"{layer}: input", input, dims + 2, *attrs.values())
    num_filters = positive(f"{layer}: num_filters", num_filters)
    groups = _divided(layer, "input channels", channels, groups)
    _divided(layer, "filters", num_filters, groups)
    output, window, stride, dilation = (
        _each_dim(f"{layer}: {what}", each, dims)
        for what, each in zip(
            ("output_size", "filter_size", "stride", "dilation"),
            (*sizes[:2], *sizes[3:]),
            strict=True,
        )
    )
    of_op = {
        "paddings": size_list(f"{layer}: padding", sizes[2], dims),
        "strides": stride,
        "dilations": dilation,
    }
    shape = (input.shape or ())[1:-1] if last else (input.shape or ())[2:]
    if output is not None:
        found = _fit(layer, shape, output, window, of_op)
        window, of_op["output_padding"] = found
    elif window is None:
        raise InvalidArgumentError(
            f"{layer}: expected filter_size or output_size, got neither"
            f"{created()}",
            "python.transposed_size",
        )
    helper = LayerHelper(layer, name, input.program)
    weight = helper.create_parameter(
        parameters[0], [channels, num_filters // groups, *window], input.dtype
    )
    bias = helper.create_parameter(
        parameters[1], [num_filters], input.dtype, is_bias=True
    )
    out = helper.append_op(
        layer,
        {"Input": input, "Filter": weight, "Bias": bias},
        attrs={**of_op, "groups": groups, **attrs},
    )["Output"]
    return helper.append_activation(out, act)


def _each_dim(what: str, value: Pair | None, dims: int) -> Any:
    """A positive integer for each dim; None for None."""
    if value is None:
        return None
    numbers = size_list(what, value, dims)
    if len(numbers) != dims or min(numbers) < 1:
        raise InvalidArgumentError(
            f"{what}: expected {dims} integers above 0, got {numbers}"
            f"{created()}",
            "python.each_dim",
        )
    return numbers


def _fit(
    layer: str,
    shape: tuple[int | None, ...],
    output: list[int],
    window: list[int] | None,
    of_op: dict[str, Any],
) -> tuple[list[int], list[int]]:
    """The filter's size that gives ``output``, and what is added at the end."""
    dims, paddings = len(shape), of_op["paddings"]
    if len(paddings) == dims:
        paddings = [each for each in paddings for _ in range(2)]
    sizes, added = [], []
    for i, (size, wanted) in enumerate(zip(shape, output, strict=True)):
        if size is None:
            raise InvalidArgumentError(
                f"{layer}: output_size needs an input of known sizes, got "
                f"{list(shape)}{created()}",
                "python.transposed_input",
            )
        stride, dilation = of_op["strides"][i], of_op["dilations"][i]
        first = (size - 1) * stride + 1 - sum(paddings[2 * i : 2 * i + 2])
        chosen = window[i] if window else (wanted - first) // dilation + 1
        least = first + dilation * (chosen - 1)
        if chosen < 1 or not least <= wanted < least + stride:
            limits = f"from {least} to {least + stride - 1}"
            if window is None:
                limits = f"{first} or more"
            raise InvalidArgumentError(
                f"{layer}: output_size[{i}]: expected {limits}, got {wanted}"
                f"{created()}",
                "python.transposed_size",
            )
        sizes.append(chosen)
        added.append(wanted - least)
    return sizes, added


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
    global_pooling: bool = False,
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
        global_pooling: one window over everything; D, H and W are known.
        ceil_mode: whether remaining elements get a window.
        exclusive: whether means exclude the padding.
        name: the output's name.
        dilation: distance of a window's elements.

    Returns:
        The input's shape with D, H and W divided by the stride.
    """
    if global_pooling:
        pool_size, pool_padding, dilation = _volume(input), 0, 1
    return _pool(
        "pool3d",
        input,
        (pool_size, pool_stride, pool_padding),
        name,
        pooling_type=pool_type,
        dilations=size_list("pool3d: dilation", dilation, 3),
        ceil_mode=ceil_mode,
        exclusive=exclusive,
    )


def _volume(input: Variable) -> list[int]:
    """The window of a global pool3d."""
    channels_of("pool3d: input", input, 5)
    volume = list((input.shape or ())[2:])
    if None in volume:
        raise InvalidArgumentError(
            "pool3d: global_pooling needs an input of known sizes, got "
            f"{input!r}{created()}",
            "python.global_pooling",
        )
    return volume  # type: ignore[return-value]


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
    window = size_list(f"{layer}: pool_size", size, dims)
    attrs |= {
        "ksize": window,
        "strides": window
        if stride is None
        else size_list(f"{layer}: pool_stride", stride, dims),
        "paddings": size_list(f"{layer}: pool_padding", padding, dims),
    }
    outputs = {"Out": name} if name else None
    return input.program.append_op(layer, {"X": input}, outputs, attrs)["Out"]


