"""Layers that normalise."""

from __future__ import annotations

import math
from typing import Any

from .. import _core, unique_name
from ..errors import InvalidArgumentError
from ..framework import Variable, created, positive, require_variable
from ..initializer import Constant, Normal
from ..layer_helper import LayerHelper
from .shapes import channels_of, index_of, move_axis, one_of


def _scale_and_bias(
    helper: LayerHelper, attrs: tuple[Any, Any], size: int | None, dtype: Any
) -> dict[str, Variable | None]:
    """Parameters that begin as ones and zeros; None for those left out."""
    ones = Constant(1.0)
    return {
        "Scale": helper.create_parameter(attrs[0], [size], dtype, ones),  # type: ignore[list-item]
        "Bias": helper.create_parameter(attrs[1], [size], dtype, is_bias=True),  # type: ignore[list-item]
    }


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

    From "Layer Normalization" (Ba et al., 2016). The op alone, which takes
    variables instead of making parameters, is ``sluice.layers.ops.layer_norm``.

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
        InvalidArgumentError: a size is unknown, begin_norm_axis is no dim of
            the input, or a parameter that is left out has an attribute.
    """
    require_variable("layer_norm: input", input)
    shape = input.shape or ()
    axis = index_of("layer_norm: begin_norm_axis", begin_norm_axis, len(shape))
    row = shape[axis:]
    attrs = (
        _wanted("scale", scale, "param_attr", param_attr),
        _wanted("shift", shift, "bias_attr", bias_attr),
    )
    helper = LayerHelper("layer_norm", name, input.program)
    size = None if None in row else math.prod(row)  # type: ignore[arg-type]
    inputs = {"X": input, **_scale_and_bias(helper, attrs, size, input.dtype)}
    of_op = {"epsilon": epsilon, "begin_norm_axis": axis}
    out = helper.append_op("layer_norm", inputs, attrs=of_op)["Y"]
    return helper.append_activation(out, act)


def _wanted(flag: str, wanted: Any, argument: str, attr: Any) -> Any:
    """The attribute of a parameter of layer_norm; False if it is left out."""
    if isinstance(wanted, Variable):
        raise InvalidArgumentError(
            f"layer_norm: {flag}: expected True or False, got {wanted!r}; "
            "sl.layers.ops.layer_norm takes scale and bias as variables"
            f"{created()}",
            "python.layer_norm_variable",
        )
    if one_of(f"layer_norm: {flag}", wanted, [True, False]):
        return attr
    if attr is not None and attr is not False:
        raise InvalidArgumentError(
            f"layer_norm: {argument} is {_core._shown(attr)}, but "
            f"{flag}=False leaves that parameter out{created()}",
            "python.layer_norm_attr",
        )
    return False


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

    From "Group Normalization" (Wu and He, 2018). The op alone, which takes
    variables instead of making parameters, is ``sluice.layers.ops.group_norm``.

    Args:
        input: [N, C, ...], or [N, ..., C] for NHWC.
        groups: how many; a divisor of C.
        epsilon: added to the variance.
        param_attr: for the scale [C]; ones by default, False for none.
        bias_attr: for the shift [C]; zeros by default, False for none.
        act: an op with input X and output Out, such as ``"relu"``.
        data_layout: ``"NCHW"``, or ``"NHWC"`` for channels in the last dim.
        name: the layer's name.

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
    parameters = _scale_and_bias(
        helper, (param_attr, bias_attr), channels, input.dtype
    )
    axis = -1 if data_layout == "NHWC" else 1
    first = move_axis(helper, input, axis, 1)
    out = helper.append_op(
        "group_norm",
        {"X": first, **parameters},
        attrs={"groups": groups, "epsilon": epsilon},
    )["Y"]
    return helper.append_activation(move_axis(helper, out, 1, axis), act)


def instance_norm(
    input: Variable,
    epsilon: float = 1e-5,
    param_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
) -> Variable:
    """Normalise each channel of each image, then scale and shift it.

    From "Instance Normalization: The Missing Ingredient for Fast Stylization"
    (Ulyanov et al., 2016). The op alone, which takes variables instead of
    making parameters, is ``sluice.layers.ops.instance_norm``.

    Args:
        input: [N, C, ...].
        epsilon: added to the variance.
        param_attr: for the scale [C]; ones by default, False for none.
        bias_attr: for the shift [C]; zeros by default, False for none.
        name: the layer's name.

    Returns:
        A variable of the input's shape.

    Raises:
        InvalidArgumentError: the number of channels is unknown, or the input
            has none.
    """
    channels = channels_of("instance_norm: input", input)
    helper = LayerHelper("instance_norm", name, input.program)
    parameters = _scale_and_bias(
        helper, (param_attr, bias_attr), channels, input.dtype
    )
    return helper.append_op(
        "instance_norm", {"X": input, **parameters}, attrs={"epsilon": epsilon}
    )["Y"]


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
    updates; they replace the batch's in a program cloned for testing.

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
        use_global_stats: use the moving averages in training, too, and leave
            them unchanged.
        sync: use mean and variance over the batches of all ranks
            (:mod:`sluice.distributed`); otherwise each rank uses its own, and
            has its own moving averages.

    Returns:
        A variable of the input's shape.

    Raises:
        InvalidArgumentError: the number of channels is unknown, or the input
            has none.
    """
    one_of("batch_norm: data_layout", data_layout, ["NCHW", "NHWC"])
    size = channels_of("batch_norm: input", input, layout=data_layout)
    helper, dtype = LayerHelper("batch_norm", name, input.program), input.dtype
    inputs = {
        "X": input,
        **_scale_and_bias(helper, (param_attr, bias_attr), size, dtype),
    }
    for argument, given, kind, start in (
        ("Mean", moving_mean_name, "mean", 0.0),
        ("Variance", moving_variance_name, "variance", 1.0),
    ):
        inputs[argument] = helper.create_persistable(
            given or f"{helper.name}.{kind}", [size], dtype, Constant(start)
        )
    outputs = {name + "Out": inputs[name] for name in ("Mean", "Variance")}
    attrs = {
        "momentum": momentum,
        "epsilon": epsilon,
        "is_test": is_test or use_global_stats,
        "data_format": data_layout,
    }
    op = "sync_batch_norm" if sync else "batch_norm"
    out = helper.append_op(op, inputs, outputs, attrs)["Y"]
    return helper.append_activation(out, act)


