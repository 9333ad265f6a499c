"""Layers of Fluid 1.8: its argument order, defaults and shapes.

A layer whose arguments a docstring does not describe has those of Fluid.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import layers as sluice_layers
from ..errors import NotFoundError
from ..framework import created
from ..initializer import Constant, Normal
from . import control_flow, writing
from .control_flow import *  # noqa: F403
from .framework import Variable, code_of, default_main_program
from .layer_helper import LayerHelper
from .simple_layers import LAYERS
from .writing import *  # noqa: F403

globals().update(LAYERS)

__all__ = [
    "accuracy",
    "batch_norm",
    "cast",
    "conv2d",
    "create_parameter",
    "crf_decoding",
    "data",
    "dropout",
    "dynamic_gru",
    "dynamic_lstm",
    "embedding",
    "fc",
    "linear_chain_crf",
    "pool2d",
    "reshape",
    "scale",
    "sequence_conv",
    "sequence_first_step",
    "sequence_last_step",
    "sequence_pool",
    "softmax_with_cross_entropy",
    "square_error_cost",
]
__all__ += sorted(LAYERS)
__all__ += control_flow.__all__
__all__ += writing.__all__


def data(
    name: str,
    shape: Sequence[int | None],
    append_batch_size: bool = True,
    dtype: Any = "float32",
    lod_level: int = 0,
    type: Any = None,
    stop_gradient: bool = True,
) -> Variable:
    """Declare a variable to feed.

    With ``append_batch_size`` a shape without -1 is that of one sample.
    """
    sizes = list(shape)
    if append_batch_size and not any(size in (-1, None) for size in sizes):
        sizes = [-1, *sizes]
    block = default_main_program().global_block()
    made = block.data(name, sizes, dtype, lod_level)
    made.stop_gradient = stop_gradient
    return made


def create_parameter(
    shape: Sequence[int],
    dtype: Any,
    name: str | None = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Any = None,
) -> Variable:
    """Create a parameter, or return that of its name."""
    from ..layer_helper import ParamAttr

    helper = LayerHelper("create_parameter")
    attr = ParamAttr(name=name) if attr is None else attr
    return helper.create_parameter(  # type: ignore[return-value]
        attr, shape, dtype, is_bias, default_initializer
    )


def _size(x: Variable, first: int, last: int | None = None) -> int:
    total = 1
    for size in x.shape[first:last]:
        total *= size
    return total


def fc(
    input: Any,
    size: int,
    num_flatten_dims: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Products of the inputs and a matrix each, their sum, a bias, ``act``."""
    helper = LayerHelper("fc", name)
    inputs = input if isinstance(input, (list, tuple)) else [input]
    attrs = (
        param_attr
        if isinstance(param_attr, list)
        else [param_attr] * len(inputs)
    )
    products = []
    for x, attr in zip(inputs, attrs, strict=True):
        shape = [_size(x, num_flatten_dims), size]
        w = helper.create_parameter(attr, shape, x.dtype)
        dims = {"x_num_col_dims": num_flatten_dims, "y_num_col_dims": 1}
        products.append(helper.append("mul", {"X": x, "Y": w}, dims))
    out = products[0]
    if len(products) > 1:
        out = helper.append("sum", {"X": products})
    return helper.activation(
        helper.bias(out, bias_attr, size, num_flatten_dims), act
    )


