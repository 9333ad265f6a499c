"""Ops on each element of one tensor or of two."""

from __future__ import annotations

import itertools

import numpy as np

from .case import CASES, away_from, Case, case, odd, torch
from .case import functional as F


def unary(op, same, positive=False):
    def make(rng):
        x = away_from(rng, odd(rng, 3))
        x = np.abs(x) if positive else x
        return Case({"X": x}, lambda t: {"Out": same(t["X"])}, grads=("X",))

    case(op)(make)


unary("abs", lambda x: x.abs())
unary("assign", lambda x: x.clone())
unary("exp", lambda x: x.exp())
unary("log", lambda x: x.log(), positive=True)
unary("mean", lambda x: x.mean())
unary("relu", lambda x: x.relu())
unary("sigmoid", lambda x: x.sigmoid())
unary("sqrt", lambda x: x.sqrt(), positive=True)
unary("square", lambda x: x.square())
unary("tanh", lambda x: x.tanh())


@case("scale", (True,), (False,))
def scale(rng, after):
    attrs = {"scale": 1.75, "bias": -0.5, "bias_after_scale": after}

    def same(t):
        x = t["X"]
        return {"Out": x * 1.75 - 0.5 if after else (x - 0.5) * 1.75}

    return Case({"X": away_from(rng, odd(rng, 2))}, same, attrs, ("X",))


@case("cast", ("float64",), ("float32",), ("float16",), ("bfloat16",),
      ("int64",), ("int32",), ("int8",), ("uint8",), ("bool",))
def cast(rng, dtype):
    x = away_from(rng, odd(rng, 3))
    x = np.abs(x) * 50 if dtype == "uint8" else x * 50
    grads = ("X",) if "float" in dtype else ()
    return Case(
        {"X": x},
        lambda t: {"Out": t["X"].to(getattr(torch, dtype))},
        {"dtype": dtype},
        grads,
    )


@case("dropout", (True, "upscale_in_train", 0.3),
      (True, "downgrade_in_infer", 0.3), (False, "upscale_in_train", 0.0),
      (False, "upscale_in_train", 1.0))
def dropout(rng, is_test, how, share):
    attrs = {
        "is_test": is_test,
        "dropout_implementation": how,
        "dropout_prob": share,
    }

    def same(t):
        if how == "downgrade_in_infer":
            return {"Out": t["X"] * (1 - share)}
        return {"Out": F.dropout(t["X"], share, training=not is_test)}

    return Case({"X": away_from(rng, odd(rng, 3))}, same, attrs, ("X",))


@case("softmax", (-1,), (0,), (1,), (-2,))
def softmax(rng, axis):
    x = rng.standard_normal(odd(rng, 3)) * 3
    return Case(
        {"X": x},
        lambda t: {"Out": t["X"].softmax(axis)},
        {"axis": axis},
        ("X",),
    )


@case(
    "elementwise_add",
    *itertools.product(("same", "channel", "middle", "last", "ones")),
)
def elementwise_add(rng, how, function=None):
    n, c, h, w = odd(rng, 4, 7)
    shape, axis, view = {
        "same": ((n, c, h, w), -1, (n, c, h, w)),
        "channel": ((c,), 1, (c, 1, 1)),
        "middle": ((c, h), 1, (c, h, 1)),
        "last": ((h, w), -1, (h, w)),
        "ones": ((n, 1, h, 1), -1, (n, 1, h, 1)),
    }[how]
    function = function or (lambda x, y: x + y)
    return Case(
        {"X": away_from(rng, (n, c, h, w)), "Y": away_from(rng, shape)},
        lambda t: {"Out": function(t["X"], t["Y"].reshape(view))},
        {"axis": axis},
        ("X", "Y"),
    )


def like_elementwise_add(op, function):
    for make, parameter in CASES["elementwise_add"]:
        case(op, (*parameter, function))(make)


like_elementwise_add("elementwise_sub", lambda x, y: x - y)
like_elementwise_add("elementwise_mul", lambda x, y: x * y)
like_elementwise_add("elementwise_div", lambda x, y: x / y)


@case("bias_add", ("NCHW", 4), ("NHWC", 4), ("NCHW", 2), ("NHWC", 3))
def bias_add(rng, layout, rank):
    shape = odd(rng, rank)
    at = 1 if layout == "NCHW" else rank - 1
    view = [shape[at]] + [1] * (rank - 1 - at)
    return Case(
        {"X": away_from(rng, shape), "Bias": away_from(rng, shape[at])},
        lambda t: {"Out": t["X"] + t["Bias"].reshape(view)},
        {"data_format": layout},
        ("X", "Bias"),
    )
