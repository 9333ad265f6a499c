"""Ops that move, select or fill elements."""

from __future__ import annotations

import itertools

import numpy as np

from .case import away_from, Case, case, distinct, odd, torch
from .case import functional as F


@case("crop", (True,), (False,))
def crop(rng, tensors):
    shape = odd(rng, 3)
    box = [int(rng.integers(1, size + 1)) for size in shape]
    begin = [int(rng.integers(0, s - b + 1)) for s, b in zip(shape, box)]
    inputs, attrs = {"X": away_from(rng, shape)}, {}
    if tensors:
        inputs |= {"Y": np.zeros(box), "Offsets": np.array(begin)}
    else:
        attrs = {"shape": box, "offsets": begin}
    where = tuple(slice(b, b + s) for b, s in zip(begin, box))
    return Case(inputs, lambda t: {"Out": t["X"][where]}, attrs, ("X",))


@case("gather", (0,), (1,), (-1,))
def gather(rng, axis):
    shape = odd(rng, 3)
    index = rng.integers(0, shape[axis], odd(rng)[0] + 2)
    return Case(
        {"X": away_from(rng, shape), "Index": index},
        lambda t: {"Out": t["X"].index_select(axis, t["Index"])},
        {"axis": axis},
        ("X",),
    )


@case("lookup_table", *itertools.product((None, 2), (True, False)))
def lookup_table(rng, padding, drop):
    rows, columns, n, m = odd(rng, 4)
    rows += 4
    ids = rng.integers(0, rows, (n, m, 1) if drop else (n, m))
    ids.flat[0] = 2

    def same(t):
        ids = t["Ids"].reshape(n, m)
        out = F.embedding(ids, t["W"])
        if padding is not None:  # PyTorch does not change the padding row
            out = out * (ids != padding)[..., None]
        return {"Out": out}

    attrs = {"drop_last_dim": drop}
    if padding is not None:
        attrs["padding_idx"] = padding
    inputs = {"W": away_from(rng, (rows, columns)), "Ids": ids}
    return Case(inputs, same, attrs, ("W",))


@case("reshape", ([-1],), ([0, -1],), ([3, -1, 5],))
def reshape(rng, shape):
    x = away_from(rng, (5, 3, odd(rng)[0]))
    torch_shape = [5 if size == 0 else size for size in shape]
    return Case(
        {"X": x},
        lambda t: {"Out": t["X"].reshape(torch_shape)},
        {"shape": shape},
        ("X",),
    )


@case("transpose", ([1, 0],), ([2, 0, 1],), ([0, 3, 1, 2],), ([3, 2, 1, 0],))
def transpose(rng, axes):
    x = away_from(rng, odd(rng, len(axes)))
    return Case(
        {"X": x},
        lambda t: {"Out": t["X"].permute(axes)},
        {"axis": axes},
        ("X",),
    )


@case("top_k", (True, 1), (True, 3), (False, 3))
def top_k(rng, largest, k):
    shape = odd(rng, 3)
    shape[-1] += 2

    def same(t):
        out, indices = t["X"].topk(k, largest=largest)
        return {"Out": out, "Indices": indices}

    attrs = {"k": k, "largest": largest}
    return Case({"X": distinct(rng, shape)}, same, attrs, ("X",))


@case("arg_max", *itertools.product((0, -1, None), (True, False)))
def arg_max(rng, axis, keep):
    return arg_best(rng, "argmax", axis, keep)


@case("arg_min", *itertools.product((0, -1, None), (True, False)))
def arg_min(rng, axis, keep):
    return arg_best(rng, "argmin", axis, keep)


def arg_best(rng, name, axis, keep):
    """A case of arg_max or arg_min; axis None means all elements."""

    def same(t):
        out = getattr(torch, name)(t["X"], axis, keepdim=keep)
        return {"Out": out}

    attrs = {"flatten": True} if axis is None else {"axis": axis}
    x = distinct(rng, odd(rng, 3))
    return Case({"X": x}, same, {**attrs, "keepdims": keep})


# Whether the element itself is left out, and whether from the end.
SCANS = list(
    itertools.product((0, 1, -1), (True, False), (True, False))
)


def scan(rng, name, first, axis, exclusive, reverse):
    x = away_from(rng, odd(rng, 3))

    def same(t):
        x = t["X"].flip(axis) if reverse else t["X"]
        out = getattr(torch, name)(x, axis)
        if exclusive:
            ones = torch.full_like(x, first).narrow(axis, 0, 1)
            out = torch.cat([ones, out], axis).narrow(axis, 0, x.shape[axis])
        return {"Out": out.flip(axis) if reverse else out}

    attrs = {"axis": axis, "exclusive": exclusive, "reverse": reverse}
    return Case({"X": x}, same, attrs, ("X",))


@case("cumsum", *SCANS)
def cumsum(rng, axis, exclusive, reverse):
    return scan(rng, "cumsum", 0, axis, exclusive, reverse)


