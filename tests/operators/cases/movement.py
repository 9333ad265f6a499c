"""Ops that move elements of their input."""

import numpy as np

from .case import case, index, moves, outputs_of, with_grads


def of(*dims_and_attributes, names):
    """Examples of X, of these dims, and attributes with these names."""

    def examples(make):
        for dims, *values in dims_and_attributes:
            yield {"X": make.values(*dims), **dict(zip(names, values))}

    return examples


SIZES = of([[3, 5]], [[]], [[1]], [[4, 0]], [[271, 301]], names=[])


@case("assign", SIZES)
def assign(x):
    return x


@moves(
    "slice",
    of(
        ([5, 3, 7], [1, -6], [4, 99], [0, 2], [2, 3]),
        ([5, 3, 7], [-1, 5], [-99, 0], [-1, 0], [-2, -1]),
        ([5, 3, 7], [1], [3], [1], []),
        ([1], [0], [1], [], []),
        ([], [], [], [], []),
        ([4, 0], [1], [3], [], []),
        ([4, 3], [3], [1], [1], []),
        ([2, 3, 2, 3, 1, 2], [1, 0], [3, 1], [1, 3], []),
        ([9, 131, 71], [130, 2], [3, 70], [1, 2], [-3, 1]),
        ([150001], [149000], [0], [], [-1]),
        names=["starts", "ends", "axes", "steps"],
    ),
    slack=4,
)
def slice_(x, starts, ends, axes, steps):
    where = [slice(None)] * x.ndim
    axes = axes or range(len(starts))
    steps = steps or [1] * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps):
        if step < 0 and end < -x.shape[axis]:
            end = None  # beyond the first element
        where[axis] = slice(start, end, step)
    return x[tuple(where)]


def pads(make):
    for mode in "constant", "edge", "reflect", "wrap":
        for dims, numbers in [
            ([3, 5], [1, 2, 3, 0]),
            ([3, 4, 2], [0, 7, 0, 0, 9, 0]),
            ([4, 5], [-1, 3, 2, -2]),
            ([2, 1, 3], [1, 2, 0, 3, 1, 0]),
            ([], []),
            ([0, 3], [0, 1, 0, 1]),
        ]:
            yield {"X": make.values(*dims), "pads": numbers, "mode": mode, "value": 1.0}
    numbers = [0, 1, 2, 1, 2, 3]
    yield {"X": make.values(7, 43, 97), "pads": numbers, "mode": "reflect"}
    yield {
        "X": make.values(2, 3, 5),
        "pads": [1, 2, 0, -1],
        "mode": "constant",
        "value": 1.0,
        "axes": [-1, 0],
    }


@moves("pad", pads, slack=4, fill="value")
def pad(x, pads, mode, value=0, axes=()):
    """Only `wrap` removes elements before it adds some, as PyTorch and
    onnxruntime do."""
    axes = axes or range(x.ndim)
    for axis, before, after in zip(axes, pads, pads[len(pads) // 2 :]):
        size = x.shape[axis]
        at = np.arange(-before, size + after)
        if mode == "constant":
            outside = (at < 0) | (at >= size)
            x = np.take(x, np.where(outside, 0, at), axis)
            np.moveaxis(x, axis, 0)[outside] = value
            continue
        if mode == "wrap":
            first, last = max(-before, 0), size + min(after, 0)
            at = first + (at - first) % max(last - first, 1)
        elif mode == "edge" or size == 1:
            at = np.clip(at, 0, size - 1)
        else:  # reflect
            at = np.abs((at + size - 1) % max(2 * size - 2, 1) - (size - 1))
        x = np.take(x, at, axis)
    return x


@moves(
    "expand",
    of(
        ([3, 1], [2, 3, 5]),
        ([3, 1, 5], [4, 1]),
        ([5], [3, 1]),
        ([], [3, 3]),
        ([1, 3], [0, 3]),
        ([2, 1, 3, 1], [5, 1, 7]),
        ([1, 3], [1, 1]),
        ([0, 1], [1, 3]),
        ([7, 1, 91], [127, 91]),
        ([1], [70001]),
        names=["shape"],
    ),
    slack=4,
)
def expand(x, shape):
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape)))


@moves(
    "tile",
    of(
        ([3, 2], [2, 3]),
        ([3, 1, 5], [1, 3, 1]),
        ([5], [1]),
        ([], []),
        ([2, 3], [0, 2]),
        ([0, 3], [3, 2]),
        ([2, 1, 2, 1, 2, 1], [2, 2, 1, 1, 2, 2]),
        ([31, 7, 5], [3, 11, 7]),
        names=["repeats"],
    ),
    slack=4,
)
def tile(x, repeats):
    return np.tile(x, repeats)


