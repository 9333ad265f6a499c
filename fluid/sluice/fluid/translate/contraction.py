"""Products of matrices and vectors, and tables of rows."""

from __future__ import annotations

from typing import Any

from ... import layers
from ...framework import Variable
from .declaration import Attribute, FluidOp
from .numbers import integers
from .quantized import to_integers
from .table import Op, row


@row("fc")
def fc(
    op, Input, W, Bias=None, *, in_num_col_dims=1, activation_type="",
    padding_weights=False,
):  # fmt: skip
    """mul, plus a bias, and an activation."""
    if padding_weights:
        rows, columns = (op.size(W, k) - 4 for k in range(2))
        W = op.append(
            "slice", {"X": W}, axes=[0, 1], starts=[0, 0], ends=[rows, columns]
        )
    out = op.mul(Input, W, x_num_col_dims=in_num_col_dims)
    if Bias is not None:
        bias = op.reshape(Bias, -1)
        out = op.elementwise_add(out, bias)
    return op.append(activation_type, {"X": out}) if activation_type else out


def _matmul(op: Op, X: Variable, Y: Variable, **attrs: Any) -> Variable:
    return op.one(op.matmul(X, Y, **attrs))


@FluidOp(transpose_x="transpose_X", transpose_y="transpose_Y")
def matmul(
    op, x, y, transpose_x=False, transpose_y=False, alpha=1.0, name=None, *,
    head_number=1, Scale_x=1.0, Scale_y=1.0, Scale_out=1.0,
    force_fp32_output=False,
):  # fmt: skip
    """A product of matrices; with heads one for each part of X's columns. With
    oneDNN they may be int8 of some scale.
    """
    small = x.dtype in ("int8", "uint8")
    if small:
        x, y = op.cast(x, "float32"), op.cast(y, "float32")
        alpha *= (1.0 if force_fp32_output else Scale_out) / (Scale_x * Scale_y)
    attrs = {
        "transpose_X": transpose_x, "transpose_Y": transpose_y, "alpha": alpha
    }  # fmt: skip
    if head_number == 1:
        out = _matmul(op, x, y, **attrs)
        floats = not small or force_fp32_output
        return out if floats else to_integers(op, out, True)
    axes = [-2 if transpose_x else -1, -1 if transpose_y else -2]
    if op.shape(x)[axes[0]] != op.shape(y)[axes[1]]:
        axes[1] = -3 - axes[1]  # of each head some columns of Y
    heads = zip(
        layers.split(x, head_number, axes[0]),
        layers.split(y, head_number, axes[1]),
        strict=True,
    )
    parts = [_matmul(op, *pair, **attrs) for pair in heads]
    return op.concat(parts, axis=op.rank(parts[0]) - 1)


@row("matmul_v2")
def matmul_v2(op, X, Y, *, trans_x=False, trans_y=False):
    """NumPy's product."""
    attrs = {
        "transpose_X": trans_x and op.rank(X) > 1,
        "transpose_Y": trans_y and op.rank(Y) > 1,
    }
    return _matmul(op, X, Y, **attrs)


@FluidOp(alpha="Alpha", beta="Beta", input="Input")
def addmm(op, input, x, y, alpha=1.0, beta=1.0, name=None):
    """Alpha * x @ y + Beta * input."""
    product = op.matmul(x, y, alpha=alpha)
    return product + input * beta


def _parameters_of_bilinear_tensor_product(
    layer, x, y, size, param_attr, bias_attr
):
    layer.parameter("Weight", param_attr, [size, x.shape[1], y.shape[1]])
    layer.parameter("Bias", bias_attr, [1, size])


@FluidOp(parameters=_parameters_of_bilinear_tensor_product, unused="size")
def bilinear_tensor_product(
    op, x, y, size: int, act=None, name=None, param_attr=None, bias_attr=None,
    *, Weight: Variable, Bias=None,
):  # fmt: skip
    """x W[k] y for each k."""
    k, m, n = (op.size(Weight, axis) for axis in range(3))
    turned = op.transpose(Weight, axis=[1, 0, 2])
    left = op.mul(x, op.reshape(turned, m, k * n))
    left = op.reshape(left, 0, k, n)
    right = op.unsqueeze(y, axes=[1])
    out = op.reduce_sum(left * right, dim=[2])
    if Bias is None:
        return out
    return op.elementwise_add(out, op.reshape(Bias, -1))


@FluidOp(more="XNorm YNorm")
def cos_sim(op, X, Y):
    """The cosine of the angle of each two rows."""
    X, Y = (op.flatten(x, axis=1) for x in (X, Y))
    norms = {
        f"{slot}Norm": op.reduce_l2(x, dim=[1], keep_dim=True)
        for slot, x in (("X", X), ("Y", Y))
    }
    return {"Out": layers.cos_sim(X, Y), **norms}


def among(op: Op, ids: Variable, count: int) -> Variable:
    """The ids [..., 1] as float64; one that is not from 0 to count - 1 is an
    error of the run.
    """
    table = op.reshape(op.range(end=float(count), dtype="float64"), -1, 1)
    ids = op.cast(ids, "int64")
    return op.lookup_table(W=table, Ids=ids, drop_last_dim=False)


@FluidOp(
    "one_hot one_hot_v2",
    defaults={"depth": -1},
    depth=Attribute("depth", "depth_tensor"),
)
def one_hot(
    op, input, depth: int, allow_out_of_range=False, *, dtype=5,
):  # fmt: skip
    """1 at the place of each id; zeros for one beyond, if that is allowed, else
    an error of the run.
    """
    if isinstance(depth, Variable):
        (depth,) = integers(op, "depth", depth)
    if depth < 1:
        op.wrong(f"depth must be 1 or more, got {depth}")
    if op.type == "one_hot":
        input = op.squeeze(input, axes=[op.rank(input) - 1])
    if allow_out_of_range:
        last = op.unsqueeze(input, axes=[op.rank(input)])
    else:
        last = among(op, input, depth)
    places = op.range(end=float(depth), dtype=last.dtype)
    return op.cast(last == places, dtype)


def _parameters_of_row_conv(layer, input, future_context_size, param_attr):
    sizes = [future_context_size + 1, input.shape[-1]]
    layer.parameter("Filter", param_attr, sizes)


@FluidOp(parameters=_parameters_of_row_conv, unused="future_context_size")
def row_conv(
    op, input, future_context_size: int, param_attr=None, act=None, *,
    Filter: Variable,
):  # fmt: skip
    """Row t of each sequence is the sum of rows t + k times filter row k."""
    size, width = op.size(Filter, 0), op.size(Filter, 1)
    if input.lod_level:
        windows = op.sequence_context(input, start=0, length=size)
        windows = op.reshape(windows, 0, size, width)
        return op.reduce_sum(windows * Filter, dim=[1])
    pads = [0, 0, 0, 0, size - 1, 0]
    long = op.pad(input, pads=pads)
    steps = op.size(input, 1)
    parts = [
        op.slice(long, 1, k, k + steps) * weights
        for k, weights in enumerate(layers.unstack(Filter, 0))
    ]
    return op.sum(parts)
