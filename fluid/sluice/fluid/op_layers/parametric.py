"""What layers with parameters or computed attributes compute.

The stub of this module declares the layers. A function gets those arguments of
its layer that it names, and adds to the op that is being appended.
"""

import dataclasses
import math
import pathlib
from typing import Any

import numpy as np

from ...initializer import Constant, Normal
from ...layer_helper import ParamAttr
from ..errors import wrong
from ..framework import Variable, code_of
from . import as_tensor, assign_value, declare, whole


def _channel_axis(x: Variable, data_format: str) -> int:
    return len(x.shape) - 1 if data_format.endswith("C") else 1


def _channels(x: Variable, data_format: str = "NCHW") -> Any:
    """The number of channels, or None if there is no such dim."""
    axis = _channel_axis(x, data_format)
    return x.shape[axis] if len(x.shape) > axis else None


# Normalizations


def _normalize(op, scale: Any, bias: Any, *sizes: Any) -> None:
    op.parameter("Scale", scale, [*sizes], Constant(1.0))
    op.parameter("Bias", bias, [*sizes])


def batch_norm(
    op, input, param_attr, bias_attr, data_layout, moving_mean_name,
    moving_variance_name,
):  # fmt: skip
    size = _channels(input, data_layout)
    _normalize(op, param_attr, bias_attr, size)
    op.state("Mean", moving_mean_name, [size], Constant(0.0))
    op.state("Variance", moving_variance_name, [size], Constant(1.0))
    op.into["MeanOut"] = op.inputs["Mean"]
    op.into["VarianceOut"] = op.inputs["Variance"]


def data_norm(op, input, param_attr, data_layout):
    given = param_attr or {}
    for slot, name, argument, start in (
        ("BatchSize", "batch_size", "batch_size", 1e4),
        ("BatchSum", "batch_sum", "batch_sum", 0.0),
        ("BatchSquareSum", "batch_square_sum", "batch_square", 1e4),
    ):
        value = Constant(float(given.get(argument, start)))
        stored = f"{op.helper.name}.{name}"
        op.state(slot, stored, [_channels(input, data_layout)], value)


def group_norm(op, input, param_attr, bias_attr, data_layout):
    size = _channels(input, data_layout)
    _normalize(op, param_attr or False, bias_attr or False, size)


def instance_norm(op, input, param_attr, bias_attr):
    _normalize(op, param_attr, bias_attr, _channels(input))


def layer_norm(op, input, scale, shift, begin_norm_axis, param_attr, bias_attr):
    size = math.prod(input.shape[begin_norm_axis:])
    _normalize(op, scale and param_attr, shift and bias_attr, size)


# Windows over images


def _pad(op, padding: Any, data_format: str) -> list[int]:
    """Set the attributes of a padding; return the numbers."""
    pads = _pads(padding, len(op.attrs["strides"]), data_format)
    by_name = isinstance(padding, str)
    op.attrs["paddings"] = pads
    op.attrs["padding_algorithm"] = padding.upper() if by_name else "EXPLICIT"
    return pads


def _pads(padding: Any, rank: int, data_format: str) -> list[int]:
    """A number, or two, for each dim of an image."""
    if isinstance(padding, str):
        return [0] * rank
    pairs = whole(padding, rank)
    if not isinstance(pairs[0], (list, tuple)):
        return pairs
    last = data_format.endswith("C")
    spatial = pairs[1:-1] if last else pairs[2:]
    others = [*pairs[0], *(pairs[-1] if last else pairs[1])]
    if len(pairs) != rank + 2 or any(others):
        wrong(
            f"padding {padding!r}: expected a pair for each of {rank + 2} "
            "dims, zeros for the batch and the channels",
            "fluid.padding",
        )
    return [size for pair in spatial for size in pair]


