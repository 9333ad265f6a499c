"""Layers with parameters, by Fluid's argument order, defaults and shapes."""

from __future__ import annotations

import math
from typing import Any

from .. import unique_name
from ..errors import InvalidArgumentError
from ..framework import created
from ..initializer import Constant, Normal
from ..layer_helper import ParamAttr
from .framework import Variable
from .layer_helper import LayerHelper, layer
from .simple_layers import LAYERS, whole

__all__ = [
    "batch_norm", "bilinear_tensor_product", "center_loss", "conv2d",
    "conv2d_transpose", "conv3d", "conv3d_transpose", "data_norm", "embedding",
    "fc", "group_norm", "inplace_abn", "instance_norm", "layer_norm", "prelu",
    "row_conv", "sequence_conv", "spectral_norm",
]  # fmt: skip


@layer(
    "input, size, num_flatten_dims=1, param_attr=None, bias_attr=None, "
    "act=None, name=None"
)
def fc(helper: LayerHelper, a: Any) -> Variable:
    """Products of the inputs and a matrix each, their sum, a bias, ``act``."""
    several = isinstance(a.input, (list, tuple))
    inputs = list(a.input) if several else [a.input]
    attrs = a.param_attr
    attrs = attrs if isinstance(attrs, list) else [attrs] * len(inputs)
    dims = a.num_flatten_dims
    dims = len(inputs[0].shape) - 1 if dims == -1 else dims
    products = []
    for x, attr in zip(inputs, attrs, strict=True):
        shape = [math.prod(x.shape[dims:]), a.size]
        w = helper.create_parameter(attr, shape, x.dtype)
        columns = {"x_num_col_dims": dims, "y_num_col_dims": 1}
        products.append(helper.append("mul", {"X": x, "Y": w}, columns))
    out = products[0]
    if len(products) > 1:
        out = helper.append("sum", {"X": products})
    return helper.bias(out, a.bias_attr, a.size, dims)


_EMBEDDING = (
    "input, size, is_sparse=False, is_distributed=False, padding_idx=None, "
    "param_attr=None, dtype='float32'"
)


def _embedding(op: str) -> Any:
    @layer(_EMBEDDING)
    def embedding(helper: LayerHelper, a: Any) -> Variable:
        w = helper.create_parameter(a.param_attr, a.size, a.dtype)
        none = -1 if a.padding_idx is None else a.padding_idx
        past = a.padding_idx is not None and none < 0
        return helper.append(
            op,
            {"Ids": a.input, "W": w},
            {
                "is_sparse": a.is_sparse,
                "padding_idx": none + a.size[0] if past else none,
            },
        )

    return embedding


embedding = _embedding("lookup_table")
embedding.__doc__ = "Rows of a table; a last 1 of the ids is dropped."
embedding_v2 = _embedding("lookup_table_v2")
embedding_v2.__doc__ = "Rows of a table: ``fluid.embedding``."


def _padding(padding: Any, rank: int, form: str) -> tuple[list[int], str]:
    """Numbers, 1 or 2 for each dim, and the algorithm."""
    if isinstance(padding, str):
        return [0] * rank, padding.upper()
    pairs = whole(padding, rank)
    if not isinstance(pairs[0], (list, tuple)):
        return pairs, "EXPLICIT"
    last = form.endswith("C")
    spatial = pairs[1:-1] if last else pairs[2:]
    others = [*pairs[0], *(pairs[-1] if last else pairs[1])]
    if len(pairs) != rank + 2 or any(others):
        raise InvalidArgumentError(
            f"padding {padding!r}: expected a pair for each of {rank + 2} dims, "
            f"zeros for the batch and the channels{created()}",
            "fluid.padding",
        )
    return [size for pair in spatial for size in pair], "EXPLICIT"


def _window(a: Any, rank: int) -> dict[str, Any]:
    """The attributes that all convolutions have."""
    pads, algorithm = _padding(a.padding, rank, a.data_format)
    return {
        "strides": whole(a.stride, rank),
        "paddings": pads,
        "padding_algorithm": algorithm,
        "dilations": whole(a.dilation, rank),
        "groups": a.groups or 1,
        "data_format": a.data_format,
    }


def _channels(a: Any) -> tuple[int, int]:
    """The dim of the channels, and their number."""
    axis = len(a.input.shape) - 1 if a.data_format.endswith("C") else 1
    return axis, a.input.shape[axis]


