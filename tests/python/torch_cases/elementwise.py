"""Element-wise ops of one or two tensors."""

from __future__ import annotations

import itertools

import numpy as np

from sluice.layers import ops

from .case import away_from, Case, case, odd, torch
from .case import functional as F


def like(expression, attrs, tensors):
    """The value of an expression of a schema, with inputs and attributes by
    name."""
    names = {"torch": torch, "functional": F, **attrs, **tensors}
    return {"Out": eval(expression, names)}


def bools(rng, shape):
    return rng.integers(0, 2, shape).astype(bool)


def numbers(rng, shape, schema, inside=False):
    """Inputs of an op: floats if it supports them, between 0.1 and 0.9 or
    everywhere else, where both may have no result."""
    (allowed,) = schema["type_vars"].values()
    if "float32" not in allowed:
        if "bool" in allowed:
            return bools(rng, shape)
        return rng.integers(-9, 70, shape)
    return rng.uniform(0.1, 0.9, shape) if inside else away_from(rng, shape)


def from_schema(schema):
    """A case of an op of X whose schema has a PyTorch expression."""
    attrs = {a["name"]: a["default"] for a in schema["attributes"]}

    def make(rng, inside):
        return Case(
            {"X": numbers(rng, odd(rng, 3), schema, inside)},
            lambda t: like(schema["torch"], attrs, t),
            grads=("X",) if schema["differentiable"] else (),
        )

    case(schema["name"], (True,), (False,))(make)


def from_schema_of_two(schema):
    """A case of an op of X and Y, where Y is placed at axis and broadcast."""

    (allowed,) = schema["type_vars"].values()
    has_both = "float32" in allowed and "bool" in allowed

    def make(rng, how, of_bools=False):
        n, c, h, w = odd(rng, 4, 7)
        shape, axis, view = {
            "same": ((n, c, h, w), -1, (n, c, h, w)),
            "channel": ((c,), 1, (c, 1, 1)),
            "middle": ((c, h), 1, (c, h, 1)),
            "last": ((h, w), -1, (h, w)),
            "ones": ((n, 1, h, 1), -1, (n, 1, h, 1)),
        }[how]

        def same(t):
            y = t["Y"].reshape(view)
            return like(schema["torch"], {}, {"X": t["X"], "Y": y})

        def operand(shape):
            if of_bools:
                return bools(rng, shape)
            return numbers(rng, shape, schema)

        return Case(
            {"X": operand((n, c, h, w)), "Y": operand(shape)},
            same,
            {"axis": axis},
            ("X", "Y") if schema["differentiable"] and not of_bools else (),
        )

    hows = ("same", "channel", "middle", "last", "ones")
    more = [("channel", True)] if has_both else []
    case(schema["name"], *itertools.product(hows), *more)(make)


for _op in ops.names():
    _schema = ops.schema(_op)
    _inputs = [given["name"] for given in _schema["inputs"]]
    if any(attribute["name"] == "dim" for attribute in _schema["attributes"]):
        continue  # a reduction
    if _schema["torch"] and _inputs == ["X"]:
        from_schema(_schema)
    elif _schema["torch"] and _inputs == ["X", "Y"]:
        from_schema_of_two(_schema)


@case("clip")
def clip(rng):
    return Case(
        {"X": away_from(rng, odd(rng, 3))},
        lambda t: {"Out": t["X"].clamp(-0.75, 1.25)},
        {"min": -0.75, "max": 1.25},
        ("X",),
    )


@case("where", ("same",), ("repeated",))
def where(rng, how):
    n, c, h = odd(rng, 3)
    shapes = {
        "same": ((n, c, h), (n, c, h), (n, c, h)),
        "repeated": ((c, 1), (n, 1, h), (h,)),
    }[how]
    return Case(
        {
            "Condition": bools(rng, shapes[0]),
            "X": away_from(rng, shapes[1]),
            "Y": away_from(rng, shapes[2]),
        },
        lambda t: {"Out": torch.where(t["Condition"], t["X"], t["Y"])},
        grads=("X", "Y"),
    )


@case("assign")
def assign(rng):
    return Case({"X": away_from(rng, odd(rng, 3))},
                lambda t: {"Out": t["X"].clone()}, grads=("X",))


@case("mean")
def mean(rng):
    return Case({"X": away_from(rng, odd(rng, 3))},
                lambda t: {"Out": t["X"].mean()}, grads=("X",))


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
