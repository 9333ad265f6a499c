"""Layers that are one op: a line each.

A line has the layer's arguments in Fluid's order. ``x:X`` is an input of slot
X, with ``*`` a list of them, with ``?`` one that may be None; ``out!`` is a
variable to write to, or None; ``k`` or ``axis=-1`` is an attribute;
``act`` and ``name`` are as in all layers. After the default of an attribute may
stand ``>transpose_X``, what the op calls it, or ``>_`` if it has none;
``|Shape|ShapeTensor``, the slots for a variable and for a list with variables;
and ``@2``, how many numbers it is of which one may stand for all. Before the
arguments may stand the op, if it is called otherwise, after ``;`` attributes
that are always the same, and at the end the outputs that the layer returns, if
not Out.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .framework import Variable, code_of
from .layer_helper import LayerHelper
from .translate import CODES

__all__ = ["LAYERS"]

_TABLE = """
abs(x:X, name)
acos(x:X, name)
add_position_encoding(input:X, alpha, beta, name)
addmm(input:Input, x:X, y:Y, alpha=1.0>Alpha, beta=1.0>Beta, name)
affine_channel(x:X, scale:Scale?, bias:Bias?, data_layout='NCHW', name, act)
affine_grid(theta:Theta, out_shape>output_shape|OutputShape, name) -> Output
allclose(input:Input, other:Other, rtol=1e-05, atol=1e-08, equal_nan=False,
    name)
argmax=arg_max(x:X, axis=0)
argmin=arg_min(x:X, axis=0)
argsort(input:X, axis=-1, descending=False, name) -> Out Indices
asin(x:X, name)
atan(x:X, name)
bmm(x:X, y:Y, name)
bpr_loss(input:X, label:Label, name) -> Y
brelu(x:X, t_min=0.0, t_max=24.0, name)
ceil(x:X, name)
chunk_eval(input:Inference, label:Label, chunk_scheme, num_chunk_types,
    excluded_chunk_types=None, seq_length:SeqLength?) -> Precision Recall
    F1-Score NumInferChunks NumLabelChunks NumCorrectChunks
clip(x:X, min, max, name)
clip_by_norm(x:X, max_norm, name)
concat(input:X*, axis=0|AxisTensor, name)
continuous_value_model=cvm(input:X, cvm:CVM, use_cvm=True) -> Y
cos(x:X, name)
cos_sim(X:X, Y:Y)
crop(x:X, shape=None|Y, offsets=None|Offsets, name)
crop_tensor(x:X, shape=None|Shape|ShapeTensor,
    offsets=None|Offsets|OffsetsTensor, name)
cross(input:X, other:Y, dim=None)
cross_entropy(input:X, label:Label, soft_label=False, ignore_index=-100) -> Y
cumsum(x:X, axis=None, exclusive=None, reverse=None)
diag(diagonal:Diagonal)
diag_embed(input:Input, offset=0, dim1=-2, dim2=-1)
dist(x:X, y:Y, p=2)
dot(x:X, y:Y, name)
elementwise_add(x:X, y:Y, axis=-1, act, name)
elementwise_div(x:X, y:Y, axis=-1, act, name)
elementwise_equal=equal(x:X, y:Y, name)
elementwise_floordiv(x:X, y:Y, axis=-1, act, name)
elementwise_max(x:X, y:Y, axis=-1, act, name)
elementwise_min(x:X, y:Y, axis=-1, act, name)
elementwise_mod(x:X, y:Y, axis=-1, act, name)
elementwise_mul(x:X, y:Y, axis=-1, act, name)
elementwise_pow(x:X, y:Y, axis=-1, act, name)
elementwise_sub(x:X, y:Y, axis=-1, act, name)
elu(x:X, alpha=1.0, name)
equal(x:X, y:Y, cond!)
erf(x:X)
exp(x:X, name)
expand(x:X, expand_times|ExpandTimes|expand_times_tensor, name)
expand_as(x:X, target_tensor:target_tensor, name)
fill_constant(shape|ShapeTensor|ShapeTensorList, dtype, value|ValueTensor,
    force_cpu=False, out!)
fill_constant_batch_size_like(input:Input, shape, dtype, value,
    input_dim_idx=0, output_dim_idx=0, force_cpu=False)
flatten=flatten2(x:X, axis=1, name)
flip(input:X, dims, name)
floor(x:X, name)
fsp_matrix=fsp(x:X, y:Y)
full=fill_constant(shape|ShapeTensor|ShapeTensorList,
    fill_value>value|ValueTensor, out!, dtype=None, device=None>_,
    stop_gradient=True>_, name)