def conv2d(
    op, input, num_filters, filter_size, padding, groups, param_attr,
    data_format,
):  # fmt: skip
    groups = 1 if groups is None else groups
    channels = _channels(input, data_format)
    kernel = whole(filter_size, len(op.attrs["strides"]))
    sizes = [num_filters, channels // groups, *kernel]
    start = Normal(0.0, (2.0 / (channels * math.prod(kernel))) ** 0.5)
    op.parameter("Filter", param_attr, sizes, start)
    _pad(op, padding, data_format)
    op.attrs["groups"] = groups
    op.bias(num_filters, _channel_axis(input, data_format))


def conv2d_transpose(
    op, input, num_filters, output_size, filter_size, padding,
    groups, param_attr, data_format,
):  # fmt: skip
    pads = _pad(op, padding, data_format)
    groups = op.attrs["groups"] = 1 if groups is None else groups
    channels = _channels(input, data_format)
    kernel = (
        _kernel_of_output(op, input, output_size, pads, data_format)
        if filter_size is None
        else whole(filter_size, len(op.attrs["strides"]))
    )
    sizes = [channels, num_filters // groups, *kernel]
    op.parameter("Filter", param_attr, sizes)
    op.bias(num_filters, _channel_axis(input, data_format))


def _kernel_of_output(
    op, x: Variable, wanted: Any, pads: list[int], data_format: str
) -> list[int]:
    """The filter of a transposed convolution, from the size of its output."""
    if wanted is None:
        wrong(
            "a transposed convolution needs filter_size or output_size",
            "fluid.filter_size",
        )
    sizes = x.shape[1:-1] if data_format.endswith("C") else x.shape[2:]
    steps, gaps = op.attrs["strides"], op.attrs["dilations"]
    rank = len(steps)
    margins = [2 * pad for pad in pads]
    if len(pads) > rank:
        margins = [pads[2 * k] + pads[2 * k + 1] for k, _ in enumerate(steps)]
    dims = zip(whole(wanted, rank), sizes, steps, margins, gaps, strict=True)
    return [
        (new - (old - 1) * step + margin - 1) // gap + 1
        for new, old, step, margin, gap in dims
    ]


def pool2d(op, pool_padding, data_format):
    _pad(op, pool_padding, data_format)


conv3d, conv3d_transpose, pool3d = conv2d, conv2d_transpose, pool2d


# Products and tables


def embedding(op, size, padding_idx, param_attr):
    op.parameter("W", param_attr, [*size])
    known = padding_idx is not None
    op.attrs["padding_idx"] = padding_idx % size[0] if known else -1


_embedding = embedding


# Recurrent layers


def dynamic_gru(op, size, param_attr, bias_attr):
    op.parameter("Weight", param_attr, [size, 3 * size])
    op.parameter("Bias", bias_attr, [1, 3 * size])


def dynamic_lstm(op, size, param_attr, bias_attr, use_peepholes):
    op.parameter("Weight", param_attr, [size // 4, size])
    _bias_of_gates(op, size, bias_attr, use_peepholes)


def _bias_of_gates(op, size, attr, use_peepholes):
    gates = 7 if use_peepholes else 4
    op.parameter("Bias", attr, [1, size // 4 * gates])


# Tags and classes


def linear_chain_crf(op, input, param_attr):
    tags = input.shape[-1]
    op.parameter("Transition", param_attr, [tags + 2, tags])


crf_decoding = linear_chain_crf


def _nce(
    op, input, num_total_classes, param_attr, bias_attr, sampler,
    custom_dist,
):  # fmt: skip
    op.parameter("Weight", param_attr, [num_total_classes, input.shape[-1]])
    op.parameter("Bias", bias_attr, [num_total_classes, 1])
    if custom_dist:
        chances = assign_value(np.array(custom_dist, "float32"))
        op.inputs["CustomDistProbs"] = chances
    samplers = ("uniform", "log_uniform", "custom_dist")
    op.attrs["sampler"] = samplers.index(sampler)


def center_loss(op, input, num_classes, alpha, param_attr):
    given = ParamAttr.of(param_attr) or ParamAttr()
    fixed = dataclasses.replace(given, trainable=False)
    op.parameter("Centers", fixed, [num_classes, input.shape[-1]])
    op.inputs["CenterUpdateRate"] = as_tensor(alpha, "float32")
    op.into["CentersOut"] = op.inputs["Centers"]


# Attributes and inputs that are computed


def cast(op, x):
    op.attrs["in_dtype"] = code_of(x.dtype)


def log_softmax(op, input, axis, dtype):
    op.inputs["X"] = input if dtype is None else input.astype(dtype)
    op.attrs["axis"] = -1 if axis is None else axis


def logsumexp(op, dim):
    _over(op, "axis", dim)


def _reduce(op, dim):
    _over(op, "dim", dim)


def _over(op, name, dim):
    op.attrs[name] = whole(dim or 0, 1)
    op.attrs["reduce_all"] = dim in (None, [])


def linspace(op, start, stop, num, dtype):
    op.inputs |= {
        "Start": as_tensor(start, dtype),
        "Stop": as_tensor(stop, dtype),
        "Num": as_tensor(num, "int32"),
    }


def _range(op, start, end, step, dtype):
    for slot, value in (("Start", start), ("End", end), ("Step", step)):
        op.inputs[slot] = as_tensor(value, dtype)


def randint(op, low, high, shape):
    if shape is None:
        op.attrs["shape"] = [1]
    ends = (0, low) if high is None else (low, high)
    op.attrs["low"], op.attrs["high"] = ends


def meshgrid(op, input):
    op.returns("Out", len(input))


def _split(op, count):
    op.returns("Out", count)


def unstack(op, x, axis, num):
    op.attrs["num"] = num or x.shape[axis]
    op.returns("Y", op.attrs["num"])


declare(pathlib.Path(__file__).with_suffix(".pyi"), globals())