def embedding(
    input: Variable,
    size: Sequence[int],
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Variable:
    """Rows of a table; a last 1 of the ids is dropped."""
    helper = LayerHelper("embedding")
    w = helper.create_parameter(param_attr, size, dtype)
    none = -1 if padding_idx is None else padding_idx
    index = none if padding_idx is None or none >= 0 else none + size[0]
    return helper.append(
        "lookup_table",
        {"Ids": input, "W": w},
        {"is_sparse": is_sparse, "padding_idx": index},
    )


def dynamic_gru(
    input: Variable,
    size: int,
    param_attr: Any = None,
    bias_attr: Any = None,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    candidate_activation: str = "tanh",
    h_0: Variable | None = None,
    origin_mode: bool = False,
) -> Variable:
    """Gated recurrent units over products [rows, 3 * size]."""
    helper = LayerHelper("gru")
    w = helper.create_parameter(param_attr, [size, 3 * size], input.dtype)
    bias = helper.create_parameter(
        bias_attr, [1, 3 * size], input.dtype, is_bias=True
    )
    inputs = {"Input": input, "Weight": w, "Bias": bias, "H0": h_0}
    return helper.append(
        "gru",
        inputs,
        {
            "is_reverse": is_reverse,
            "gate_activation": gate_activation,
            "activation": candidate_activation,
            "origin_mode": origin_mode,
        },
        "Hidden",
    )


def dynamic_lstm(
    input: Variable,
    size: int,
    h_0: Variable | None = None,
    c_0: Variable | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_peepholes: bool = True,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    cell_activation: str = "tanh",
    candidate_activation: str = "tanh",
    dtype: Any = "float32",
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """Long short-term memory over products [rows, size]."""
    helper = LayerHelper("lstm", name)
    units = size // 4
    w = helper.create_parameter(param_attr, [units, size], dtype)
    width = 7 * units if use_peepholes else size
    bias = helper.create_parameter(bias_attr, [1, width], dtype, is_bias=True)
    return helper.append(
        "lstm",
        {"Input": input, "Weight": w, "Bias": bias, "H0": h_0, "C0": c_0},
        {
            "use_peepholes": use_peepholes,
            "is_reverse": is_reverse,
            "gate_activation": gate_activation,
            "cell_activation": cell_activation,
            "candidate_activation": candidate_activation,
        },
        "Hidden",
        ("Cell",),
    )


def _transition(helper: LayerHelper, attr: Any, emission: Variable) -> Any:
    tags = emission.shape[-1]
    return helper.create_parameter(attr, [tags + 2, tags], emission.dtype)


def linear_chain_crf(
    input: Variable,
    label: Variable,
    param_attr: Any = None,
    length: Variable | None = None,
) -> Variable:
    """The cost of each sequence's tags."""
    helper = LayerHelper("linear_chain_crf")
    inputs = {
        "Emission": input,
        "Transition": _transition(helper, param_attr, input),
        "Label": label,
        "Length": length,
    }
    return helper.append("linear_chain_crf", inputs, {}, "LogLikelihood")


def crf_decoding(
    input: Variable,
    param_attr: Any,
    label: Variable | None = None,
    length: Variable | None = None,
) -> Variable:
    """The likeliest tags, or where ``label`` is equal to them."""
    helper = LayerHelper("crf_decoding")
    inputs = {
        "Emission": input,
        "Transition": _transition(helper, param_attr, input),
        "Label": label,
        "Length": length,
    }
    return helper.append("crf_decoding", inputs, {}, "ViterbiPath")


def scale(
    x: Variable,
    scale: float = 1.0,
    bias: float = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """x * scale + bias."""
    helper = LayerHelper("scale", name)
    inputs: dict[str, Any] = {"X": x}
    attrs = {"bias": float(bias), "bias_after_scale": bias_after_scale}
    if isinstance(scale, Variable):
        inputs["ScaleTensor"] = scale
    else:
        attrs["scale"] = float(scale)
    return helper.activation(helper.append("scale", inputs, attrs), act)


def cast(x: Variable, dtype: Any) -> Variable:
    """Convert the elements."""
    attrs = {"in_dtype": code_of(x.dtype), "out_dtype": code_of(dtype)}
    return LayerHelper("cast").append("cast", {"X": x}, attrs)






def reshape(
    x: Variable,
    shape: Sequence[int],
    actual_shape: Variable | None = None,
    act: str | None = None,
    inplace: bool = False,
    name: str | None = None,
) -> Variable:
    """0 keeps a size, and -1 is the rest."""
    helper = LayerHelper("reshape2", name)
    inputs = {"X": x, "Shape": actual_shape}
    out = helper.append("reshape2", inputs, {"shape": list(shape)})
    return helper.activation(out, act)


def accuracy(
    input: Variable,
    label: Variable,
    k: int = 1,
    correct: Any = None,
    total: Any = None,
) -> Variable:
    """The share of rows whose label is among the first k, of shape [1]."""
    _, indices = LAYERS["topk"](input, k)
    helper = LayerHelper("accuracy")
    inputs = {"Indices": indices, "Label": label}
    return helper.append("accuracy", inputs, {}, "Accuracy")


def softmax_with_cross_entropy(
    logits: Variable,
    label: Variable,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """The cross entropy of the softmax, perhaps with the softmax."""
    helper = LayerHelper("softmax_with_cross_entropy")
    attrs = {
        "soft_label": soft_label, "ignore_index": ignore_index, "axis": axis
    }  # fmt: skip
    inputs = {"Logits": logits, "Label": label}
    made = helper.append(
        "softmax_with_cross_entropy", inputs, attrs, "Loss", ("Softmax",)
    )
    return made if return_softmax else made[0]


def square_error_cost(input: Variable, label: Variable) -> Variable:
    """(input - label) ** 2."""
    return LAYERS["square"](input - label)


def dropout(
    x: Variable,
    dropout_prob: float,
    is_test: bool = False,
    seed: int | None = None,
    name: str | None = None,
    dropout_implementation: str = "downgrade_in_infer",
) -> Variable:
    """Elements drawn and set to 0."""
    attrs = {
        "dropout_prob": dropout_prob,
        "is_test": is_test,
        "fix_seed": seed is not None,
        "seed": seed or 0,
        "dropout_implementation": dropout_implementation,
    }
    helper = LayerHelper("dropout", name)
    return helper.append("dropout", {"X": x}, attrs, "Out", ("Mask",))[0]


def _pair(value: Any) -> list[int]:
    return list(value) if isinstance(value, (list, tuple)) else [value, value]


def _padding(padding: Any) -> tuple[list[int], str]:
    if isinstance(padding, str):
        return [0, 0], padding.upper()
    return _pair(padding), "EXPLICIT"


def conv2d(
    input: Variable,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Variable:
    """A cross-correlation."""
    helper = LayerHelper("conv2d", name)
    last = data_format == "NHWC"
    channels = input.shape[3 if last else 1]
    groups = groups or 1
    kernel = _pair(filter_size)
    fan = channels * kernel[0] * kernel[1]
    w = helper.create_parameter(
        param_attr,
        [num_filters, channels // groups, *kernel],
        input.dtype,
        default_initializer=Normal(0.0, (2.0 / fan) ** 0.5),
    )
    pads, algorithm = _padding(padding)
    out = helper.append(
        "conv2d",
        {"Input": input, "Filter": w},
        {
            "strides": _pair(stride),
            "paddings": pads,
            "padding_algorithm": algorithm,
            "dilations": _pair(dilation),
            "groups": groups,
            "data_format": data_format,
        },
        "Output",
    )
    axis = 3 if last else 1
    return helper.activation(
        helper.bias(out, bias_attr, num_filters, axis), act
    )


def pool2d(
    input: Variable,
    pool_size: Any = -1,
    pool_type: str = "max",
    pool_stride: Any = 1,
    pool_padding: Any = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    exclusive: bool = True,
    data_format: str = "NCHW",
) -> Variable:
    """The largest or the mean of each window."""
    pads, algorithm = _padding(pool_padding)
    return LayerHelper("pool2d", name).append(
        "pool2d",
        {"X": input},
        {
            "pooling_type": pool_type,
            "ksize": _pair(pool_size),
            "global_pooling": global_pooling,
            "strides": _pair(pool_stride),
            "paddings": pads,
            "padding_algorithm": algorithm,
            "ceil_mode": ceil_mode,
            "exclusive": exclusive,
            "data_format": data_format,
        },
    )


def batch_norm(
    input: Variable,
    act: str | None = None,
    is_test: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-5,
    param_attr: Any = None,
    bias_attr: Any = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    use_global_stats: bool = False,
) -> Variable:
    """Normalized by the batch, in tests by the moving averages."""
    helper = LayerHelper("batch_norm", name)
    channels = [input.shape[-1 if data_layout == "NHWC" else 1]]
    inputs: dict[str, Any] = {
        "X": input,
        "Scale": helper.create_parameter(
            param_attr, channels, input.dtype, False, Constant(1.0)
        ),
        "Bias": helper.create_parameter(
            bias_attr, channels, input.dtype, is_bias=True
        ),
    }
    for slot, given, value in (
        ("Mean", moving_mean_name, 0.0),
        ("Variance", moving_variance_name, 1.0),
    ):
        from .. import unique_name

        stored = given or unique_name.generate(f"{helper.name}.w")
        inputs[slot] = helper.create_persistable(
            stored, channels, input.dtype, Constant(value)
        )
    attrs = {
        "momentum": momentum,
        "epsilon": epsilon,
        "is_test": is_test,
        "data_layout": data_layout,
        "use_global_stats": use_global_stats,
    }
    name = f"{helper.name}.tmp_2"
    averages = {"MeanOut": inputs["Mean"], "VarianceOut": inputs["Variance"]}
    helper.block.append_op("batch_norm", inputs, {"Y": name, **averages}, attrs)
    return helper.activation(helper.block.var(name), act)


def _reduction(type: str) -> Any:
    def layer(
        input: Variable,
        dim: Any = None,
        keep_dim: bool = False,
        name: str | None = None,
    ) -> Variable:
        dims = [dim] if isinstance(dim, int) else list(dim or [])
        attrs = {
            "dim": dims or [0], "keep_dim": keep_dim, "reduce_all": not dims
        }  # fmt: skip
        return LayerHelper(type, name).append(type, {"X": input}, attrs)

    layer.__name__ = type
    layer.__doc__ = f"The op ``{type}``, over all dims if ``dim`` is None."
    return layer


for _kind in ("sum", "mean", "max", "min", "prod", "all", "any"):
    globals()[f"reduce_{_kind}"] = _reduction(f"reduce_{_kind}")
    __all__ += [f"reduce_{_kind}"]


def sequence_pool(
    input: Variable,
    pool_type: str,
    is_test: bool = False,
    pad_value: float = 0.0,
) -> Variable:
    """One row for each sequence."""
    attrs = {"pooltype": pool_type.upper(), "pad_value": pad_value}
    return LayerHelper("sequence_pool").append(
        "sequence_pool", {"X": input}, attrs
    )


def sequence_first_step(input: Variable) -> Variable:
    """The first row of each sequence."""
    return sequence_pool(input, "first")


def sequence_last_step(input: Variable) -> Variable:
    """The last row of each sequence."""
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
    """Windows of rows, side by side, times a matrix."""
    helper = LayerHelper("sequence_conv", name)
    shape = [filter_size * input.shape[1], num_filters]
    start = -int(filter_size // 2) if padding_start is None else padding_start
    out = helper.append(
        "sequence_conv",
        {
            "X": input,
            "Filter": helper.create_parameter(param_attr, shape, input.dtype),
        },
        {
            "contextStride": filter_stride,
            "contextStart": start,
            "contextLength": filter_size,
        },
    )
    return helper.activation(helper.bias(out, bias_attr, num_filters), act)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    also = ""
    if hasattr(sluice_layers, name):
        also = f"; sl.layers.{name} is for programs of Sluice"
    raise NotFoundError(
        f"fluid.layers.{name} is not there yet{also}{created()}", "fluid.layer"
    )