full_like=fill_any_like(input:X, fill_value>value, out!, dtype=None,
    device=None>_, stop_gradient=True>_, name)
gather(input:X, index:Index, overwrite=True)
gather_nd(input:X, index:Index, name)
gather_tree(ids:Ids, parents:Parents)
gaussian_random(shape|ShapeTensor|ShapeTensorList, mean=0.0, std=1.0, seed=0,
    dtype='float32')
gaussian_random_batch_size_like(input:Input, shape, input_dim_idx=0,
    output_dim_idx=0, mean=0.0, std=1.0, seed=0, dtype='float32')
gelu(x:X, approximate=False)
greater_equal(x:X, y:Y, cond!)
greater_than(x:X, y:Y, cond!)
grid_sampler(x:X, grid:Grid, name) -> Output
hard_shrink(x:X, threshold=None)
hard_sigmoid(x:X, slope=0.2, offset=0.5, name)
hard_swish(x:X, threshold=6.0, scale=6.0, offset=3.0, name)
has_inf=isinf(x:X)
has_nan=isnan(x:X)
huber_loss(input:X, label:Y, delta)
im2sequence(input:X, filter_size=1>kernels@2, stride=1>strides@2,
    padding=0>paddings@4, input_image_size:Y?, out_stride=1@2, name)
index_sample(x:X, index:Index)
index_select(input:X, index:Index, dim=0)
is_empty(x:X, cond!)
isfinite(x:X)
kldiv_loss(x:X, target:Target, reduction='mean', name) -> Loss
kron(x:X, y:Y, out!, name)
label_smooth(label:X, prior_dist:PriorDist?, epsilon=0.1, dtype='float32'>_,
    name)
leaky_relu(x:X, alpha=0.02, name)
less_equal(x:X, y:Y, cond!)
less_than(x:X, y:Y, force_cpu=None, cond!)
lod_append=lod_reset(x:X, level>target_lod|Y; append=True)
lod_reset(x:X, y:Y?, target_lod=None)
log(x:X, name)
log1p(x:X, out!, name)
log_loss(input:Predicted, label:Labels, epsilon=1e-4, name) -> Loss
logical_and(x:X, y:Y, out!, name)
logical_not(x:X, out!, name)
logical_or(x:X, y:Y, out!, name)
logical_xor(x:X, y:Y, out!, name)
logsigmoid(x:X, name)
lrn(input:X, n=5, k=1.0, alpha=1e-4, beta=0.75, name, data_format='NCHW')
margin_rank_loss(label:Label, left:X1, right:X2, margin=0.1, name)
matmul(x:X, y:Y, transpose_x=False>transpose_X, transpose_y=False>transpose_Y,
    alpha=1.0, name)
maxout(x:X, groups, name, axis=1)
mean(x:X, name)
mean_iou(input:Predictions, label:Labels, num_classes) -> OutMeanIou OutWrong
    OutCorrect
mish(x:X, threshold=20, name)
mul(x:X, y:Y, x_num_col_dims=1, y_num_col_dims=1, name)
multiplex(inputs:X*, index:Ids)
not_equal(x:X, y:Y, cond!)
one_hot(input:X, depth|depth_tensor, allow_out_of_range=False)
ones=fill_constant(shape, dtype, force_cpu=False; value=1.0)
ones_like=fill_any_like(x:X, out!; value=1.0)
pad(x:X, paddings, pad_value=0.0, name)
pad2d(input:X, paddings=[0,0,0,0]|Paddings, mode='constant', pad_value=0.0,
    data_format='NCHW', name)
pad_constant_like(x:X, y:Y, pad_value=0.0, name)
pixel_shuffle(x:X, upscale_factor)
pow(x:X, factor=1.0|FactorTensor, name)
randn=gaussian_random(shape, out!, dtype=None, device=None>_,
    stop_gradient=True>_, name)
randperm(n, out!, dtype='int64', device=None>_, stop_gradient=True>_, seed=0)
rank_loss(label:Label, left:Left, right:Right, name)
reciprocal(x:X, name)
relu(x:X, name)
relu6(x:X, threshold=6.0, name)
reshape=reshape2(x:X, shape|Shape|ShapeTensor, actual_shape:Shape?, act,
    inplace=False>_, name)