def spectral_norm(
    weight: Variable,
    dim: int = 0,
    power_iters: int = 1,
    eps: float = 1e-12,
    name: str | None = None,
) -> Variable:
    """A weight divided by its largest singular value, which is estimated.

    From "Spectral Normalization for Generative Adversarial Networks" (Miyato
    et al., 2018). As in Fluid each run iterates from the same two random
    vectors; PyTorch keeps them from run to run. They count as constants in the
    gradient.

    Args:
        weight: of known sizes; a matrix with the rows of dim ``dim``.
        dim: 0, or 1 for the weight of fc and of transposed convolutions.
        power_iters: how many times the vectors are improved.
        eps: added to the length of vectors, by which they are divided.
        name: the layer's name.

    Returns:
        A variable of the weight's shape.

    Raises:
        InvalidArgumentError: a size is unknown, or the rank below 2.
    """
    channels_of("spectral_norm: weight", weight)
    one_of("spectral_norm: dim", dim, [0, 1])
    count = positive("spectral_norm: power_iters", power_iters)
    shape: list[Any] = list(weight.shape or ())
    if None in shape:
        raise InvalidArgumentError(
            f"spectral_norm: the sizes of weight must be known, got {weight!r}"
            f"{created()}",
            "python.spectral_norm",
        )
    helper = LayerHelper("spectral_norm", name, weight.program)

    def op(type: str, inputs: dict[str, Any], **attrs: Any) -> Variable:
        return helper.append_op(type, inputs, attrs=attrs)["Out"]

    def product(x: Variable, y: Variable, **attrs: Any) -> Variable:
        return op("matmul", {"X": x, "Y": y}, **attrs)

    def unit(x: Variable) -> Variable:
        return x / (op("reduce_l2", {"X": x}, keep_dim=True) + eps)

    sizes = [shape[dim], math.prod(shape) // max(shape[dim], 1)]
    matrix = move_axis(helper, weight, dim, 0)
    matrix = op("reshape", {"X": matrix}, shape=sizes)
    u, v = (
        helper.create_persistable(
            unique_name.generate(f"{helper.name}.w"),
            [size],
            weight.dtype,
            Normal(0.0, 1.0),
        )
        for size in sizes
    )
    for _ in range(count):
        v = unit(product(matrix, u, transpose_X=True))
        u = unit(product(matrix, v))
    u.stop_gradient = v.stop_gradient = True
    return weight / product(product(u, matrix), v)
