"""Measuring kernels, so that plans choose by evidence."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import _core, display, executor
from .errors import InvalidArgumentError
from .framework import Program

__all__ = ["tune"]

Progress = Callable[[int, int, str], Any]


def tune(
    program: Program,
    feed: Mapping[str, Any] | None = None,
    fetch_list: Sequence[Any] | None = None,
    budget: float = 10,
    progress: bool | Progress = True,
    *,
    place: Any = None,
    scope: _core.Scope | None = None,
    again: bool = False,
) -> _core.TuneResult:
    """Measure the kernels of a program, and let plans use what was found.

    Every kernel of every op is compared with the op's reference on the values
    that it has in a run of the program, and those that are right are raced.
    Records of it are kept for this and later processes (``SLUICE_RECORDS``);
    all executors use them from their next run on. Ctrl-C ends it, and what was
    measured is kept and returned.

    Args:
        program: what to run; its parameters must be there.
        feed: as for ``Executor.run``.
        fetch_list: as for ``Executor.run``; what no op reads if None.
        budget: seconds that all of it may take.
        progress: a bar on a terminal if true and tqdm is there; or a function
            that is called with what is done, the total and the next signature,
            and ends tuning by returning False.
        place: where the program shall run; the CPU if None.
        scope: where parameters live; the global scope if None. It is not
            written.
        again: also measure what has records.

    Returns:
        What was found; print it for a table.

    Raises:
        InvalidArgumentError: a budget that is no number above 0.
        SluiceError: what running the program raises.
    """
    if not isinstance(program, Program):
        raise InvalidArgumentError(
            f"tune: program: expected a Program, got {type(program).__name__}",
            "tune.program",
        )
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise InvalidArgumentError(
            "tune: budget: expected a number of seconds above 0, got "
            f"{type(budget).__name__}",
            "tune.budget",
        )
    fetches = display.unread(program) if fetch_list is None else fetch_list
    with _progress(progress) as call:
        return _core._tune(
            executor.Executor(place),
            program,
            feed,
            fetches,
            executor.global_scope() if scope is None else scope,
            float(budget),
            again,
            call,
        )


@contextlib.contextmanager
def _progress(progress: bool | Progress) -> Iterator[Progress | None]:
    if callable(progress):
        yield progress
        return
    try:
        from tqdm import tqdm
    except ImportError:
        progress = False
    if not progress:
        yield None
        return
    # disable=None: no bar where nobody watches.
    with tqdm(
        desc="tune", unit="signature", leave=False, disable=None, total=0
    ) as bar:

        def show(done: int, total: int, signature: str) -> None:
            bar.total = total
            bar.set_postfix_str(signature.partition("(")[0], refresh=False)
            bar.update(done - bar.n)
            bar.refresh()

        yield show
