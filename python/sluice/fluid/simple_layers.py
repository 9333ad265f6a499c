"""Layers that are one op: a line each.

A line has the layer's arguments in Fluid's order. ``x:X`` is an input of slot
X, with ``*`` a list of them, with ``?`` one that may be None; ``k`` or
``axis=-1`` is an attribute, ``transpose_x=False>transpose_X`` one that the op
calls otherwise; ``act`` and ``name`` are as in all layers. Before the arguments
may stand the op, if it is called otherwise, and after them the outputs that the
layer returns, if not Out.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .framework import Variable
from .layer_helper import LayerHelper

__all__ = ["LAYERS"]

_TABLE = """
abs(x:X, name)
acos(x:X, name)
argmax=arg_max(x:X, axis=0)
argmin=arg_min(x:X, axis=0)
argsort(input:X, axis=-1, descending=False, name) -> Out Indices
asin(x:X, name)
atan(x:X, name)
bpr_loss(input:X, label:Label, name) -> Y
brelu(x:X, t_min=0.0, t_max=24.0, name)
ceil(x:X, name)
chunk_eval(input:Inference, label:Label, chunk_scheme, num_chunk_types,
    excluded_chunk_types=None, seq_length:SeqLength?) -> Precision Recall
    F1-Score NumInferChunks NumLabelChunks NumCorrectChunks
clip(x:X, min, max, name)
clip_by_norm(x:X, max_norm, name)
concat(input:X*, axis=0, name)
cos(x:X, name)
cos_sim(X:X, Y:Y)
cross_entropy(input:X, label:Label, soft_label=False, ignore_index=-100) -> Y
cumsum(x:X, axis=-1, exclusive=False, reverse=False)
elementwise_add(x:X, y:Y, axis=-1, act, name)
elementwise_div(x:X, y:Y, axis=-1, act, name)
elementwise_floordiv(x:X, y:Y, axis=-1, act, name)
elementwise_max(x:X, y:Y, axis=-1, act, name)
elementwise_min(x:X, y:Y, axis=-1, act, name)
elementwise_mod(x:X, y:Y, axis=-1, act, name)
elementwise_mul(x:X, y:Y, axis=-1, act, name)
elementwise_pow(x:X, y:Y, axis=-1, act, name)
elementwise_sub(x:X, y:Y, axis=-1, act, name)
elu(x:X, alpha=1.0, name)
erf(x:X)
exp(x:X, name)
expand(x:X, expand_times, name)
expand_as(x:X, target_tensor:target_tensor, name)
flatten=flatten2(x:X, axis=1, name)
floor(x:X, name)
gather(input:X, index:Index, overwrite=True)
gather_nd(input:X, index:Index, name)
gelu(x:X, approximate=False)
hard_shrink(x:X, threshold=0.5)
hard_sigmoid(x:X, slope=0.2, offset=0.5, name)
hard_swish(x:X, threshold=6.0, scale=6.0, offset=3.0, name)
huber_loss(input:X, label:Y, delta)
isfinite(x:X)
kldiv_loss(x:X, target:Target, reduction='mean', name) -> Loss
label_smooth(label:X, prior_dist:PriorDist?, epsilon=0.1, dtype='float32'>_,
    name)
leaky_relu(x:X, alpha=0.02, name)
lod_reset(x:X, y:Y?, target_lod=None)
log(x:X, name)
log_loss(input:Predicted, label:Labels, epsilon=1e-4, name) -> Loss
logsigmoid(x:X, name)
lrn(input:X, n=5, k=1.0, alpha=1e-4, beta=0.75, name, data_format='NCHW')
margin_rank_loss(label:Label, left:X1, right:X2, margin=0.1, name)
matmul(x:X, y:Y, transpose_x=False>transpose_X, transpose_y=False>transpose_Y,
    alpha=1.0, name)
maxout(x:X, groups, name, axis=1)
mean(x:X, name)
mul(x:X, y:Y, x_num_col_dims=1, y_num_col_dims=1, name)
pad(x:X, paddings, pad_value=0.0, name)
pixel_shuffle(x:X, upscale_factor)
pow(x:X, factor=1.0, name)
rank_loss(label:Label, left:Left, right:Right, name)
reciprocal(x:X, name)
relu(x:X, name)
relu6(x:X, threshold=6.0, name)
round(x:X, name)
rsqrt(x:X, name)
scatter(input:X, index:Ids, updates:Updates, name, overwrite=True)
selu(x:X, scale=1.0507009873554805, alpha=1.6732632423543772, name)
sequence_concat(input:X*, name)
sequence_enumerate(input:X, win_size, pad_value=0, name)
sequence_expand(x:X, y:Y, ref_level=-1, name)
sequence_expand_as(x:X, y:Y, name)
sequence_pad(x:X, pad_value:PadValue, maxlen=-1>padded_length, name) -> Out
    Length
