"""Lists kernels, runs single ops, and shows the configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import _core
from .program import by_name

__all__ = [
    "Kernel", "kernels", "load_kernel_library", "load_op_library", "run_op",
    "show_config",
]


class Kernel(NamedTuple):
    """One registered kernel."""

    op: str
    place: str
    dtype: str
    library: str
    variant: str


def kernels(op: str | None = None) -> list[Kernel]:
    """List the kernels of one op, or of all, in order of registration.

    Loads available libraries that have some. Raises NotFoundError and lists
    similar names.
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
    """Run a single op on arrays.

    Args:
        op: the op's type.
        inputs: arrays, or lists of arrays for variadic arguments, by name.
        attrs: attributes by name.
        place: where it runs.
        hint: a hint that prefers or requires a kernel.
        outputs: outputs to compute; all that are not optional if empty.

    Returns:
        Arrays by output name.

    Raises:
        SluiceError: what appending and running the op raises.
    """
    schema = _core._schema(op)
    inputs = by_name(op, "inputs", inputs)
    attrs = by_name(op, "attrs", attrs)
    variadic = {a["name"] for a in schema["inputs"] if a["variadic"]}
    pairs = []
    for argument, value in inputs.items():
        for one in value if argument in variadic else [value]:
            tensor = isinstance(one, _core.Tensor)
            array = one if tensor else np.array(one, subok=True)
            pairs.append((argument, array))
    return _core._run_op(op, pairs, dict(attrs), place, hint, list(outputs))


def load_kernel_library(
    path: str | os.PathLike[str], replace: bool = False
) -> list[Kernel]:
    """Add the kernels of a library made with ``sluice_add_kernel_library``.

    They are candidates for programs that are prepared later. A loaded file is
    not loaded again.

    Args:
        path: the library.
        replace: replace kernels of the same name that other libraries have
            added, for the next run of each program, and ops whose arguments
            and attributes are the same. Kernels that came with Sluice stay.

    Returns:
        The library's kernels.

    Raises:
        NotFoundError: there is no such file, or no such op.
        InvalidArgumentError: it is not a kernel library, or a name is taken.
        FailedPreconditionError: it was built against another Sluice.
        UnimplementedError: it needs CUDA, which this Sluice lacks.
        DataLossError: it is truncated.
    """
    return [Kernel(**kernel) for kernel in load(path, replace)]


# The libraries of ops that this process loaded.
ops_of_libraries: dict[str, Path] = {}


def load(path: str | os.PathLike[str], replace: bool) -> list[dict[str, str]]:
    """Load a library, and remember whose its new ops are."""
    before = set(_core._op_names())
    kernels = _core._load_kernel_library(path, replace)
    for op in set(_core._op_names()) - before:
        ops_of_libraries[op] = Path(os.fsdecode(path)).absolute()
    return kernels


def load_op_library(path: str | os.PathLike[str]) -> list[str]:
    """Add the ops of a library made with ``sluice_add_operator_library``.

    Returns:
        The new ops; each has a function in ``sluice.layers`` from now on.

    Raises:
        SluiceError: see load_kernel_library.
    """
    before = set(_core._op_names())
    load(path, False)
    return [name for name in _core._op_names() if name not in before]


def show_config(mode: str = "stdout") -> dict[str, Any] | None:
    """Print how Sluice was built; ``mode="dicts"`` returns it instead."""
    config = _core._config()
    if mode == "dicts":
        return config
    for key, value in config.items():
        text = ", ".join(value) if isinstance(value, list) else value
        print(f"{key:16} {text}")
    return None
