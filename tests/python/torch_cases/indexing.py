"""Ops that select or change elements by indices."""

from __future__ import annotations

import itertools

import numpy as np

from .case import away_from, Case, case, distinct, odd, torch


def indices_of(rng, shape, axis):
    """Indices with another length along the axis, for a part of the other dims;
    some count from the end."""
    dims = [int(rng.integers(1, size + 1)) for size in shape]
    dims[axis] = odd(rng)[0] + 2
    return rng.integers(-shape[axis], shape[axis], dims)


def from_start(index, size):
    """PyTorch has no negative indices here."""
    return torch.where(index < 0, index + size, index)


@case("gather_elements", (0,), (1,), (-1,))
def gather_elements(rng, axis):
    shape = odd(rng, 3)

    def same(t):
        index = from_start(t["Index"], shape[axis])
        return {"Out": torch.gather(t["X"], axis, index)}

    inputs = {"X": away_from(rng, shape), "Index": indices_of(rng, shape, axis)}
    return Case(inputs, same, {"axis": axis}, ("X",))


# PyTorch does not define which update counts, and has other gradients.
@case("scatter_elements", (0,), (1,), (-1,))
def scatter_elements(rng, axis):
    shape = [size + 2 for size in odd(rng, 3)]
    count = int(rng.integers(1, shape[axis] + 1))
    order = distinct(rng, shape).argsort(axis)
    index = order.take(np.arange(count), axis)

    def same(t):
        return {"Out": t["X"].scatter(axis, t["Index"], t["Updates"])}

    inputs = {
        "X": away_from(rng, shape),
        "Index": index,
        "Updates": away_from(rng, index.shape),
    }
    return Case(inputs, same, {"axis": axis}, ("X", "Updates"))


@case("scatter_elements", (0,), (2,))
def scatter_elements_add(rng, axis):
    shape = odd(rng, 3)
    index = indices_of(rng, shape, axis)

    def same(t):
        index = from_start(t["Index"], shape[axis])
        return {"Out": t["X"].scatter_add(axis, index, t["Updates"])}

    inputs = {
        "X": away_from(rng, shape),
        "Index": index,
        "Updates": away_from(rng, index.shape),
    }
    attrs = {"axis": axis, "reduction": "add"}
    return Case(inputs, same, attrs, ("X", "Updates"))


@case(
    "scatter_elements",
    *itertools.product(
        (0, -1), (("mul", "prod"), ("max", "amax"), ("min", "amin"))
    ),
)
def scatter_elements_reduce(rng, axis, names):
    shape = odd(rng, 3)
    index = indices_of(rng, shape, axis)

    def same(t):
        index = from_start(t["Index"], shape[axis])
        out = t["X"].scatter_reduce(axis, index, t["Updates"], names[1])
        return {"Out": out}

    inputs = {
        "X": away_from(rng, shape),
        "Index": index,
        "Updates": away_from(rng, index.shape),
    }
    attrs = {"axis": axis, "reduction": names[0]}
    return Case(inputs, same, attrs, ("X", "Updates"))


@case(
    "scatter_elements",
    ("add", "sum"),
    ("mul", "prod"),
    ("max", "amax"),
    ("min", "amin"),
)
def scatter_elements_of_updates(rng, reduction, name):
    shape = odd(rng, 3)
    index = indices_of(rng, shape, 1)

    def same(t):
        index = from_start(t["Index"], shape[1])
        x, updates = t["X"], t["Updates"]
        out = x.scatter_reduce(1, index, updates, name, include_self=False)
        return {"Out": out}

    inputs = {
        "X": away_from(rng, shape),
        "Index": index,
        "Updates": away_from(rng, index.shape),
    }
    attrs = {"axis": 1, "reduction": reduction, "include_self": False}
    return Case(inputs, same, attrs, ("X", "Updates"))


@case("gather_nd", (1,), (2,), (3,))
def gather_nd(rng, named):
    shape = [size + 1 for size in odd(rng, 3)]
    index = rng.integers(0, shape[:named], (*odd(rng, 2), named))
    return Case(
        {"X": away_from(rng, shape), "Index": index},
        lambda t: {"Out": t["X"][tuple(t["Index"].unbind(-1))]},
        {},
        ("X",),
    )


@case("gather_nd", (1,), (2,))
def gather_nd_of_batches(rng, batch_dims):
    shape = [size + 1 for size in odd(rng, 4)]
    named = 3 - batch_dims
    dims = (*shape[:batch_dims], odd(rng)[0], named)
    index = rng.integers(0, shape[batch_dims:3], dims)

    def same(t):
        rows = t["X"].flatten(0, batch_dims - 1)
        places = t["Index"].flatten(0, batch_dims - 1)
        picked = [x[tuple(i.unbind(-1))] for x, i in zip(rows, places)]
        out = torch.stack(picked)
        return {"Out": out.reshape(*dims[:-1], *shape[3:])}

    inputs = {"X": away_from(rng, shape), "Index": index}
    return Case(inputs, same, {"batch_dims": batch_dims}, ("X",))


@case("scatter_nd", *itertools.product(("none", "add"), (1, 2, 3)))
def scatter_nd(rng, reduction, named):
    shape = [size + 1 for size in odd(rng, 3)]
    count = int(rng.integers(1, np.prod(shape[:named]) + 1))
    # Each place occurs once if the last update counts.
    places = rng.permutation(int(np.prod(shape[:named])))[:count]
    if reduction == "add":
        places = np.concatenate([places, places])
    index = np.stack(np.unravel_index(places, shape[:named]), -1)

    def same(t):
        where = tuple(t["Index"].unbind(-1))
        add = reduction == "add"
        return {"Out": t["X"].index_put(where, t["Updates"], add)}

    inputs = {
        "X": away_from(rng, shape),
        "Index": index,
        "Updates": away_from(rng, (len(places), *shape[named:])),
    }
    return Case(inputs, same, {"reduction": reduction}, ("X", "Updates"))


@case("one_hot", (-1,), (0,), (1,))
def one_hot(rng, axis):
    depth = odd(rng)[0] + 1
    index = rng.integers(0, depth, odd(rng, 2))

    def same(t):
        hot = torch.nn.functional.one_hot(t["X"], depth).movedim(-1, axis)
        return {"Out": torch.where(hot == 1, t["Values"][1], t["Values"][0])}

    inputs = {"X": index, "Values": away_from(rng, 2)}
    return Case(inputs, same, {"depth": depth, "axis": axis})