@case("cumsum")
def cumsum_of_all(rng):
    x = away_from(rng, odd(rng, 3))
    return Case(
        {"X": x},
        lambda t: {"Out": t["X"].flatten().cumsum(0)},
        {"flatten": True},
        ("X",),
    )


@case("cumprod", *SCANS)
def cumprod(rng, axis, exclusive, reverse):
    return scan(rng, "cumprod", 1, axis, exclusive, reverse)


@case("assign_value")
def assign_value(rng):
    values = away_from(rng, 15)
    attrs = {"shape": [3, 5], "dtype": "float64", "values": values.tolist()}
    return Case(
        {}, lambda t: {"Out": torch.tensor(values).reshape(3, 5)}, attrs
    )


@case("fill_constant", ("float32", 0.1), ("float64", 0.1), ("int64", -3.0))
def fill_constant(rng, dtype, value):
    shape = odd(rng, 3)

    def same(t):
        kind = getattr(torch, dtype)
        return {"Out": torch.full(shape, value, dtype=kind)}

    return Case({}, same, {"shape": shape, "dtype": dtype, "value": value})


@case("range", (0.0, 5.0, 1.0), (3.0, -4.0, -2.5), (0.5, 0.9, 0.1))
def range_(rng, start, end, step):
    attrs = {"start": start, "end": end, "step": step, "dtype": "float64"}

    def arange(t):
        return {"Out": torch.arange(start, end, step, dtype=torch.float64)}

    return Case({}, arange, attrs)


@case("slice", ([1, -2], [3, 99], [0, 2], [1, 1]), ([], [], [], []),
      ([0, 1], [99, 6], [2, 1], [3, 2]))
def slice_(rng, starts, ends, axes, steps):
    x = away_from(rng, (5, 7, 9))
    where = [slice(None)] * 3
    for axis, start, end, step in zip(axes, starts, ends, steps):
        where[axis] = slice(start, end, step)
    attrs = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    return Case(
        {"X": x}, lambda t: {"Out": t["X"][tuple(where)]}, attrs, ("X",)
    )


@case("pad", ("constant",), ("edge",), ("reflect",), ("wrap",))
def pad(rng, mode):
    x = away_from(rng, (3, 1, 5, 7))
    torch_mode = {"edge": "replicate", "wrap": "circular"}.get(mode, mode)
    value = {"value": 1.5} if mode == "constant" else {}
    return Case(
        {"X": x},
        lambda t: {"Out": F.pad(t["X"], (3, 1, 0, 2), torch_mode, **value)},
        {"pads": [0, 0, 0, 3, 0, 0, 2, 1], "mode": mode, **value},
        ("X",),
    )


@case("expand", ([3, 1, 5],), ([7, 5],), ([2, 1, 1, 1],))
def expand(rng, shape):
    x = away_from(rng, (3, 1, 5))

    def same(t):
        full = np.broadcast_shapes(tuple(shape), (3, 1, 5))
        return {"Out": t["X"].expand(full)}

    return Case({"X": x}, same, {"shape": shape}, ("X",))


@case("tile", ([1, 2, 3],), ([3, 1, 1],))
def tile(rng, repeats):
    x = away_from(rng, odd(rng, 3))
    return Case(
        {"X": x},
        lambda t: {"Out": t["X"].repeat(repeats)},
        {"repeats": repeats},
        ("X",),
    )


@case("squeeze", ([0, 2],), ([],))
def squeeze(rng, axes):
    x = away_from(rng, (1, 5, 1, 3))
    return Case(
        {"X": x}, lambda t: {"Out": t["X"].squeeze()}, {"axes": axes}, ("X",)
    )


@case("unsqueeze", ([1],), ([-1],))
def unsqueeze(rng, axes):
    x = away_from(rng, odd(rng, 2))
    return Case(
        {"X": x},
        lambda t: {"Out": t["X"].unsqueeze(axes[0])},
        {"axes": axes},
        ("X",),
    )


@case("flatten", (1,), (0,), (2,))
def flatten(rng, axis):
    shape = odd(rng, 3)
    return Case(
        {"X": away_from(rng, shape)},
        lambda t: {"Out": t["X"].reshape(int(np.prod(shape[:axis])), -1)},
        {"axis": axis},
        ("X",),
    )


@case("shape")
def shape_(rng):
    x = away_from(rng, odd(rng, 4))
    return Case({"X": x}, lambda t: {"Out": torch.tensor(t["X"].shape)})


@case("trilu", *itertools.product((True, False), (-2, 0, 1)))
def trilu(rng, upper, k):
    x = away_from(rng, odd(rng, 3))

    def same(t):
        return {"Out": (torch.triu if upper else torch.tril)(t["X"], k)}

    return Case({"X": x}, same, {"upper": upper, "k": k}, ("X",))
