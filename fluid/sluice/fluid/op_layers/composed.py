"""Layers that are made of others."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...feed_values import unmasked
from ..framework import Variable
from ..layer_helper import LayerHelper, layer
from . import LAYERS, assign_value, number_or_tensor, parametric, plain  # noqa: F401

ops = SimpleNamespace(**LAYERS)  # layers that are one op


@layer
def fc(
    helper: LayerHelper, input, size, num_flatten_dims=1, param_attr=None,
    bias_attr=None, act=None, name=None,
):  # fmt: skip
    """Products of the inputs and a matrix each, their sum, a bias, ``act``."""
    several = isinstance(input, (list, tuple))
    inputs = list(input) if several else [input]
    several = isinstance(param_attr, list)
    attrs = param_attr if several else [param_attr] * len(inputs)
    dims = num_flatten_dims
    dims = len(inputs[0].shape) - 1 if dims == -1 else dims
    products = []
    for x, attr in zip(inputs, attrs, strict=True):
        shape = [math.prod(x.shape[dims:]), size]
        w = helper.create_parameter(attr, shape, x.dtype)
        columns = {"x_num_col_dims": dims, "y_num_col_dims": 1}
        products.append(helper.append("mul", {"X": x, "Y": w}, columns))
    out = products[0]
    if len(products) > 1:
        out = helper.append("sum", {"X": products})
    return helper.activation(helper.bias(out, bias_attr, [size], dims), act)


@layer
def image_resize(
    helper: LayerHelper, input, out_shape=None, scale=None, name=None,
    resample="BILINEAR", actual_shape=None, align_corners=True, align_mode=1,
    data_format="NCHW",
):  # fmt: skip
    """Images of another size: ``out_shape``, or ``scale`` times theirs."""
    kind = resample.lower()
    dims = ("out_d", "out_h", "out_w")[-(len(input.shape) - 2) :]
    attrs = {
        "interp_method": kind,
        "align_corners": align_corners,
        "align_mode": align_mode,
        "data_layout": "NHWC" if data_format.endswith("C") else "NCHW",
    }
    inputs = {"X": input, "OutSize": actual_shape}
    if out_shape is not None:
        sizes, more = number_or_tensor(out_shape, "OutSize", "SizeTensor")
        attrs |= dict(zip(dims, sizes or (), strict=False))
    else:
        number, more = number_or_tensor(scale, "Scale", None)
        attrs |= {} if number is None else {"scale": float(number)}
    return helper.append(f"{kind}_interp", {**inputs, **more}, attrs)


interpolate = image_resize


def resize_bilinear(
    input, out_shape=None, scale=None, name=None, actual_shape=None,
    align_corners=True, align_mode=1, data_format="NCHW",
):  # fmt: skip
    """``image_resize``, bilinear."""
    return image_resize(**locals(), resample="BILINEAR")


def resize_nearest(
    input, out_shape=None, scale=None, name=None, actual_shape=None,
    align_corners=True, data_format="NCHW",
):  # fmt: skip
    """``image_resize`` by the nearest pixels."""
    return image_resize(**locals(), resample="NEAREST")


def resize_trilinear(
    input, out_shape=None, scale=None, name=None, actual_shape=None,
    align_corners=True, align_mode=1, data_format="NCDHW",
):  # fmt: skip
    """``image_resize`` of volumes."""
    return image_resize(**locals(), resample="TRILINEAR")


def image_resize_short(input, out_short_len, resample="BILINEAR"):
    """``image_resize`` that makes the shorter side ``out_short_len``."""
    ratio = out_short_len / min(input.shape[2:4])
    sizes = [int(size * ratio + 0.5) for size in input.shape[2:4]]
    return image_resize(input, sizes, resample=resample)


def _adaptive_pool(
    rank: int, input: Variable, size: Any, kind: str, index: bool, name: Any
) -> Any:
    if kind not in ("avg", "max"):
        raise ValueError(f"expected one of ('avg', 'max'), got {kind!r}")
    if kind == "avg":
        return getattr(ops, f"_mean_pool{rank}d")(input, size, name)
    out, mask = getattr(ops, f"_max_pool{rank}d")(input, size, name)
    return (out, mask) if index else out


def adaptive_pool2d(
    input, pool_size, pool_type="max", require_index=False, name=None
):
    """As many means, or largest pixels, of an image as ``pool_size`` says, and
    the places of the largest if they are required.
    """
    return _adaptive_pool(2, input, pool_size, pool_type, require_index, name)


def adaptive_pool3d(
    input, pool_size, pool_type="max", require_index=False, name=None
):
    """``adaptive_pool2d`` of volumes."""
    return _adaptive_pool(3, input, pool_size, pool_type, require_index, name)


def accuracy(input, label, k=1, correct=None, total=None):
    """The share of rows whose label is among the ``k`` largest."""
    _, indices = ops.topk(input, k)
    return ops._accuracy(indices, label, correct, total)


def addcmul(input, tensor1, tensor2, value=1.0, out=None, name=None):
    """input + tensor1 * tensor2 * value."""
    return ops.sums([input, tensor1 * tensor2 * value], out)


def arange(start, end, step=1, dtype=None, name=None):
    """Numbers from start to end, each a step further; float32 by default."""
    return ops.range(start, end, step, dtype or "float32")


def assign(input: Any, output: Variable | None = None) -> Variable:
    """A copy of a variable, or an array as a variable."""
    if isinstance(input, Variable):
        return ops._assign(input, output)
    return assign_value(np.asarray(unmasked(input)), output)


def beam_search(
    pre_ids, pre_scores, ids, scores, beam_size, end_id, level=0,
    is_accumulated=True, name=None, return_parent_idx=False,
):  # fmt: skip
    """The best continuations, their scores and, if wanted, their parents."""
    made = ops._beam_search(
        pre_ids, pre_scores, scores, beam_size, end_id, level, is_accumulated,
        ids, name,
    )  # fmt: skip
    return made if return_parent_idx else made[:2]


def clamp(input, min=None, max=None, output=None, name=None):
    """Cut to [min, max], of which each may be None."""
    low = -math.inf if min is None else min
    high = math.inf if max is None else max
    return ops._clip(input, low, high, output, name)


def ctc_greedy_decoder(
    input, blank, input_length=None, padding_value=0, name=None
):
    """The likeliest labels, without repetitions and blanks."""
    _, labels = ops.topk(input, 1)
    if input_length is None:
        return ops._ctc(labels, blank)
    labels = ops.squeeze(labels, [2])
    return ops._ctc_padded(labels, input_length, blank, padding_value)


def dice_loss(input, label, epsilon=1e-05, name=None):
    """1 - 2 * sum(input * label) / (sum(input) + sum(label)), its mean."""
    dims = list(range(1, len(input.shape)))
    label = ops.one_hot(label, input.shape[-1])
    both = ops.reduce_sum(input * label, dims) * 2.0
    sums = ops.reduce_sum(input, dims) + ops.reduce_sum(label, dims)
    return ops.reduce_mean(1.0 - both / (sums + epsilon))


def double_buffer(reader, place=None, name=None):
    """The reader."""
    return reader


def edit_distance(
    input, label, normalized=True, ignored_tokens=None, input_length=None,
    label_length=None,
):  # fmt: skip
    """The edits between each two sequences, and the number of sequences."""
    if ignored_tokens:
        input = ops._erase(input, ignored_tokens)
        label = ops._erase(label, ignored_tokens)
    return ops._edit_distance(
        input, label, normalized, input_length, label_length
    )


def eye(num_rows, num_columns=None, batch_shape=None, dtype="float32"):
    """1 on the diagonal, perhaps for each element of a batch."""
    columns = num_rows if num_columns is None else num_columns
    made = ops._eye(num_rows, columns, dtype)
    if not batch_shape:
        return made
    wide = ops.unsqueeze(made, list(range(len(batch_shape))))
    return ops.expand(wide, [*batch_shape, 1, 1])


def increment(x: Variable, value: float = 1.0, in_place: bool = True) -> Any:
    """x + value, written to x if ``in_place``."""
    return ops._increment(x, value, x if in_place else None)


def lstm_unit(
    x_t, hidden_t_prev, cell_t_prev, forget_bias=0.0, param_attr=None,
    bias_attr=None, name=None,
):  # fmt: skip
    """One step of long short-term memory: the hidden state and the cell."""
    both = ops.concat([x_t, hidden_t_prev], 1)
    gates = fc(
        both, 4 * cell_t_prev.shape[1], param_attr=param_attr,
        bias_attr=bias_attr,
    )  # fmt: skip
    return ops._lstm_unit(gates, cell_t_prev, float(forget_bias))


def mse_loss(input: Variable, label: Variable) -> Variable:
    """The mean of the squared differences."""
    return ops.reduce_mean(square_error_cost(input, label))


def nce(
    input, label, num_total_classes, sample_weight=None, param_attr=None,
    bias_attr=None, num_neg_samples=None, name=None, sampler="uniform",
    custom_dist=None, seed=0, is_sparse=False,
):  # fmt: skip
    """Noise-contrastive estimation, divided by the number of classes drawn."""
    count = num_neg_samples or 10
    cost = ops._nce(
        input, label, num_total_classes, sample_weight, param_attr, bias_attr,
        count, name, sampler, custom_dist, seed,
    )  # fmt: skip
    return cost * (1.0 / (count + 1))


def nonzero(input: Variable, as_tuple: bool = False) -> Any:
    """The places of what is not 0, a row each, or a column for each dim."""
    places = ops.where(input)
    if not as_tuple:
        return places
    rank = len(input.shape)
    return tuple(split(places, rank, 1)) if rank > 1 else (places,)


def npair_loss(anchor, positive, labels, l2_reg=0.002):
    """The cross entropy of which positive belongs to an anchor, and
    ``l2_reg`` / 4 times the sums of squares.
    """
    columns = ops.reshape(labels, [-1, 1])
    same = ops.equal(columns, ops.reshape(labels, [1, -1]))
    same = same.astype("float32")
    scores = ops.matmul(anchor, positive, transpose_y=True)
    same = same / ops.reduce_sum(same, 1, True)
    each = softmax_with_cross_entropy(scores, same, soft_label=True)
    cost = ops.reduce_mean(ops.reduce_sum(same * each, 0))
    squares = [
        ops.reduce_mean(ops.reduce_sum(ops.square(x), 1))
        for x in (anchor, positive)
    ]
    return cost + l2_reg * 0.25 * (squares[0] + squares[1])


def rank(input: Variable) -> Variable:
    """The number of dims, int32 [1]."""
    return assign_value(np.array([len(input.shape)], "int32"))


def read_file(reader: Any) -> Any:
    """The variables of a reader, or its only one."""
    several = len(reader.inputs) > 1
    return reader.inputs if several else reader.inputs[0]


def roll(input: Variable, shifts: Any, dims: Any = None) -> Variable:
    """Elements moved along dims, or along the whole; the last to the front."""
    if dims is not None:
        return ops._roll(input, shifts, dims)
    flat = ops._roll(ops.reshape(input, [-1, 1]), shifts, [0])
    return ops.reshape(flat, list(input.shape))


def scatter_nd(index, updates, shape, name=None):
    """Zeros, and the sums of the updates at their places."""
    zeros = ops.zeros(shape, updates.dtype)
    return ops.scatter_nd_add(zeros, index, updates)


def softmax_with_cross_entropy(
    logits, label, soft_label=False, ignore_index=-100,
    numeric_stable_mode=True, return_softmax=False, axis=-1,
):  # fmt: skip
    """The cross entropy of the softmax and, if wanted, the softmax."""
    made = ops._softmax_with_cross_entropy(
        logits, label, soft_label, ignore_index, axis
    )
    return made if return_softmax else made[0]


def split(input, num_or_sections, dim=-1, name=None):
    """Parts of equal sizes, or of these, along a dim."""
    if isinstance(dim, int):
        rank = len(input.shape)
        if not -rank <= dim < rank:
            raise ValueError(
                f"{input.name} {list(input.shape)} has no dim {dim}"
            )
        dim %= rank
    if isinstance(num_or_sections, int):
        num = num_or_sections
        return ops._split(input, None, num, dim, num, name)
    count = len(num_or_sections)
    return ops._split(input, num_or_sections, None, dim, count, name)


def square_error_cost(input: Variable, label: Variable) -> Variable:
    """The squared differences."""
    return ops.square(input - label)


def t(input: Variable, name: str | None = None) -> Variable:
    """A matrix transposed; vectors as they are."""
    if len(input.shape) < 2:
        return input
    return ops.transpose(input, [1, 0])


COMPOSED = {
    name: value
    for name, value in [*globals().items()]
    if getattr(value, "__module__", "") == __name__ and name[0] != "_"
}
