"""Reads data; reads and writes programs, parameters and checkpoints."""
# ruff: noqa: F405

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core, executor
from .elsewhere import missing
from .program import Program

if TYPE_CHECKING:
    from .reader import *  # noqa: F403
    from .training_checkpoint import *  # noqa: F403

__all__ = [
    "BatchSampler", "DataFeeder", "DataLoader", "Dataset", "IterableDataset",
    "LoadedParams", "TensorDataset", "TrainingCheckpoint", "WorkerInfo",
    "batch", "buffered", "default_collate", "get_worker_info",
    "load_checkpoint", "load_params", "load_program", "save_checkpoint",
    "save_params", "save_program", "shuffle", "xmap_readers",
]


class LoadedParams(NamedTuple):
    """Variables that a partial load skipped; both empty otherwise."""

    missing: list[str]
    """Variables of the program that are not in the file."""
    superfluous: list[str]
    """Variables in the file that the program does not have."""


def save_params(
    path: str | os.PathLike[str],
    program: Program | None = None,
    scope: _core.Scope | None = None,
) -> None:
    """Write the persistables of a program as safetensors.

    Args:
        path: the old file remains until the new one is complete.
        program: the default main program if None.
        scope: where the values are; the global scope if None.

    Raises:
        FailedPreconditionError: a variable has no value yet, or another process
            has kept the file locked for a minute.
        NotFoundError: the file cannot be created.
        ResourceExhaustedError: it cannot be written; the disk may be full.
    """
    program, scope = executor.program_and_scope(program, scope)
    _core._save_parameters(path, program, scope)


def load_params(
    path: str | os.PathLike[str],
    program: Program | None = None,
    scope: _core.Scope | None = None,
    partial: bool = False,
) -> LoadedParams:
    """Read any safetensors file; on errors nothing changes.

    Checks the checksums of a file that :func:`save_params` wrote.

    Args:
        path: the file.
        program: the default main program if None.
        scope: where the values go; the global scope if None.
        partial: load the common variables. Otherwise both must have the same
            variables.

    Returns:
        The variables that a partial load skipped.

    Raises:
        NotFoundError: the file cannot be read.
        DataLossError: it is truncated, damaged or not a safetensors file.
        UnimplementedError: it is of a newer version.
        InvalidArgumentError: it belongs to another program; with `partial`: it
            has nothing in common with this one, or a variable of another dtype
            or shape.
    """
    program, scope = executor.program_and_scope(program, scope)
    loaded = _core._load_parameters(path, program, scope, bool(partial))
    return LoadedParams(*loaded)


def save_program(program: Program, path: str | os.PathLike[str]) -> None:
    """Write a program; the old file remains until the new one is complete.

    The file has what :class:`sluice.ParamAttr` says about training, and error
    clips.

    Raises:
        FailedPreconditionError: another process has kept the file locked for a
            minute.
        InvalidArgumentError: a clip or regularizer is of a class of your own.
        NotFoundError: the file cannot be created.
        ResourceExhaustedError: it cannot be written.
    """
    settings = program._settings() if isinstance(program, Program) else {}
    _core._save_program(program, path, settings)


def load_program(path: str | os.PathLike[str]) -> Program:
    """Read a program that :func:`save_program` wrote.

    Raises:
        NotFoundError: the file cannot be read.
        DataLossError: it is truncated or damaged, or says about a parameter
            what this version does not know.
        UnimplementedError: it is of a newer version.
    """
    program = Program()
    program._take_settings(_core._load_program(program, path), str(path))
    return program


__dir__ = __all__.copy  # also what is imported on first use


def __getattr__(name: str) -> Any:
    if name in __all__:  # imported on first use
        from importlib import import_module

        module = ".training_checkpoint" if "heckpoint" in name else ".reader"
        value = getattr(import_module(module, __package__), name)
        return globals().setdefault(name, value)
    missing(__name__, name, __all__)