def _convolution(type: str, rank: int) -> Any:
    form = "NCDHW" if rank == 3 else "NCHW"

    @layer(
        "input, num_filters, filter_size, stride=1, padding=0, dilation=1, "
        "groups=None, param_attr=None, bias_attr=None, use_cudnn=True, "
        f"act=None, name=None, data_format={form!r}",
        type,
    )
    def convolution(helper: LayerHelper, a: Any) -> Variable:
        """A cross-correlation."""
        axis, channels = _channels(a)
        kernel = whole(a.filter_size, rank)
        fan = channels * math.prod(kernel)
        w = helper.create_parameter(
            a.param_attr,
            [a.num_filters, channels // (a.groups or 1), *kernel],
            a.input.dtype,
            default_initializer=Normal(0.0, (2.0 / fan) ** 0.5),
        )
        inputs = {"Input": a.input, "Filter": w}
        out = helper.append(type, inputs, _window(a, rank), "Output")
        return helper.bias(out, a.bias_attr, a.num_filters, axis)

    convolution.__name__ = type
    return convolution


conv2d, conv3d = _convolution("conv2d", 2), _convolution("conv3d", 3)


def _transposed(type: str, rank: int) -> Any:
    form = "NCDHW" if rank == 3 else "NCHW"

    @layer(
        "input, num_filters, output_size=None, filter_size=None, padding=0, "
        "stride=1, dilation=1, groups=None, param_attr=None, bias_attr=None, "
        f"use_cudnn=True, act=None, name=None, data_format={form!r}",
        type,
    )
    def transposed(helper: LayerHelper, a: Any) -> Variable:
        """The gradient of a cross-correlation; sizes as in Fluid."""
        axis, channels = _channels(a)
        attrs = _window(a, rank)
        wanted = None if a.output_size is None else whole(a.output_size, rank)
        if a.filter_size is not None:
            kernel = whole(a.filter_size, rank)
        elif wanted is None:
            raise InvalidArgumentError(
                f"{type}: filter_size or output_size is needed{created()}",
                "fluid.filter_size",
            )
        else:
            sizes = a.input.shape[1:-1] if axis > 1 else a.input.shape[2:]
            pads = attrs["paddings"]
            pads = pads if len(pads) > rank else [p for p in pads for _ in "ab"]
            kernel = [
                (wanted[k] - (sizes[k] - 1) * attrs["strides"][k]
                 + pads[2 * k] + pads[2 * k + 1] - 1)
                // attrs["dilations"][k] + 1
                for k in range(rank)
            ]  # fmt: skip
        shape = [channels, a.num_filters // attrs["groups"], *kernel]
        w = helper.create_parameter(a.param_attr, shape, a.input.dtype)
        attrs["output_size"] = wanted or []
        inputs = {"Input": a.input, "Filter": w}
        out = helper.append(type, inputs, attrs, "Output")
        return helper.bias(out, a.bias_attr, a.num_filters, axis)

    transposed.__name__ = type
    return transposed


conv2d_transpose = _transposed("conv2d_transpose", 2)
conv3d_transpose = _transposed("conv3d_transpose", 3)


def _affine(
    helper: LayerHelper, a: Any, size: int, scale: Any = True, bias: Any = True
) -> dict[str, Any]:
    """The inputs of a normalization, with the parameters that are wanted."""
    inputs = {"X": a.input}
    if scale:
        inputs["Scale"] = helper.create_parameter(
            a.param_attr, [size], a.input.dtype, False, Constant(1.0)
        )
    if bias:
        inputs["Bias"] = helper.create_parameter(
            a.bias_attr, [size], a.input.dtype, is_bias=True
        )
    return inputs


_BATCH_NORM = (
    "input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, "
    "param_attr=None, bias_attr=None, data_layout='NCHW', {}name=None, "
    "moving_mean_name=None, moving_variance_name=None, "
    "do_model_average_for_mean_and_var=True, use_global_stats=False"
)


@layer(_BATCH_NORM.format("in_place=False, "))
def batch_norm(helper: LayerHelper, a: Any) -> Variable:
    """Normalized by the batch, in tests by the moving averages."""
    channels = a.input.shape[-1 if a.data_layout == "NHWC" else 1]
    inputs = _affine(helper, a, channels)
    for slot, given, value in (
        ("Mean", a.moving_mean_name, 0.0),
        ("Variance", a.moving_variance_name, 1.0),
    ):
        stored = given or unique_name.generate(f"{helper.name}.w")
        inputs[slot] = helper.create_persistable(
            stored, [channels], a.input.dtype, Constant(value)
        )
    attrs = {
        key: getattr(a, key)
        for key in ("momentum", "epsilon", "is_test", "data_layout")
    }
    name = unique_name.generate(f"{helper.name}.tmp")
    averages = {"MeanOut": inputs["Mean"], "VarianceOut": inputs["Variance"]}
    helper.block.append_op(
        "batch_norm",
        inputs,
        {"Y": name, **averages},
        {**attrs, "use_global_stats": a.use_global_stats},
    )
    return helper.block.var(name)


@layer(_BATCH_NORM.format("") + ", act_alpha=1.0")
def inplace_abn(helper: LayerHelper, a: Any) -> Variable:
    """:func:`batch_norm` and one of its activations: elu, leaky_relu."""
    given = dict(vars(a))
    act, alpha = given.pop("act"), given.pop("act_alpha")
    out = batch_norm(**given)
    a.act = None
    if act is None:
        return out
    attrs = {} if act == "identity" else {"alpha": alpha}
    return helper.append(
        "assign" if act == "identity" else act, {"X": out}, attrs
    )


@layer("input, epsilon=1e-05, param_attr=None, bias_attr=None, name=None")
def instance_norm(helper: LayerHelper, a: Any) -> Variable:
    """Each channel of each image normalized."""
    inputs = _affine(helper, a, a.input.shape[1])
    return helper.append("instance_norm", inputs, {"epsilon": a.epsilon}, "Y")


@layer(
    "input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05, "
    "param_attr=None, bias_attr=None, act=None, name=None"
)
def layer_norm(helper: LayerHelper, a: Any) -> Variable:
    """Normalized over the dims from ``begin_norm_axis`` on."""
    size = math.prod(a.input.shape[a.begin_norm_axis :])
    return helper.append(
        "layer_norm",
        _affine(helper, a, size, a.scale, a.shift),
        {"epsilon": a.epsilon, "begin_norm_axis": a.begin_norm_axis},
        "Y",
    )


@layer(
    "input, groups, epsilon=1e-05, param_attr=None, bias_attr=None, act=None, "
    "data_layout='NCHW', name=None"
)
def group_norm(helper: LayerHelper, a: Any) -> Variable:
    """Groups of channels normalized; as in Fluid 1.8, with a scale and a bias
    only if ``param_attr`` and ``bias_attr`` are given.
    """
    size = a.input.shape[-1 if a.data_layout == "NHWC" else 1]
    return helper.append(
        "group_norm",
        _affine(helper, a, size, a.param_attr, a.bias_attr),
        {
            "groups": a.groups,
            "epsilon": a.epsilon,
            "data_layout": a.data_layout,
        },
        "Y",
    )


@layer(
    "input, act=None, epsilon=1e-05, param_attr=None, data_layout='NCHW', "
    "in_place=False, name=None, moving_mean_name=None, "
    "moving_variance_name=None, do_model_average_for_mean_and_var=True, "
    "slot_dim=-1, sync_stats=False, summary_decay_rate=0.9999999"
)
def data_norm(helper: LayerHelper, a: Any) -> Variable:
    """Normalized by stored sums, which ``param_attr``, a dict, may begin. Runs
    do not change them.
    """
    size = a.input.shape[-1 if a.data_layout == "NHWC" else 1]
    first = a.param_attr or {}
    inputs = {"X": a.input}
    for slot, name, key, value in (
        ("BatchSize", "batch_size", "batch_size", 1e4),
        ("BatchSum", "batch_sum", "batch_sum", 0.0),
        ("BatchSquareSum", "batch_square_sum", "batch_square", 1e4),
    ):
        start = Constant(float(first.get(key, value)))
        inputs[slot] = helper.create_persistable(
            f"{helper.name}.{name}", [size], a.input.dtype, start
        )
    attrs = {
        key: getattr(a, key)
        for key in ("epsilon", "slot_dim", "summary_decay_rate")
    }
    return helper.append("data_norm", inputs, attrs, "Y")


@layer("weight, dim=0, power_iters=1, eps=1e-12, name=None")
def spectral_norm(helper: LayerHelper, a: Any) -> Variable:
    """A weight divided by its largest singular value, found by iteration."""
    shape = a.weight.shape
    height = shape[a.dim]
    inputs = {"Weight": a.weight}
    for slot, size in (("U", height), ("V", math.prod(shape) // height)):
        inputs[slot] = helper.create_parameter(
            ParamAttr(trainable=False),
            [size],
            a.weight.dtype,
            default_initializer=Normal(0.0, 1.0),
        )
    attrs = {"dim": a.dim, "power_iters": a.power_iters, "eps": a.eps}
    return helper.append("spectral_norm", inputs, attrs)


@layer("x, mode, param_attr=None, name=None")
def prelu(helper: LayerHelper, a: Any) -> Variable:
    """x * alpha below 0: one alpha, one a channel, or one an element."""
    shapes = {
        "all": [1],
        "channel": [1, *a.x.shape[1:2]],
        "element": [1, *a.x.shape[1:]],
    }
    alpha = helper.create_parameter(
        a.param_attr,
        shapes.get(a.mode, [1]),
        "float32",
        default_initializer=Constant(0.25),
    )
    return helper.append("prelu", {"X": a.x, "Alpha": alpha}, {"mode": a.mode})


@layer("input, future_context_size, param_attr=None, act=None")
def row_conv(helper: LayerHelper, a: Any) -> Variable:
    """Each row as a weighted sum of itself and the rows after it."""
    shape = [a.future_context_size + 1, a.input.shape[-1]]
    w = helper.create_parameter(a.param_attr, shape, a.input.dtype)
    return helper.append("row_conv", {"X": a.input, "Filter": w})


@layer(
    "input, num_filters, filter_size=3, filter_stride=1, padding=True, "
    "padding_start=None, bias_attr=None, param_attr=None, act=None, name=None"
)
def sequence_conv(helper: LayerHelper, a: Any) -> Variable:
    """Windows of rows, side by side, times a matrix."""
    shape = [a.filter_size * a.input.shape[1], a.num_filters]
    start = a.padding_start
    inputs = {
        "X": a.input,
        "Filter": helper.create_parameter(a.param_attr, shape, a.input.dtype),
    }
    attrs = {
        "contextStride": a.filter_stride,
        "contextStart": -int(a.filter_size // 2) if start is None else start,
        "contextLength": a.filter_size,
    }
    out = helper.append("sequence_conv", inputs, attrs)
    return helper.bias(out, a.bias_attr, a.num_filters)


@layer("x, y, size, act=None, name=None, param_attr=None, bias_attr=None")
def bilinear_tensor_product(helper: LayerHelper, a: Any) -> Variable:
    """x W_k y for each k of ``size``, and a bias."""
    shape = [a.size, a.x.shape[1], a.y.shape[1]]
    inputs = {
        "X": a.x,
        "Y": a.y,
        "Weight": helper.create_parameter(a.param_attr, shape, a.x.dtype),
        "Bias": helper.create_parameter(
            a.bias_attr, [1, a.size], a.x.dtype, is_bias=True
        ),
    }
    return helper.append("bilinear_tensor_product", inputs)


@layer("input, label, num_classes, alpha, param_attr, update_center=True")
def center_loss(helper: LayerHelper, a: Any) -> Variable:
    """Half the squared distance of each row to the center of its label; runs
    move the centers by ``alpha``, a number or a variable.
    """
    centers = helper.create_parameter(
        a.param_attr, [a.num_classes, a.input.shape[1]], a.input.dtype
    )
    centers.stop_gradient = True  # type: ignore[union-attr]
    alpha = a.alpha
    if not isinstance(alpha, Variable):
        alpha = LAYERS["fill_constant"]([1], "float32", alpha)
    loss = unique_name.generate(f"{helper.name}.tmp")
    helper.block.append_op(
        "center_loss",
        {
            "X": a.input,
            "Label": a.label,
            "Centers": centers,
            "CenterUpdateRate": alpha,
        },
        {"Loss": loss, "CentersOut": centers},
        {"cluster_num": a.num_classes, "need_update": a.update_center},
    )
    return helper.block.var(loss)
