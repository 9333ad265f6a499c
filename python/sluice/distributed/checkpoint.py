"""Checkpoints that any number of ranks writes and any number reads."""

from __future__ import annotations

import os
import warnings
from typing import NamedTuple

import numpy as np

from .. import _core, executor, io
from ..errors import FailedPreconditionError, InvalidArgumentError
from ..feed_values import integer
from ..program import Program
from .arguments import check_owners, check_path
from .parameters import compare
from .together import ranks_by_value, together
from .world import rank, size

# Variables added to the persistables, int64 [1], because a safetensors file
# stores only tensors well.
_STEP = "checkpoint.step"
_RANKS = "checkpoint.ranks"


class Checkpoint(NamedTuple):
    """The state of training that a checkpoint stores."""

    step: int
    """As it was passed to :func:`save_checkpoint`."""
    ranks: int
    """How many there were."""


def save_checkpoint(
    path: str | os.PathLike[str],
    program: Program | None = None,
    scope: _core.Scope | None = None,
    step: int = 0,
) -> None:
    """Write all that training needs to continue. All ranks call it together.

    Rank 0 writes its persistables, the step, ``scope.step`` (on which random
    numbers depend) and the number of ranks, as one safetensors file; the others
    wait for it. A reader finds the old file or the complete new one, even if
    rank 0 is killed meanwhile. Values that each rank has for itself
    (batch_norm's moving averages) are rank 0's. If values that must be equal on
    all ranks differ (:func:`check_parameters`), rank 0 warns and saves its own.
    If SLUICE_STALL_ABORT is 1, rank 0 has SLUICE_STALL_SECONDS for writing.

    :func:`sluice.io.load_params` also reads it, with ``partial=True``.

    Args:
        path: the file, which rank 0 can write; other ranks may be elsewhere.
        program: the default main program if None.
        scope: where the values are; the global scope if None.
        step: the training step, from 0; the same on all ranks.

    Raises:
        InvalidArgumentError: ``step`` is not an integer from 0 on, or not the
            same on all ranks; another argument has a wrong class.
        FailedPreconditionError: a variable has no value yet; a rank calls
            another function.
        NotFoundError: rank 0 cannot create the file.
        ResourceExhaustedError: it cannot write it; the disk may be full. The
            old file remains, and training can continue.

        Each is raised on all ranks and names the failing ranks.
    """
    program, scope = executor.program_and_scope(program, scope)
    what = "save_checkpoint"

    def check() -> int:
        check_path(what, path)
        check_owners(what, program, scope)
        return _checked_step(step)

    steps = together(what, check)
    if len(set(steps)) > 1:
        by_step = ranks_by_value(dict(enumerate(steps)))
        where = ", ".join(f"{each} on {ranks}" for each, ranks in by_step)
        raise InvalidArgumentError(
            f"save_checkpoint: step is {where}; expected the same on all ranks",
            "distributed.step",
        )
    if size() > 1:
        _warn_of_differences(what, program, scope)

    def write() -> None:
        scope[_STEP] = np.asarray([steps[0]], np.int64)
        scope[_RANKS] = np.asarray([size()], np.int64)
        try:
            io.save_params(path, _persistables(program), scope)
        finally:
            scope.erase(_STEP)
            scope.erase(_RANKS)

    together(what, write, range(1))


def load_checkpoint(
    path: str | os.PathLike[str],
    program: Program | None = None,
    scope: _core.Scope | None = None,
) -> Checkpoint:
    """Continue from :func:`save_checkpoint`, with any number of ranks.

    All ranks call it together. Rank 0 reads the file and sends the values to
    the others: they need no common file system, and changes of the file
    meanwhile do not matter. All ranks get the new values or, on errors, all
    keep the old ones.

    Args:
        path: the file, which rank 0 can read.
        program: the default main program if None.
        scope: where the values go, and ``scope.step``; the global scope if
            None.

    Returns:
        The step, and how many ranks wrote the file.

    Raises:
        NotFoundError: rank 0 cannot read the file.
        DataLossError: it is truncated, damaged or no checkpoint.
        UnimplementedError: it is of a newer version.
        InvalidArgumentError: it belongs to another program, or was written by
            :func:`sluice.io.save_params`.
        FailedPreconditionError: the ranks' programs have other variables, or a
            rank calls another function.

        Each is raised on all ranks and names the failing ranks.
    """
    program, scope = executor.program_and_scope(program, scope)
    what = "load_checkpoint"
    loaded = _core.Scope()

    def read() -> Checkpoint | None:
        check_path(what, path)
        check_owners(what, program, scope)
        if rank() != 0:
            return None
        try:
            io.load_params(path, _persistables(program), loaded)
        except InvalidArgumentError as error:
            if not _has_step(path):
                raise InvalidArgumentError(
                    f"{os.fspath(path)} was written by sluice.io.save_params, "
                    "or by another program than Sluice, and has no step; "
                    "sluice.io.load_params loads it",
                    "distributed.plain_file",
                ) from error
            raise
        return Checkpoint(
            int(loaded[_STEP].numpy()[0]), int(loaded[_RANKS].numpy()[0])
        )

    found = together(what, read)[0]
    _core._broadcast_parameters(what, program, loaded, scope)
    return Checkpoint(*found)


def broadcast_parameters(
    program: Program | None = None,
    scope: _core.Scope | None = None,
) -> None:
    """Copy the values of rank 0 to all ranks. All ranks call it together.

    Not needed if all ranks run the same startup program, which draws the same
    numbers everywhere, or after :func:`load_checkpoint`.

    Args:
        program: whose persistables; the default main program if None.
        scope: where they are; the global scope if None.

    Raises:
        FailedPreconditionError: on all ranks: rank 0 lacks a value; the ranks'
            programs have other variables; a rank calls another function;
            :func:`init` was not called.
        InvalidArgumentError: ``program`` is not a program.
    """
    _core._require_joined("broadcast_parameters")
    program, scope = executor.program_and_scope(program, scope)
    _core._broadcast_parameters("broadcast_parameters", program, scope, scope)


def _warn_of_differences(
    what: str, program: Program, scope: _core.Scope
) -> None:
    """Warn instead of raising, so that the checkpoint is still written."""
    try:
        compare(what, program, scope)
    except FailedPreconditionError as error:
        if error.check_id != "distributed.parameters":
            raise
        if rank() == 0:
            warnings.warn(
                f"{error}\nthe values of rank 0 are saved", stacklevel=3
            )


def _checked_step(step: int) -> int:
    number = integer(step, 0, 1 << 63)
    if number is None:
        raise InvalidArgumentError(
            f"save_checkpoint: step = {_core._shown(step)}; expected an "
            "integer from 0 on",
            "distributed.step_number",
        )
    return number


def _has_step(path: str | os.PathLike[str]) -> bool:
    program = Program()
    program.persistable(_STEP, [1], "int64")
    try:
        io.load_params(path, program, _core.Scope(), partial=True)
    except InvalidArgumentError:  # they have no common variables
        return False
    return True


def _persistables(program: Program) -> Program:
    """A checkpoint's variables: the program's persistables and two more."""
    saved = Program()
    for var in program.list_vars():
        if var.persistable:
            saved.persistable(var.name, var.shape, var.dtype)
    for name in (_STEP, _RANKS):
        if saved.has_var(name):
            raise InvalidArgumentError(
                f"the program has a variable {name}, a name that checkpoints "
                "need for themselves; expected another one",
                "distributed.reserved_name",
            )
        saved.persistable(name, [1], "int64")
    return saved
