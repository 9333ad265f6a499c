"""Ops that are many of Sluice: trees and samples of classes, and others."""

from __future__ import annotations

import math
from typing import Any

from ... import layers
from ...framework import Variable
from ...layers.dynamic import lstmp as projected
from .table import Op, row


@row("hierarchical_sigmoid")
def hierarchical_sigmoid(
    op, X, W, Label, PathTable=None, PathCode=None, Bias=None, *, num_classes=2
):
    """The cost of each label's way through a tree.

    Without a table it is a complete binary tree: at the bits of label +
    num_classes, the nodes are its prefixes. As in Fluid, the steps that a short
    way lacks cost log(2) each.
    """
    if PathTable is None:
        steps = (num_classes - 1).bit_length()
        label = op.reshape(op.cast(Label, "int64"), -1, 1)
        two = op.constant(2, "int64")
        powers = [_powers(op, first, steps) for first in (0, 1)]
        code = label + op.constant(num_classes, "int64")
        above, below = (
            op.append("elementwise_floordiv", {"X": code, "Y": power})
            for power in powers
        )
        nodes = below - op.constant(1, "int64")
        bits = op.append("elementwise_mod", {"X": above, "Y": two})
    else:
        nodes = op.cast(PathTable, "int64")
        bits = PathCode
    zero = op.constant(0, "int64")
    taken = op.cast(
        op.append("greater_equal", {"X": nodes, "Y": zero}), X.dtype
    )
    nodes = op.append("elementwise_max", {"X": nodes, "Y": zero})
    weights = op.append("gather", {"X": W, "Index": nodes}, axis=0)
    x = op.append("unsqueeze", {"X": X}, axes=[2])
    z = op.append("squeeze", {"X": op.append("matmul", {"X": weights, "Y": x})},
                  axes=[2])  # fmt: skip
    if Bias is not None:
        flat = op.reshape(Bias, -1)
        z = z + op.append("gather", {"X": flat, "Index": nodes}, axis=0)
    z = op.append("clip", {"X": z * taken}, min=-40.0, max=40.0)
    costs = op.append("softplus", {"X": z}) - z * (
        op.cast(bits, X.dtype) * taken
    )
    return op.append("reduce_sum", {"X": costs}, dim=[1], keep_dim=True)


def _powers(op: Op, first: int, count: int) -> Variable:
    """2 ** first, and so many powers from there, as int64."""
    values = [float(1 << (first + k)) for k in range(count)]
    return op.append(
        "assign_value", shape=[count], dtype="int64", values=values
    )


@row("nce", outputs="Cost")
def nce(
    op,
    Input,
    Label,
    Weight,
    Bias=None,
    SampleWeight=None,
    CustomDistProbs=None,
    *,
    num_total_classes,
    num_neg_samples=10,
    sampler=0,
    custom_neg_classes=(),
):
    """Noise-contrastive estimation; all rows share the drawn classes."""
    negative = _drawn(
        op, sampler, num_total_classes, num_neg_samples, CustomDistProbs
    )
    if custom_neg_classes:
        values = [float(each) for each in custom_neg_classes]
        negative = op.append(
            "assign_value", shape=[len(values)], dtype="int64", values=values
        )
    label = op.cast(Label, "int64")

    def cost(classes: Variable, own: bool) -> Variable:
        weights = op.append("gather", {"X": Weight, "Index": classes}, axis=0)
        if own:  # [N, T, D] times [N, D, 1]
            x = op.append("unsqueeze", {"X": Input}, axes=[2])
            z = op.append("matmul", {"X": weights, "Y": x})
            z = op.append("squeeze", {"X": z}, axes=[2])
        else:
            inputs = {"X": Input, "Y": weights}
            z = op.append("matmul", inputs, transpose_Y=True)
        if Bias is not None:
            flat = op.reshape(Bias, -1)
            z = z + op.append("gather", {"X": flat, "Index": classes}, axis=0)
        o = op.append("sigmoid", {"X": z})
        chance = _chance(
            op, sampler, num_total_classes, classes, CustomDistProbs
        )
        b = op.cast(chance, Input.dtype) * float(num_neg_samples)
        share = (o if own else b) / (o + b)
        logs = op.append("log", {"X": share})
        return op.append("reduce_sum", {"X": logs}, dim=[1], keep_dim=True)

    total = (cost(label, True) + cost(negative, False)) * -1.0
    if SampleWeight is not None:
        total = total * op.reshape(SampleWeight, -1, 1)
    return total


def _drawn(op: Op, sampler: int, classes: int, count: int, chances: Any) -> Any:
    """Class numbers by the sampler: uniform, by their logarithms, or given."""
    seed = op.given.get("seed", 0)
    drawn = op.append(
        "uniform_random", shape=[count], min=0.0, max=1.0, seed=seed
    )
    most = op.constant(classes - 1, "int64")
    if sampler == 0:
        number = op.cast(
            op.append("floor", {"X": drawn * float(classes)}), "int64"
        )
        return op.append("elementwise_min", {"X": number, "Y": most})
    if sampler == 1:
        grown = op.append("exp", {"X": drawn * math.log(classes)})
        number = op.cast(op.append("floor", {"X": grown - 1.0}), "int64")
        return op.append("elementwise_mod", {"X": number, "Y": most})
    sums = op.append("cumsum", {"X": op.reshape(chances, -1)}, axis=0)
    column = op.append("unsqueeze", {"X": drawn}, axes=[1])
    below = op.append("greater_equal", {"X": column, "Y": sums})
    number = op.append("reduce_sum", {"X": op.cast(below, "int64")}, dim=[1])
    return op.append("elementwise_min", {"X": number, "Y": most})


