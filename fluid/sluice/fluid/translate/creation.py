"""Ops that make variables of numbers, drawn or given."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ... import layers
from ...framework import Variable
from .declaration import Attribute, DType, FluidOp, Output
from .numbers import are_variables, first, fixed, known, note, vector
from .table import Many, Op, row


def _number(text: str, value: Any) -> Any:
    """The number of a text, or the value if there is none."""
    try:
        return int(text) if text else value
    except ValueError:
        return float(text)


def _shaped(
    op: Op, type: str, shape: Any, **attrs: Any
) -> tuple[Variable, list[int] | None]:
    """What an op makes of a shape, given as numbers or as variables, and the
    shape if it is known.
    """
    sizes, whole = shape, None
    if are_variables(shape):
        numbers, whole = vector(op, shape)
        parts = shape if isinstance(shape, list) else []
        sizes = numbers or [(known(op, each) or [None])[0] for each in parts]
    sizes = list(sizes or ())
    if whole is None or (sizes and fixed(sizes)):
        return op.append(type, shape=sizes, **attrs), sizes
    return _late(op, type, whole, sizes, **attrs), None


def _late(op: Op, type: str, whole: Any, sizes: Any, **attrs: Any) -> Variable:
    """What an op makes of a variable of sizes, some known as numbers."""
    made = op.append(type, {"Shape": whole}, **attrs)
    given = [size if isinstance(size, int) else -1 for size in sizes]
    if given.count(-1) != 1 or 0 in given:
        return made
    return op.reshape(made, *given)


@FluidOp(
    defaults={"shape": (), "dtype": 5, "value": 0.0},
    shape=Attribute("shape", "ShapeTensor", "ShapeTensorList"),
    value=Attribute("value", "ValueTensor"),
)
def fill_constant(
    op, shape: list, dtype: DType, value: float, force_cpu=False,
    out: Output = None, *, str_value="",
):  # fmt: skip
    """Full of one number."""
    computed = isinstance(value, Variable)
    number = 1 if computed else _number(str_value, value)
    attrs = {"dtype": dtype, "value": number}
    out, sizes = _shaped(op, "fill_constant", shape, **attrs)
    if computed:
        return op.elementwise_mul(out, op.cast(value, dtype))
    if sizes in ([], [1]) and number == int(number):
        note(op, out, [int(number)])
    return out


@row("empty")
def empty(
    op, ShapeTensor=None, ShapeTensorList: Many = None, *, shape=(), dtype=5
):
    """Any numbers, here zeros."""
    shape = first(ShapeTensorList, ShapeTensor, shape)
    attrs = {"dtype": dtype, "value": 0.0}
    return _shaped(op, "fill_constant", shape, **attrs)[0]


@row("fill")
def fill(op, *, value, shape, dtype=5):
    """These numbers."""
    whole = all(isinstance(each, Integral) for each in value)
    slot = "int64_values" if whole else "fp32_values"
    return assign_value(op, shape=shape, dtype=dtype, **{slot: value})


@row("assign_value")
def assign_value(
    op, *, shape, dtype=5, fp32_values=(), int32_values=(), int64_values=(),
    bool_values=(),
):  # fmt: skip
    """These numbers."""
    whole = [*int32_values, *int64_values, *bool_values]
    attrs: dict[str, Any] = {"values": [float(v) for v in fp32_values]}
    if whole:
        attrs["int_values"] = [int(v) for v in whole]
    out = op.assign_value(shape=list(shape), dtype=dtype, **attrs)
    if whole and len(shape) < 2 and not bool_values:
        note(op, out, [int(v) for v in whole])
    return out


@row("fill_any_like", "fill_zeros_like", "fill_zeros_like2")
def fill_any_like(op, X, *, value=0.0, dtype=-1):
    """As many numbers as another variable has, all the same."""
    kind = X.dtype if dtype in (-1, None) else dtype
    if "int" in str(kind):
        value = int(value)
    return op.fill_any_like(X, dtype=kind, value=value)


def _sized_like(
    op: Op,
    type: str,
    Input: Variable,
    shape: Any,
    input_dim_idx: int,
    output_dim_idx: int,
    **attrs: Any,
) -> Variable:
    """What an op makes of a shape, one of whose sizes is that of a variable."""
    sizes = list(shape)
    size = op.shape(Input)[input_dim_idx]
    if size is not None:
        sizes[output_dim_idx] = size
        return op.append(type, shape=sizes, **attrs)
    at = input_dim_idx % len(op.shape(Input))
    sizes[output_dim_idx] = None
    one = {"shape": [1], "dtype": "int64", "values": []}
    parts = [
        op.append("shape", {"X": Input}, start=at, end=at + 1)
        if size is None
        else op.assign_value(int_values=[size], **one)
        for size in sizes
    ]  # fmt: skip
    whole = op.concat(parts, axis=0)
    return _late(op, type, whole, sizes, **attrs)


@FluidOp(defaults={"dtype": 5, "value": 0.0}, input="Input")
def fill_constant_batch_size_like(
    op, input, shape: list, dtype: DType, value: float, input_dim_idx=0,
    output_dim_idx=0, force_cpu=False, *, str_value="",
):  # fmt: skip
    """Full of one number, with a size of another variable."""
    if input.lod_level and input_dim_idx == 0:  # as many as sequences
        input = op.sequence_pool(input, pooltype="FIRST")
    number = _number(str_value, value)
    where = input, shape, input_dim_idx, output_dim_idx
    return _sized_like(op, "fill_constant", *where, dtype=dtype, value=number)


def _random(op: Op, type: str, shape: Any, **attrs: Any) -> Any:
    return _shaped(op, type, shape, seed=op.given.get("seed", 0), **attrs)[0]


@FluidOp(
    defaults={"shape": (), "dtype": 5},
    shape=Attribute("shape", "ShapeTensor", "ShapeTensorList"),
)
def uniform_random(
    op, shape: list, dtype="float32", min=-1.0, max=1.0, seed=0, *, diag_num=0,
    diag_step=0, diag_val=1.0,
):  # fmt: skip
    """Drawn from [min, max)."""
    op.only(diag_num=(diag_num, 0))
    limits = {"dtype": dtype, "min": min, "max": max}
    return _random(op, "uniform_random", shape, **limits)


@row("gaussian_random", "truncated_gaussian_random")
def gaussian_random(
    op, ShapeTensor=None, ShapeTensorList: Many = None, *, shape=(), dtype=5,
    mean=0.0, std=1.0,
):  # fmt: skip
    """Drawn from a normal distribution, perhaps within two deviations."""
    shape = first(ShapeTensorList, ShapeTensor, shape)
    return _random(op, op.type, shape, dtype=dtype, mean=mean, std=std)


@row("uniform_random_batch_size_like", "gaussian_random_batch_size_like")
def random_batch_size_like(
    op, Input, *, shape, dtype=5, input_dim_idx=0, output_dim_idx=0, min=-1.0,
    max=1.0, mean=0.0, std=1.0, diag_num=0, diag_step=0, diag_val=1.0,
):  # fmt: skip
    """Drawn, with a size of another variable."""
    op.only(diag_num=(diag_num, 0))
    type = op.type.removesuffix("_batch_size_like")
    limits = {"mean": mean, "std": std}
    if type == "uniform_random":
        limits = {"min": min, "max": max}
    where = Input, shape, input_dim_idx, output_dim_idx
    limits |= {"dtype": dtype, "seed": op.given.get("seed", 0)}
    return _sized_like(op, type, *where, **limits)


@row("randint")
def randint(
    op, ShapeTensor=None, ShapeTensorList: Many = None, *, low, high, shape=(),
    dtype=3,
):  # fmt: skip
    """Drawn from the integers low to high - 1."""
    shape = first(ShapeTensorList, ShapeTensor, shape)
    for each in (low, high - 1):
        op.constant(each, dtype)  # an error if the dtype does not hold it

    def below(count: int) -> Variable:
        limits = {"dtype": "float64", "min": 0.0, "max": float(count)}
        drawn = _random(op, "uniform_random", shape, **limits)
        return op.cast(op.floor(drawn), "int64")

    drawn, gap = below(high - low), (high - low) >> 53
    if gap:  # float64 has only some of the integers
        drawn = drawn + below(gap + 1)
        most = op.constant(high - low - 1, "int64")
        drawn = op.elementwise_min(drawn, most)
    return op.cast(drawn + op.constant(low, "int64"), dtype)


@FluidOp(unused="dtype")
def sampling_id(op, x, min=0.0, max=1.0, seed=0, dtype="float32"):
    """For each row a column, drawn by the row's probabilities."""
    seed = op.given.get("seed", 0)
    drawn = _sized_like(op, "uniform_random", x, [-1, 1], 0, 0, seed=seed,
                        min=min, max=max, dtype=x.dtype)  # fmt: skip
    ends = op.cumsum(x, axis=1)
    total = op.slice(ends, 1, -1, 2**31 - 1)

    def count(below: Variable) -> Variable:
        return op.reduce_sum(op.cast(below, "int64"), dim=[1])

    # Rounded sums may end below the number: not beyond the last class that
    # has a probability.
    return op.elementwise_min(count(ends <= drawn), count(ends < total))


