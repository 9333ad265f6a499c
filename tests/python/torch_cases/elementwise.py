"""Element-wise ops of one or two tensors."""

from __future__ import annotations

import itertools


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
