"""What PaddlePaddle's passes make of several ops: said by these ops again."""

from __future__ import annotations

from collections.abc import Sequence

from ... import layers
from ...framework import Variable
from .contraction import fc
from .sequences import columns, gru, lstm
from .table import ROWS, Many, Op, row


def _and(type, **more):
    """The attributes of an op, and more that change nothing."""
    return {**ROWS[type].attributes, **more}


@row("fusion_gru", outputs="Hidden", **_and("gru", use_seq=True))
def fusion_gru(op, X, WeightX, WeightH, Bias=None, H0=None, **attrs):
    """gru of the products of the rows and WeightX."""
    del attrs["use_seq"]
    products = op.append("mul", {"X": X, "Y": WeightX})
    return gru(op, products, WeightH, Bias, H0, **attrs)


@row("fusion_lstm", outputs="Hidden Cell", **_and("lstm", use_seq=True))
def fusion_lstm(op, X, WeightX, WeightH, Bias, H0=None, C0=None, **attrs):
    """lstm of the products of the rows and WeightX."""
    del attrs["use_seq"]
    products = op.append("mul", {"X": X, "Y": WeightX})
    return lstm(op, products, WeightH, Bias, H0, C0, **attrs)


@row(
    "fused_embedding_fc_lstm",
    outputs="Hidden Cell",
    **_and("lstm", use_seq=True),
)
def fused_embedding_fc_lstm(
    op, Ids, Embeddings, WeightH, Bias, H0=None, C0=None, **attrs
):
    """lstm of rows of a table, in which the biases of the gates are already."""
    del attrs["use_seq"]
    gates = 4 * op.size(WeightH, 0)
    zeros = op.constant_like(Bias, 0.0)
    bias = columns(op, zeros, 0, gates)
    if attrs["use_peepholes"]:
        peepholes = columns(op, Bias, gates, gates // 4 * 3)
        bias = op.append("concat", {"X": [bias, peepholes]}, axis=1)
    inputs = {"W": Embeddings, "Ids": Ids}
    rows = op.append("lookup_table", inputs, drop_last_dim=True)
    return lstm(op, rows, WeightH, bias, H0, C0, **attrs)


@row("fused_embedding_seq_pool")
def fused_embedding_seq_pool(op, W, Ids, *, combiner="sum", padding_idx=-1):
    """Sums of rows of a table, for each column of the ids."""
    op.only(combiner=(combiner, "sum"))
    columns, width = 1, op.size(W, 1)
    for size in op.shape(Ids)[1:]:
        columns *= size or 1
    flat = op.append("reshape", {"X": Ids}, shape=[0, columns])
    rows = op.append(
        "lookup_table",
        {"W": W, "Ids": flat},
        padding_idx=padding_idx,
        drop_last_dim=False,
    )
    rows = op.append("reshape", {"X": rows}, shape=[0, columns * width])
    return op.append("sequence_pool", {"X": rows}, pooltype="SUM")


def _pooled(op: Op, x: Variable, pooltype: str) -> Variable:
    return op.append("sequence_pool", {"X": x}, pooltype=pooltype)


@row("fusion_seqpool_concat")
def fusion_seqpool_concat(op, X: Many, *, pooltype="SUM", axis=1):
    """sequence_pool of each, side by side."""
    parts = [_pooled(op, x, pooltype) for x in X]
    return op.append("concat", {"X": parts}, axis=axis)


@row("cvm", outputs="Y")
def cvm(op, X, CVM, *, use_cvm=True):
    """Of the columns show and click their logarithms, or without both."""
    width = op.size(X, 1)
    # Fluid's gradient of show and click is no gradient, but CVM. An op that has
    # none keeps a program from being trained with another one.
    X = op.append("bitcast", {"X": X}, dtype=X.dtype)
    rest = op.append("slice", {"X": X}, axes=[1], starts=[2], ends=[width])
    if not use_cvm:
        return rest
    show, click = (
        op.append(
            "log",
            {
                "X": op.append(
                    "slice", {"X": X}, axes=[1], starts=[k], ends=[k + 1]
                )
                + 1.0
            },
        )
        for k in range(2)
    )
    return op.append("concat", {"X": [show, click - show, rest]}, axis=1)


@row("fusion_seqpool_cvm_concat")
def fusion_seqpool_cvm_concat(
    op, X: Many, CVM, *, pooltype="SUM", axis=1, use_cvm=True
):
    """sequence_pool and cvm of each, side by side."""
    parts = [cvm(op, _pooled(op, x, pooltype), CVM, use_cvm=use_cvm) for x in X]
    return op.append("concat", {"X": parts}, axis=axis)


@row("fusion_seqexpand_concat_fc")
def fusion_seqexpand_concat_fc(
    op, X: Many, FCWeight, FCBias=None, *, fc_activation="identity"
):
    """The first rows, and each sequence's row of the others, through fc."""
    rows, *others = X
    parts = [
        op.append("sequence_expand_as", {"X": x, "Y": rows}) for x in others
    ]
    whole = op.append("concat", {"X": [rows, *parts]}, axis=1)
    kind = "" if fc_activation == "identity" else fc_activation
    return fc(op, whole, FCWeight, FCBias, activation_type=kind)


@row("fusion_seqconv_eltadd_relu")
def fusion_seqconv_eltadd_relu(
    op, X, Filter, Bias, *, contextLength, contextStart=0, contextStride=1
):
    """sequence_conv, a bias and relu."""
    op.only(contextStride=(contextStride, 1))
    windows = op.append(
        "sequence_context", {"X": X}, start=contextStart, length=contextLength
    )
    return fc(op, windows, Filter, Bias, activation_type="relu")


@row("fusion_repeated_fc_relu")
def fusion_repeated_fc_relu(op, X, W: Many, Bias: Many):
    """fc and relu, several times."""
    for weight, bias in zip(W, Bias, strict=True):
        X = fc(op, X, weight, bias, activation_type="relu")
    return X


@row("fusion_squared_mat_sub")
def fusion_squared_mat_sub(op, X, Y, *, scalar=1.0):
    """((x @ y) ** 2 - x ** 2 @ y ** 2) * scalar."""
    squares = [op.append("square", {"X": x}) for x in (X, Y)]
    product = op.append("matmul", {"X": X, "Y": Y})
    other = op.append("matmul", {"X": squares[0], "Y": squares[1]})
    return (op.append("square", {"X": product}) - other) * scalar


@row("fsp")
def fsp(op, X, Y):
    """For each two channels the mean of the products of their pixels."""
    height, width = op.size(X, 2), op.size(X, 3)
    left, right = (
        op.append("reshape", {"X": x}, shape=[0, 0, height * width])
        for x in (X, Y)
    )
    return op.append(
        "matmul",
        {"X": left, "Y": right},
        transpose_Y=True,
        alpha=1.0 / (height * width),
    )


@row("partial_concat")
def partial_concat(op, X: Many, *, start_index=0, length=-1):
    """Some columns of each, side by side."""
    return op.append(
        "concat", {"X": _parts(op, X, start_index, length)}, axis=1
    )


@row("partial_sum")
def partial_sum(op, X: Many, *, start_index=0, length=-1):
    """The sum of some columns of each."""
    return op.append("sum", {"X": _parts(op, X, start_index, length)})


def _parts(
    op: Op, X: Sequence[Variable], start: int, length: int
) -> list[Variable]:
    width = op.size(X[0], 1)
    first = start % width
    end = width if length == -1 else first + length
    return [
        op.append("slice", {"X": x}, axes=[1], starts=[first], ends=[end])
        for x in X
    ]


@row("conv_shift")
def conv_shift(op, X, Y):
    """The circular correlation of each two rows, Y's centered."""
    half = op.size(Y, 1) // 2
    parts = [
        layers.roll(X, half - k, 1)
        * op.append("slice", {"X": Y}, axes=[1], starts=[k], ends=[k + 1])
        for k in range(op.size(Y, 1))
    ]
    return op.append("sum", {"X": parts})


@row("batch_fc")
def batch_fc(op, Input, W, Bias):
    """A product of matrices and a bias for each slot."""
    bias = op.append("unsqueeze", {"X": Bias}, axes=[1])
    return op.append("matmul", {"X": Input, "Y": W}) + bias
