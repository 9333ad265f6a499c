"""Normalizations."""

from __future__ import annotations

import itertools

from .case import Case, case, odd
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