def _chance(
    op: Op, sampler: int, classes: int, which: Variable, chances: Any
) -> Variable:
    """The probability with which classes are drawn."""
    if sampler == 0:
        return op.constant(1.0 / classes)
    if sampler == 1:
        number = op.cast(which, "float32")
        ratio = (number + 2.0) / (number + 1.0)
        return op.append("log", {"X": ratio}) * (1.0 / math.log(classes))
    flat = op.reshape(chances, -1)
    return op.append("gather", {"X": flat, "Index": which}, axis=0)


@row("spectral_norm")
def spectral_norm(op, Weight, U, V, *, dim=0, power_iters=1, eps=1e-12):
    """A weight divided by its largest singular value."""
    order = [dim, *(k for k in range(op.rank(Weight)) if k != dim)]
    turned = op.append("transpose", {"X": Weight}, axis=order)
    matrix = op.reshape(turned, op.size(Weight, dim), -1)
    u, v = op.reshape(U, -1, 1), op.reshape(V, -1, 1)

    def times(x: Variable, turn: bool) -> Variable:
        inputs = {"X": matrix, "Y": x}
        return op.append("matmul", inputs, transpose_X=turn)

    def unit(x: Variable) -> Variable:
        return x / (op.append("reduce_l2", {"X": x}, reduce_all=True) + eps)

    for _ in range(power_iters):
        v = unit(times(u, True))
        u = unit(times(v, False))
    u.stop_gradient = v.stop_gradient = True
    sigma = op.append("reduce_sum", {"X": u * times(v, False)}, reduce_all=True)
    return Weight / sigma


@row("lstmp", outputs="Projection Cell")
def lstmp(
    op,
    Input,
    Weight,
    ProjWeight,
    Bias,
    H0=None,
    C0=None,
    *,
    use_peepholes=True,
    is_reverse=False,
    cell_clip=0.0,
    proj_clip=0.0,
    gate_activation="sigmoid",
    cell_activation="tanh",
    candidate_activation="tanh",
    proj_activation="tanh",
):
    """Long short-term memory with projected states. As in Fluid, the activation
    of the projections is that of the cells, unless it is the identity.
    """
    if proj_activation != "identity":
        proj_activation = cell_activation
    kinds = (
        gate_activation, candidate_activation, cell_activation, proj_activation
    )  # fmt: skip
    made = projected(
        Input,
        [Weight, ProjWeight, Bias],
        [H0, C0],
        ["assign" if kind == "identity" else kind for kind in kinds],
        [cell_clip, proj_clip],
        use_peepholes,
        is_reverse,
    )
    return dict(zip(("Projection", "Cell"), made, strict=True))


@row("ctc_align", outputs="Output OutputLength")
def ctc_align(
    op,
    Input,
    InputLength=None,
    *,
    blank=0,
    merge_repeated=True,
    padding_value=0,
):
    """Each sequence without repetitions and blanks, moved to its beginning."""
    ragged = Input.lod_level
    x, length = op.dense(Input) if ragged else (Input, InputLength)
    if length is None:
        op.wrong("InputLength is missing, without LoD")

    def compared(type: str, y: Variable) -> Variable:
        return op.append(type, {"X": x, "Y": op.cast(y, x.dtype)})

    def both(a: Variable, b: Variable) -> Variable:
        return op.append("logical_and", {"X": a, "Y": b})

    ones = op.append("fill_any_like", {"X": x}, value=1.0, dtype="int64")
    place = op.append("cumsum", {"X": ones}, axis=1, exclusive=True)
    length = op.cast(op.reshape(length, -1, 1), "int64")
    kept = both(
        op.append("less_than", {"X": place, "Y": length}),
        compared("not_equal", op.constant(blank, x.dtype)),
    )
    if merge_repeated:
        begin = op.append("slice", {"X": x}, axes=[1], starts=[0], ends=[1])
        none = op.append(
            "fill_any_like", {"X": begin}, value=-1.0, dtype=x.dtype
        )
        rest = op.append("slice", {"X": x}, axes=[1], starts=[0], ends=[-1])
        before = op.append("concat", {"X": [none, rest]}, axis=1)
        kept = both(kept, compared("not_equal", before))
    count = op.append(
        "reduce_sum", {"X": op.cast(kept, "int64")}, dim=[1], keep_dim=True
    )
    last = op.cast(op.append("logical_not", {"X": kept}), "int64")
    far = op.constant(2**30, "int64")
    _, order = layers.argsort(place + last * far, axis=1)
    moved = op.append("gather_elements", {"X": x, "Index": order}, axis=1)
    within = op.append("less_than", {"X": place, "Y": count})
    padding = op.constant(padding_value, x.dtype)
    inputs = {"Condition": within, "X": moved, "Y": padding}
    out = op.append("where", inputs)
    if ragged:
        out = layers.sequence_unpad(out, op.reshape(count, -1))
        return op.append("unsqueeze", {"X": out}, axes=[1])
    return {"Output": out, "OutputLength": count}
