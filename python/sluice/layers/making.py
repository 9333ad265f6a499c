"""Helpers of layers that are made of a few ops."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from .. import _core, framework
from ..errors import InvalidArgumentError, UnimplementedError
from ..framework import Variable, created, require_variable


def wrong(text: str, kind: type = InvalidArgumentError) -> Exception:
    """An error with this text and the line of the user."""
    return kind(f"{text}{created()}", "python.everyday")


def make(
    type: str,
    inputs: dict[str, Any],
    name: str | None = None,
    program: framework.Program | None = None,
    **attrs: Any,
) -> Variable:
    """Append an op, and return its output Out, called ``name``."""
    if program is None:
        first = next(iter(inputs.values()))
        first = first[0] if isinstance(first, list) else first
        program = first.program
    outputs = {} if name is None else {"Out": name}
    return program.append_op(type, inputs, outputs, attrs)["Out"]


def one_shape(layer: str, **given: Any) -> None:
    """Refuse variables (or shapes) that differ, which would be repeated.

    Sizes that are unknown fit every size, and numbers every shape.
    """
    shapes: dict[str, list[int | None]] = {}
    for name, value in given.items():
        shape = value.shape if isinstance(value, Variable) else value
        if isinstance(shape, (tuple, list)):
            shapes[name] = list(shape)
    first, wanted = next(iter(shapes.items()), ("", []))
    for name, shape in shapes.items():
        if len(shape) == len(wanted) and all(
            a == b or None in (a, b) for a, b in zip(shape, wanted, strict=True)
        ):
            continue
        advice = ""
        with_sizes = [[s for s in x if s != 1] for x in (shape, wanted)]
        if with_sizes[0] == with_sizes[1] and wanted[1:].count(None) < 2:
            sizes = reshape_sizes(layer, wanted)
            if wanted.count(None) == 1:
                sizes = [-1 if size is None else size for size in wanted]
            advice = f"; use sl.layers.reshape({name}, {sizes})"
        raise wrong(
            f"{layer}: {name} has shape {shape} and {first} has {wanted}: "
            f"expected the same shape{advice}"
        )


def variable_list(what: str, value: Any) -> list[Variable]:
    """Return ``value``, or raise unless it is a list of variables."""
    if isinstance(value, Variable) or not isinstance(value, Sequence):
        raise wrong(
            f"{what}: expected a list of variables, got {_core._shown(value)}"
        )
    if not value:
        raise wrong(f"{what}: expected a variable or more, got none")
    for i, each in enumerate(value):
        require_variable(f"{what}[{i}]", each)
    return list(value)


def ranked_shape(what: str, x: Any, least: int = 0) -> tuple[int | None, ...]:
    """The shape of x, which needs a known rank."""
    shape = require_variable(what, x).shape
    if shape is None:
        raise wrong(f"{what}: the rank of {x!r} is unknown", UnimplementedError)
    if len(shape) < least:
        raise wrong(f"{what}: expected {least} dims or more, got {x!r}")
    return shape


def axis_of(what: str, axis: Any, rank: int) -> int:
    """A dim, counted from the start."""
    try:
        index = operator.index(axis)
    except TypeError:
        raise wrong(
            f"{what}: expected an integer, got {_core._shown(axis)}"
        ) from None
    if not -rank <= index < rank:
        raise wrong(
            f"{what}: {index} is no dim; expected {-rank} to {rank - 1}"
        )
    return index % rank


def reshape_sizes(what: str, sizes: list[int | None]) -> list[int]:
    """Attribute shape of reshape; the first size and one more may be None."""
    known = [0 if i == 0 and s is None else s for i, s in enumerate(sizes)]
    if known.count(None) > 1:
        raise wrong(
            f"{what}: more than one size besides the first is unknown: "
            f"{sizes}",
            UnimplementedError,
        )
    return [-1 if size is None else size for size in known]


def number_like(like: Variable, value: float) -> Variable:
    """A scalar of the dtype of a variable."""
    return make(
        "fill_constant",
        {},
        program=like.program,
        shape=[],
        dtype=like.dtype,
        value=value,
    )
