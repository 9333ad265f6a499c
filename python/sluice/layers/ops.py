"""A function for each registered op, including ops of libraries that are loaded
later. They are generated from the schemas when they are first used (see
generate.py), so that importing costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .. import _core
from ..defaults import default_main_program
from ..elsewhere import PUBLIC, checked, missing
from ..errors import NotFoundError
from ..layer_helper import make
from ..program import Program, Variable
from .learning_rate_scheduler import schedule
from .rows import ROWS
from .sequence import reduce_rows, reduces_rows, require_ragged


def _is_for_users(op: str) -> bool:
    """False for ops that only passes, append_backward or py_func make."""
    if op.startswith("py_func_"):
        return False
    described = _core._schema(op)
    if described["internal"] or described["holds_blocks"]:
        return False
    return not any(
        argument["name"].endswith("@GRAD") for argument in described["inputs"]
    )


def names() -> list[str]:
    """The ops that have a function here."""
    return [name for name in _core._op_names() if _is_for_users(name)]


def schema(op: str) -> dict[str, Any]:
    """The arguments of an op; raises NotFoundError with similar names."""
    return _core._schema(op)


def _program_of(inputs: Mapping[str, Any]) -> Program:
    for value in inputs.values():
        first = (
            value[0] if isinstance(value, (list, tuple)) and value else value
        )
        if isinstance(first, Variable):
            return first.program
    return default_main_program()


def _append(
    op: str,
    inputs: Mapping[str, Any],
    attrs: Mapping[str, Any],
    name: str | None,
    hint: str,
) -> Any:
    if reduces_rows(op, inputs.get("X"), attrs):
        out = reduce_rows(op, inputs["X"], attrs)
        if name is None:
            return out
        return out.program.append_op("assign", {"X": out}, {"Out": name})["Out"]
    required = _REQUIRED[op]
    named: dict[str, Any] = {}
    if name is not None:
        single = len(required) == 1
        named = {o: name if single else f"{name}.{o}" for o in required}
        named = {o: n for o, n in named.items() if o not in _UPDATES[op]}
    lists = _LISTS[op]
    for output in lists & named.keys():
        (parts,) = inputs.values()
        count = len(parts) if isinstance(parts, (list, tuple)) else 1
        named[output] = [f"{name}.{i}" for i in range(count)]
    attrs = {a: value for a, value in attrs.items() if value is not None}
    outputs = _program_of(inputs).append_op(op, inputs, named, attrs, hint)
    for output in lists:
        if isinstance(outputs[output], Variable):
            outputs[output] = [outputs[output]]
    if len(required) == 1:
        return outputs[required[0]]
    return _OUTPUTS[op](*(outputs[output] for output in required))


_REQUIRED: dict[str, list[str]] = {}
_UPDATES: dict[str, set[str]] = {}
_LISTS: dict[str, set[str]] = {}  # outputs with several variables
_OUTPUTS: dict[str, Any] = {}


def _make(op: str) -> Any:
    from .generate import camel_case, compiled, required_outputs

    described, space = schema(op), dict(globals())
    function = compiled(described, __name__, space)
    _REQUIRED[op] = required_outputs(described)
    _UPDATES[op] = {o["name"] for o in described["outputs"] if o["updates"]}
    _LISTS[op] = {o["name"] for o in described["outputs"] if o["variadic"]}
    _OUTPUTS[op] = space.get(f"{camel_case(op)}Outputs")
    return checked(function, NotFoundError)


def _append_row(
    op: str, inputs: Mapping[str, Any], attrs: Mapping[str, Any], name: Any
) -> Variable:
    row = ROWS[op]
    if not inputs:
        return schedule(op, attrs)
    if row.ragged:
        require_ragged(op, inputs[row.inputs[row.ragged]], row.ragged)
    return make(op, dict(inputs), name, **attrs)


def layer_of_row(name: str) -> Any:
    """The function of a row of :mod:`sluice.layers.rows`."""
    from .generate import compiled

    space = {**globals(), "_append": _append_row}
    return compiled(schema(name), "sluice.layers", space, ROWS[name])


def __getattr__(name: str) -> Any:
    if (
        name.startswith("_")
        or name not in _core._op_names()
        or not _is_for_users(name)
    ):
        own = name not in _core._op_names()
        missing(
            "sluice.layers",
            name,
            PUBLIC["sl.layers"](),
            f"there is no op or layer {name!r}",
            " (operators of your own library: call sl.load_op_library first)"
            * own,
        )
    globals()[name] = function = _make(name)
    return function


def __dir__() -> list[str]:
    return [*names(), "names", "schema"]


__all__ = ["NamedTuple", "Sequence", "names", "schema"]
