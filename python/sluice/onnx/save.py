"""Saves models."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from .. import _core, executor
from ..errors import InvalidArgumentError
from ..program import Program, fetch_names


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
    """Write a program and its parameters as an ONNX model.

    Only ops that ``fetch_list`` depends on are written. Variables keep their
    names. Unknown sizes of inputs are named ``"batch"``, or after the input and
    the dim. Save a trained network as ``program.clone(for_test=True)``.

    Args:
        program: what to write.
        path: a file; the old one remains until the new one is complete. Or an
            object with a method ``write``, which gets the bytes.
        fetch_list: the model's outputs, variables or names; by default outputs
            of forward ops that no forward op reads.
        feed_list: its inputs, in this order; by default the data variables that
            the outputs depend on.
        scope: where the parameters are; the global scope if None.
        size_names: names of unknown sizes, by input, one for each dim; None for
            a known size, or for the default name.
        opset: the version of ONNX's operators, 21 to 28.
        external_data: write large parameters into a second file, ``path`` with
            ``.data`` appended. Models beyond 2 GiB always have one.
        executor: one that has run the program. Each node then has the name of
            its kernel, and its time if measured (in ``metadata_props``, which
            Netron shows).
        name: the graph's name; the file's name without extension if None.
        description: the model's description.
        properties: further ``metadata_props`` of the model.

    Raises:
        UnimplementedError: some ops have no ONNX operators; lists all, with the
            lines that appended them.
        InvalidArgumentError: some ops train, or a list has a wrong variable.
        FailedPreconditionError: parameters have no value, ``executor`` has not
            run the program, or another process has kept the file locked for a
            minute.
        NotFoundError: there is no such variable, or the file cannot be created.
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
        _names("fetch_list", fetch_list, program),
        _names("feed_list", feed_list, program),
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


# The argument `executor` of save hides the module there.
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
    """The model's name from a path; the core rejects other objects."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        return ""
    file = os.path.basename(os.fsdecode(path))
    return file.encode(errors="replace").decode().split(".")[0]


def _names(what: str, variables: Any, program: Program) -> list[str]:
    if variables is None:
        return []
    return fetch_names(f"onnx.save: {what}", variables, program)
