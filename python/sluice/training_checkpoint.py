"""Checkpoints of a training: everything that it continues from."""

from __future__ import annotations

import contextlib
import json
import os
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core, executor
from .errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    SluiceError,
)
from .feed_values import natural, positive
from .program import Program, Variable

if TYPE_CHECKING:
    from .reader import DataLoader

__all__ = ["TrainingCheckpoint", "load_checkpoint", "save_checkpoint"]

# A tensor of bytes beside the persistables: JSON.
_STATE = "checkpoint.state"
_NOT_OURS = ValueError, TypeError, KeyError, AttributeError, RecursionError
_NAME = re.compile(r"step-(\d+)\.safetensors")


class TrainingCheckpoint(NamedTuple):
    """The result of :func:`load_checkpoint` besides the values."""

    path: str
    """The file."""
    step: int
    """As it was passed to :func:`save_checkpoint`."""
    extra: Any
    """As it was passed to :func:`save_checkpoint`; None without."""
    missing: list[str]
    """Persistables that the file lacks; they keep their values."""
    superfluous: list[str]
    """Tensors of the file that the program lacks."""
    reshaped: list[str]
    """Persistables of another shape or dtype, with both; not loaded."""


def save_checkpoint(
    folder: str | os.PathLike[str],
    program: Program | None = None,
    scope: _core.Scope | None = None,
    step: int = 0,
    loader: DataLoader | None = None,
    extra: Any = None,
    keep: int = 3,
) -> str:
    """Write all that training continues from, as one file of a folder.

    That is every persistable (parameters, states of optimizers, counters of
    schedules), ``scope.step``, on which dropout depends, and the position of
    the loader. Each ``step-<step>.safetensors`` is complete at any time, also
    after ``kill -9`` or a full disk. When it is on the disk, others than the
    last ``keep`` are deleted. Warns of files with later steps.

    Args:
        folder: is made if need be. One process writes into it.
        program: the training program; the default main program if None.
        scope: where the values are; the global scope if None.
        step: a number that grows from checkpoint to checkpoint.
        loader: whose position is saved, where its last batch has been used.
        extra: what else is to be saved, of which JSON is made.
        keep: how many files stay.

    Returns:
        The path of the file.

    Raises:
        FailedPreconditionError: a variable has no value yet.
        InvalidArgumentError: JSON cannot hold ``extra``, ``step`` or ``keep``
            is out of range, or a variable is called ``checkpoint.state``.
        NotFoundError: the folder or the file cannot be made.
        ResourceExhaustedError: it cannot be written; the disk may be full.
    """
    program, scope = executor.program_and_scope(program, scope)
    step = natural("save_checkpoint: step", step)
    keep = positive("save_checkpoint: keep", keep)
    state = {
        "step": step,
        "random_step": scope.step,
        "loader": None if loader is None else loader.state_dict(),
        "extra": extra,
    }
    try:
        text = json.dumps(state).encode()
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"save_checkpoint: JSON cannot hold extra: {error}",
            "checkpoint.extra",
        ) from error
    if program.has_var(_STATE):
        raise InvalidArgumentError(
            f"save_checkpoint: the program has a variable {_STATE}, a name "
            "that checkpoints need for themselves; expected another one",
            "checkpoint.reserved_name",
        )
    folder = _new_folder(folder)
    path = folder / f"step-{step:09d}.safetensors"
    saved = _subset(program, {v.name for v in _persistables(program)})
    saved.persistable(_STATE, [len(text)], "uint8")
    scope[_STATE] = np.frombuffer(bytearray(text), np.uint8)
    try:
        _core._save_parameters(path, saved, scope)
    finally:
        scope.erase(_STATE)
    files = _files(folder)
    if files[-1] != path:  # no error, which would end one that went back
        warnings.warn(
            f"load_checkpoint of {folder} will read {files[-1].name}, a later "
            "step than the saved one: delete it, or use another folder",
            stacklevel=2,
        )
    others = [file for file in files if file != path]
    many = max(0, len(others) - keep + 1)
    for old in [*others[:many], *folder.glob("step-*.saving")]:
        with contextlib.suppress(OSError):
            old.unlink()
    return str(path)


def _new_folder(folder: str | os.PathLike[str]) -> Path:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotFoundError(
            f"save_checkpoint: cannot make the folder {folder}: "
            f"{error.strerror}",
            "checkpoint.folder",
        ) from error
    return Path(folder)


def load_checkpoint(
    path: str | os.PathLike[str],
    program: Program | None = None,
    scope: _core.Scope | None = None,
    loader: DataLoader | None = None,
    strict: bool = True,
) -> TrainingCheckpoint | None:
    """Continue from :func:`save_checkpoint`; on errors nothing changes.

    Args:
        path: a folder, of which the file with the largest step is read, or a
            file.
        program: the training program; the default main program if None.
        scope: where the values go, and ``scope.step``; the global scope if
            None. The start-up program need not have run.
        loader: continues where the saved one was.
        strict: file and program must have the same tensors. Otherwise those in
            common are loaded, and the result lists the others.

    Returns:
        Step, ``extra`` and the tensors that were not loaded; None if the
        folder has no checkpoint yet, or is not there.

    Raises:
        NotFoundError: the file cannot be read.
        DataLossError: it is truncated, damaged or no checkpoint; says which
            older one of the folder is whole.
        UnimplementedError: it is of a newer version.
        InvalidArgumentError: it has other tensors than the program and
            ``strict``, or none in common; names some. Or the state is of
            another loader.
    """
    program, scope = executor.program_and_scope(program, scope)
    path = Path(path)
    files: list[Path] = []
    if path.is_dir() or path.suffix != ".safetensors":
        files = _files(path) if path.is_dir() else []
        if not files and not path.is_file():
            return None
        path = files[-1] if files else path
    try:
        return _load(path, program, scope, loader, strict)
    except DataLossError as error:
        for older in reversed(files[:-1]):
            if _is_whole(older, program):
                error.args = (
                    f"{error.args[0]}\n{older.name} beside it is whole: pass "
                    "its path to go on from there",
                )
                break
        raise


