"""Picking, sorting, comparing: gather and scatter, top-k, metrics."""

from __future__ import annotations

from ... import layers
from ...layers.helpers import move_axis
from .numbers import known
from .table import Many, row


@row("gather_nd")
def gather_nd(op, X, Index):
    """Parts at places; an index of no column is the whole of X."""
    if op.shape(Index)[-1] != 0:
        return op.one(op.gather_nd(X, Index=Index))
    sizes = [op.size(Index, k) for k in range(op.rank(Index) - 1)]
    axes = list(range(len(sizes)))
    wide = op.unsqueeze(X, axes=axes)
    shape = sizes + [op.size(X, k) for k in range(op.rank(X))]
    return op.expand(wide, shape=shape)


@row("scatter")
def scatter(op, X, Ids, Updates, *, overwrite=True):
    """Rows replaced, or the sums of those that are written to each."""
    index = op.reshape(Ids, -1, 1)
    if overwrite:
        return op.scatter_nd(X, Index=index, Updates=Updates)
    zeros = op.constant_like(Updates, 0.0)
    X = op.scatter_nd(X, Index=index, Updates=zeros)
    return op.scatter_nd(X, Index=index, Updates=Updates, reduction="add")


@row("scatter_nd_add")
def scatter_nd_add(op, X, Index, Updates):
    """Added at places; an index of no column means the whole of X."""
    if op.shape(Index)[-1] != 0:
        return op.scatter_nd(X, Index=Index, Updates=Updates, reduction="add")
    rank = op.rank(Index) - 1
    return X + op.reduce_sum(Updates, dim=list(range(rank)))


@row("where_index")
def where_index(op, Condition):
    """The places of what is true, a row each."""
    return op.transpose(op.nonzero(Condition), axis=[1, 0])


@row("multiplex")
def multiplex(op, X: Many, Ids):
    """Row i of the variable that element i of the ids names."""
    together = layers.stack(X, 1)
    index = op.cast(op.reshape(Ids, -1, 1), "int64")
    return op.gather_nd(together, Index=index, batch_dims=1)


@row("top_k", "top_k_v2", outputs="Out Indices")
def top_k(op, X, K=None, *, k=1, axis=-1, largest=True, sorted=True):
    """The largest elements along a dim, and their places."""
    if K is not None:
        (k,) = known(op, K) or [None]
    inputs, attrs = {}, {"largest": largest, "sorted": sorted}
    if isinstance(k, int):
        attrs["k"] = k
    else:  # the first of the rows, if there are several
        inputs["K"] = op.slice(op.cast(op.reshape(K, -1), "int64"), 0, 0, 1)
    axis %= op.rank(X)
    inputs["X"] = move_axis(X, axis, -1)
    made = op.append_all("top_k", inputs, **attrs)
    return {slot: move_axis(out, -1, axis) for slot, out in made.items()}


@row("arg_max", "arg_min")
def arg_max(op, X, *, axis=-1, keepdims=False, flatten=False, dtype=3):
    """The place of the first largest, or smallest, element along a dim."""
    attrs = {"axis": axis, "keepdims": keepdims, "flatten": flatten}
    out = op.one(op.append(op.type, {"X": X}, **attrs))
    return op.cast(out, "int64" if dtype == -1 else dtype)


@row("unique", "unique_with_counts", outputs="Out Index Count Indices Counts")
def unique(
    op,
    X,
    *,
    dtype=2,
    axis=(),
    is_sorted=False,
    return_index=False,
    return_inverse=False,
    return_counts=False,
):
    """Values in the order in which they come, or sorted, and where each
    element is.
    """
    stems = ("Index", "Inverse", "Counts")
    into = {name: op.name(name) for name in stems}
    along = {"flatten": False, "axis": axis[0]} if axis else {}
    made = op.append_all("unique", {"X": X}, into, sorted=is_sorted, **along)
    index, inverse, counts = (op.cast(made[name], dtype) for name in stems)
    return {
        "Out": made["Out"], "Index": inverse, "Count": counts,
        "Indices": index, "Counts": counts,
    }  # fmt: skip


@row("shard_index")
def shard_index(op, X, *, index_num, nshards, shard_id, ignore_value=-1):
    """The place inside this shard, or a value for other shards."""
    size = (index_num + nshards - 1) // nshards
    mine, other = X // size == shard_id, op.constant_like(X, ignore_value)
    return op.where(Condition=mine, X=X % size, Y=other)


@row("increment")
def increment(op, X, *, step=1.0):
    """x + step."""
    return X + op.constant(step, X.dtype)
