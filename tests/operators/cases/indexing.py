"""Ops that read or write elements that indices name."""

import numpy as np

from .case import Tensor, case, index, moves, outputs_of


def elements(make):
    for number, (x, indices, axis) in enumerate(
        [
            ([5, 3], [7, 3], 0),
            ([5, 3], [4, 7], -1),
            ([2, 5, 3], [2, 9, 2], 1),
            ([2, 3, 2, 5], [1, 7, 2, 4], 1),
            ([9], [11], 0),
            ([1, 1], [1, 1], 1),
            ([3, 0], [2, 0], 0),
            ([0, 3], [0, 3], 0),
            ([4, 3], [0, 3], 0),
            ([97, 311], [230, 301], 0),
            ([97, 311], [90, 500], 1),
        ]
    ):
        dtype = "int32" if number % 2 else "int64"
        yield {
            "X": make.values(*x),
            "Index": index(make, dtype, indices, x[axis]),
            "axis": axis,
        }


def slices(make, batches=True):
    number = 0
    for x, indices, batch_dims in [
        ([5, 3], [7, 1], 0),
        ([5, 4], [3, 3, 2], 0),
        ([3, 5, 2], [3, 4, 1], 1),
        ([3, 2, 5, 2], [3, 2, 3, 1], 2),
        ([3, 5, 4, 2], [3, 2, 2], 1),
        ([2, 3, 4], [3], 0),
        ([1], [1, 1], 0),
        ([3, 0], [2, 1], 0),
        ([0, 3], [0, 1], 0),
        ([4, 3], [0, 2], 0),
        ([97, 311, 3], [9001, 2], 0),
        ([301, 17], [700, 1], 0),
    ]:
        if batch_dims and not batches:
            continue
        dtype = "int32" if number % 2 else "int64"
        number += 1
        size = min(x[batch_dims : batch_dims + indices[-1]])
        yield {
            "X": make.values(*x),
            "Index": index(make, dtype, indices, size),
            **({"batch_dims": batch_dims} if batches else {}),
        }


def where_elements(x, index, axis):
    """The places in X of elements that Index names."""
    where = list(np.indices(index.shape, sparse=True))
    where[axis] = index
    return tuple(where)


def where_nd(x, index, batch_dims=0):
    """The same for slices."""
    batches = np.indices(index.shape[:batch_dims], sparse=True)
    ranks = index.ndim - 1 - batch_dims
    shaped = [one.reshape(one.shape + (1,) * ranks) for one in batches]
    return (*shaped, *np.moveaxis(index, -1, 0))


@moves("gather_elements", elements, slack=8)
def gather_elements(x, index, axis):
    return x[where_elements(x, index, axis)]


@moves("gather_nd", slices, slack=8)
def gather_nd(x, index, batch_dims):
    return x[where_nd(x, index, batch_dims)]


COMPUTED = "float32 float64 float16 bfloat16 int8 uint8 int32 int64".split()


