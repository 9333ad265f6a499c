"""A function for each registered op, including ops of libraries that are loaded
later. They are generated from the schemas when they are first used (see
generate.py), so that importing costs nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .. import _core, framework
from ..errors import NotFoundError
from ..framework import Variable


def _is_for_users(op: str) -> bool:
    """False for ops that only passes or append_backward make."""
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


def _program_of(inputs: Mapping[str, Any]) -> framework.Program:
    for value in inputs.values():
        first = (
            value[0] if isinstance(value, (list, tuple)) and value else value
        )
        if isinstance(first, Variable):
            return first.program
    return framework.default_main_program()


def _append(
    op: str,
    inputs: Mapping[str, Any],
    attrs: Mapping[str, Any],
    name: str | None,
    hint: str,
) -> Any:
    required = _REQUIRED[op]
    named: dict[str, Any] = {}
    if name is not None:
        single = len(required) == 1
        named = {o: name if single else f"{name}.{o}" for o in required}
        named = {o: n for o, n in named.items() if o not in _UPDATES[op]}
    lists = _LISTS[op]
    for output in lists & named.keys():
        (given,) = inputs.values()
        count = len(given) if isinstance(given, (list, tuple)) else 1
        named[output] = [f"{name}.{i}" for i in range(count)]
    made = _program_of(inputs).append_op(op, inputs, named, attrs, hint)
    for output in lists:
        if isinstance(made[output], Variable):
            made[output] = [made[output]]
    if len(required) == 1:
        return made[required[0]]
    return _OUTPUTS[op](*(made[output] for output in required))


_REQUIRED: dict[str, list[str]] = {}
_UPDATES: dict[str, set[str]] = {}
_LISTS: dict[str, set[str]] = {}  # outputs with several variables
_OUTPUTS: dict[str, Any] = {}


def _make(op: str) -> Any:
    from . import generate

    described = schema(op)
    space = dict(globals())
    source = generate.outputs_source(described)
    source += generate.function_source(described)
    code = "from __future__ import annotations\n" + source
    exec(compile(code, f"<sluice.layers.{op}>", "exec"), space)
    _REQUIRED[op] = generate.required_outputs(described)
    _UPDATES[op] = {o["name"] for o in described["outputs"] if o["updates"]}
    _LISTS[op] = {o["name"] for o in described["outputs"] if o["variadic"]}
    _OUTPUTS[op] = space.get(generate.camel_case(op) + "Outputs")
    function = space[generate.snake_case(op)]
    function.__module__ = __name__
    return _naming_unknown(op, function)


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    """The similar names, with more than a few common letters; else ""."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, 2, cutoff=0.8)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _naming_unknown(op: str, function: Any) -> Any:
    """The function, with the core's error for a misspelt argument."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    known = code.co_varnames[:count]

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name not in known:
                raise NotFoundError(
                    f"{op}: there is no argument {name}; it has "
                    f"{', '.join(known)}{_did_you_mean(name, known)}"
                    f"{framework.created()}",
                    "python.unknown_argument",
                )
        return function(*args, **kwargs)

    return checked


# Layers of Fluid and other libraries with their names here.
_NAMES_HERE = {
    "DynamicRNN": "sl.layers.scan",
    "IfElse": "sl.layers.cond",
    "StaticRNN": "sl.layers.scan",
    "Switch": "sl.layers.cond",
    "While": "sl.layers.while_loop",
    "case": "sl.layers.cond",
    "create_parameter": "sl.LayerHelper(...).create_parameter",
    "dense": "sl.layers.fc",
    "linear": "sl.layers.fc",
    "rnn": "sl.layers.scan",
}


def _instead(name: str) -> str:
    import sluice

    here = _NAMES_HERE.get(name)
    if here is None and name in sluice.__all__:
        here = f"sl.{name}"
    if here is not None:
        return f"; use {here}"
    return _did_you_mean(name, [*names(), *sluice.layers.__all__])


def __getattr__(name: str) -> Any:
    if (
        name.startswith("_")
        or name not in _core._op_names()
        or not _is_for_users(name)
    ):
        instead = _instead(name)
        if not instead and name not in _core._op_names():
            instead = (
                " (operators of your own library: call "
                "sl.load_op_library first)"
            )
        raise AttributeError(f"there is no op or layer {name!r}{instead}")
    globals()[name] = function = _make(name)
    return function


def __dir__() -> list[str]:
    return [*names(), "names", "schema"]


__all__ = ["NamedTuple", "Sequence", "names", "schema"]