def _is_whole(path: Path, program: Program) -> bool:
    try:
        _load(path, program, _core.Scope(), None, False)
    except SluiceError:
        return False
    return True


def _load(
    path: Path,
    program: Program,
    scope: _core.Scope,
    loader: DataLoader | None,
    strict: bool,
) -> TrainingCheckpoint:
    tensors = _tensors(path)
    state = _read_state(path, tensors)
    if loader is not None:
        if state["loader"] is None:
            raise InvalidArgumentError(
                f"load_checkpoint: {path} was saved without a loader",
                "checkpoint.loader",
            )
        loader.check_state(state["loader"])
    common, found = _compare(path, program, tensors, state)
    differences = [
        [f"it lacks {name}" for name in found.missing],
        [f"the program has no {name}" for name in found.superfluous],
        found.reshaped,
    ]
    if not common or (strict and any(differences)):
        lines = [line for kind in differences for line in kind[:4]]
        more = sum(map(len, differences)) - len(lines)
        raise InvalidArgumentError(
            f"load_checkpoint: {path} is of another program:\n  "
            + "\n  ".join(lines + [f"and {more} more"] * (more > 0)),
            "checkpoint.tensors",
        )
    _core._load_parameters(path, _subset(program, common), scope, True)
    scope.step = state["random_step"]
    if loader is not None:
        loader.load_state_dict(state["loader"])
    return found


def _files(folder: Path) -> list[Path]:
    """The checkpoints of a folder, by step."""
    found = [p for p in folder.iterdir() if _NAME.fullmatch(p.name)]
    return sorted(found, key=lambda p: int(p.name[5:].partition(".")[0]))


def _persistables(program: Program) -> list[Variable]:
    return [v for v in program.list_vars() if v.persistable]


def _subset(program: Program, names: set[str]) -> Program:
    """A program of these persistables, without ops."""
    subset = Program()
    for variable in _persistables(program):
        if variable.name in names:
            subset.persistable(variable.name, variable.shape, variable.dtype)
    return subset


def _tensors(path: Path) -> dict[str, tuple[str, list[int]]]:
    """Dtype and shape of each tensor, as the header of the file says."""
    try:
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            size = min(size, os.fstat(file.fileno()).st_size)
            header = json.loads(file.read(size))
        return {
            name: (tensor["dtype"], list(tensor["shape"]))
            for name, tensor in header.items()
            if name != "__metadata__"
        }
    except OSError as error:
        raise NotFoundError(
            f"load_checkpoint: cannot read {path}: {error.strerror}",
            "checkpoint.file",
        ) from error
    except _NOT_OURS as error:
        raise DataLossError(
            f"load_checkpoint: {path} is damaged or no checkpoint: its header "
            "cannot be read",
            "checkpoint.header",
        ) from error


def _read_state(
    path: Path, tensors: Mapping[str, tuple[str, list[int]]]
) -> dict[str, Any]:
    """The JSON; another tool may have written it, without checksums."""
    if _STATE not in tensors:
        raise DataLossError(
            f"load_checkpoint: {path} has no state of a training: expected "
            "what sluice.io.save_checkpoint wrote; sluice.io.load_params reads "
            "parameters",
            "checkpoint.no_state",
        )
    reader, scope = Program(), _core.Scope()
    reader.persistable(_STATE, tensors[_STATE][1], "uint8")
    _core._load_parameters(path, reader, scope, True)
    text = scope[_STATE].numpy().tobytes()
    with contextlib.suppress(*_NOT_OURS):
        state = json.loads(text)
        steps = state["step"], state["random_step"]
        whole = {"loader", "extra"} <= state.keys() and min(steps) >= 0
        if whole and steps[1] < 2**64 and {*map(type, steps)} == {int}:
            return state
    raise DataLossError(
        f"load_checkpoint: {path}: expected {_STATE} to be JSON with step and "
        f"random_step from 0 on, loader and extra, got {_core._shown(text)}; "
        "nothing was loaded. sluice.io.load_params reads parameters",
        "checkpoint.state",
    )


def _compare(
    path: Path,
    program: Program,
    tensors: Mapping[str, tuple[str, list[int]]],
    state: Mapping[str, Any],
) -> tuple[set[str], TrainingCheckpoint]:
    """The tensors that both have alike, and what is said of the others."""
    own = {
        v.name: (_stored_as(v.dtype.name), list(v.shape or ()))
        for v in _persistables(program)
    }
    common = {name for name in own if own[name] == tensors.get(name)}
    reshaped = [
        "{}: {} {} in the program, {} {} in the file".format(
            name, *own[name], *tensors[name]
        )
        for name in own
        if name in tensors and name not in common
    ]
    return common, TrainingCheckpoint(
        str(path),
        state["step"],
        state["extra"],
        [name for name in own if name not in tensors],
        sorted(set(tensors) - set(own) - {_STATE}),
        reshaped,
    )


def _stored_as(dtype: str) -> str:
    """The name of a dtype in safetensors; numbers of 4 and 2 bits are bytes."""
    kind, bits = re.match(r"([a-z]+)(.*)", dtype).groups()  # type: ignore
    if bits.startswith(("4", "2")):
        return "U8"
    short = {"float": "F", "bfloat": "BF", "int": "I", "uint": "U"}
    bits = bits.removesuffix("fn").replace("e8m0fnu", "e8m0")
    return short.get(kind, kind.upper()) + bits.upper()
