"""Ops that are many of Sluice: trees and samples of classes, and others."""

from __future__ import annotations

import math
from typing import Any

from ... import layers
from ...framework import Variable
from ...initializer import Normal
from ...layer_helper import ParamAttr
from ...layers import ops
from ...layers.dynamic import lstmp as projected
from .declaration import FluidOp
from .table import Op, row


def _row_sums(x: Variable) -> Variable:
    return ops.reduce_sum(x, dim=[1], keep_dim=True)


def _scores(op: Op, x: Variable, W: Any, bias: Any, classes: Any) -> Variable:
    """The products of each row with the weights of its classes [N, K]."""
    weights = op.gather(W, Index=classes, axis=0)
    z = ops.squeeze(weights @ ops.unsqueeze(x, axes=[2]), axes=[2])
    if bias is None:
        return z
    flat = op.reshape(bias, -1)
    return z + op.gather(flat, Index=classes, axis=0)


def _parameters_of_hsigmoid(
    layer, input, num_classes, param_attr, bias_attr, is_custom
):
    nodes = num_classes - (not is_custom)
    layer.parameter("W", param_attr, [nodes, input.shape[-1]])
    layer.parameter("Bias", bias_attr, [nodes, 1])


@FluidOp(
    "hierarchical_sigmoid",
    parameters=_parameters_of_hsigmoid,
    unused="is_custom",
    defaults={"num_classes": 2},
    path_table="PathTable",
    path_code="PathCode",
)
def hsigmoid(
    op, input, label, num_classes: int, param_attr=None, bias_attr=None,
    name=None, path_table=None, path_code=None, is_custom=False,
    is_sparse=False, *, W: Variable, Bias=None,
):  # fmt: skip
    """The cost of each label's way through a tree.

    Without a table it is a complete binary tree: at the bits of label +
    num_classes, the nodes are its prefixes. As in Fluid, the steps that a short
    way lacks cost log(2) each.
    """
    nodes, bits = path_table, path_code
    if nodes is None:
        steps = range((num_classes - 1).bit_length())
        attrs = {"shape": [len(steps)], "dtype": "int64"}
        powers = op.assign_value(values=[2.0**k for k in steps], **attrs)
        code = op.cast(op.reshape(label, -1, 1), "int64") + num_classes
        code = code // powers
        nodes, bits = code // 2 - 1, code % 2
    taken = op.cast(nodes >= 0, input.dtype)
    nodes = op.cast(ops.relu(op.cast(nodes, "float64")), "int64")
    z = ops.clip(
        _scores(op, input, W, Bias, nodes) * taken, min=-40.0, max=40.0
    )
    return _row_sums(
        ops.softplus(z * (op.cast(bits, input.dtype) * -2.0 + 1.0))
    )


@row("nce", outputs="Cost")
def nce(
    op, Input, Label, Weight, Bias=None, SampleWeight=None,
    CustomDistProbs=None, *, num_total_classes, num_neg_samples=10, sampler=0,
):  # fmt: skip
    """Noise-contrastive estimation; all rows share the drawn classes."""
    count, chances = num_total_classes, CustomDistProbs
    limits = {"min": 0.0, "max": 1.0, "seed": op.given.get("seed", 0)}
    drawn = op.uniform_random(shape=[num_neg_samples, 1], **limits)
    if sampler == 0:
        drawn = ops.floor(drawn * float(count))
    elif sampler == 1:
        drawn = ops.floor(ops.exp(drawn * math.log(count))) - 1.0
    else:
        chances = op.reshape(chances, -1)
        below = drawn >= ops.cumsum(chances, axis=0)
        drawn = _row_sums(op.cast(below, "float32"))
    drawn = ops.clip(op.reshape(drawn, 1, -1), min=0.0, max=count - 1.0)

    def cost(classes: Variable, own: bool) -> Variable:
        if sampler == 0:
            chance = op.constant(1.0 / count)
        elif sampler == 1:
            k = op.cast(classes, "float32")
            chance = ops.log((k + 2.0) / (k + 1.0)) * (1.0 / math.log(count))
        else:
            chance = op.gather(chances, Index=classes, axis=0)
        o = ops.sigmoid(_scores(op, Input, Weight, Bias, classes))
        b = op.cast(chance * float(num_neg_samples), Input.dtype)
        return _row_sums(ops.log((o if own else b) / (o + b)))

    label = op.cast(Label, "int64")
    total = (cost(label, True) + cost(op.cast(drawn, "int64"), False)) * -1.0
    if SampleWeight is not None:
        total = total * op.reshape(SampleWeight, -1, 1)
    return total


