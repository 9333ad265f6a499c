"""Looking at kernels, running single ops, and what was built."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import _core, executor, framework
from .framework import Program

__all__ = [
    "Kernel",
    "compare",
    "kernels",
    "load_kernel_library",
    "load_op_library",
    "run_op",
    "show_config",
]


class Kernel(NamedTuple):
    """One registered kernel."""

    op: str
    place: str
    dtype: str
    layout: str
    library: str
    variant: str


def kernels(op: str | None = None) -> list[Kernel]:
    """List the kernels of one op, or of all, in order of registration.

    Loads the libraries that have some, so far as they are there.
    Raises NotFoundError and lists near names.
    """
    return [Kernel(**kernel) for kernel in _core._kernels(op)]


def run_op(
    op: str,
    inputs: Mapping[str, Any],
    attrs: Mapping[str, Any] | None = None,
    place: Any = "cpu",
    hint: str = "",
    outputs: Sequence[str] = (),
) -> dict[str, Any]:
    """Run one op by itself on arrays.

    Args:
        op: the op's type.
        inputs: arrays, or lists of arrays for variadic arguments, by name.
        attrs: attributes by name.
        place: where it shall run.
        hint: which kernel to prefer or require.
        outputs: what to compute; everything that is not optional if empty.

    Returns:
        Arrays by output name.

    Raises:
        SluiceError: as appending and running the op would.
    """
    import numpy as np

    schema = _core._schema(op)
    inputs = framework._mapping(op, "inputs", inputs)
    attrs = framework._mapping(op, "attrs", attrs)
    variadic = {a["name"] for a in schema["inputs"] if a["variadic"]}
    pairs = []
    for argument, value in inputs.items():
        for one in value if argument in variadic else [value]:
            array = one if isinstance(one, _core.Tensor) else np.array(one)
            pairs.append((argument, array))
    return _core._run_op(op, pairs, dict(attrs), place, hint, list(outputs))


def compare(
    program: Program,
    feed: Mapping[str, Any],
    hints_a: str,
    hints_b: str,
    place: Any = "cpu",
    rtol: float | None = None,
    atol: float | None = None,
    scope: _core.Scope | None = None,
    fetch_list: Sequence[Any] | None = None,
    budget: float = 0.5,
) -> _core.Comparison:
    """Compare two sets of kernel hints on a program, op by op.

    The plans are those that ``Executor.run`` uses. The result is true when all
    outputs agree; print it for a table of kernels, errors and times. Random
    ops are not compared. Parameters are not written.

    Args:
        program: what to run.
        feed: as for ``Executor.run``.
        hints_a: kernel hints, ``""`` for none; or ``"reference"`` (the kernels
            that are written to be read) or ``"default"`` (none).
        hints_b: others.
        place: where the program shall run.
        rtol: outputs agree where ``abs(a - b)`` is at most ``atol + rtol *
            max(abs(a), abs(b))``; where both are None, if it is no more than
            rounding explains, by dtype and length of sums.
        atol: see ``rtol``.
        scope: where parameters live; the global scope if None.
        fetch_list: as for ``Executor.run``; what no op reads if None.
        budget: seconds for the times, which are medians of runs that take
            turns.

    Raises:
        SluiceError: what preparing or running the program raises.
    """
    scope = executor.global_scope() if scope is None else scope
    return _core._compare(
        program,
        feed,
        hints_a,
        hints_b,
        place,
        rtol,
        atol,
        scope,
        fetch_list,
        float(budget),
    )


def load_kernel_library(path: str | os.PathLike[str]) -> list[Kernel]:
    """Add the kernels of a library made with ``sluice_add_kernel_library``.

    Programs that are prepared from then on have them as candidates. A file
    that is loaded already is not loaded again.

    Returns:
        The library's kernels.

    Raises:
        NotFoundError: there is no such file, or no such op.
        InvalidArgumentError: it is no kernel library, or a name is taken.
        FailedPreconditionError: it was built against another Sluice.
        UnimplementedError: it is for CUDA that this Sluice has not.
        DataLossError: it is truncated.
    """
    kernels = _core._load_kernel_library(path)
    return [Kernel(**kernel) for kernel in kernels]


def load_op_library(path: str | os.PathLike[str]) -> list[str]:
    """Add the ops of a library made with ``sluice_add_operator_library``.

    Returns:
        The new ops; each has a function in ``sluice.layers`` from now on.

    Raises:
        SluiceError: as load_kernel_library would.
    """
    before = set(_core._op_names())
    _core._load_kernel_library(path)
    return [name for name in _core._op_names() if name not in before]


def show_config(mode: str = "stdout") -> dict[str, Any] | None:
    """Print what was built and found; ``mode="dicts"`` returns it instead."""
    config = _core._config()
    if mode == "dicts":
        return config
    for key, value in config.items():
        text = ", ".join(value) if isinstance(value, list) else value
        print(f"{key:16} {text}")
    return None
