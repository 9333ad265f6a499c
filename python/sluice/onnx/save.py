"""Writing models."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from .. import _core, executor, framework
from ..errors import InvalidArgumentError
from ..framework import Program

__all__ = ["save"]


def save(
    program: Program,
    path: str | os.PathLike[str] | Any,
    fetch_list: Iterable[Any] | None = None,
    feed_list: Iterable[Any] | None = None,
    *,
    scope: _core.Scope | None = None,
    size_names: Mapping[str, Iterable[str | None]] | None = None,
    opset: int = 21,
    external_data: bool = False,
    executor: executor.Executor | None = None,
    name: str | None = None,
    description: str = "",
    properties: Mapping[str, str] | None = None,
) -> None:
    """Write a program, and its parameters, as an ONNX model.

    Only what ``fetch_list`` is computed from is written. Variables keep their
    names. Sizes of inputs that are None are called ``"batch"``, or after the
    input and the dim. A network that was trained is saved as
    ``program.clone(for_test=True)``.

    Args:
        program: what to write.
        path: a file; the old one stays until the new one is whole. Or an
            object with ``write``, which gets the bytes.
        fetch_list: the model's outputs, variables or names; if None, what
            forward ops make and no forward op reads.
        feed_list: its inputs, in this order; if None, the data variables that
            the outputs are computed from.
        scope: where the parameters are; the global scope if None.
        size_names: names of sizes that are None, by input, one for each dim;
            None for a size that is known, or that gets its name as above.
        opset: which version of ONNX's operators, 21 to 28.
        external_data: write large parameters into a second file, ``path`` with
            ``.data`` behind it. Models beyond 2 GiB have one anyway.
        executor: one that has run the program: each node then says which
            kernel computed it, and how long that took where it was measured
            (``metadata_props``, which Netron shows).
        name: the graph's name; the file's name without its ending if None.
        description: the model's.
        properties: further ``metadata_props`` of the model.

    Raises:
        UnimplementedError: ONNX has nothing for some ops; all are named, with
            the lines that appended them.
        InvalidArgumentError: some ops train, or a list has a wrong variable.
        FailedPreconditionError: parameters have no value, ``executor`` has not
            run the program, or another process has kept the file locked for a
            minute.
        NotFoundError: no such variable, or the file cannot be created.
        ResourceExhaustedError: the file cannot be written.
    """
    is_path = not hasattr(path, "write")
    if name is None:
        name = _stem(path) or "program"
    if properties is not None and not isinstance(properties, Mapping):
        raise InvalidArgumentError(
            "onnx.save: properties must be a dict, got "
            f"{_core._shown(properties)}",
            "python.onnx_properties",
        )
    if not is_path and external_data:
        raise InvalidArgumentError(
            "onnx.save: external_data needs the path of a file beside which it "
            "can be written",
            "python.onnx_external_data",
        )
    model = _core._save_onnx(
        program,
        _global_scope() if scope is None else scope,
        path,
        is_path,
        _names("fetch_list", fetch_list),
        _names("feed_list", feed_list),
        _size_names(size_names),
        opset,
        bool(external_data),
        None if executor is None else executor._last_plan(program),
        name,
        description,
        list((properties or {}).items()),
    )
    if not is_path:
        path.write(model)


# `executor` is an argument of save.
_global_scope = executor.global_scope


def _size_names(names: Any) -> dict[str, list[str]]:
    if names is None:
        return {}
    try:
        result = {
            name: [size if isinstance(size, str) else "" for size in sizes]
            for name, sizes in names.items()
        }
    except (AttributeError, TypeError):
        result = {None: []}
    if not all(isinstance(name, str) for name in result):
        raise InvalidArgumentError(
            "onnx.save: size_names must be a dict of lists by name, got "
            f"{_core._shown(names)}",
            "python.onnx_size_names",
        )
    return result


def _stem(path: Any) -> str:
    """What a path calls the model; other objects are errors of the core."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return ""
    file = os.path.basename(os.fsdecode(path))
    return file.encode(errors="replace").decode().split(".")[0]


def _names(what: str, variables: Iterable[Any] | None) -> list[str]:
    if variables is None:
        return []
    return framework.fetch_names(f"onnx.save: {what}", variables)
