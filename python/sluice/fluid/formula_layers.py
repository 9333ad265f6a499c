"""Layers that are a formula of others: a line each, and functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..feed_values import unmasked
from .framework import Variable
from .layer_helper import LayerHelper, layer
from .simple_layers import LAYERS, assign_value, number_or_tensor

_TEXT = """
accuracy(input, label, k=1, correct=None, total=None) =
    _accuracy(topk(input, k)[1], label, correct, total)
adaptive_pool2d(input, pool_size, pool_type='max', require_index=False,
    name=None) = _mean_pool2d(input, pool_size, name) if one_of(pool_type,
    'avg', 'max') == 'avg' else _max_pool2d(input, pool_size, name)[:][
    slice_of(require_index)]
adaptive_pool3d(input, pool_size, pool_type='max', require_index=False,
    name=None) = _mean_pool3d(input, pool_size, name) if one_of(pool_type,
    'avg', 'max') == 'avg' else _max_pool3d(input, pool_size, name)[:][
    slice_of(require_index)]
addcmul(input, tensor1, tensor2, value=1.0, out=None, name=None) =
    sums([input, tensor1 * tensor2 * value], out)
arange(start, end, step=1, dtype=None, name=None) =
    range(start, end, step, dtype or 'float32')
assign(input, output=None) = _assign(input, output) if is_variable(input)
    else assign_value(array(input), output)
beam_search(pre_ids, pre_scores, ids, scores, beam_size, end_id, level=0,
    is_accumulated=True, name=None, return_parent_idx=False) = _beam_search(
    pre_ids, pre_scores, scores, beam_size, end_id, level, is_accumulated, ids,
    name)[:3 if return_parent_idx else 2]
clamp(input, min=None, max=None, output=None, name=None) = _clip(input,
    -inf if min is None else min, inf if max is None else max, output, name)
ctc_greedy_decoder(input, blank, input_length=None, padding_value=0,
    name=None) = _ctc(topk(input, 1)[1], blank) if input_length is None else
    _ctc_padded(squeeze(topk(input, 1)[1], [2]), input_length, blank,
    padding_value)
dice_loss(input, label, epsilon=1e-05, name=None) = _dice(input,
    one_hot(label, input.shape[-1]), list_of(1, len(input.shape)), epsilon)
_dice(x, y, dims, epsilon) = reduce_mean(1.0 - reduce_sum(x * y, dims) * 2.0 /
    (reduce_sum(x, dims) + reduce_sum(y, dims) + epsilon))
double_buffer(reader, place=None, name=None) = reader
edit_distance(input, label, normalized=True, ignored_tokens=None,
    input_length=None, label_length=None) = _edit_distance(
    _erase(input, ignored_tokens) if ignored_tokens else input,
    _erase(label, ignored_tokens) if ignored_tokens else label,
    normalized, input_length, label_length)
eye(num_rows, num_columns=None, batch_shape=None, dtype='float32') =
    _repeated(_eye(num_rows, num_rows if num_columns is None else num_columns,
    dtype), batch_shape or [])
_repeated(x, sizes) = expand(unsqueeze(x, list_of(0, len(sizes))),
    [*sizes, 1, 1]) if sizes else x
image_resize_short(input, out_short_len, resample='BILINEAR') =
    image_resize(input, [int(size * out_short_len / min(input.shape[2:4]) + 0.5)
    for size in input.shape[2:4]], resample=resample)
increment(x, value=1.0, in_place=True) =
    _increment(x, value, x if in_place else None)
lstm_unit(x_t, hidden_t_prev, cell_t_prev, forget_bias=0.0, param_attr=None,
    bias_attr=None, name=None) = _lstm_unit(fc(concat([x_t, hidden_t_prev], 1),
    4 * cell_t_prev.shape[1], param_attr=param_attr, bias_attr=bias_attr),
    cell_t_prev, float(forget_bias))
mse_loss(input, label) = reduce_mean(square_error_cost(input, label))
nce(input, label, num_total_classes, sample_weight=None, param_attr=None,
    bias_attr=None, num_neg_samples=None, name=None, sampler='uniform',
    custom_dist=None, seed=0, is_sparse=False) = _nce(input, label,
    num_total_classes, sample_weight, param_attr, bias_attr,
    num_neg_samples or 10, name, sampler, custom_dist, seed) *
    (1.0 / ((num_neg_samples or 10) + 1))
nonzero(input, as_tuple=False) = where(input) if not as_tuple else
    tuple(split(where(input), len(input.shape), 1)) if len(input.shape) > 1
    else (where(input),)
npair_loss(anchor, positive, labels, l2_reg=0.002) = _npair(anchor, positive,
    equal(reshape(labels, [-1, 1]), reshape(labels, [1, -1])).astype('float32'),
    l2_reg * 0.25)
