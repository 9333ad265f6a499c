"""Ops that are many of Sluice: trees and samples of classes, and others."""

from __future__ import annotations

import math
from typing import Any

from ... import layers
from ...framework import Variable
from ...layers import ops
from ...layers.dynamic import lstmp as projected
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


@row("hierarchical_sigmoid")
def hierarchical_sigmoid(
    op, X, W, Label, PathTable=None, PathCode=None, Bias=None, *, num_classes=2
):
    """The cost of each label's way through a tree.

    Without a table it is a complete binary tree: at the bits of label +
    num_classes, the nodes are its prefixes. As in Fluid, the steps that a short
    way lacks cost log(2) each.
    """
    nodes, bits = PathTable, PathCode
    if nodes is None:
        steps = range((num_classes - 1).bit_length())
        attrs = {"shape": [len(steps)], "dtype": "int64"}
        powers = op.assign_value(values=[2.0**k for k in steps], **attrs)
        code = op.cast(op.reshape(Label, -1, 1), "int64") + num_classes
        code = code // powers
        nodes, bits = code // 2 - 1, code % 2
    taken = op.cast(nodes >= 0, X.dtype)
    nodes = op.cast(ops.relu(op.cast(nodes, "float64")), "int64")
    z = ops.clip(_scores(op, X, W, Bias, nodes) * taken, min=-40.0, max=40.0)
    return _row_sums(ops.softplus(z * (op.cast(bits, X.dtype) * -2.0 + 1.0)))


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


@row("spectral_norm")
def spectral_norm(op, Weight, U, V, *, dim=0, power_iters=1, eps=1e-12):
    """A weight divided by its largest singular value."""
    order = [dim, *(k for k in range(op.rank(Weight)) if k != dim)]
    turned = op.transpose(Weight, axis=order)
    matrix = op.reshape(turned, op.size(Weight, dim), -1)
    u, v = op.reshape(U, -1, 1), op.reshape(V, -1, 1)

    def unit(x: Variable) -> Variable:
        return x / (ops.reduce_l2(x, reduce_all=True) + eps)

    for _ in range(power_iters):
        v = unit(ops.matmul(matrix, u, transpose_x=True))
        u = unit(matrix @ v)
    u.stop_gradient = v.stop_gradient = True
    return Weight / ops.reduce_sum(u * (matrix @ v), reduce_all=True)


@row("lstmp", outputs="Projection Cell")
def lstmp(
    op, Input, Weight, ProjWeight, Bias, H0=None, C0=None, *,
    use_peepholes=True, is_reverse=False, cell_clip=0.0, proj_clip=0.0,
    gate_activation="sigmoid", cell_activation="tanh",
    candidate_activation="tanh", proj_activation="tanh",
):  # fmt: skip
    """Long short-term memory with projected states. As in Fluid, the activation
    of the projections is that of the cells, unless it is the identity.
    """
    last = cell_activation if proj_activation != "identity" else "identity"
    kinds = [gate_activation, candidate_activation, cell_activation, last]
    kinds = ["assign" if kind == "identity" else kind for kind in kinds]
    parameters, clips = [Weight, ProjWeight, Bias], [cell_clip, proj_clip]
    made = projected(
        Input, parameters, [H0, C0], kinds, clips, use_peepholes, is_reverse
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
