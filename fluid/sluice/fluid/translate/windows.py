"""Convolutions and pooling: ops of windows over images."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from ...framework import Variable
from .declaration import FluidOp, Pair, Quad
from .layouts import channels_last, channels_second, is_last
from .quantized import to_integers
from .table import REQUIRED, Op, row, words

Sizes = Sequence[int]


def _spatial(op: Op, x: Variable, last: bool) -> list[int | None]:
    shape = list(op.shape(x))
    return shape[1:-1] if last else shape[2:]


def paddings_of(
    op: Op,
    algorithm: str,
    paddings: Sizes,
    sizes: Sequence[int | None],
    kernel: Sizes,
    strides: Sizes,
) -> list[int]:
    """Paddings before and after each dim; SAME makes out = ceil(in / stride),
    with the smaller half first.
    """
    rank = len(kernel)
    if algorithm == "VALID":
        return [0] * rank
    if algorithm == "EXPLICIT":
        return list(paddings)
    if algorithm != "SAME":
        op.wrong(f"padding_algorithm is {algorithm!r}")
    pads: list[int] = []
    for size, k, stride in zip(sizes, kernel, strides, strict=True):
        if size is None and stride != 1:
            op.refuse("padding SAME of images whose size is not known")
        short = 0 if size is None else (-(-size // stride) - 1) * stride - size
        total = max(k - 1 if size is None else short + k, 0)
        pads += [total // 2, total - total // 2]
    return pads


def _by_float32(function: Any) -> Any:
    """The row; half floats that no kernel takes, and pooled int8, by way of
    float32.
    """

    @functools.wraps(function)
    def row(op: Op, **given: Any) -> Variable:
        x = given.get("Input", given.get("X"))
        weight = given.get("Filter")
        known = op.type == "pool2d" or (
            op.type == "conv2d" and weight.dtype == x.dtype == "bfloat16"
        )
        half = x.dtype in ("float16", "bfloat16") and not known
        small = x.dtype in ("int8", "uint8") and op.type.startswith("pool")
        if not half and not small:
            return function(op, **given)
        for slot, value in given.items():
            if isinstance(value, Variable):
                given[slot] = op.cast(value, "float32")
        out = function(op, **given)
        out = op.round(out) if small else out
        return op.cast(out, x.dtype)

    return row


def _append(
    op: Op, type: str, inputs: dict[str, Any], last: bool, attrs: dict[str, Any]
) -> Variable:
    """Append an op of images, or of volumes, which become channels second."""
    slot, x = next(iter(inputs.items()))
    if op.rank(x) == 4:
        attrs["data_format"] = "NHWC" if last else "NCHW"
    elif last:
        inputs = inputs | {slot: channels_second(op, x)}
    out = op.append(type, inputs, **attrs)
    return channels_last(op, out) if op.rank(x) == 5 and last else out


_SCALES = {
    "Scale_in": 1.0, "Scale_out": 1.0, "Scale_in_eltwise": 1.0,
    "Scale_weights": (1.0,), "force_fp32_output": False,
}  # fmt: skip


@row("conv2d", "depthwise_conv2d", "conv3d", outputs="Output", **_SCALES)
@_by_float32
def conv(
    op, Input, Filter, Bias=None, ResidualData=None, *, strides=None,
    paddings=None, padding_algorithm="EXPLICIT", dilations=None, groups=1,
    data_format="NCHW", fuse_relu=False, fuse_residual_connection=False,
    fuse_activation="", fuse_alpha=0.0, fuse_beta=0.0,
    fuse_relu_before_depthwise_conv=False, **scales,
):  # fmt: skip
    """A cross-correlation, perhaps with a bias, a sum and an activation."""
    if Input.dtype in ("int8", "uint8"):
        return _int8_conv(op, Input, Filter, Bias, ResidualData, scales)
    if fuse_relu_before_depthwise_conv:
        Input = op.relu(Input)
    last = is_last(op, data_format)
    attrs, kernel, _ = _geometry(
        op, Input, Filter, last, strides, paddings, padding_algorithm, dilations
    )
    attrs["groups"] = groups
    inputs = {"Input": Input, "Filter": Filter, "Bias": Bias}
    out = _append(op, f"conv{len(kernel)}d", inputs, last, attrs)
    if ResidualData is not None:
        out = out + ResidualData
    if fuse_relu or fuse_activation == "relu":
        return op.relu(out)
    if fuse_activation == "relu6":
        return op.clip(out, min=0.0, max=fuse_alpha or 6.0)
    op.only(fuse_activation=(fuse_activation, ("", "identity")))
    return out


def _geometry(
    op, x, weight, last, strides, paddings, padding_algorithm, dilations
):
    """Attributes, the sizes of the window, and those of the image."""
    rank = op.rank(weight) - 2
    strides = list(strides or [1] * rank)
    sizes = _spatial(op, x, last)
    kernel = [op.size(weight, 2 + k) for k in range(rank)]
    pads = paddings_of(
        op, padding_algorithm, paddings or [0] * rank, sizes, kernel, strides
    )
    if padding_algorithm == "SAME" or not dilations:
        dilations = [1] * rank
    given = {"strides": strides, "paddings": pads, "dilations": list(dilations)}
    return given, kernel, sizes


def _int8_conv(
    op: Op, x: Variable, weight: Variable, bias: Any, residual: Any, given: Any
) -> Variable:
    """oneDNN's conv2d of int8, with weights that it rounds by their scales."""
    layout = op.given.get("data_format", "NCHW")
    activation = op.given.get("fuse_activation", "")
    op.only(
        type=(op.type, "conv2d"), data_format=(layout, ("NCHW", "AnyLayout")),
        fuse_activation=(activation, ("", "relu")),
    )  # fmt: skip
    scales = given["Scale_weights"]
    last = 1.0 if given["force_fp32_output"] else given["Scale_out"]

    count = len(scales)
    factors = [last / (given["Scale_in"] * scale) for scale in scales]
    by, factor = (
        op.assign_value(shape=shape, dtype="float32", values=values)
        for shape, values in (
            ([count, 1, 1, 1], list(scales)), ([1, count, 1, 1], factors)
        )
    )  # fmt: skip
    names = words("strides paddings padding_algorithm dilations groups")
    attrs = {name: op.given[name] for name in names if name in op.given}
    inputs = {"Input": op.cast(x, "float32")}
    inputs["Filter"] = op.round(weight * by)
    out = conv(op, **inputs, **attrs) * factor
    if bias is not None:
        out = out + op.reshape(bias, 1, -1, 1, 1) * last
    if residual is not None:
        more = op.cast(residual, "float32")
        out = out + more * (last / given["Scale_in_eltwise"])
    if activation:
        out = op.relu(out)
    if given["force_fp32_output"]:
        return out
    return to_integers(op, out, not activation)