@row("range")
def range_(op, Start, End, Step):
    """Numbers from start to end, each a step further."""
    start, end, step = (op.reshape(x) for x in (Start, End, Step))
    return op.range(Start=start, End=end, Step=step, dtype=Start.dtype)


@row("diag_v2")
def diag_v2(op, X, *, offset=0, padding_value=0.0):
    """The diagonal of a matrix, or a matrix with this one, filled with one
    number.
    """
    if op.rank(X) == 2:
        return layers.diagonal(X, offset)
    ones = op.constant_like(X, 1.0)
    off = diag_embed(op, ones, offset=offset) * -1.0 + 1.0
    return diag_embed(op, X, offset=offset) + off * padding_value


@FluidOp(input="Input")
def diag_embed(op, input, offset=0, dim1=-2, dim2=-1):
    """Vectors as diagonals of matrices."""
    rank = op.rank(input) + 1
    n = op.size(input, -1)
    pads = [0] * (2 * (rank - 1))
    last = rank - 2
    pads[last if offset > 0 else 2 * (rank - 1) - 1] = abs(offset)
    padded = op.pad(input, pads=pads) if offset else input
    wide = op.unsqueeze(padded, axes=[rank - 2])
    total = n + abs(offset)
    i, j = (op.range(end=float(total), dtype="int64") for _ in "ab")
    i = op.unsqueeze(i, axes=[1]) + float(offset)
    on = op.cast(i == j, input.dtype)
    places = {dim1 % rank: rank - 2, dim2 % rank: rank - 1}
    others = iter(range(rank - 2))
    axis = [places[k] if k in places else next(others) for k in range(rank)]
    return op.transpose(wide * on, axis=axis)
