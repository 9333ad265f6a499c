"""Representations of tensors, variables and programs."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._core import Tensor
    from .explanation import Explanation
    from .framework import Program, Variable

STYLE = "border:1px solid #8884;padding:6px;overflow-x:auto"


def tensor_repr(tensor: Tensor) -> str:
    """The values, then dtype, shape and place."""
    values = np.array2string(tensor.numpy(), threshold=200, separator=", ")
    return (
        f"Tensor({values}, {tensor.dtype} {list(tensor.shape)} "
        f"at {tensor.place})"
    )


def tensor_html(tensor: Tensor) -> str:
    """The values, then dtype, shape and place, as HTML."""
    values = np.array2string(tensor.numpy(), threshold=200)
    head = f"{tensor.dtype} {list(tensor.shape)} at {tensor.place}"
    return f"<b>{html.escape(head)}</b><pre>{html.escape(values)}</pre>"


def variable_html(variable: Variable) -> str:
    """Name, dtype, shape and kind, as HTML."""
    desc = variable._desc()
    kinds = [k for k in ("is_data", "persistable", "stop_gradient") if desc[k]]
    text = html.escape(repr(variable))
    return f"<code>{text}</code> <small>{', '.join(kinds)}</small>"


def program_html(program: Program) -> str:
    """The drawing and the text below it, as HTML."""
    text = html.escape(str(program))
    return (
        f'<div style="{STYLE}">{program.draw()}</div>'
        f"<details><summary>text</summary><pre>{text}</pre></details>"
    )


def unread(program: Program) -> list[str]:
    """The outputs that no op reads and that are not persistable."""
    ops = program.ops
    read = {n for op in ops for names in op.inputs.values() for n in names}
    written = [n for op in ops for names in op.outputs.values() for n in names]
    return [
        name
        for name in dict.fromkeys(written)
        if name not in read and not program._var(name)["persistable"]
    ]


def explain(
    program: Program,
    feed: Mapping[str, Any] | None,
    fetch_list: Iterable[Any] | None,
    place: Any,
    op: int | None,
    all: bool,
    fold: bool,
) -> Explanation:
    """Prepare a program for a signature and explain the plan."""
    from .executor import Executor

    arrays = dict(feed or {})
    for var in program._blocks()[0]["vars"]:
        if var["is_data"] and var["name"] not in arrays:
            shape = [1 if size is None else size for size in var["shape"]]
            arrays[var["name"]] = np.zeros(shape, var["dtype"].dtype)
    fetches = unread(program) if fetch_list is None else list(fetch_list)
    executor = Executor(place)
    executor.prepare(program, arrays, fetches)
    return executor.explain(program, op, all, fold)
