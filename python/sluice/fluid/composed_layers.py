"""Layers that are a few ops, or an op with a list of outputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import InvalidArgumentError
from ..framework import created
from .framework import Variable, code_of
from .layer_helper import LayerHelper, layer
from .parameter_layers import _padding
from .simple_layers import LAYERS, number_or_tensor, whole
from .writing import assign

__all__ = [
    "adaptive_pool2d", "adaptive_pool3d", "addcmul", "arange", "cast", "clamp",
    "ctc_greedy_decoder", "dice_loss", "edit_distance", "eye", "image_resize",
    "image_resize_short", "interpolate", "l2_normalize", "linspace",
    "log_softmax", "logsumexp", "meshgrid", "mse_loss", "nonzero",
    "npair_loss", "pool2d", "pool3d", "randint", "range", "rank", "reduce_all",
    "reduce_any", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod",
    "reduce_sum", "resize_bilinear", "resize_nearest", "resize_trilinear",
    "roll", "scatter_nd", "sequence_first_step", "sequence_last_step",
    "sequence_pool", "softmax_with_cross_entropy", "split",
    "square_error_cost", "t", "unstack",
]  # fmt: skip

_full = LAYERS["fill_constant"]


def _variable(value: Any, dtype: Any) -> Variable:
    """A number as a variable of one element; a variable in this dtype."""
    if isinstance(value, Variable):
        same = code_of(value.dtype) == code_of(dtype)
        return value if same else value.astype(dtype)
    return _full([1], dtype, value)


def cast(x: Variable, dtype: Any) -> Variable:
    """Convert the elements."""
    return x.astype(dtype)


@layer("start, end, step, dtype")
def range(helper: LayerHelper, a: Any) -> Variable:
    """Numbers from ``start`` until before ``end``."""
    given = {"Start": a.start, "End": a.end, "Step": a.step}
    return helper.append(
        "range",
        {key: _variable(value, a.dtype) for key, value in given.items()},
    )


@layer("start, end, step=1, dtype=None, name=None")
def arange(helper: LayerHelper, a: Any) -> Variable:
    """Numbers from ``start`` until before ``end``, float32 if None."""
    return range(a.start, a.end, a.step, a.dtype or "float32")


@layer("start, stop, num, dtype")
def linspace(helper: LayerHelper, a: Any) -> Variable:
    """So many numbers from ``start`` to ``stop``, both included."""
    inputs = {
        "Start": _variable(a.start, a.dtype),
        "Stop": _variable(a.stop, a.dtype),
        "Num": _variable(a.num, "int32"),
    }
    return helper.append("linspace", inputs, {"dtype": code_of(a.dtype)})


@layer("num_rows, num_columns=None, batch_shape=None, dtype='float32'")
def eye(helper: LayerHelper, a: Any) -> Variable:
    """Ones on the diagonal; ``batch_shape`` repeats the matrix."""
    columns = a.num_rows if a.num_columns is None else a.num_columns
    attrs = {"num_rows": a.num_rows, "num_columns": columns}
    out = helper.append("eye", {}, attrs | {"dtype": code_of(a.dtype)})
    if a.batch_shape is None:
        return out
    out = LAYERS["unsqueeze"](out, list(np.arange(len(a.batch_shape))))
    return LAYERS["expand"](out, [*a.batch_shape, 1, 1])


@layer(
    "low, high=None, shape=None, out=None, dtype=None, device=None, "
    "stop_gradient=False, seed=0, name=None"
)
def randint(helper: LayerHelper, a: Any) -> Variable:
    """Integers from [low, high), or [0, low)."""
    low, high = (0, a.low) if a.high is None else (a.low, a.high)
    shape, inputs = number_or_tensor(
        helper, a.shape or [1], "ShapeTensor", "ShapeTensorList"
    )
    attrs = {
        "low": low,
        "high": high,
        "seed": a.seed,
        "shape": shape,
        "dtype": code_of(a.dtype or "int64"),
    }
    return helper.append("randint", inputs, attrs, into=a.out)


@layer("input")
def rank(helper: LayerHelper, a: Any) -> Variable:
    """The number of dims, of shape [1]."""
    return assign(np.array([len(a.input.shape)], "int32"))


@layer("input, name=None")
def t(helper: LayerHelper, a: Any) -> Variable:
    """A matrix transposed; a vector unchanged."""
    if len(a.input.shape) < 2:
        return a.input
    return helper.append("transpose2", {"X": a.input}, {"axis": [1, 0]})


def _count(x: Variable, axis: int, helper: LayerHelper) -> int:
    size = x.shape[axis]
    if size < 0:
        raise InvalidArgumentError(
            f"{helper.name}: size {axis} of {x!r} is unknown{created()}",
            "fluid.unknown_count",
        )
    return size


@layer("input, num_or_sections, dim=-1, name=None")
def split(helper: LayerHelper, a: Any) -> list[Variable]:
    """Parts along ``dim``: so many equal ones, or of these sizes."""
    parts, inputs = a.num_or_sections, {"X": a.input}
    attrs: dict[str, Any] = {}
    if isinstance(a.dim, Variable):
        inputs["AxisTensor"] = a.dim
    else:
        attrs["axis"] = a.dim % len(a.input.shape)
    if isinstance(parts, int):
        return helper.append_list(
            "split", inputs, {**attrs, "num": parts}, parts
        )
    attrs["sections"], more = number_or_tensor(
        helper, parts, None, "SectionsTensorList"
    )
    return helper.append_list("split", {**inputs, **more}, attrs, len(parts))


@layer("x, axis=0, num=None")
def unstack(helper: LayerHelper, a: Any) -> list[Variable]:
    """The slices along a dim, without it."""
    count = _count(a.x, a.axis, helper) if a.num is None else a.num
    attrs = {"axis": a.axis, "num": count}
    return helper.append_list("unstack", {"X": a.x}, attrs, count, "Y")


@layer("input, name=None")
def meshgrid(helper: LayerHelper, a: Any) -> list[Variable]:
    """Vectors expanded to the grid that they span."""
    inputs = {"X": list(a.input)}
    return helper.append_list("meshgrid", inputs, {}, len(a.input))


@layer("input, as_tuple=False")
def nonzero(helper: LayerHelper, a: Any) -> Any:
    """The indices of elements that are not 0, a row each, or by dim."""
    found = LAYERS["where"](a.input)
    if not a.as_tuple:
        return found
    return (
        tuple(split(found, len(a.input.shape), 1))
        if len(a.input.shape) > 1
        else (found,)
    )


@layer("input, shifts, dims=None")
def roll(helper: LayerHelper, a: Any) -> Variable:
    """Shifted along dims, or in row-major order; what leaves comes back."""
    x = a.input if a.dims is not None else LAYERS["reshape"](a.input, [-1, 1])
    dims = [0] if a.dims is None else whole(a.dims, 1)
    attrs = {"shifts": whole(a.shifts, 1), "dims": dims}
    out = helper.append("roll", {"X": x}, attrs)
    if a.dims is not None:
        return out
    return LAYERS["reshape"](out, list(a.input.shape))


def scatter_nd(
    index: Variable, updates: Variable, shape: Any, name: str | None = None
) -> Variable:
    """Zeros of a shape, with updates added at indices."""
    zeros = LAYERS["zeros"](shape, updates.dtype)
    return LAYERS["scatter_nd_add"](zeros, index, updates, name)


# Elementwise


@layer("x, axis, epsilon=1e-12, name=None")
def l2_normalize(helper: LayerHelper, a: Any) -> Variable:
    """Divided by the Euclidean norm along a dim."""
    axis = 1 if a.axis is None else a.axis
    axis = 0 if len(a.x.shape) == 1 else axis
    attrs = {"axis": axis, "epsilon": a.epsilon}
    return helper.append("norm", {"X": a.x}, attrs)


@layer("input, axis=None, dtype=None, name=None")
def log_softmax(helper: LayerHelper, a: Any) -> Variable:
    """The logarithm of the softmax."""
    x = a.input if a.dtype is None else cast(a.input, a.dtype)
    axis = -1 if a.axis is None else a.axis
    return helper.append("log_softmax", {"X": x}, {"axis": axis})


@layer("x, dim=None, keepdim=False, out=None, name=None")
def logsumexp(helper: LayerHelper, a: Any) -> Variable:
    """The logarithm of the sum of exponentials."""
    dims = [] if a.dim is None else whole(a.dim, 1)
    attrs = {"axis": dims or [0], "keepdim": a.keepdim, "reduce_all": not dims}
    return helper.append("logsumexp", {"X": a.x}, attrs, into=a.out)


@layer("input, min=None, max=None, output=None, name=None")
def clamp(helper: LayerHelper, a: Any) -> Variable:
    """Limited to [min, max]; None is no limit."""
    inputs, attrs = {"X": a.input}, {}
    for key, value in (("min", a.min), ("max", a.max)):
        if value is None:
            value = -math.inf if key == "min" else math.inf
        number, more = number_or_tensor(helper, value, key.capitalize(), None)
        inputs |= more
        attrs[key] = number
    return helper.append("clip", inputs, attrs, into=a.output)


@layer("input, tensor1, tensor2, value=1.0, out=None, name=None")
def addcmul(helper: LayerHelper, a: Any) -> Variable:
    """input + tensor1 * tensor2 * value."""
    inputs = {"X": a.input, "Y": a.tensor1 * a.tensor2 * a.value}
    return helper.append("elementwise_add", inputs, into=a.out)


# Windows


def _pool(rank: int) -> Any:
    type, form = f"pool{rank}d", "NCDHW" if rank == 3 else "NCHW"

    @layer(
        "input, pool_size=-1, pool_type='max', pool_stride=1, pool_padding=0, "
        "global_pooling=False, use_cudnn=True, ceil_mode=False, name=None, "
        f"exclusive=True, data_format={form!r}",
        type,
    )
    def pool(helper: LayerHelper, a: Any) -> Variable:
        """The largest or the mean of each window."""
        pads, algorithm = _padding(a.pool_padding, rank, a.data_format)
        attrs = {
            "pooling_type": a.pool_type,
            "ksize": whole(a.pool_size, rank),
            "global_pooling": a.global_pooling,
            "strides": whole(a.pool_stride, rank),
            "paddings": pads,
            "padding_algorithm": algorithm,
            "ceil_mode": a.ceil_mode,
            "exclusive": a.exclusive,
            "data_format": a.data_format,
        }
        return helper.append(type, {"X": a.input}, attrs)

    pool.__name__ = type
    return pool


pool2d, pool3d = _pool(2), _pool(3)


def _adaptive(rank: int) -> Any:
    @layer("input, pool_size, pool_type='max', require_index=False, name=None")
    def pool(helper: LayerHelper, a: Any) -> Any:
        """The largest or the mean of each of ``pool_size`` windows, with
        ``require_index`` also where the largest are.
        """
        attrs = {"ksize": whole(a.pool_size, rank), "adaptive": True}
        inputs = {"X": a.input}
        if a.pool_type == "avg":
            attrs["pooling_type"] = "avg"
            return helper.append(f"pool{rank}d", inputs, attrs)
        more = ("Mask",) if a.require_index else ()
        type = f"max_pool{rank}d_with_index"
        return helper.append(type, inputs, attrs, more=more)

    pool.__name__ = f"adaptive_pool{rank}d"
    return pool


adaptive_pool2d, adaptive_pool3d = _adaptive(2), _adaptive(3)

_RESIZED = (
    "input, out_shape=None, scale=None, name=None, {}actual_shape=None, "
    "align_corners=True, {}data_format={!r}"
)


def _resize(name: str, method: str | None, form: str = "NCHW") -> Any:
    asked = "resample='BILINEAR', " if method is None else ""
    mode = "" if method == "NEAREST" else "align_mode=1, "

    @layer(_RESIZED.format(asked, mode, form), method or name)
    def resize(helper: LayerHelper, a: Any) -> Variable:
        """Images of another size: ``out_shape``, or ``scale`` times theirs."""
        kind = (method or a.resample).lower()
        dims = ("out_d", "out_h", "out_w")[-(len(a.input.shape) - 2) :]
        attrs = {
            "interp_method": kind,
            "align_corners": a.align_corners,
            "align_mode": getattr(a, "align_mode", 1),
            "data_layout": "NHWC" if a.data_format.endswith("C") else "NCHW",
        }
        inputs = {"X": a.input, "OutSize": a.actual_shape}
        if a.out_shape is not None:
            sizes, more = number_or_tensor(
                helper, a.out_shape, "OutSize", "SizeTensor"
            )
            attrs |= dict(zip(dims, sizes or (), strict=False))
        else:
            number, more = number_or_tensor(helper, a.scale, "Scale", None)
            attrs |= {} if number is None else {"scale": float(number)}
        return helper.append(f"{kind}_interp", {**inputs, **more}, attrs)

    resize.__name__ = name
    return resize


image_resize = _resize("image_resize", None)
interpolate = _resize("interpolate", None)
resize_bilinear = _resize("resize_bilinear", "BILINEAR")
resize_nearest = _resize("resize_nearest", "NEAREST")
resize_trilinear = _resize("resize_trilinear", "TRILINEAR", "NCDHW")


def image_resize_short(
    input: Variable, out_short_len: int, resample: str = "BILINEAR"
) -> Variable:
    """Images whose shorter side gets this length, and the other in scale."""
    sides = list(input.shape[2:4])
    short = min(sides)
    sizes = [int(size * out_short_len / short + 0.5) for size in sides]
    return image_resize(input, sizes, resample=resample)


# Reductions, and losses


def _reduction(type: str) -> Any:
    @layer("input, dim=None, keep_dim=False, name=None", type)
    def reduction(helper: LayerHelper, a: Any) -> Variable:
        dims = [] if a.dim is None else whole(a.dim, 1)
        attrs = {
            "dim": dims or [0], "keep_dim": a.keep_dim, "reduce_all": not dims
        }  # fmt: skip
        return helper.append(type, {"X": a.input}, attrs)

    reduction.__name__ = type
    reduction.__doc__ = f"The op ``{type}``, over all dims if ``dim`` is None."
    return reduction


reduce_sum, reduce_mean = _reduction("reduce_sum"), _reduction("reduce_mean")
reduce_max, reduce_min = _reduction("reduce_max"), _reduction("reduce_min")
reduce_all, reduce_any = _reduction("reduce_all"), _reduction("reduce_any")
reduce_prod = _reduction("reduce_prod")


@layer("input, pool_type, is_test=False, pad_value=0.0")
def sequence_pool(helper: LayerHelper, a: Any) -> Variable:
    """One row for each sequence."""
    attrs = {"pooltype": a.pool_type.upper(), "pad_value": a.pad_value}
    return helper.append("sequence_pool", {"X": a.input}, attrs)


def sequence_first_step(input: Variable) -> Variable:
    """The first row of each sequence."""
    return sequence_pool(input, "first")


def sequence_last_step(input: Variable) -> Variable:
    """The last row of each sequence."""
    return sequence_pool(input, "last")


@layer(
    "logits, label, soft_label=False, ignore_index=-100, "
    "numeric_stable_mode=True, return_softmax=False, axis=-1"
)
def softmax_with_cross_entropy(helper: LayerHelper, a: Any) -> Any:
    """The cross entropy of the softmax, perhaps with the softmax."""
    attrs = {
        "soft_label": a.soft_label,
        "ignore_index": a.ignore_index,
        "axis": a.axis,
    }
    inputs = {"Logits": a.logits, "Label": a.label}
    type = "softmax_with_cross_entropy"
    made = helper.append(type, inputs, attrs, "Loss", ("Softmax",))
    return made if a.return_softmax else made[0]


def square_error_cost(input: Variable, label: Variable) -> Variable:
    """(input - label) ** 2."""
    return LAYERS["square"](input - label)


def mse_loss(input: Variable, label: Variable) -> Variable:
    """The mean of (input - label) ** 2."""
    return reduce_mean(square_error_cost(input, label))


def dice_loss(
    input: Variable,
    label: Variable,
    epsilon: float = 1e-05,
    name: str | None = None,
) -> Variable:
    """1 - twice the common part of prediction and label, over both."""
    label = LAYERS["one_hot"](label, input.shape[-1])
    dims = list(np.arange(1, len(input.shape)))
    both = reduce_sum(input, dims) + reduce_sum(label, dims) + epsilon
    return reduce_mean(1.0 - reduce_sum(input * label, dims) * 2.0 / both)


def npair_loss(
    anchor: Variable,
    positive: Variable,
    labels: Variable,
    l2_reg: float = 0.002,
) -> Variable:
    """The cross entropy of products with the rows of equal labels."""
    column = LAYERS["reshape"](labels, [-1, 1])
    row = LAYERS["reshape"](labels, [1, -1])
    same = LAYERS["equal"](column, row).astype("float32")
    same = same / reduce_sum(same, 1, True)
    squares = [
        reduce_mean(reduce_sum(LAYERS["square"](x), 1))
        for x in (anchor, positive)
    ]
    products = LAYERS["matmul"](anchor, positive, transpose_y=True)
    cost = softmax_with_cross_entropy(products, same, soft_label=True)
    penalty = (squares[0] + squares[1]) * (0.25 * l2_reg)
    return penalty + reduce_mean(reduce_sum(same * cost, 0))


@layer(
    "input, label, normalized=True, ignored_tokens=None, input_length=None, "
    "label_length=None"
)
def edit_distance(helper: LayerHelper, a: Any) -> tuple[Variable, Variable]:
    """The distance of each pair of sequences, and the number of pairs."""
    given = [a.input, a.label]
    if a.ignored_tokens:
        attrs = {"tokens": list(a.ignored_tokens)}
        given = [
            helper.append("sequence_erase", {"X": x}, attrs) for x in given
        ]
    inputs = {
        "Hyps": given[0],
        "Refs": given[1],
        "HypsLength": a.input_length,
        "RefsLength": a.label_length,
    }
    normalized = {"normalized": a.normalized}
    type = "edit_distance"
    return helper.append(type, inputs, normalized, more=("SequenceNum",))


@layer("input, blank, input_length=None, padding_value=0, name=None")
def ctc_greedy_decoder(helper: LayerHelper, a: Any) -> Any:
    """The likeliest classes of steps, without repetitions and blanks; of
    padded steps with the lengths.
    """
    _, best = LAYERS["topk"](a.input, 1)
    attrs = {"merge_repeated": True, "blank": a.blank}
    if a.input_length is None:
        return helper.append("ctc_align", {"Input": best}, attrs, "Output")
    inputs = {
        "Input": LAYERS["squeeze"](best, [2]),
        "InputLength": a.input_length,
    }
    attrs["padding_value"] = a.padding_value
    lengths = ("OutputLength",)
    return helper.append("ctc_align", inputs, attrs, "Output", lengths)
