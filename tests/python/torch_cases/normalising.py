"""Normalizations."""

from __future__ import annotations

import itertools

import numpy as np

from .case import Case, away_from, case, odd
from .case import functional as F
from .images import from_layout, laid_out, to_layout


@case("lrn", *itertools.product((1, 3, 5), (0.75, 0.6), ("NCHW", "NHWC")))
def lrn(rng, n, beta, layout):
    x = laid_out(layout, rng.standard_normal(odd(rng, 4)))

    def same(t):
        x = from_layout(layout, t["X"])
        out = F.local_response_norm(x, n, 0.5, beta, 1.5)
        return {"Out": to_layout(layout, out)}

    attrs = {
        "n": n, "k": 1.5, "alpha": 0.5, "beta": beta, "data_format": layout,
    }
    return Case({"X": x}, same, attrs, ("X",))


def parameters(rng, shape, names):
    return {name: away_from(rng, shape) for name in names}


@case("layer_norm", *itertools.product(
    (1, 0, -1), (("Scale", "Bias"), ("Bias",), ("Scale",), ())))
def layer_norm(rng, axis, given):
    shape = [size + 1 for size in odd(rng, 3)]
    row = shape[axis:]

    def same(t):
        out = F.layer_norm(t["X"], row, t.get("Scale"), t.get("Bias"), 0.1)
        rows = t["X"].reshape(-1, int(np.prod(row)))
        variance = rows.var(1, correction=0)
        return {"Y": out, "Mean": rows.mean(1), "Variance": variance}

    inputs = {"X": away_from(rng, shape)} | parameters(rng, row, given)
    attrs = {"begin_norm_axis": axis, "epsilon": 0.1}
    return Case(inputs, same, attrs, tuple(inputs))


@case("rms_norm", (1, True), (-1, True), (0, False))
def rms_norm(rng, axis, scaled):
    shape = odd(rng, 3)
    row = shape[axis:]

    def same(t):
        return {"Y": F.rms_norm(t["X"], row, t.get("Scale"), 0.1)}

    names = ("Scale",) if scaled else ()
    inputs = {"X": away_from(rng, shape)} | parameters(rng, row, names)
    attrs = {"begin_norm_axis": axis, "epsilon": 0.1}
    return Case(inputs, same, attrs, tuple(inputs))


@case("instance_norm", (("Scale", "Bias"),), ((),))
def instance_norm(rng, given):
    shape = [size + 1 for size in odd(rng, 4)]

    def same(t):
        out = F.instance_norm(
            t["X"], weight=t.get("Scale"), bias=t.get("Bias"), eps=0.1
        )
        return {"Y": out}

    inputs = {"X": away_from(rng, shape)} | parameters(rng, shape[1], given)
    return Case(inputs, same, {"epsilon": 0.1}, tuple(inputs))


@case("group_norm", (1, ("Scale", "Bias")), (3, ("Scale", "Bias")), (2, ()))
def group_norm(rng, groups, given):
    n, c, h, w = odd(rng, 4, 5)
    shape = (n, c * groups, h, w)

    def same(t):
        scale, bias = t.get("Scale"), t.get("Bias")
        out = F.group_norm(t["X"], groups, scale, bias, 0.1)
        rows = t["X"].reshape(n, groups, -1)
        return {
            "Y": out,
            "Mean": rows.mean(2),
            "Variance": rows.var(2, correction=0),
        }

    inputs = {"X": away_from(rng, shape)} | parameters(rng, shape[1], given)
    return Case(inputs, same, {"groups": groups, "epsilon": 0.1}, tuple(inputs))
