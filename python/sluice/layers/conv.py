"""Convolutions, transposed convolutions and pooling."""

from __future__ import annotations

import math
from typing import Any

from ..errors import argument_error
from ..feed_values import positive
from ..initializer import Normal
from ..layer_helper import LayerHelper, Pair, channels_of, make, size_list
from ..program import Variable, require_variable

__all__ = [
    "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose", "pool2d",
    "pool3d",
]


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
    return _convolution("conv2d", **locals())


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

    Arguments and errors are those of :func:`conv2d`, with depth before height
    and width: the input is [N, C, D, H, W], the filter [num_filters, C /
    groups, depth, height, width].

    Returns:
        [N, num_filters, D', H', W'].
    """
    return _convolution("conv3d", **locals())


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

    It enlarges images as a conv2d of the same arguments shrinks them. Arguments
    that are not here are those of :func:`conv2d`.

    Args:
        output_size: its height and width, one number or two. A stride of s
            allows s of them; None is the smallest.
        filter_size: one number, or height and width, like the next three; None
            is the one that gives ``output_size``.
        padding: rows and columns of the output that are left out; or [top,
            bottom, left, right].
        stride: pixels of the output from one pixel of the input to the next.
        param_attr: for the filter [C, num_filters / groups, height, width];
            Xavier by default.

    Returns:
        [N, num_filters, H', W'], or [N, H', W', num_filters], with H' = (H - 1)
        * stride - paddings + dilation * (height of the filter - 1) + 1, or
        output_size.

    Raises:
        InvalidArgumentError: the input has another rank, channels are unknown
            or not divisible by groups, or output_size cannot be.
    """
    return _convolution("conv2d_transpose", **locals())


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
    """3-d transposed convolution, with a bias and an activation.

    Arguments and errors are those of :func:`conv2d_transpose`, with depth
    before height and width: the input is [N, C, D, H, W], the filter [C,
    num_filters / groups, depth, height, width].

    Returns:
        [N, num_filters, D', H', W'].
    """
    return _convolution("conv3d_transpose", **locals())


def _convolution(
    layer: str,
    input: Variable,
    num_filters: int,
    filter_size: Pair | None,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int | None,
    param_attr: Any,
    bias_attr: Any,
    act: str | None,
    name: str | None,
    output_size: Pair | None = None,
    **attrs: Any,
) -> Variable:
    """Append a convolution with its filter, bias and activation."""
    dims = 2 if layer.startswith("conv2d") else 3
    channels = channels_of(f"{layer}: input", input, dims + 2, *attrs.values())
    num_filters = positive(f"{layer}: num_filters", num_filters)
    groups = 1 if groups is None else positive(f"{layer}: groups", groups)
    _divided(layer, groups, channels, "input channels")
    sizes = {"stride": stride, "padding": padding, "dilation": dilation}
    for what, each in sizes.items():
        attrs[what + "s"] = size_list(f"{layer}: {what}", each, dims)
    initializer = None
    if layer.endswith("transpose"):
        _divided(layer, groups, num_filters, "filters")
        window = _window(layer, input, filter_size, output_size, attrs)
        shape = [channels, num_filters // groups, *window]
    else:
        window = size_list(f"{layer}: filter_size", filter_size, dims)  # type: ignore[arg-type]
        shape = [num_filters, channels // groups, *window]
        deviation = math.sqrt(2.0 / max(math.prod(shape[1:]), 1))
        initializer = Normal(0.0, deviation)
    helper, dtype = LayerHelper(layer, name, input.program), input.dtype
    weight = helper.create_parameter(param_attr, shape, dtype, initializer)
    bias = helper.create_parameter(
        bias_attr, [num_filters], dtype, is_bias=True
    )
    inputs = {"Input": input, "Filter": weight, "Bias": bias}
    attrs["groups"] = groups
    out = helper.append_op(layer, inputs, attrs=attrs)["Output"]
    return helper.append_activation(out, act)


def _divided(layer: str, groups: int, channels: int, what: str) -> None:
    if channels % groups != 0:
        raise argument_error(
            f"{layer}: {channels} {what} cannot be divided into {groups} "
            "groups",
            "python.groups",
        )


def _window(
    layer: str,
    input: Variable,
    filter_size: Pair | None,
    output_size: Pair | None,
    attrs: dict[str, Any],
) -> list[int]:
    """The sizes of a transposed convolution's filter. Sets the attribute that
    says how far ``output_size`` is above its smallest value.
    """
    shape = list(input.shape or ())
    shape = shape[1:-1] if attrs.get("data_format") == "NHWC" else shape[2:]
    dims, pads = len(shape), attrs["paddings"]
    if filter_size is None and output_size is None:
        raise argument_error(
            f"{layer}: expected filter_size or output_size, got neither",
            "python.transposed_size",
        )
    window, output, strides, dilations = (
        [None] * dims if sizes is None
        else size_list(f"{layer}: {what}", sizes, dims, exactly=True)
        for what, sizes in (
            ("filter_size", filter_size), ("output_size", output_size),
            ("stride", attrs["strides"]), ("dilation", attrs["dilations"]),
        )
    )  # fmt: skip
    if output_size is None:
        return window  # type: ignore[return-value]
    both = [2 * pad for pad in pads] + [0] * dims  # the op checks their number
    if len(pads) == 2 * dims:
        both = [sum(pads[i : i + 2]) for i in range(0, len(pads), 2)]
    attrs["output_padding"] = added = []
    for i, (size, wanted) in enumerate(zip(shape, output, strict=True)):
        if size is None:
            raise argument_error(
                f"{layer}: output_size needs an input of known sizes, got "
                f"{input!r}",
                "python.transposed_input",
            )
        first = (size - 1) * strides[i] + 1 - both[i]
        if filter_size is None:
            window[i] = (wanted - first) // dilations[i] + 1
        least = first + dilations[i] * (window[i] - 1)
        if window[i] < 1 or not least <= wanted < least + strides[i]:
            limits = f"from {least} to {least + strides[i] - 1}"
            if window[i] < 1:
                limits = f"{first} or more"
            raise argument_error(
                f"{layer}: output_size[{i}]: expected {limits}, got {wanted}",
                "python.transposed_size",
            )
        added.append(wanted - least)
    return window  # type: ignore[return-value]


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
    return _pool("pool2d", **locals())


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

    Arguments are those of :func:`pool2d`, with depth before height and width:
    the input is [N, C, D, H, W], whose D, H and W are known for
    ``global_pooling``. ``dilation`` is the distance of a window's elements.

    Returns:
        The input's shape with D, H and W divided by the stride.
    """
    return _pool("pool3d", **locals())


def _pool(
    layer: str,
    input: Variable,
    pool_size: Pair,
    pool_type: str,
    pool_stride: Pair | None,
    pool_padding: Pair,
    name: str | None,
    **attrs: Any,
) -> Variable:
    """Append pool2d or pool3d with size, stride and padding of its window."""
    require_variable(f"{layer}: input", input)
    dims = 2 if layer == "pool2d" else 3
    if dims == 3:
        dilation = attrs.pop("dilation")
        if attrs.pop("global_pooling"):
            volume = list(input.shape or ())[2:]
            pool_size = size_list("pool3d: the input's volume", volume, 3)
            pool_padding, dilation = 0, 1
        attrs["dilations"] = size_list("pool3d: dilation", dilation, 3)
    attrs["pooling_type"] = pool_type
    attrs["ksize"] = size_list(f"{layer}: pool_size", pool_size, dims)
    attrs["strides"] = attrs["ksize"]
    if pool_stride is not None:
        attrs["strides"] = size_list(f"{layer}: pool_stride", pool_stride, dims)
    attrs["paddings"] = size_list(f"{layer}: pool_padding", pool_padding, dims)
    return make(layer, input, name, **attrs)
