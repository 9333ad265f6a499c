"""What PaddlePaddle's passes make of several ops: said by these ops again."""

from __future__ import annotations

from collections.abc import Sequence

from ... import layers
from ...framework import Variable
from .contraction import fc
from .declaration import FluidOp
from .sequences import columns, gru, lstm
from .table import ROWS, Many, Op, row


@row("fusion_gru", outputs="Hidden", **ROWS["gru"].attributes)
def fusion_gru(op, X, WeightX, WeightH, Bias=None, H0=None, **attrs):
    """gru of the products of the rows and WeightX."""
    return gru(op, op.mul(X, WeightX), WeightH, Bias, H0, **attrs)


@row("fusion_lstm", outputs="Hidden Cell", **ROWS["lstm"].attributes)
def fusion_lstm(op, X, WeightX, WeightH, Bias, H0=None, C0=None, **attrs):
    """lstm of the products of the rows and WeightX."""
    return lstm(op, op.mul(X, WeightX), WeightH, Bias, H0, C0, **attrs)


@row(
    "fused_embedding_fc_lstm",
    outputs="Hidden Cell",
    **ROWS["lstm"].attributes,
)
def fused_embedding_fc_lstm(
    op, Ids, Embeddings, WeightH, Bias, H0=None, C0=None, **attrs
):
    """lstm of rows of a table, in which the biases of the gates are already."""
    gates = 4 * op.size(WeightH, 0)
    zeros = op.constant_like(Bias, 0.0)
    bias = columns(op, zeros, 0, gates)
    if attrs["use_peepholes"]:
        peepholes = columns(op, Bias, gates, gates // 4 * 3)
        bias = op.concat([bias, peepholes], axis=1)
    rows = op.lookup_table(W=Embeddings, Ids=Ids, drop_last_dim=True)
    return lstm(op, rows, WeightH, bias, H0, C0, **attrs)


@row("fused_embedding_seq_pool")
def fused_embedding_seq_pool(op, W, Ids, *, combiner="sum", padding_idx=-1):
    """Sums of rows of a table, for each column of the ids."""
    op.only(combiner=(combiner, "sum"))
    columns, width = 1, op.size(W, 1)
    for size in op.shape(Ids)[1:]:
        columns *= size or 1
    attrs = {"padding_idx": padding_idx, "drop_last_dim": False}
    rows = op.lookup_table(W=W, Ids=op.reshape(Ids, 0, columns), **attrs)
    rows = op.reshape(rows, 0, columns * width)
    return op.sequence_pool(rows, pooltype="SUM")


@row("fusion_seqpool_concat")
def fusion_seqpool_concat(op, X: Many, *, pooltype="SUM", axis=1):
    """sequence_pool of each, side by side."""
    parts = [op.sequence_pool(x, pooltype=pooltype) for x in X]
    return op.concat(parts, axis=axis)


@FluidOp("cvm", outputs="Y", cvm="CVM")
def continuous_value_model(op, input, cvm, use_cvm=True):
    """Of the columns show and click their logarithms, or without both."""
    width = op.size(input, 1)
    # Fluid's gradient of show and click is no gradient, but CVM. An op that has
    # none keeps a program from being trained with another one.
    input = op.bitcast(input, dtype=input.dtype)
    rest = op.slice(input, 1, 2, width)
    if not use_cvm:
        return rest
    show, click = (op.log(op.slice(input, 1, k, k + 1) + 1.0) for k in range(2))
    return op.concat([show, click - show, rest], axis=1)


@row("fusion_seqpool_cvm_concat")
def fusion_seqpool_cvm_concat(
    op, X: Many, CVM, *, pooltype="SUM", axis=1, use_cvm=True
):
    """sequence_pool and cvm of each, side by side."""
    pooled = (op.sequence_pool(x, pooltype=pooltype) for x in X)
    parts = [continuous_value_model(op, x, CVM, use_cvm) for x in pooled]
    return op.concat(parts, axis=axis)


@row("fusion_seqexpand_concat_fc")
def fusion_seqexpand_concat_fc(
    op, X: Many, FCWeight, FCBias=None, *, fc_activation="identity"
):
    """The first rows, and each sequence's row of the others, through fc."""
    rows, *others = X
    pairs = [{"X": x, "Y": rows} for x in others]
    parts = [op.append("sequence_expand_as", pair) for pair in pairs]
    whole = op.concat([rows, *parts], axis=1)
    kind = "" if fc_activation == "identity" else fc_activation
    return fc(op, whole, FCWeight, FCBias, activation_type=kind)


@row("fusion_seqconv_eltadd_relu")
def fusion_seqconv_eltadd_relu(
    op, X, Filter, Bias, *, contextLength, contextStart=0, contextStride=1
):
    """sequence_conv, a bias and relu."""
    op.only(contextStride=(contextStride, 1))
    windows = op.sequence_context(X, start=contextStart, length=contextLength)
    return fc(op, windows, Filter, Bias, activation_type="relu")


@row("fusion_repeated_fc_relu")
def fusion_repeated_fc_relu(op, X, W: Many, Bias: Many):
    """fc and relu, several times."""
    for weight, bias in zip(W, Bias, strict=True):
        X = fc(op, X, weight, bias, activation_type="relu")
    return X


@row("skip_layernorm")
def skip_layernorm(op, X, Y, Scale, Bias, *, epsilon=1e-5, begin_norm_axis=2):
    """layer_norm of the sum of both."""
    inputs = {"X": X + Y, "Scale": Scale, "Bias": Bias}
    attrs = {"epsilon": epsilon, "begin_norm_axis": begin_norm_axis}
    return op.append_all("layer_norm", inputs, **attrs)["Y"]


@row("fusion_squared_mat_sub")
def fusion_squared_mat_sub(op, X, Y, *, scalar=1.0):
    """((x @ y) ** 2 - x ** 2 @ y ** 2) * scalar."""
    squares = [op.square(x) for x in (X, Y)]
    product = op.matmul(X, Y)
    other = op.matmul(squares[0], squares[1])
    return (op.square(product) - other) * scalar


@FluidOp("fsp")
def fsp_matrix(op, x, y):
    """For each two channels the mean of the products of their pixels."""
    area = op.size(x, 2) * op.size(x, 3)
    left, right = (op.reshape(each, 0, 0, area) for each in (x, y))
    return op.matmul(left, right, transpose_Y=True, alpha=1.0 / area)


@row("partial_concat")
def partial_concat(op, X: Many, *, start_index=0, length=-1):
    """Some columns of each, side by side."""
    parts = _parts(op, X, start_index, length)
    return op.concat(parts, axis=1)


@row("partial_sum")
def partial_sum(op, X: Many, *, start_index=0, length=-1):
    """The sum of some columns of each."""
    return op.sum(_parts(op, X, start_index, length))


def _parts(
    op: Op, X: Sequence[Variable], start: int, length: int
) -> list[Variable]:
    width = op.size(X[0], 1)
    first = start % width
    end = width if length == -1 else first + length
    return [op.slice(x, 1, first, end) for x in X]


@row("conv_shift")
def conv_shift(op, X, Y):
    """The circular correlation of each two rows, Y's centered."""
    half = op.size(Y, 1) // 2
    parts = [
        layers.roll(X, half - k, 1) * op.slice(Y, 1, k, k + 1)
        for k in range(op.size(Y, 1))
    ]
    return op.sum(parts)


@row("batch_fc")
def batch_fc(op, Input, W, Bias):
    """A product of matrices and a bias for each slot."""
    bias = op.unsqueeze(Bias, axes=[1])
    return op.matmul(Input, W) + bias