@moves(
    "roll",
    of(
        ([3, 5], [1], [0]),
        ([3, 5, 2], [-2, 3], [1, -1]),
        ([3, 1, 5], [7, -9, 1], [0, 1, 0]),
        ([1], [1], [0]),
        ([4, 3], [], []),
        ([0, 3], [1, 2], [0, 1]),
        ([2, 3], [-(2**63), 2**63 - 1], [0, 1]),
        ([131, 257], [100, -3], [0, 1]),
        ([70001], [35], [0]),
        names=["shifts", "axis"],
    ),
    slack=4,
)
def roll(x, shifts, axis):
    for by, one in zip(shifts, axis):
        x = np.roll(x, by % max(x.shape[one], 1), one)
    return x


def expansions(second):
    def examples(make):
        for x, y in [
            ([3, 1], [2, 3, 5]),
            ([2, 3], [4, 3]),
            ([2, 3], [2, 9]),
            ([], [3, 3]),
            ([1, 3], [0, 3]),
            ([0, 1], [0, 3]),
            ([1], [1]),
            ([5, 1, 2], [5, 3, 2]),
            ([7, 3], [1001, 93]),
        ]:
            yield {"X": make.values(*x), second: make.values(*y)}
        if second == "Y":  # of which only the shape counts
            yield {"X": make.values(2, 1), "Y": make.integers("int8", [2, 3], 0, 1)}

    return examples


@case("expand_as", expansions("Y"))
def expand_as(x, y):
    """The elements of X, from the first again where they end."""
    x = x.reshape([1] * (y.ndim - x.ndim) + list(x.shape))
    for axis, size in enumerate(y.shape):
        x = np.take(x, np.arange(size) % max(x.shape[axis], 1), axis)
    return x


@case("expand_as_grad", expansions("Out@GRAD"), slack=30)
def expand_as_grad(x, out_grad):
    places = expand_as(np.arange(x.size).reshape(x.shape), out_grad)
    sums = np.bincount(places.ravel(), out_grad.ravel(), minlength=x.size)
    return {"X@GRAD": sums.reshape(x.shape)}


def triangles(make):
    for upper in True, False:
        for dims, k in [
            ([3, 5], 0),
            ([5, 3], 1),
            ([2, 1, 3, 4], -2),
            ([3, 3], 99),
            ([0, 3, 3], 0),
            ([3, 191, 173], 7),
        ]:
            yield {"X": make.values(*dims), "upper": upper, "k": k}


@case("trilu", triangles)
def trilu(x, upper, k):
    return np.triu(x, k) if upper else np.tril(x, k)


@case(
    "squeeze",
    of(
        ([1, 3, 1, 5], [0, -2]),
        [[1, 3, 1, 5]],
        [[1, 1]],
        [[]],
        ([0, 1], [1]),
        ([301, 1, 257], [1]),
        names=["axes"],
    ),
)
def squeeze(x, axes):
    ones = [i for i, size in enumerate(x.shape) if size == 1]
    return x.squeeze(tuple(i for i in axes or ones if x.shape[i] == 1))


@case(
    "unsqueeze",
    of(
        ([3, 5], [1, -1]),
        ([3, 1], []),
        ([], [0]),
        ([0, 3], [0]),
        ([301, 257], [1]),
        names=["axes"],
    ),
)
def unsqueeze(x, axes):
    return np.expand_dims(x, tuple(axes))


@case(
    "flatten",
    of(
        ([3, 5, 2], 2),
        ([3, 1, 5], -2),
        ([], 0),
        ([3, 0, 2], 3),
        ([3, 101, 257], 1),
        names=["axis"],
    ),
)
def flatten(x, axis):
    rows = x.shape[: axis if axis >= 0 else axis + x.ndim]
    columns = x.shape[len(rows) :]
    return x.reshape(int(np.prod(rows)), int(np.prod(columns)))