def scatters(op, examples, gather, **fixed):
    """The cases of a scatter op, whose updates have the shape of what `gather`
    picks, and of its gradients."""

    def updates(make):
        number = 0
        for example in list(examples(make)):
            picked = outputs_of(gather, example | fixed)["Out"]
            example["Updates"] = make.values(*picked.shape)
            for reduction in "none", "add", "mul", "max", "min":
                # Kernels for bool, for dtypes without arithmetic, and for
                # halves on devices only replace.
                if make.dtype not in COMPUTED and reduction != "none":
                    break
                number += 1
                yield example | {
                    "reduction": reduction,
                    "include_self": number % 4 != 0,
                }

    def grads(*reductions):
        def with_grad(make):
            for example in list(updates(make)):
                if example["reduction"] in reductions:
                    shape = example["X"].values.shape
                    yield example | {"Out@GRAD": make.values(*shape)}

        return with_grad

    def places(inputs, attributes):
        x = inputs["X"]
        numbers = np.arange(x.size).reshape(x.shape)
        index = inputs["Index"]
        if "axis" in attributes:
            return gather(numbers, index, attributes["axis"]).ravel()
        return gather(numbers, index, 0).ravel()

    @case(op, updates, slack=8)
    def scatter(x, updates, reduction, include_self, inputs, attributes):
        out, at, updates = x.ravel().copy(), places(inputs, attributes), updates.ravel()
        if reduction == "none":
            out[at] = updates
            return out.reshape(x.shape)
        if not include_self:
            first, numbers = np.unique(at, return_index=True)
            out[first] = updates[numbers]
            at, updates = np.delete(at, numbers), np.delete(updates, numbers)
        ufunc = {"add": "add", "mul": "multiply", "max": "fmax", "min": "fmin"}
        getattr(np, ufunc[reduction]).at(out, at, updates)
        return out.reshape(x.shape)

    @case(f"{op}_grad", grads("none", "add"))
    def scatter_grad(updates, out_grad, reduction, include_self, inputs, attributes):
        at, grad = places(inputs, attributes), out_grad.ravel()
        x_grad, update_grad = grad.copy(), grad[at]
        if reduction == "none" or not include_self:
            x_grad[at] = 0
        if reduction == "none":
            last = np.zeros(grad.size, int)
            last[at] = np.arange(at.size)
            update_grad[last[at] != np.arange(at.size)] = 0
        return {
            "X@GRAD": x_grad.reshape(out_grad.shape),
            "Updates@GRAD": update_grad.reshape(updates.shape),
        }

    @case(f"{op}_reduce_grad", grads("mul", "max", "min"), slack=8)
    def reduce_grad(x, updates, out_grad, reduction, include_self, inputs, attributes):
        """Looks at all operands of each element of Out: a row, X's the first."""
        at, values, grad = places(inputs, attributes), updates.ravel(), out_grad.ravel()
        order = np.argsort(at, kind="stable")
        used, rows, counts = np.unique(
            at[order], return_inverse=True, return_counts=True
        )
        columns = 1 + np.arange(at.size) - np.searchsorted(at[order], at[order])
        nothing = {"mul": 1, "max": -np.inf, "min": np.inf}[reduction]
        operands = np.full((used.size, 1 + counts.max(initial=0)), float(nothing))
        if include_self:
            operands[:, 0] = x.flat[used]
        operands[rows, columns] = values[order]
        if reduction == "mul":
            others = [np.delete(operands, j, 1) for j in range(operands.shape[1])]
            factors = np.stack([one.prod(1) for one in others], 1)
        else:
            best = getattr(np, reduction)(operands, 1, keepdims=True)
            factors = (operands == best) / (operands == best).sum(1, keepdims=True)
        factors *= grad[used, None]
        x_grad, update_grad = grad.copy(), np.zeros(at.size)
        x_grad[used] = factors[:, 0] if include_self else 0
        update_grad[order] = factors[rows, columns]
        return {
            "X@GRAD": x_grad.reshape(x.shape),
            "Updates@GRAD": update_grad.reshape(updates.shape),
        }


scatters("scatter_elements", elements, gather_elements)
scatters(
    "scatter_nd", lambda make: slices(make, False), gather_nd, batch_dims=0
)


def one_hots(make):
    for number, (x, depth, axis) in enumerate(
        [
            ([7], 5, -1),
            ([3, 5], 4, 0),
            ([3, 5], 4, -2),
            ([], 3, 0),
            ([1, 1], 1, -1),
            ([0, 3], 4, 1),
            ([4], 0, -1),
            ([301, 7], 37, 1),
        ]
    ):
        dtype = "int32" if number % 2 else "int64"
        yield {
            "X": make.integers(dtype, x, -depth - 1, depth + 1),
            "Values": make.values(2),
            "depth": depth,
            "axis": axis,
        }


@case("one_hot", one_hots)
def one_hot(x, values, depth, axis):
    x = np.expand_dims(np.where(x < 0, x + depth, x), -1)
    return np.moveaxis(values[(x == np.arange(depth)).astype(int)], -1, axis)


def number(dtype, value):
    return Tensor(np.array([value]), dtype)


def array_writes(make):
    for capacity, element, i, dtype, has_array, has_x in [
        (3, [2, 5], 1, "int64", True, True),
        (1, [7], 0, "int32", False, True),
        (5, [3], 4, "int32", True, False),
        (2, [0, 3], 1, "int64", True, True),
        (3, [], 2, "int64", True, True),
        (3, [149, 331], 0, "int64", True, True),
    ]:
        example = {"capacity": capacity}
        if has_array:
            example["Array"] = make.values(capacity, *element)
        if has_x:
            example["X"] = make.values(*element)
        yield example | {"I": number(dtype, i)}


@case("array_write", array_writes)
def array_write(array, x, i, capacity):
    out = np.zeros((capacity, *x.shape)) if array is None else array.copy()
    out[i[0]] = 0 if x is None else x
    return out


def array_reads(make):
    for array, i, length in [
        ([3, 2, 5], 1, 2),
        ([1, 7], 0, 0),
        ([4], 3, 4),
        ([2, 0], 1, 2),
        ([3, 149, 331], 2, 3),
    ]:
        example = {"Array": make.values(*array), "capacity": array[0]}
        if length:
            example["Length"] = number("int64", length)
        yield example | {"I": number("int64" if length else "int32", i)}


@case("array_read", array_reads)
def array_read(array, i):
    return array[i[0]]