reverse(x:X, axis@1)
round(x:X, name)
rsqrt(x:X, name)
sampling_id(x:X, min=0.0, max=1.0, seed=0, dtype='float32'>_)
scale(x:X, scale=1.0|ScaleTensor, bias=0.0, bias_after_scale=True, act, name)
scatter(input:X, index:Ids, updates:Updates, name, overwrite=True)
scatter_nd_add(ref:X, index:Index, updates:Updates, name)
selu(x:X, scale=None, alpha=None, name)
sequence_concat(input:X*, name)
sequence_enumerate(input:X, win_size, pad_value=0, name)
sequence_expand(x:X, y:Y, ref_level=-1, name)
sequence_expand_as(x:X, y:Y, name)
sequence_mask(x:X, maxlen=None|MaxLenTensor, dtype='int64'>out_dtype, name) ->
    Y
sequence_pad(x:X, pad_value:PadValue, maxlen=None>padded_length, name) -> Out
    Length
sequence_reshape(input:X, new_dim)
sequence_reverse(x:X, name) -> Y
sequence_scatter(input:X, index:Ids, updates:Updates, name)
sequence_slice(input:X, offset:Offset, length:Length, name)
sequence_softmax(input:X, use_cudnn=False, name)
sequence_unpad(x:X, length:Length, name)
shape(input:Input)
shard_index(input:X, index_num, nshards, shard_id, ignore_value=-1)
shuffle_channel(x:X, group, name)
sigmoid(x:X, name)
sigmoid_cross_entropy_with_logits(x:X, label:Label, ignore_index=-100, name,
    normalize=False)
sigmoid_focal_loss(x:X, label:Label, fg_num:FgNum, gamma=2.0, alpha=0.25)
sign(x:X)
sin(x:X, name)
size(input:Input)
slice(input:Input, axes, starts|StartsTensor|StartsTensorList,
    ends|EndsTensor|EndsTensorList)
smooth_l1=smooth_l1_loss(x:X, y:Y, inside_weight:InsideWeight?,
    outside_weight:OutsideWeight?, sigma=None)
soft_relu(x:X, threshold=40.0, name)
softmax(input:X, use_cudnn=False, name, axis=-1)
softplus(x:X, name)
softshrink(x:X, alpha=None>lambda)
softsign(x:X, name)
space_to_depth(x:X, blocksize, name)
sqrt(x:X, name)
square(x:X, name)
squeeze=squeeze2(input:X, axes, name)
stack(x:X*, axis=0) -> Y
stanh(x:X, scale_a=0.67, scale_b=1.7159, name)
strided_slice(input:Input, axes, starts|StartsTensor|StartsTensorList,
    ends|EndsTensor|EndsTensorList, strides|StridesTensor|StridesTensorList)
sum(x:X*)
sums=sum(input:X*, out!)
swish(x:X, beta=1.0, name)
tanh(x:X, name)
tanh_shrink(x:X, name)
teacher_student_sigmoid_loss(input:X, label:Label, soft_max_up_bound=15.0,
    soft_max_lower_bound=-15.0) -> Y
temporal_shift(x:X, seg_num, shift_ratio=0.25, name)
thresholded_relu(x:X, threshold=None)
topk=top_k(input:X, k|K, name) -> Out Indices
trace(input:Input, offset=0, dim1=0, dim2=1, out!, name)
transpose=transpose2(x:X, perm>axis, name)
tril=tril_triu(input:X, diagonal=0, name; lower=True)
triu=tril_triu(input:X, diagonal=0, name; lower=False)
unfold(x:X, kernel_sizes@2, strides=1@2, paddings=0@4, dilations=1@2, name) ->
    Y
uniform_random(shape|ShapeTensor|ShapeTensorList, dtype='float32', min=-1.0,
    max=1.0, seed=0)
uniform_random_batch_size_like(input:Input, shape, dtype='float32',
    input_dim_idx=0, output_dim_idx=0, min=-1.0, max=1.0, seed=0)
unique(x:X, dtype='int32') -> Out Index
unique_with_counts(x:X, dtype='int32') -> Out Index Count
unsqueeze=unsqueeze2(input:X, axes, name)
warpctc(input:Logits, label:Label, blank=0, norm_by_times=False,
    input_length:LogitsLength?, label_length:LabelLength?) -> Loss