_npair(x, y, same, l2) = _npair_cost(matmul(x, y, transpose_y=True),
    same / reduce_sum(same, 1, True)) + l2 * (
    reduce_mean(reduce_sum(square(x), 1)) +
    reduce_mean(reduce_sum(square(y), 1)))
_npair_cost(z, same) = reduce_mean(reduce_sum(
    same * softmax_with_cross_entropy(z, same, soft_label=True), 0))
rank(input) = assign_value(array([len(input.shape)], 'int32'))
read_file(reader) = reader.inputs if len(reader.inputs) > 1
    else reader.inputs[0]
resize_bilinear(input, out_shape=None, scale=None, name=None,
    actual_shape=None, align_corners=True, align_mode=1, data_format='NCHW') =
    image_resize(input, out_shape, scale, name, 'BILINEAR', actual_shape,
    align_corners, align_mode, data_format)
resize_nearest(input, out_shape=None, scale=None, name=None, actual_shape=None,
    align_corners=True, data_format='NCHW') = image_resize(input, out_shape,
    scale, name, 'NEAREST', actual_shape, align_corners, 1, data_format)
resize_trilinear(input, out_shape=None, scale=None, name=None,
    actual_shape=None, align_corners=True, align_mode=1, data_format='NCDHW') =
    image_resize(input, out_shape, scale, name, 'TRILINEAR', actual_shape,
    align_corners, align_mode, data_format)
roll(input, shifts, dims=None) = _roll(input, shifts, dims) if dims is not None
    else reshape(_roll(reshape(input, [-1, 1]), shifts, [0]),
    list(input.shape))
scatter_nd(index, updates, shape, name=None) =
    scatter_nd_add(zeros(shape, updates.dtype), index, updates, name)
sequence_first_step(input) = sequence_pool(input, 'first')
sequence_last_step(input) = sequence_pool(input, 'last')
softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100,
    numeric_stable_mode=True, return_softmax=False, axis=-1) =
    _softmax_with_cross_entropy(logits, label, soft_label, ignore_index, axis)[
    slice_of(return_softmax)]
split(input, num_or_sections, dim=-1, name=None) = _split(input,
    None if is_int(num_or_sections) else num_or_sections,
    num_or_sections if is_int(num_or_sections) else None,
    axis_of(dim, input) if is_int(dim) else dim,
    num_or_sections if is_int(num_or_sections) else len(num_or_sections), name)
square_error_cost(input, label) = square(input - label)
t(input, name=None) =
    input if len(input.shape) < 2 else transpose(input, [1, 0])
"""


def formulas(text: str, names: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    """Make functions of lines such as ``double(x) = x * 2``.

    The formulas are Python; they see ``names``, which get the functions.
    """
    made = {}
    for line in text.replace("\n    ", " ").strip().splitlines():
        head, _, body = line.partition(") = ")
        name, _, arguments = head.partition("(")
        code = compile(f"lambda {arguments}: {body}", __file__, "eval")
        function = names[name] = eval(code, names)
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"``{body}``"
        if name[0] != "_":
            made[name] = function
    return made


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


@layer(
    "input, out_shape=None, scale=None, name=None, resample='BILINEAR', "
    "actual_shape=None, align_corners=True, align_mode=1, data_format='NCHW'"
)
def image_resize(helper: LayerHelper, a: Any) -> Variable:
    """Images of another size: ``out_shape``, or ``scale`` times theirs."""
    kind = a.resample.lower()
    dims = ("out_d", "out_h", "out_w")[-(len(a.input.shape) - 2) :]
    attrs = {
        "interp_method": kind,
        "align_corners": a.align_corners,
        "align_mode": a.align_mode,
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


def _axis_of(dim: int, x: Variable) -> int:
    if not -len(x.shape) <= dim < len(x.shape):
        raise ValueError(f"{x.name} {list(x.shape)} has no dim {dim}")
    return dim % len(x.shape)


def _one_of(given: str, *choices: str) -> str:
    if given not in choices:
        raise ValueError(f"expected one of {choices}, got {given!r}")
    return given


_NAMES: dict[str, Any] = {
    **LAYERS,
    "array": lambda x, *dtype: np.asarray(unmasked(x), *dtype),
    "assign_value": assign_value,
    "axis_of": _axis_of,
    "fc": fc,
    "image_resize": image_resize,
    "inf": math.inf,
    "int": int,
    "is_int": lambda x: isinstance(x, int),
    "is_variable": lambda x: isinstance(x, Variable),
    "list_of": lambda first, end: [*np.arange(first, end).tolist()],
    "min": min,
    "one_of": _one_of,
    "slice_of": lambda every: slice(None) if every else 0,
}
FORMULAS: dict[str, Callable[..., Any]] = {
    "fc": fc,
    "image_resize": image_resize,
    "interpolate": image_resize,
    **formulas(_TEXT, _NAMES),
}
