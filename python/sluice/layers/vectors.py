"""Norms and products of vectors, and tensors of numbers that a rule gives."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from .. import _core
from ..defaults import default_main_program
from ..errors import UnimplementedError, argument_error
from ..feed_values import limits, positive
from ..layer_helper import index_of, make, ranked_shape, where, wrong
from ..program import Variable, require_variable
from ..tracebacks import caller_location
from .tensor import roll

__all__ = [
    "cos_sim", "cross", "dot", "einsum", "eye", "kron", "linspace", "norm",
    "randint", "randperm",
]


def _size(op: str, x: Variable, attrs: dict[str, Any]) -> Variable:
    """The largest (or smallest) magnitude of each row, 1 if that is 0 or
    infinite, as a constant: x over it has powers that are no 0 and no inf."""
    size = make(op, abs(x), **attrs)
    usual = (size > 0.0) & make("isfinite", size)
    size = where(usual, size, 1.0)
    size.stop_gradient = True
    return size


def _sum_of_powers(x: Variable, p: float, attrs: dict[str, Any]) -> Variable:
    """The p-norm, whose gradient is 0 where it or an element is 0."""
    op = "reduce_max" if p > 0 else "reduce_min"
    scaled = x / _size(op, x, attrs | {"keep_dim": True})
    total = make("reduce_sum", abs(scaled) ** p, **attrs)
    none = total == 0.0
    root = where(none, 1.0, total) ** (1.0 / p) * _size(op, x, attrs)
    return where(none, 0.0 if p > 0 else math.inf, root)


def norm(
    input: Variable,
    p: float | str = "fro",
    axis: int | Sequence[int] | None = None,
    keepdim: bool = False,
    name: str | None = None,
) -> Variable:
    """The p-norm of vectors: (sum of \\|x\\|^p)^(1/p).

    Args:
        input: a float tensor.
        p: 2 or ``"fro"``, 1, ``inf`` (the largest), ``-inf`` (the smallest), 0
            (how many are not zero) or another number.
        axis: the dims of the vectors; all if None.
        keepdim: whether these dims stay, with size 1.
        name: what the result is called.
    """
    axes = [axis] if isinstance(axis, int) else list(axis or ())
    attrs = {"dim": axes, "keep_dim": keepdim}
    rows = {"fro": "reduce_l2", 2: "reduce_l2", 1: "reduce_l1"}
    if p in rows:
        return make(rows[p], input, name, **attrs)
    if isinstance(p, str) or p != p:
        raise wrong(f"norm: p = {p!r}; expected a number or 'fro'")
    if math.isinf(p):
        op = "reduce_max" if p > 0 else "reduce_min"
        return make(op, abs(input), name, **attrs)
    if p == 0:
        counted = make("cast", input != 0, dtype=input.dtype)
        return make("reduce_sum", counted, name, **attrs)
    result = _sum_of_powers(input, float(p), attrs)
    return result if name is None else make("assign", result, name)


def dot(x: Variable, y: Variable, name: str | None = None) -> Variable:
    """The products of vectors in the last dim, which becomes 1, as in Fluid.

    Args:
        x: [..., N].
        y: in the same shape.
        name: what the result is called.
    """
    return make("reduce_sum", x * y, name, dim=[-1], keep_dim=True)


def cross(input: Variable, other: Variable, dim: int | None = None) -> Variable:
    """The cross products of vectors of three elements.

    Args:
        input: vectors along ``dim``.
        other: in the same shape.
        dim: the first dim of size 3 if None.
    """
    shape = ranked_shape("cross: input", input, 1)
    if dim is None and 3 not in shape:
        raise wrong(f"cross: {input!r} has no dim of size 3")
    dim = shape.index(3) if dim is None else dim
    axis = index_of("cross: dim", dim, len(shape))
    for each in (input, other):
        size = ranked_shape("cross", each, len(shape))[axis]
        if size not in (None, 3):
            raise wrong(f"cross: dim {axis} of {each!r} needs 3 elements")
    order = list(range(len(shape)))  # long rows are rolled faster
    order[0], order[axis] = axis, 0
    x, y = (make("transpose", z, axis=order) for z in (input, other))
    out = roll(x, -1, 0) * roll(y, -2, 0) - roll(x, -2, 0) * roll(y, -1, 0)
    return make("transpose", out, axis=order)


def kron(x: Variable, y: Variable, name: str | None = None) -> Variable:
    """The Kronecker product: each element of x times all of y.

    Args:
        x: a tensor.
        y: another; the one of fewer dims gets more, of size 1, at the front.
        name: what the result is called.
    """
    shapes = [list(ranked_shape("kron", each)) for each in (x, y)]
    rank = max(map(len, shapes))
    parts = []
    for i, (part, shape) in enumerate(zip((x, y), shapes, strict=True)):
        missing = rank - len(shape)
        axes = list(range(2 * missing))
        axes += [2 * (missing + k) + 1 - i for k in range(len(shape))]
        if axes:
            part = make("unsqueeze", part, axes=axes)
        parts.append(part)
        shape[:0] = [1] * missing
    pairs = zip(*shapes, strict=True)
    sizes = [-1 if None in pair else pair[0] * pair[1] for pair in pairs]
    if sizes.count(-1) > 1:
        raise wrong(
            f"kron: more than one size is unknown: {x!r}, {y!r}",
            UnimplementedError,
        )
    return make("reshape", parts[0] * parts[1], name, shape=sizes)


def cos_sim(X: Variable, Y: Variable) -> Variable:
    """The cosine of the angle between rows: x y / (\\|x\\| \\|y\\|), Fluid's
    formula, which is NaN for rows of zeros. PyTorch's divides by 1e-8 there.

    Args:
        X: [N, ...].
        Y: in the same shape, or with one row, which is compared with all.

    Returns:
        [N, 1].
    """
    ranked_shape("cos_sim: X", X, 2)
    ranked_shape("cos_sim: Y", Y, 2)
    x = make("flatten", X, axis=1)
    y = make("flatten", Y, axis=1)
    both = {"dim": [1], "keep_dim": True}
    x, y = (each / _size("reduce_max", each, both) for each in (x, y))
    product = make("reduce_sum", x * y, **both)
    lengths = [make("reduce_l2", each, **both) for each in (x, y)]
    return product / (lengths[0] * lengths[1])


def einsum(equation: str, *operands: Variable) -> Variable:
    """A sum of products in the notation of :func:`numpy.einsum`.

    ``einsum("bij,bjk->bik", a, b)`` is a batch of matrix products. A letter
    names a dim, and ``...`` the unnamed dims. Dims that the output lacks are
    summed. Without ``->`` the output has the dims of ``...`` and then, sorted,
    the letters that occur once. A letter that occurs twice in a term means the
    diagonal. Terms are multiplied from left to right.

    Args:
        equation: a term for each operand, and the output.
        operands: of one dtype and known ranks.

    Returns:
        A new variable.

    Raises:
        InvalidArgumentError: the equation does not match the operands.
        UnimplementedError: an operand's rank, or the size of a diagonal, is
            unknown.
    """
    if not operands:
        raise argument_error(
            "einsum: expected an operand for each term of the equation, got "
            "none",
            "python.einsum_operands",
        )
    program = require_variable("einsum: operand 0", operands[0]).program
    names = [
        program._name(f"einsum: operand {i}", operand)
        for i, operand in enumerate(operands)
    ]
    return Variable(
        program, program._append_einsum(equation, names, caller_location())
    )


def linspace(
    start: float | Variable,
    stop: float | Variable,
    num: int,
    dtype: Any = "float32",
    name: str | None = None,
) -> Variable:
    """Numbers with equal distances, both ends among them.

    They are computed in float64 from the nearer end, as PyTorch does, and
    rounded once; integers between integers exactly.

    Args:
        start, stop: numbers, or variables of one element.
        num: how many.
        dtype: of the result; fractions of integers are dropped.
        name: what the result is called.
    """
    num = positive("linspace: num", num)
    variables = [each for each in (start, stop) if isinstance(each, Variable)]
    program = variables[0].program if variables else default_main_program()
    whole = limits(_core.DType(dtype).dtype) is not None and all(
        not each.dtype.is_floating and each.dtype != "uint64"
        if isinstance(each, Variable)
        else isinstance(each, Integral) and -(2**63) <= each < 2**63
        for each in (start, stop)
    )
    kind = "int64" if whole else "float64"
    i = make("range", {}, None, program, end=float(num), dtype=kind)
    ends = []
    for each in (start, stop):
        if isinstance(each, Variable):
            each = make("cast", each, dtype=kind)
            ends.append(make("reshape", each, shape=[1]))
            continue
        _require_held("linspace", dtype, each, whole=whole)
        ends.append(i._constant(each) if whole else float(each))
    first, last = ends
    if whole:
        out = _between(first, last, i, max(num - 1, 1))
        return make("cast", out, name, dtype=dtype)
    step = (last - first) / max(num - 1, 1)
    low = i * step + first
    high = (-i + (num - 1)) * (-step) + last
    out = where(i < num / 2, low, high)
    return make("cast", out, name, dtype=dtype)


def _between(first: Variable, last: Variable, i: Variable, n: int) -> Variable:
    """Integer i of 0 to n, from first to last, fractions dropped; no part of
    the formula leaves int64 where first and last do not."""
    rest = i * (last % n - first % n)
    floor = first + i * (last // n - first // n) + rest // n
    up = (floor < 0) & (rest % n > 0)
    return floor + make("cast", up, dtype="int64")


def eye(
    num_rows: int,
    num_columns: int | None = None,
    batch_shape: Sequence[int] | None = None,
    dtype: Any = "float32",
) -> Variable:
    """Ones on the diagonal, zeros elsewhere.

    Args:
        num_rows: the number of rows.
        num_columns: that of columns; as many as rows if None.
        batch_shape: dims before these two, along which the matrix repeats.
        dtype: of the result.
    """
    program = default_main_program()
    columns = num_rows if num_columns is None else num_columns
    count = float(operator.index(num_rows))
    rows = make("range", {}, None, program, end=count)
    both = {"shape": [2], "values": [0, 1]}
    values = make("assign_value", {}, None, program, **both, dtype=dtype)
    inputs = {"X": rows, "Values": values}
    out = make("one_hot", inputs, depth=operator.index(columns))
    if not batch_shape:
        return out
    shape = [*batch_shape, num_rows, columns]
    return make("expand", out, shape=shape)


def _require_held(
    layer: str, dtype: Any, *numbers: float, whole: bool = False
) -> None:
    """Raise for a number that integers of the dtype, or float64 unless it is
    ``whole``, cannot be."""
    held = limits(_core.DType(dtype).dtype)
    for each in numbers:
        exact = each if whole else float(each)
        if held and not held.min <= each == exact <= held.max:
            raise wrong(f"{layer}: {dtype}, or float64, does not hold {each}")


def _drawn(shape: Sequence[int], below: int, seed: int) -> Variable:
    """Random numbers from 0 on, in float64."""
    program, attrs = default_main_program(), {"shape": list(shape)}
    attrs |= {"min": 0.0, "max": float(below), "dtype": "float64"}
    return make("uniform_random", {}, None, program, seed=seed, **attrs)


def randint(
    low: int,
    high: int | None = None,
    shape: Sequence[int] = (1,),
    dtype: Any = "int64",
    seed: int = 0,
) -> Variable:
    """Random integers, all from ``low`` to ``high - 1`` equally likely.

    Args:
        low: the smallest; with ``high`` None the smallest is 0, and all are
            below ``low``.
        high: what all are below.
        shape: of the result.
        dtype: of the result.
        seed: as that of :func:`uniform_random`.
    """
    low, high = (0, low) if high is None else (low, high)
    if not -(2**53) <= low < high <= 2**53:
        raise wrong(
            f"randint: low = {low}, high = {high}; expected low below high, "
            "both within 2^53"
        )
    if high - low > 2**53:
        raise wrong(f"randint: {high - low} numbers; expected at most 2^53")
    _require_held("randint", dtype, low, high - 1)
    drawn = _drawn(shape, high - low, seed)
    whole = make("floor", drawn)
    return make("cast", whole + low if low else whole, dtype=dtype)


def randperm(n: int, dtype: Any = "int64", seed: int = 0) -> Variable:
    """The numbers from 0 to n - 1 in a random order, another in each run.

    Args:
        n: how many.
        dtype: of the result.
        seed: as that of :func:`uniform_random`.
    """
    count = operator.index(n)
    if count < 0:
        raise wrong(f"randperm: n = {count}; expected 0 or more")
    _require_held("randperm", dtype, max(count - 1, 0))
    keys = _drawn([count], 1, seed)
    outputs = keys.program.append_op("top_k", {"X": keys}, attrs={"k": count})
    return make("cast", outputs["Indices"], dtype=dtype)
