"""Layers that normalise."""

from __future__ import annotations

import math
from typing import Any

from ..feed_values import positive
from ..initializer import Constant
from ..layer_helper import LayerHelper, channels_of, index_of, move_axis, one_of
from ..program import Variable

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm"]


def _inputs(
    helper: LayerHelper, x: Variable, attrs: tuple[Any, Any], size: Any
) -> dict[str, Variable | None]:
    """``x``, a scale of ones and a bias of zeros; None for those left out."""
    shape, dtype, ones = [size], x.dtype, Constant(1.0)
    scale = helper.create_parameter(attrs[0], shape, dtype, ones)
    bias = helper.create_parameter(attrs[1], shape, dtype, is_bias=True)
    return {"X": x, "Scale": scale, "Bias": bias}


def layer_norm(
    input: Variable,
    scale: bool = True,
    shift: bool = True,
    begin_norm_axis: int = 1,
    epsilon: float = 1e-5,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Normalise the elements of each row together, then scale and shift them.

    From "Layer Normalization" (Ba et al., 2016). ``ops.layer_norm`` is the
    op without parameters.

    Args:
        input: rank 1 or more; sizes from ``begin_norm_axis`` on are known.
        scale: whether there is a scale.
        shift: whether there is a shift.
        begin_norm_axis: the first of the dims that are normalised together;
            a negative one counts from the end.
        epsilon: added to the variance.
        param_attr: for the scale, one number for each element of a row; ones
            by default, False for none.
        bias_attr: for the shift, of the same shape; zeros by default.
        act: an op with input X and output Out, such as ``"relu"``.
        name: the layer's name.

    Returns:
        A variable of the input's shape.

    Raises:
        InvalidArgumentError: a size is unknown, or begin_norm_axis is no dim
            of the input.
    """
    shape = input.shape or ()
    axis = index_of("layer_norm: begin_norm_axis", begin_norm_axis, len(shape))
    row = shape[axis:]
    attrs = (
        one_of("layer_norm: scale", scale, [True, False]) and param_attr,
        one_of("layer_norm: shift", shift, [True, False]) and bias_attr,
    )
    helper = LayerHelper("layer_norm", name, input.program)
    size = None if None in row else math.prod(row)  # type: ignore[arg-type]
    inputs = _inputs(helper, input, attrs, size)
    of_op = {"epsilon": epsilon, "begin_norm_axis": axis}
    out = helper.append_op("layer_norm", inputs, attrs=of_op)["Y"]
    return helper.append_activation(out, act)


def group_norm(
    input: Variable,
    groups: int,
    epsilon: float = 1e-5,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    data_layout: str = "NCHW",
    name: str | None = None,
) -> Variable:
    """Normalise groups of channels of each image, then scale and shift them.

    From "Group Normalization" (Wu and He, 2018). ``ops.group_norm`` is the op
    without parameters. Other arguments are those of :func:`layer_norm`.

    Args:
        input: [N, C, ...], or [N, ..., C] for NHWC.
        groups: how many; a divisor of C.
        param_attr: for the scale [C]; ones by default, False for none.
        bias_attr: for the shift [C]; zeros by default, False for none.
        data_layout: ``"NCHW"``, or ``"NHWC"`` for channels in the last dim.

    Returns:
        A variable of the input's shape.

    Raises:
        InvalidArgumentError: the number of channels is unknown or not
            divisible by groups, or the input has no channels.
    """
    one_of("group_norm: data_layout", data_layout, ["NCHW", "NHWC"])
    channels = channels_of("group_norm: input", input, layout=data_layout)
    groups = positive("group_norm: groups", groups)
    helper = LayerHelper("group_norm", name, input.program)
    axis = -1 if data_layout == "NHWC" else 1
    first = move_axis(input, axis, 1)
    inputs = _inputs(helper, first, (param_attr, bias_attr), channels)
    attrs = {"groups": groups, "epsilon": epsilon}
    out = helper.append_op("group_norm", inputs, attrs=attrs)["Y"]
    return helper.append_activation(move_axis(out, 1, axis), act)


def instance_norm(
    input: Variable,
    epsilon: float = 1e-5,
    param_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
) -> Variable:
    """Normalise each channel of each image, then scale and shift it.

    From "Instance Normalization: The Missing Ingredient for Fast Stylization"
    (Ulyanov et al., 2016). ``ops.instance_norm`` is the op without parameters.
    Arguments are those of :func:`group_norm`; the input is [N, C, ...].

    Returns:
        A variable of the input's shape.

    Raises:
        InvalidArgumentError: the input has no channels, or their number is
            unknown.
    """
    channels = channels_of("instance_norm: input", input)
    helper = LayerHelper("instance_norm", name, input.program)
    inputs = _inputs(helper, input, (param_attr, bias_attr), channels)
    attrs = {"epsilon": epsilon}
    return helper.append_op("instance_norm", inputs, attrs=attrs)["Y"]


def batch_norm(
    input: Variable,
    act: str | None = None,
    is_test: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    param_attr: Any = None,
    bias_attr: Any = None,
    data_layout: str = "NCHW",
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    use_global_stats: bool = False,
    sync: bool = False,
) -> Variable:
    """Normalise each channel over batch and places, then scale and shift it.

    The moving averages of mean and variance are persistables that training
    updates; they replace the batch's in a program cloned for testing. Variances
    are sums of squares over N, as in Fluid (PyTorch's moving one: over N - 1).

    Args:
        input: [N, C, ...], or [N, ..., C] for NHWC.
        act: an op with input X and output Out, such as ``"relu"``.
        is_test: use the moving averages.
        momentum: the momentum of the moving averages.
        epsilon: added to the variance.
        param_attr: for the scale [C]; ones by default.
        bias_attr: for the shift [C]; zeros by default.
        data_layout: ``"NCHW"``, or ``"NHWC"`` for channels in the last dim.
        name: the layer's name.
        moving_mean_name: the name of the moving average of the mean.
        moving_variance_name: the name of that of the variance.
        use_global_stats: use the averages, unchanged, in training, too.
        sync: use mean and variance over the batches of all ranks
            (:mod:`sluice.distributed`); otherwise each rank uses its own, and
            has its own moving averages.

    Returns:
        A variable of the input's shape.

    Raises:
        InvalidArgumentError: the number of channels is unknown.
    """
    one_of("batch_norm: data_layout", data_layout, ["NCHW", "NHWC"])
    size = channels_of("batch_norm: input", input, layout=data_layout)
    helper = LayerHelper("batch_norm", name, input.program)
    inputs = _inputs(helper, input, (param_attr, bias_attr), size)
    names = {"Mean": moving_mean_name, "Variance": moving_variance_name}
    for start, (argument, own) in enumerate(names.items()):
        moving = own or f"{helper.name}.{argument.lower()}"
        inputs[argument] = helper.create_persistable(
            moving, [size], input.dtype, Constant(float(start))
        )
    outputs = {f"{argument}Out": inputs[argument] for argument in names}
    attrs: dict[str, Any] = {"momentum": momentum, "epsilon": epsilon}
    attrs["is_test"] = is_test or use_global_stats
    attrs["data_format"] = data_layout
    op = "sync_batch_norm" if sync else "batch_norm"
    out = helper.append_op(op, inputs, outputs, attrs)["Y"]
    return helper.append_activation(out, act)
