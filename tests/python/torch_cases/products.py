"""Sums, concatenations, distances and products of tensors."""

from __future__ import annotations

import itertools

import numpy as np

from .case import away_from, Case, case, odd, torch


@case("sum", (1,), (2,), (5,))
def sum_(rng, count):
    shape = odd(rng, 2)
    x = [away_from(rng, shape) for _ in range(count)]
    return Case({"X": x}, lambda t: {"Out": sum(t["X"])}, grads=("X",))


@case("concat", (0, 2), (1, 3), (-1, 1), (-2, 5))
def concat(rng, axis, count):
    shape = odd(rng, 3)
    parts = []
    for _ in range(count):
        shape[axis] = odd(rng)[0]
        parts.append(away_from(rng, shape))
    return Case(
        {"X": parts},
        lambda t: {"Out": torch.cat(t["X"], axis)},
        {"axis": axis},
        ("X",),
    )


# PyTorch has no gradient of a matrix that is singular.
@case("determinant", (1,), (2,), (5,))
def determinant(rng, n):
    x = rng.standard_normal((*odd(rng, 2, 3), n, n)) + 3 * np.eye(n)
    return Case({"X": x}, lambda t: {"Out": torch.linalg.det(t["X"])},
                grads=("X",))


@case("manhattan_distance")
def manhattan_distance(rng):
    n, m, p = odd(rng, 3)
    inputs = {"X": rng.random((n, p)), "Y": rng.random((m, p))}
    return Case(
        inputs,
        lambda t: {"Out": torch.cdist(t["X"], t["Y"], p=1.0)},
        grads=("X", "Y"),
    )


@case("matmul", *itertools.product(
    ((False, False), (True, False), (False, True), (True, True)),
    (((), ()), ((3,), (3,)), ((5, 3), (3,)), ((), (3,)), ((3, 1), (1, 5))),
))
def matmul(rng, turned, before):
    m, k, n = odd(rng, 3, 17)
    x, y = (k, m) if turned[0] else (m, k), (n, k) if turned[1] else (k, n)

    def same(t):
        x = t["X"].mT if turned[0] else t["X"]
        y = t["Y"].mT if turned[1] else t["Y"]
        return {"Out": 0.5 * torch.matmul(x, y)}

    return Case(
        {
            "X": rng.standard_normal((*before[0], *x)),
            "Y": rng.standard_normal((*before[1], *y)),
        },
        same,
        {"transpose_X": turned[0], "transpose_Y": turned[1], "alpha": 0.5},
        ("X", "Y"),
    )


@case("matmul", ("x",), ("y",), ("both",))
def matmul_of_vectors(rng, which):
    m, k, n = odd(rng, 3)
    x = (k,) if which in ("x", "both") else (m, k)
    y = (k,) if which in ("y", "both") else (k, n)
    return Case(
        {"X": rng.standard_normal(x), "Y": rng.standard_normal(y)},
        lambda t: {"Out": torch.matmul(t["X"], t["Y"])},
        grads=("X", "Y"),
    )


@case("mul", (1, 1), (2, 1), (1, 2))
def mul(rng, x_dims, y_dims):
    a, b, c, d = odd(rng, 4)
    x = (a, b, c)
    inner = int(np.prod(x[x_dims:]))
    y = (inner, d, 3) if y_dims == 1 else (inner, 1, d)

    def same(t):
        left = t["X"].reshape(-1, inner)
        out = left @ t["Y"].reshape(inner, -1)
        return {"Out": out.reshape(*x[:x_dims], *y[y_dims:])}

    return Case(
        {"X": rng.standard_normal(x), "Y": rng.standard_normal(y)},
        same,
        {"x_num_col_dims": x_dims, "y_num_col_dims": y_dims},
        ("X", "Y"),
    )
