"""Measures kernels and plans: ``sluice.tune`` and ``sluice.compare``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sluice import _core, _lab, executor
from sluice.errors import InvalidArgumentError
from sluice.program import Program, unread

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
) -> _lab.TuneResult:
    """Measure the kernels of a program, and let plans use the results.

    Every kernel of every op is compared with the op's reference on the values
    of a run of the program, and the correct ones are raced. Records are kept
    for this and later processes (``SLUICE_RECORDS``); all executors use them
    from their next run on. Ctrl-C ends it, and keeps and returns what was
    measured.

    Args:
        program: what to run; its parameters must exist.
        feed: as for ``Executor.run``.
        fetch_list: as for ``Executor.run``; outputs that no op reads if None.
        budget: total seconds.
        progress: whether to show a bar on a terminal, if tqdm is installed; or
            a function that is called with the number done, the total and the
            next signature, and ends tuning by returning False.
        place: where the program runs; the CPU if None.
        scope: where parameters live; the global scope if None. It is not
            modified.
        again: also measure kernels that have records.

    Returns:
        The result; print it for what changed, or its ``all`` for a table.

    Raises:
        InvalidArgumentError: the budget is not a number above 0.
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
    fetches = unread(program) if fetch_list is None else fetch_list
    with _progress(progress) as call:
        return _lab._tune(
            executor.Executor(place),
            program,
            feed,
            fetches,
            executor.global_scope() if scope is None else scope,
            float(budget),
            again,
            call,
            None,
        )


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
) -> _lab.Comparison:
    """Compare two sets of kernel hints on a program, op by op.

    The plans are those that ``Executor.run`` uses. The result is true when all
    outputs agree; print it for times and what differs, or its ``all`` for a
    table of all ops. Random ops are not compared. Parameters are not modified.

    Args:
        program, feed, fetch_list, scope: as for :func:`tune`.
        hints_a: kernel hints, ``""`` for none; or ``"reference"`` (the simple
            reference kernels) or ``"default"`` (none).
        hints_b: the other set.
        place: where the program runs.
        rtol: outputs agree if ``abs(a - b)`` is at most ``atol + rtol *
            max(abs(a), abs(b))``; by default, if it is no more than rounding
            explains, by dtype and length of sums.
        atol: see ``rtol``.
        budget: seconds for the times, which are medians of runs that take
            turns.

    Raises:
        SluiceError: what preparing or running the program raises.
    """
    scope = executor.global_scope() if scope is None else scope
    return _lab._compare(
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


@contextlib.contextmanager
def _progress(progress: bool | Progress) -> Iterator[Progress | None]:
    if callable(progress):
        yield progress
        return
    try:
        from tqdm import tqdm
    except ImportError:
        progress = False
    if not progress or sys.stderr is None:
        yield None
        return
    # disable=None shows no bar unless the output is a terminal.
    with tqdm(
        desc="tune", unit="signature", leave=False, disable=None, total=0
    ) as bar:

        def show(done: int, total: int, signature: str) -> None:
            bar.total = total
            bar.set_postfix_str(signature.partition("(")[0], refresh=False)
            bar.update(done - bar.n)
            bar.refresh()

        yield show
