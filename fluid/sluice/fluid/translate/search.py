"""Picking, sorting, comparing: gather and scatter, top-k, metrics."""

from __future__ import annotations

from ... import layers
from ...framework import Variable
from ...layer_helper import move_axis
from .declaration import Attribute, FluidOp
from .numbers import known
from .table import row


@FluidOp()
def gather_nd(op, input, index, name=None):
    """Parts at places; an index of no column is the whole of X."""
    if op.shape(index)[-1] != 0:
        return op.one(op.gather_nd(input, Index=index))
    sizes = [op.size(index, k) for k in range(op.rank(index) - 1)]
    axes = list(range(len(sizes)))
    wide = op.unsqueeze(input, axes=axes)
    shape = sizes + [op.size(input, k) for k in range(op.rank(input))]
    return op.expand(wide, shape=shape)


@FluidOp(index="Ids")
def scatter(op, input, index, updates, name=None, overwrite=True):
    """Rows replaced, or the sums of those that are written to each."""
    rows = op.reshape(index, -1, 1)
    if overwrite:
        return op.scatter_nd(input, Index=rows, Updates=updates)
    zeros = op.constant_like(updates, 0.0)
    input = op.scatter_nd(input, Index=rows, Updates=zeros)
    return op.scatter_nd(input, Index=rows, Updates=updates, reduction="add")


@FluidOp(ref="X")
def scatter_nd_add(op, ref, index, updates, name=None):
    """Added at places; an index of no column means the whole of X."""
    if op.shape(index)[-1] != 0:
        return op.scatter_nd(ref, Index=index, Updates=updates, reduction="add")
    rank = op.rank(index) - 1
    return ref + op.reduce_sum(updates, dim=list(range(rank)))


@FluidOp("where_index")
def where(op, condition):
    """The places of what is true, a row each."""
    return op.transpose(op.nonzero(condition), axis=[1, 0])


@FluidOp(inputs="X", index="Ids")
def multiplex(op, inputs: list[Variable], index):
    """Row i of the variable that element i of the ids names."""
    together = layers.stack(inputs, 1)
    rows = op.cast(op.reshape(index, -1, 1), "int64")
    return op.gather_nd(together, Index=rows, batch_dims=1)


@FluidOp(
    "top_k top_k_v2",
    outputs="Out Indices",
    defaults={"k": 1},
    k=Attribute("k", "K"),
)
def topk(op, input, k: int, name=None, *, axis=-1, largest=True, sorted=True):
    """The largest elements along a dim, and their places."""
    inputs, attrs = {}, {"largest": largest, "sorted": sorted}
    given = known(op, k) if isinstance(k, Variable) else [k]
    if given and isinstance(given[0], int):
        attrs["k"] = given[0]
    else:  # the first of the rows, if there are several
        inputs["K"] = op.slice(op.cast(op.reshape(k, -1), "int64"), 0, 0, 1)
    axis %= op.rank(input)
    inputs["X"] = move_axis(input, axis, -1)
    made = op.append_all("top_k", inputs, **attrs)
    return {slot: move_axis(out, -1, axis) for slot, out in made.items()}


@row("arg_max", "arg_min")
def arg_max(op, X, *, axis=-1, keepdims=False, flatten=False, dtype=3):
    """The place of the first largest, or smallest, element along a dim."""
    attrs = {"axis": axis, "keepdims": keepdims, "flatten": flatten}
    out = op.one(op.append(op.type, {"X": X}, **attrs))
    return op.cast(out, "int64" if dtype == -1 else dtype)


@FluidOp(
    "unique unique_with_counts",
    outputs="Out Index",
    more="Count Indices Counts",
    defaults={"dtype": 2},
)
def unique(
    op, x, dtype="int32", *, axis=(), is_sorted=False, return_index=False,
    return_inverse=False, return_counts=False,
):  # fmt: skip
    """Values in the order in which they come, or sorted, and where each
    element is.
    """
    stems = ("Index", "Inverse", "Counts")
    into = {name: op.name(name) for name in stems}
    along = {"flatten": False, "axis": axis[0]} if axis else {}
    made = op.append_all("unique", {"X": x}, into, sorted=is_sorted, **along)
    index, inverse, counts = (op.cast(made[name], dtype) for name in stems)
    return {
        "Out": made["Out"], "Index": inverse, "Count": counts,
        "Indices": index, "Counts": counts,
    }  # fmt: skip


@FluidOp()
def shard_index(
    op, input, index_num: int, nshards: int, shard_id: int, ignore_value=-1
):
    """The place inside this shard, or a value for other shards."""
    size = (index_num + nshards - 1) // nshards
    mine = input // size == shard_id
    other = op.constant_like(input, ignore_value)
    return op.where(Condition=mine, X=input % size, Y=other)


@row("increment")
def increment(op, X, *, step=1.0):
    """x + step."""
    return X + op.constant(step, X.dtype)
