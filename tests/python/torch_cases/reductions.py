"""Ops on all elements along some dims."""

from __future__ import annotations

import itertools

import numpy as np

from sluice.layers import ops

from .case import away_from, Case, case, distinct, odd
from .elementwise import bools, like

DIMS = ([0], [1, 2], [-1], [0, 1, 2, 3], [])


def product(x, dims, keep):
    """PyTorch supports it only for one dim at a time."""
    for dim in sorted((d % x.ndim for d in dims), reverse=True):
        x = x.prod(dim, keepdim=keep)
    return x


def numbers(rng, schema, of_bools):
    """Inputs of a reduction: sums with a logarithm, unique maxima."""
    shape = odd(rng, 4, 5)
    if of_bools:
        return bools(rng, shape)
    if schema["name"] == "reduce_log_sum":
        return np.abs(away_from(rng, shape))
    if schema["name"] in ("reduce_max", "reduce_min"):
        return distinct(rng, shape)
    return away_from(rng, shape)


def from_schema(schema):
    allowed = next(iter(schema["type_vars"].values()))
    only_bools = "float32" not in allowed
    has_both = not only_bools and "bool" in allowed

    def make(rng, dim, keep, of_bools=only_bools):
        def same(t):
            dims = dim or [0, 1, 2, 3]
            if schema["name"] == "reduce_prod":
                return {"Out": product(t["X"], dims, keep)}
            return like(schema["torch"], {"dim": dims, "keep_dim": keep}, t)

        return Case(
            {"X": numbers(rng, schema, of_bools)},
            same,
            {"dim": dim, "keep_dim": keep, "reduce_all": not dim},
            ("X",) if schema["differentiable"] and not of_bools else (),
        )

    more = [([1, 2], True, True)] if has_both else []
    case(schema["name"], *itertools.product(DIMS, (False, True)), *more)(make)


for _op in ops.names():
    _schema = ops.schema(_op)
    if any(attribute["name"] == "dim" for attribute in _schema["attributes"]):
        from_schema(_schema)