@case(
    "reshape",
    of(
        ([3, 4], [2, 6]),
        ([3, 4], [-1]),
        ([3, 5, 2], [0, -1]),
        ([1], []),
        ([], [1, 1]),
        ([0, 3], [0, -1]),
        ([0, 3], [-1, 3]),
        ([301, 150], [150, 301]),
        names=["shape"],
    ),
)
def reshape(x, shape):
    sizes = [size or x.shape[axis] for axis, size in enumerate(shape)]
    if -1 in sizes:
        # Without the sizes that are copied, since they may be 0.
        copied = {axis for axis, size in enumerate(shape) if size == 0}
        rest = [s for axis, s in enumerate(x.shape) if axis not in copied]
        known = [size for size in shape if size > 0]
        sizes[sizes.index(-1)] = int(np.prod(rest) // np.prod(known))
    return x.reshape(sizes)


def reshaped(make):
    for x, out in [
        ([3, 4], [2, 6]),
        ([], [1, 1]),
        ([1], []),
        ([0, 3], [5, 0]),
        ([301, 150], [150, 301]),
    ]:
        yield {"X": make.values(*x), "Out@GRAD": make.values(*out)}


@case("reshape_grad", reshaped)
def reshape_grad(x, out_grad):
    return {"X@GRAD": out_grad.reshape(x.shape)}


@case(
    "transpose",
    of(
        ([3, 5], [1, 0]),
        ([2, 3, 4], [1, 2, 0]),
        ([2, 3, 5, 7], [3, 1, 0, 2]),
        ([2, 3, 4], [0, 1, 2]),
        ([7], [0]),
        ([1, 1], [1, 0]),
        ([], []),
        ([0, 3], [1, 0]),
        ([2, 0, 3], [2, 0, 1]),
        ([211, 197], [1, 0]),
        ([19, 61, 33], [1, 0, 2]),
        names=["axis"],
    ),
)
def transpose(x, axis):
    return x.transpose(axis)


def joins(make):
    for shapes, axis in [
        ([[3, 5], [2, 5]], 0),
        ([[3, 5, 2], [3, 1, 2], [3, 2, 2]], 1),
        ([[2, 3], [2, 1]], -1),
        ([[7]], 0),
        ([[2, 0], [2, 3]], 1),
        ([[0, 3], [0, 3]], 1),
        ([[151, 301], [151, 99]], 1),
    ]:
        yield {"X": [make.values(*dims) for dims in shapes], "axis": axis}


@case("concat", joins)
def concat(*x, axis):
    return np.concatenate(x, axis)


def joined(make):
    for example in list(joins(make)):
        out = outputs_of(concat, example)["Out"]
        grad = make.values(*out.shape)
        for i in range(len(example["X"])):
            yield example | {"Out@GRAD": grad, "index": i}


@case("concat_grad", joined)
def concat_grad(*x, out_grad, axis, index):
    ends = np.cumsum([one.shape[axis] for one in x])
    return {"X@GRAD": np.split(out_grad, ends[:-1], axis)[index]}


def crops(make):
    yield {"X": make.values(3, 4, 5), "offsets": [1, 0, 2], "shape": [2, 3, 3]}
    yield {"X": make.values(7), "offsets": [2], "shape": [-1]}
    yield {"X": make.values(1, 3), "shape": [1, 1]}
    yield {"X": make.values(3, 4), "Y": make.values(2, 1), "offsets": [1, 3]}
    yield {"X": make.values(3, 4), "shape": [0, 4]}
    yield {"X": make.values(3, 4), "shape": [2, 0]}
    yield {"X": make.values(0, 5), "shape": [0, 2]}
    yield {"X": make.values(), "shape": []}
    for dtype in "int32", "int64":
        yield {
            "X": make.values(4, 6, 3),
            "Offsets": make.integers(dtype, [3], 1, 2),
            "shape": [2, 3, 1],
        }
    yield {"X": make.values(301, 117), "offsets": [3, 1], "shape": [295, 113]}


def crop(x, y, offsets, shape, inputs):
    offsets = inputs.get("Offsets", offsets)
    if offsets is None or len(offsets) == 0:
        offsets = [0] * x.ndim
    box = shape if y is None else y.shape
    ends = [o + b if b >= 0 else None for o, b in zip(offsets, box)]
    return x[tuple(map(slice, offsets, ends))]


moves("crop", crops)(crop)


def gathers(make):
    for dtype in "int32", "int64":
        for x, indices, axis in [
            ([5, 3], [7], 0),
            ([9], [2, 3], 0),
            ([2, 5, 3], [4], 1),
            ([2, 5, 3], [2, 2], -1),
            ([1, 1], [], 0),
            ([4, 0], [3], 0),
            ([0, 3], [0], 0),
            ([4, 3], [0], 1),
            ([97, 31], [2101], 0),
        ]:
            yield {
                "X": make.values(*x),
                "Index": index(make, dtype, indices, x[axis]),
                "axis": axis,
            }


@moves("gather", gathers, slack=8)  # sums of some twenty numbers, in float32
def gather(x, index, axis):
    return np.take(x, index, axis)


def lookups(make):
    for w, ids, dtype, padding in [
        ([5, 3], [7], "int64", -1),
        ([5, 3], [2, 4, 1], "int32", 1),
        ([1, 1], [1], "int64", -1),
        ([4, 3], [0], "int64", -1),
        ([4, 0], [3], "int64", -1),
        ([0, 3], [0, 2], "int64", -1),
        ([101, 65], [37, 41], "int64", 100),
        ([5, 3], [4, 1], "int64", 2),
    ]:
        yield {
            "W": make.values(*w),
            "Ids": make.integers(dtype, ids, 0, max(w[0], 1) - 1),
            "padding_idx": padding,
            "drop_last_dim": ids != [4, 1],
        }


@moves("lookup_table", lookups, argument="W", slack=16)  # sums of some 15 terms
def lookup_table(w, ids, padding_idx, drop_last_dim=True):
    if drop_last_dim and ids.ndim > 1 and ids.shape[-1] == 1:
        ids = ids[..., 0]
    return w[ids] * (ids != padding_idx)[..., None]


@case("lookup_table_grad_rows", with_grads(lookups, lookup_table))
def lookup_table_grad_rows(w, ids, out_grad, padding_idx, drop_last_dim=True):
    ids = ids.ravel()
    return {
        "W@GRAD": out_grad.reshape(ids.size, w.shape[1]),
        "Rows": np.where(ids == padding_idx, -1, ids),
    }