@row(
    "conv2d_transpose", "depthwise_conv2d_transpose", "conv3d_transpose",
    outputs="Output",
)  # fmt: skip
@_by_float32
def conv_transpose(
    op, Input, Filter, Bias=None, *, strides=None, paddings=None,
    padding_algorithm="EXPLICIT", dilations=None, output_size=(),
    output_padding=(), groups=1, data_format="NCHW", fuse_relu=False,
):  # fmt: skip
    """The gradient of a convolution by its input, as an op."""
    last = is_last(op, data_format)
    attrs, kernel, sizes = _geometry(
        op, Input, Filter, last, strides, paddings, padding_algorithm, dilations
    )
    attrs["groups"] = groups
    more = list(output_padding) or [0] * len(kernel)
    if output_size:
        pads = attrs["paddings"]
        if len(pads) == len(kernel):
            pads = [pad for pad in pads for _ in "ab"]
        more = []
        for k, size in enumerate(sizes):
            if size is None:
                op.refuse("output_size of images whose size is not known")
            reach = attrs["dilations"][k] * (kernel[k] - 1) + 1
            least = (size - 1) * attrs["strides"][k] + reach
            more.append(output_size[k] - least + pads[2 * k] + pads[2 * k + 1])
    attrs["output_padding"] = more
    inputs = {"Input": Input, "Filter": Filter, "Bias": Bias}
    out = _append(op, f"conv{len(kernel)}d_transpose", inputs, last, attrs)
    return op.relu(out) if fuse_relu else out


