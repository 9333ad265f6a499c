"""Activations, and ops of two variables element by element."""

from __future__ import annotations

import math

from ...framework import Variable
from ...initializer import Constant
from .declaration import Attribute, FluidOp
from .table import Op, row, words


@FluidOp()
def softplus(op, x, name=None, *, beta=1.0, threshold=20.0):
    """log(1 + exp(beta * x)) / beta."""
    if beta == 1.0:
        return op.softplus(x)
    return op.softplus(x * beta) * (1.0 / beta)


@row("log2", "log10")
def log2(op, X):
    """The logarithm to base 2 or 10."""
    base = {"log2": 2.0, "log10": 10.0}[op.type]
    return op.log(X) * (1.0 / math.log(base))


@FluidOp()
def relu6(op, x, threshold=6.0, name=None):
    """Clip to [0, threshold]."""
    if threshold == 6.0:
        return op.relu6(x)
    return op.clip(x, min=0.0, max=threshold)


@FluidOp()
def soft_relu(op, x, threshold=40.0, name=None):
    """log(1 + exp(clip(x)))."""
    clipped = op.clip(x, min=-threshold, max=threshold)
    return op.softplus(clipped)


@FluidOp()
def tanh_shrink(op, x, name=None):
    """x - tanh(x). Near 0, where that has no digits, it is x c / (1 + c) with
    c = x^2 / (3 + x^2 / (5 + ...)), by the continued fraction of tanh.
    """
    near = op.clip(x, min=-1.0, max=1.0)
    square = near * near
    c = square / 17
    for odd in range(15, 2, -2):
        c = square / (c + odd)
    inner, outer = near * c / (c + 1), x - op.tanh(x)
    return op.where(Condition=abs(x) < 1, X=inner, Y=outer)


@FluidOp()
def hard_swish(op, x, threshold=6.0, scale=6.0, offset=3.0, name=None):
    """x * clip(x + offset, 0, threshold) / scale."""
    if (threshold, scale, offset) == (6.0, 6.0, 3.0):
        return op.hard_swish(x)
    gate = op.clip(x + offset, min=0.0, max=threshold)
    return x * gate * (1.0 / scale)


@FluidOp(factor=Attribute("factor", "FactorTensor"))
def pow(op, x, factor=1.0, name=None):
    """x to the power of a number, or of a variable [1]."""
    if not isinstance(factor, Variable):
        factor = op.constant(factor, x.dtype)
    return op.elementwise_pow(x, op.cast(factor, x.dtype))


@FluidOp(scale=Attribute("scale", "ScaleTensor"))
def scale(
    op, x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None
):
    """x * scale + bias, or (x + bias) * scale."""
    if isinstance(scale, Variable):
        factor = op.cast(scale, x.dtype)
        shifted = x if bias_after_scale or not bias else x + bias
        out = op.elementwise_mul(shifted, factor)
        return out + bias if bias_after_scale and bias else out
    after = bias_after_scale
    out = op.scale(x, scale=scale, bias=bias, bias_after_scale=after)
    known = op.numbers.get(x.name)
    if known is not None and bias == 0.0 and scale == 1.0:
        op.numbers[out.name] = known
    return out


def _parameters_of_prelu(layer, x, mode, param_attr):
    sizes = [1, *x.shape[1 : 2 if mode == "channel" else None]]
    sizes = [1] if mode == "all" else sizes
    layer.parameter("Alpha", param_attr, sizes, Constant(0.25))


@FluidOp(parameters=_parameters_of_prelu)
def prelu(op, x, mode: str, param_attr=None, name=None, *, Alpha: Variable):
    """One slope, one a channel, or one an element of a sample."""
    rank = op.rank(x)
    if mode == "all":
        shape = [1]
    elif mode == "channel":
        shape = [1, -1] + [1] * (rank - 2)
    elif mode == "element":
        shape = [1, *(op.size(x, k) for k in range(1, rank))]
    else:
        op.wrong(f"mode is {mode!r}; expected all, channel or element")
    slope = op.reshape(Alpha, *shape)
    return op.prelu(x, slope)


# Of two variables.


def aligned(
    op: Op, X: Variable, Y: Variable, axis: int
) -> tuple[Variable, Variable, int]:
    """The operands and the axis as Sluice takes them.

    Fluid lines up the dims of the variable of lower rank, Y if both have the
    same, from ``axis`` on, and lets ones at its end hang over.
    """
    ranks = op.rank(X), op.rank(Y)
    wide = max(ranks)
    if axis == -1 or (ranks[0] == ranks[1] and axis == 0):
        return X, Y, -1
    low = Y if ranks[1] <= ranks[0] else X
    sizes = op.shape(low)
    kept = len(sizes)
    while kept > 1 and axis + kept > wide and sizes[kept - 1] == 1:
        kept -= 1
    part = low
    if kept < len(sizes):
        axes = list(range(kept, len(sizes)))
        part = op.squeeze(low, axes=axes)
    if low is Y:
        return X, part, axis
    if wide > axis + kept:
        axes = list(range(kept, wide - axis))
        part = op.unsqueeze(part, axes=axes)
    return part, Y, -1