def _parameters_of_spectral_norm(layer, weight, dim):
    rows = weight.shape[dim]
    attr, start = ParamAttr(trainable=False), Normal(0.0, 1.0)
    layer.parameter("U", attr, [rows], start)
    layer.parameter("V", attr, [math.prod(weight.shape) // rows], start)


@FluidOp(parameters=_parameters_of_spectral_norm)
def spectral_norm(
    op, weight, dim=0, power_iters=1, eps=1e-12, name=None, *, U: Variable,
    V: Variable,
):  # fmt: skip
    """A weight divided by its largest singular value."""
    order = [dim, *(k for k in range(op.rank(weight)) if k != dim)]
    turned = op.transpose(weight, axis=order)
    matrix = op.reshape(turned, op.size(weight, dim), -1)
    u, v = op.reshape(U, -1, 1), op.reshape(V, -1, 1)

    def unit(x: Variable) -> Variable:
        return x / (ops.reduce_l2(x, reduce_all=True) + eps)

    for _ in range(power_iters):
        v = unit(ops.matmul(matrix, u, transpose_x=True))
        u = unit(matrix @ v)
    u.stop_gradient = v.stop_gradient = True
    return weight / ops.reduce_sum(u * (matrix @ v), reduce_all=True)


def _parameters_of_dynamic_lstmp(
    layer, size, proj_size, param_attr, bias_attr, use_peepholes
):
    layer.parameter("Weight", param_attr, [proj_size, size])
    layer.parameter("ProjWeight", param_attr, [size // 4, proj_size])
    gates = 7 if use_peepholes else 4
    layer.parameter("Bias", bias_attr, [1, size // 4 * gates])


@FluidOp(
    "lstmp",
    parameters=_parameters_of_dynamic_lstmp,
    outputs="Projection Cell",
    unused="size proj_size dtype",
    defaults={"cell_clip": 0.0, "proj_clip": 0.0},
    input="Input",
    h_0="H0",
    c_0="C0",
)
def dynamic_lstmp(
    op, input, size: int, proj_size: int, param_attr=None, bias_attr=None,
    use_peepholes=True, is_reverse=False, gate_activation="sigmoid",
    cell_activation="tanh", candidate_activation="tanh", proj_activation="tanh",
    dtype="float32", name=None, h_0=None, c_0=None,
    cell_clip: float | None = None, proj_clip: float | None = None, *,
    Weight: Variable, ProjWeight: Variable, Bias: Variable,
):  # fmt: skip
    """Long short-term memory with projected states. As in Fluid, the activation
    of the projections is that of the cells, unless it is the identity.
    """
    last = cell_activation if proj_activation != "identity" else "identity"
    kinds = [gate_activation, candidate_activation, cell_activation, last]
    kinds = ["assign" if kind == "identity" else kind for kind in kinds]
    parameters, clips = [Weight, ProjWeight, Bias], [cell_clip, proj_clip]
    made = projected(
        input, parameters, [h_0, c_0], kinds, clips, use_peepholes, is_reverse
    )
    return dict(zip(("Projection", "Cell"), made, strict=True))


@row("ctc_align", outputs="Output OutputLength")
def ctc_align(
    op, Input, InputLength=None, *, blank=0, merge_repeated=True,
    padding_value=0,
):  # fmt: skip
    """Each sequence without repetitions and blanks, moved to its beginning."""
    ragged = Input.lod_level
    x, length = op.dense(Input) if ragged else (Input, InputLength)
    if length is None:
        op.wrong("InputLength is missing, without LoD")
    x = op.cast(x, "int64")
    ones = ops.fill_any_like(x, value=1.0, dtype="int64")
    place = ops.cumsum(ones, axis=1, exclusive=True)
    kept = (place < op.cast(op.reshape(length, -1, 1), "int64")) & (x != blank)
    if merge_repeated:
        none = ops.slice(x, axes=[1], starts=[0], ends=[1]) * 0 - 1
        rest = ops.slice(x, axes=[1], starts=[0], ends=[-1])
        kept = kept & (x != ops.concat([none, rest], axis=1))
    last = op.cast(~kept, "int64")
    count = _row_sums(ones - last)
    _, order = layers.argsort(place + last * 2**30, axis=1)
    moved = ops.gather_elements(x, order, axis=1)
    padding = op.constant(padding_value, "int64")
    out = op.cast(ops.where(place < count, moved, padding), Input.dtype)
    if ragged:
        out = layers.sequence_unpad(out, op.reshape(count, -1))
        return ops.unsqueeze(out, axes=[1])
    return {"Output": out, "OutputLength": count}