def _pool_all(op, X, pooling_type, rank, last):
    """The largest or the mean of each image."""
    if rank == 2:
        attrs = {"global_pooling": True, "pooling_type": pooling_type}
        return op.pool2d(X, **attrs, data_format="NHWC" if last else "NCHW")
    axes = list(range(1, rank + 1) if last else range(2, rank + 2))
    kind = {"max": "reduce_max", "avg": "reduce_mean"}[pooling_type]
    return op.append(kind, {"X": X}, dim=axes, keep_dim=True)


@row("pool2d", "pool3d")
@_by_float32
def pool(
    op, X, *, pooling_type, ksize, strides=None, paddings=None,
    padding_algorithm="EXPLICIT", global_pooling=False, adaptive=False,
    exclusive=True, ceil_mode=False, data_format="NCHW",
):  # fmt: skip
    """The largest or the mean of each window."""
    rank = op.rank(X) - 2
    last = is_last(op, data_format)
    if adaptive and pooling_type == "max":
        op.refuse("adaptive pooling of type max, which PaddlePaddle ignores")
    if global_pooling or (adaptive and list(ksize) == [1] * rank):
        return _pool_all(op, X, pooling_type, rank, last)
    if adaptive:
        return adaptive_pool(op, X, list(ksize), last)
    strides = list(strides or [1] * rank)
    sizes = _spatial(op, X, last)
    pads = paddings_of(
        op, padding_algorithm, paddings or [0] * rank, sizes, ksize, strides
    )
    if ceil_mode and not exclusive and pooling_type == "avg":
        # As many windows, each of its whole size.
        pads = pads if len(pads) > rank else [n for n in pads for _ in "ab"]
        for k, stride in enumerate(strides):
            pads[2 * k + 1] += stride - 1
        ceil_mode = False
        if any(n >= ksize[k // 2] for k, n in enumerate(pads)):
            X, pads = _padded(op, X, pads, last), [0] * rank
            sizes = _spatial(op, X, last)
    ksize, scale = _within(op, list(ksize), strides, pads, sizes)
    if exclusive or pooling_type == "max":
        scale = 1.0
    attrs = {
        "pooling_type": pooling_type, "ksize": ksize, "strides": strides,
        "paddings": pads, "exclusive": exclusive, "ceil_mode": ceil_mode,
    }  # fmt: skip
    out = _append(op, op.type, {"X": X}, last, attrs)
    return out if scale == 1.0 else op.scale(out, scale=scale)


def _padded(op: Op, X: Variable, pads: Sizes, last: bool) -> Variable:
    """An image with zeros before and after each dim."""
    ends = [
        [0, *pads[k::2], 0] if last else [0, 0, *pads[k::2]] for k in range(2)
    ]
    return op.pad(X, pads=ends[0] + ends[1])


def _within(
    op: Op, ksize: list[int], strides: Sizes, pads: Sizes, sizes: Any
) -> tuple[list[int], float]:
    """The windows, no larger than a padded image that is known, and how many
    elements they have of those of ``ksize``. Where a window is larger by less
    than a stride, Fluid's C++ rounds the count of windows to 1, not to 0.
    """
    made = list(ksize)
    for k, size in enumerate(sizes):
        if size is None:
            continue
        padded = size + sum(pads[2 * k : 2 * k + 2] if len(pads) > len(ksize)
                            else [2 * pads[k]])  # fmt: skip
        if padded < ksize[k] < padded + strides[k]:
            made[k] = padded
    return made, math.prod(made) / math.prod(ksize)


def adaptive_pool(
    op: Op, X: Variable, sizes: Sizes, last: bool, kind: str = "reduce_mean"
) -> Variable:
    """Window i of m is from floor(i * n / m) to ceil((i + 1) * n / m)."""
    first = 1 if last else 2
    for axis, m in enumerate(sizes, first):
        n = op.size(X, axis)
        parts = []
        for i in range(m):
            part = op.slice(X, axis, i * n // m, -(-(i + 1) * n // m))
            part = op.append(kind, {"X": part}, dim=[axis], keep_dim=True)
            parts.append(part)
        X = parts[0] if m == 1 else op.concat(parts, axis=axis)
    return X


@row("max_pool2d_with_index", "max_pool3d_with_index", outputs="Out Mask")
def max_pool_with_index(
    op, X, *, ksize, strides=None, paddings=None, global_pooling=False,
    adaptive=False,
):  # fmt: skip
    """The largest of each window, and its place in the image."""
    rank = op.rank(X) - 2
    sizes = [op.size(X, 2 + k) for k in range(rank)]
    if global_pooling:
        ksize, paddings = sizes, None
    if adaptive:
        if any(n % m for n, m in zip(sizes, ksize, strict=True)):
            return adaptive_pool(op, X, list(ksize), False, "reduce_max")
        ksize = strides = [n // m for n, m in zip(sizes, ksize, strict=True)]
    deep = X if rank == 3 else op.unsqueeze(X, axes=[2])
    front = [1] * (3 - rank)
    attrs = {"pooling_type": "max", "ksize": front + list(ksize)}
    attrs["strides"] = front + list(strides or [1] * rank)
    attrs["paddings"] = [0] * (3 - rank) + list(paddings or [0] * rank)
    made = op.append_all(
        "pool3d", {"X": deep}, {"Mask": op.name("Mask")}, **attrs
    )
    made["Mask"] = op.cast(made["Mask"] % math.prod(sizes), "int32")
    if rank == 2:
        made = {slot: op.squeeze(out, axes=[2]) for slot, out in made.items()}
    return made


@FluidOp()
def temporal_shift(
    op, x, seg_num: int, shift_ratio=0.25, name=None, *, data_format="NCHW"
):
    """Of each clip's frames some channels from the one before, some from the
    one after.
    """
    if is_last(op, data_format):
        x = channels_second(op, x)
        attrs = {"seg_num": seg_num, "shift_ratio": shift_ratio}
        return channels_last(op, temporal_shift(op, x, **attrs))
    channels = op.size(x, 1)
    rest = [op.size(x, k) for k in range(1, op.rank(x))]
    clips = op.reshape(x, -1, seg_num, *rest)
    first, second = (int(channels * k * shift_ratio) for k in (1, 2))
    ends = [0, first, second, channels]
    parts = []
    for k, shift in enumerate((1, -1, 0)):
        if ends[k] == ends[k + 1]:
            continue
        part = op.slice(clips, 2, ends[k], ends[k + 1])
        if shift:
            pads = [0] * 2 * op.rank(part)
            pads[1 if shift > 0 else op.rank(part) + 1] = 1
            part = op.pad(part, pads=pads)
            start = 0 if shift > 0 else 1
            part = op.slice(part, 1, start, start + seg_num)
        parts.append(part)
    out = op.concat(parts, axis=2)
    return op.reshape(out, -1, *rest)


@FluidOp(
    defaults={
        "filter_size": REQUIRED,
        "stride": (1, 1),
        "padding": (0, 0, 0, 0),
        "out_stride": (1, 1),
    },
    filter_size="kernels",
    stride="strides",
    padding="paddings",
    input_image_size="Y",
)
def im2sequence(
    op, input, filter_size: Pair = 1, stride: Pair = 1, padding: Quad = 0,
    input_image_size=None, out_stride: Pair = 1, name=None,
):  # fmt: skip
    """Each image as a sequence of windows."""
    if input_image_size is not None:
        op.refuse("input Y: images of different sizes in one batch")
    sizes = {"kernels": filter_size, "strides": stride, "paddings": padding}
    attrs = {name: list(given) for name, given in sizes.items()}
    return op.im2sequence(input, **attrs)
