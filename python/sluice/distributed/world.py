"""The ranks of a program, and their shares of a batch."""

from __future__ import annotations

import contextlib
import sys
import traceback
from types import TracebackType
from typing import Any

import numpy as np

from .. import _core
from ..errors import InvalidArgumentError
from ..tracebacks import is_users
from .together import text_of


def init() -> None:
    """Join the ranks that mpirun or srun started with this process.

    Without them, there is one rank. Later calls do nothing. From now on an
    uncaught exception is sent to all other ranks, which also raise it where
    they wait for this one.

    Raises:
        FailedPreconditionError: ranks were started, but their MPI is missing,
            or differs from the one that Sluice was built for.
    """
    _core._join_world()
    if size() > 1 and not hasattr(_tell_others, "before"):
        _tell_others.before = sys.excepthook
        sys.excepthook = _tell_others


def rank() -> int:
    """The number of this process among all ranks, from 0.

    Raises:
        FailedPreconditionError: :func:`init` was not called.
    """
    _core._require_joined("rank")
    return _core._world_rank()


def size() -> int:
    """The number of ranks.

    Raises:
        FailedPreconditionError: :func:`init` was not called.
    """
    _core._require_joined("size")
    return _core._world_size()


def waited_seconds() -> float:
    """Seconds that this process has waited for collectives so far.

    Transfers that overlapped with other ops and ended in time do not count.
    Time spent waiting for slower ranks does.
    """
    return _core._world_waited()


def _tell_others(
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    try:
        with contextlib.suppress(Exception):
            _core._fail_world(text_of(error) + _line_of(trace))
    finally:
        _tell_others.before(kind, error, trace)


def _line_of(trace: TracebackType | None) -> str:
    """The user's line, if there is one."""
    lines = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(trace)
    ]
    lines = [each for each in lines if is_users(each[0])] or lines
    file, line = lines[-1] if lines else ("", 0)
    file = file.encode("utf-8", "backslashreplace").decode()
    return f", at {file}:{line}" if file else ""


def shard(batch: Any) -> np.ndarray:
    """This rank's share of a batch that all ranks have.

    Args:
        batch: an array whose first dim is divided among the ranks.

    Raises:
        InvalidArgumentError: the number of ranks does not divide it, or it has
            no first dim.
        FailedPreconditionError: :func:`init` was not called.
    """
    _core._require_joined("shard")
    value = batch
    try:
        batch = np.asarray(value)
    except (TypeError, ValueError) as error:  # a Variable, a ragged list
        raise InvalidArgumentError(
            f"shard: batch is {_core._shown(value)}; expected an array, but "
            f"{error}",
            "distributed.batch_array",
        ) from error
    if batch.ndim == 0:
        raise InvalidArgumentError(
            f"shard: batch is {_core._shown(value)}; expected an array whose "
            "first dim can be divided among the ranks",
            "distributed.batch",
        )
    if len(batch) % size() != 0:
        raise InvalidArgumentError(
            f"shard: a batch of shape {batch.shape} cannot be divided among "
            f"{size()} ranks: its first dim must be a multiple of that",
            "distributed.shard",
        )
    part = len(batch) // size()
    return batch[rank() * part : (rank() + 1) * part]