where=where_index(condition:Condition)
zeros=fill_constant(shape, dtype, force_cpu=False; value=0.0)
zeros_like=fill_zeros_like(x:X, out!)
"""


class _Argument(NamedTuple):
    name: str
    slot: str | None = None  # of an input
    sign: str = ""
    attribute: str | None = None
    tensor: str | None = None  # slots for an attribute as a variable
    tensors: str | None = None
    count: int = 0


class _Layer(NamedTuple):
    op: str
    arguments: list[_Argument]
    constants: dict[str, Any]
    signature: inspect.Signature
    outputs: list[str]


_LINE = re.compile(r"(\w+)(?:=(\w+))?\((.*?)(?:; (.*))?\)(?: -> (.*))?")
_PART = re.compile(
    r"(\w+)(?::(\w+))?([*?!])?(?:=([^>|@]*))?"
    r"(?:>(\w+))?(?:\|(\w+))?(?:\|(\w+))?(?:@(\d))?"
)


def _parsed(text: str) -> tuple[str, _Layer]:
    name, op, arguments, constants, outputs = _LINE.fullmatch(text).groups()  # type: ignore
    made, parameters = [], []
    for part in arguments.split(", "):
        word, slot, sign, default, other, *slots, count = _PART.fullmatch(
            part
        ).groups()  # type: ignore
        value: Any = inspect.Parameter.empty
        if sign in ("?", "!") or part in ("act", "name"):
            value = None
        elif default is not None:
            value = ast.literal_eval(default)
        idle = slot or sign == "!" or part in ("act", "name") or other == "_"
        attribute = None if idle else other or word
        made.append(
            _Argument(
                word, slot, sign or "", attribute, *slots, int(count or 0)
            )
        )
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(word, kind, default=value))
    fixed = dict(each.split("=") for each in (constants or "").split() if each)
    layer = _Layer(
        op or name,
        made,
        {key: ast.literal_eval(value) for key, value in fixed.items()},
        inspect.Signature(parameters),
        (outputs or "Out").split(),
    )
    return name, layer


def whole(value: Any, count: int) -> list[Any]:
    """A list of so many numbers; one, or fewer, stand for all."""
    several = list(value) if isinstance(value, (list, tuple)) else [value]
    return several * max(1, count // (len(several) or 1))


def number_or_tensor(
    helper: LayerHelper, value: Any, tensor: str | None, tensors: str | None
) -> tuple[Any, dict[str, Any]]:
    """An attribute that may be a variable, or have some: the attribute and the
    inputs.
    """
    if tensor and isinstance(value, Variable):
        return None, {tensor: value}
    if not isinstance(value, (list, tuple)):
        return value, {}
    if not any(isinstance(each, Variable) for each in value):
        return list(value), {}
    attrs = {"shape": [1], "dtype": CODES["int32"]}
    variables = [
        each
        if isinstance(each, Variable)
        else helper.append("fill_constant", {}, attrs | {"value": float(each)})
        for each in value
    ]
    numbers = [-1 if isinstance(each, Variable) else each for each in value]
    return numbers, {tensors or "": variables}


def _function(name: str, layer: _Layer) -> Callable[..., Any]:
    def function(*values: Any, **named: Any) -> Any:
        bound = layer.signature.bind(*values, **named)
        bound.apply_defaults()
        given = bound.arguments
        helper = LayerHelper(layer.op, given.get("name"))
        inputs: dict[str, Any] = {}
        attrs, into = dict(layer.constants), None
        for each in layer.arguments:
            value = given[each.name]
            if value is None:
                continue
            if each.sign == "!":
                into = value
            elif each.slot:
                inputs[each.slot] = _input(value, each.sign)
            elif each.attribute:
                if each.attribute in ("dtype", "out_dtype"):
                    value = code_of(value)
                if each.count:
                    value = whole(value, each.count)
                value, more = number_or_tensor(
                    helper, value, each.tensor, each.tensors
                )
                inputs |= more
                attrs |= {} if value is None else {each.attribute: value}
        first, *others = layer.outputs
        out = helper.append(layer.op, inputs, attrs, first, others, into)
        return helper.activation(out, given.get("act"))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The op ``{layer.op}`` of Fluid."
    function.__signature__ = layer.signature  # type: ignore[attr-defined]
    function.__annotations__ = {"return": Variable}
    return function


def _input(value: Any, sign: str) -> Any:
    if sign == "*" and isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, np.ndarray):
        from .writing import assign

        return assign(value)
    return value


TABLE: dict[str, _Layer] = dict(
    map(_parsed, _TABLE.replace("\n    ", " ").strip().splitlines())
)
LAYERS: dict[str, Callable[..., Any]] = {
    name: _function(name, layer) for name, layer in TABLE.items()
}