def binary(
    op: Op, type: str, X: Variable, Y: Variable, axis: int = -1
) -> Variable:
    """An op of two variables, by Fluid's rule of broadcasting."""
    X, Y, axis = aligned(op, *op.cut_alike(X, Y), axis)
    return op.append(type, {"X": X, "Y": Y}, axis=axis)


def _is_integer(X: Variable) -> bool:
    return not X.dtype.is_floating and X.dtype != "bool"


def _wide(op: Op, X: Variable) -> Variable:
    return op.cast(X, "float64") if _is_integer(X) else X


_BINARY = words(
    """
    elementwise_add elementwise_sub elementwise_mul elementwise_div
    elementwise_max elementwise_min elementwise_pow elementwise_mod
    elementwise_floordiv equal not_equal less_than less_equal greater_than
    greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or
    bitwise_xor
    """
)


@row(*_BINARY)
def of_two(op, X, Y, *, axis=-1):
    """Element by element; the quotient of integers is as in C."""
    type = op.type
    if _is_integer(X):
        if type in ("elementwise_div", "elementwise_floordiv"):
            rest = binary(op, "elementwise_fmod", X, Y, axis)
            return binary(op, "elementwise_floordiv", X - rest, Y, axis)
        if type == "elementwise_mod":
            type = "elementwise_fmod"
    if X.dtype == "bool" and type.startswith("bitwise_"):
        type = f"logical_{type[8:]}"
    return binary(op, type, X, Y, axis)


@row("atan2")
def atan2(op, X1, X2):
    """The angle of (x2, x1), float64 of integers."""
    return op.atan2(_wide(op, X1), _wide(op, X2))


@FluidOp()
def sum(op, x: list[Variable]):
    """The sum of variables of one shape."""
    return op.sum(op.cut_alike(*x))


@FluidOp()
def round(op, x, name=None):
    """To the nearest integer, half away from 0."""
    whole = op.trunc(x)
    rest = op.trunc((x - whole) * 2.0)
    finite = op.isfinite(x)
    return op.where(Condition=finite, X=whole + rest, Y=x)


@row("isfinite", "isinf", "isnan")
def of_tensor(op, X):
    """Whether all elements are finite, or one is infinite or no number."""
    reduce = "reduce_all" if op.type == "isfinite" else "reduce_any"
    out = op.append(op.type, {"X": _wide(op, X)})
    out = op.append(reduce, {"X": out}, dim=[], reduce_all=True)
    return op.reshape(out, 1)


@row("isfinite_v2", "isinf_v2", "isnan_v2")
def element_kind(op, X):
    """For each element."""
    return op.append(op.type[:-3], {"X": _wide(op, X)})


@row("equal_all")
def equal_all(op, X, Y, *, axis=-1):
    """Whether shapes and all elements are equal, [1]."""
    if op.shape(X) != op.shape(Y):
        return op.constant(0, "bool", [1])
    each = op.equal(X, Y)
    out = op.reduce_all(each, dim=[], reduce_all=True)
    return op.reshape(out, 1)


_UNARY_FUNCTORS = ("scale", "relu", "tanh", "sigmoid", "gelu")


@row("fused_elemwise_activation", outputs="Out IntermediateOut")
def fused_elemwise_activation(
    op, X, Y, *, functor_list, axis=-1, scale=0.0, save_intermediate_out=False
):
    """f(x, g(y)) where f is of two variables, else f(g(x, y))."""
    outer, inner = functor_list

    def unary(type: str, x: Variable) -> Variable:
        if type not in _UNARY_FUNCTORS:
            op.refuse(f"functor {type} in {functor_list}")
        if type == "scale":
            return op.scale(x, scale=scale)
        if type == "gelu":  # Fluid's, here only
            return op.gelu(x, approximate=True)
        return op.append(type, {"X": x})

    if outer.startswith("elementwise_"):
        middle = unary(inner, Y)
        out = binary(op, outer, X, middle, axis)
    else:
        middle = binary(op, inner, X, Y, axis)
        out = unary(outer, middle)
    return {"Out": out, "IntermediateOut": middle}


@FluidOp()
def stanh(op, x, scale_a=0.67, scale_b=1.7159, name=None):
    """scale_b * tanh(scale_a * x)."""
    return op.tanh(x * scale_a) * scale_b


@row("bitwise_not")
def bitwise_not(op, X):
    """All bits the other way round; of bools their negation."""
    return ~X