sequence_reshape(input:X, new_dim)
sequence_reverse(x:X, name) -> Y
sequence_scatter(input:X, index:Ids, updates:Updates, name)
sequence_slice(input:X, offset:Offset, length:Length, name)
sequence_softmax(input:X, use_cudnn=False, name)
sequence_unpad(x:X, length:Length, name)
shape(input:Input)
shuffle_channel(x:X, group, name)
sigmoid(x:X, name)
sigmoid_cross_entropy_with_logits(x:X, label:Label, ignore_index=-100, name,
    normalize=False)
sign(x:X)
sin(x:X, name)
size(input:Input)
slice(input:Input, axes, starts, ends)
softmax(input:X, use_cudnn=False, name, axis=-1)
softplus(x:X, name)
softsign(x:X, name)
space_to_depth(x:X, blocksize, name)
sqrt(x:X, name)
square(x:X, name)
squeeze=squeeze2(input:X, axes, name)
stack(x:X*, axis=0, name) -> Y
stanh(x:X, scale_a=0.67, scale_b=1.7159, name)
strided_slice(input:Input, axes, starts, ends, strides)
sum(x:X*)
swish(x:X, beta=1.0, name)
tanh(x:X, name)
tanh_shrink(x:X, name)
thresholded_relu(x:X, threshold=1.0)
topk=top_k(input:X, k, name) -> Out Indices
transpose=transpose2(x:X, perm>axis, name)
unsqueeze=unsqueeze2(input:X, axes, name)
where=where_index(condition:Condition)
"""


class _Argument(NamedTuple):
    name: str
    slot: str | None = None  # of an input
    many: bool = False
    attribute: str | None = None


class _Layer(NamedTuple):
    op: str
    arguments: list[_Argument]
    signature: inspect.Signature
    outputs: list[str]


_LINE = re.compile(r"(\w+)(?:=(\w+))?\((.*)\)(?: -> (.*))?")
_PART = re.compile(r"(\w+)(?::(\w+)([*?]?))?(?:=([^>]*))?(?:>(\w+))?(?:=(.*))?")


def _parsed(text: str) -> tuple[str, _Layer]:
    name, op, arguments, outputs = _LINE.fullmatch(text).groups()  # type: ignore
    made, parameters = [], []
    for part in arguments.split(", "):
        word, slot, sign, default, other, late = _PART.fullmatch(part).groups()  # type: ignore
        default = default or late
        value: Any = inspect.Parameter.empty
        if sign == "?" or part in ("act", "name"):
            value = None
        elif default is not None:
            value = ast.literal_eval(default)
        attribute = None if slot or part in ("act", "name") else other or word
        made.append(_Argument(word, slot, sign == "*", attribute))
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(word, kind, default=value))
    signature = inspect.Signature(parameters)
    layer = _Layer(op or name, made, signature, (outputs or "Out").split())
    return name, layer


def _function(name: str, layer: _Layer) -> Callable[..., Any]:
    def function(*values: Any, **named: Any) -> Any:
        bound = layer.signature.bind(*values, **named)
        bound.apply_defaults()
        given = bound.arguments
        inputs, attrs = {}, {}
        for each in layer.arguments:
            value = given[each.name]
            if each.slot:
                inputs[each.slot] = list(value) if each.many else value
            elif each.attribute not in (None, "_") and value is not None:
                attrs[each.attribute] = value
        helper = LayerHelper(layer.op, given.get("name"))
        first, *more = layer.outputs
        out = helper.append(layer.op, inputs, attrs, first, more)
        return helper.activation(out, given.get("act"))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The op ``{layer.op}`` of Fluid."
    function.__signature__ = layer.signature  # type: ignore[attr-defined]
    function.__annotations__ = {"return": Variable}
    return function


LAYERS: dict[str, Callable[..., Any]] = {
    name: _function(name, layer)
    for name, layer in map(
        _parsed, _TABLE.replace("\n    ", " ").strip().splitlines()
    )
}
