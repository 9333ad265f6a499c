"""Runs programs."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core, errors
from .defaults import default_main_program
from .elsewhere import help_with_attributes
from .feed_values import positive
from .program import PROGRAMS, Program
from .ragged import Fetched, name_sizes

if TYPE_CHECKING:
    from . import _lab, show

__all__ = ["Executor", "TracedRun", "global_scope", "scope_guard"]

_scope = _core.Scope()


def global_scope() -> _core.Scope:
    """The scope that runs use by default."""
    return _scope


def program_and_scope(
    program: Program | None, scope: _core.Scope | None
) -> tuple[Program, _core.Scope]:
    """They, or for None the default main program and the global scope."""
    program = default_main_program() if program is None else program
    return program, _scope if scope is None else scope


@contextlib.contextmanager
def scope_guard(scope: _core.Scope) -> Iterator[None]:
    """Make ``scope`` the global one inside the block."""
    global _scope
    outer, _scope = _scope, scope
    try:
        yield
    finally:
        _scope = outer


def _noting(method: Callable[..., None]) -> Callable[..., None]:
    """The method of a scope, with a warning of a name that no program has."""

    @wraps(method)
    def noted(scope: Any, name: Any, *values: Any, **named: Any) -> None:
        method(scope, name, *values, **named)
        programs = list(PROGRAMS)
        ours = sys._getframe(1).f_globals.get("__name__", "").startswith(_US)
        if ours or any(each.has_var(name) for each in programs):
            return
        every = [v for each in programs for v in each.list_vars()]
        known = dict.fromkeys(v.name for v in every if v.persistable)
        near = get_close_matches(name, known, 3, 0.6)
        if near:  # else it may be of a program that is written later
            warnings.warn(
                f"scope.set: no program has a variable {name!r}, so that "
                f"nothing reads it; near are: {', '.join(near)}",
                stacklevel=2,
            )

    return noted


_US = __name__.partition(".")[0] + "."
for _method in ("set", "__setitem__"):
    setattr(_core.Scope, _method, _noting(getattr(_core.Scope, _method)))


# Traces name the script, not the interpreter.
_script = os.path.basename((getattr(sys, "argv", None) or [""])[0])
_core._name_traced_program(_script if _script not in ("", "-c") else "python")


_warned: list[Any] = []  # the emulated place of the first warning


def _say_if_emulated(place: Any) -> None:
    """Warn, once, at the line that makes an executor."""
    emulates = _core._config()["cuda"] == "EMULATE"
    if emulates and not _warned and str(place).startswith("cuda"):
        _warned.append(place)
        warnings.warn(
            f"this build emulates {place} on the CPU: it computes what a GPU "
            "would, and is slow",
            stacklevel=3,
        )


class TracedRun(NamedTuple):
    """The results of a run, and when each of its instructions ran."""

    results: list[Any]
    """One array for each fetch."""
    trace: str
    """JSON for Perfetto (ui.perfetto.dev) or chrome://tracing."""
    start_ns: int
    """``time.monotonic_ns()`` at the moment from which the trace counts."""


class Executor(_core.Executor):
    """Runs programs at a place, with plans that it prepares once and caches.

    Ops without a kernel at the place run on the CPU; :meth:`explain` says so.
    Many threads may use one executor.

    Args:
        place: a place, or text such as ``"cuda:0"``; the CPU by default.
        passes: whether ops are fused and rearranged; if false, every op runs as
            written.
        queues: number of queues of one device for its kernels, 1 to 16. With
            more than one, independent branches run concurrently, on CUDA in
            streams; results are the same.
        plan_memory: the most bytes that its plans keep between runs, with the
            memory that they share; those used last are kept. A plan whose
            values need more is refused. By default none is, and plans beyond
            the last 16 are kept up to 64 MiB, without that memory.
        check_nan_every: if not 0, the first :meth:`run` of a program and every
            so many after it are done as :meth:`run_checked` does, so that
            training that has become NaN stops and names the op.

    Raises:
        NotFoundError: there is no such device.
        InvalidArgumentError: ``check_nan_every`` is negative, or
            ``plan_memory`` is not positive.
    """

    if TYPE_CHECKING:  # sluice.show adds it
        explain = show.explanation.explain_executor

    def __init__(
        self,
        place: Any = None,
        *,
        passes: bool = True,
        queues: int = 1,
        plan_memory: int | None = None,
        check_nan_every: int = 0,
    ) -> None:
        if plan_memory is not None:
            positive("Executor: plan_memory", plan_memory)
        super().__init__(
            place, passes=passes, queues=queues, plan_memory=plan_memory or 0
        )
        self._place, self._passes = place, passes
        self._check_every = check_nan_every and positive(
            "Executor: check_nan_every", check_nan_every
        )
        self._runs: dict[int, int] = {}  # by uid of the program
        _say_if_emulated(self.place)

    def run(
        self,
        program: Program | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Sequence[Any] | None = None,
        scope: _core.Scope | None = None,
        return_numpy: bool = True,
    ) -> list[Any]:
        """Run a program and return the fetched values.

        Args:
            program: the default main program if None.
            feed: arrays, tensors, numbers or lists by name. Arrays that are
                dense and aligned are not copied; none is modified. For a ragged
                variable, lists of sequences, a :class:`sluice.Ragged`,
                (rows, offsets), or as in Fluid (rows, [lengths]).
            fetch_list: variables or names.
            scope: where parameters live; the global scope if None.
            return_numpy: whether to return arrays instead of tensors.

        Returns:
            One array for each fetch, a :class:`sluice.Ragged` for a ragged
            one. Later runs do not change it.

        Raises:
            SluiceError: names the op, the expected and the actual value, and
                the line that appended the op. Parameters are unchanged, and the
                next run is not affected.
        """
        program = default_main_program() if program is None else program
        scope = _scope if scope is None else scope
        ragged = getattr(program, "_ragged", False)
        run = self._run_or_check if self._check_every else self._run
        try:
            if not ragged:
                return run(program, feed, fetch_list, scope, return_numpy)
            fetched = fetch_list
            if not isinstance(fetched, Fetched):
                fetched = Fetched(program, fetch_list)
            return fetched.true_rows(
                run(program, feed, fetched.all, scope, return_numpy)
            )
        except errors.FailedPreconditionError as error:
            _name_missing(error, program, scope)
            raise
        except errors.InvalidArgumentError as error:
            if ragged:
                name_sizes(error, program, feed)
            raise

    def prepare(
        self,
        program: Program | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Sequence[Any] | None = None,
    ) -> _core.Plan:
        """Prepare the plan that :meth:`run` would use, and return it."""
        program = default_main_program() if program is None else program
        plan = self._prepare(program, feed, fetch_list)
        plan._layers = program._layers
        return plan

    def profile(
        self,
        program: Program | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Sequence[Any] | None = None,
        scope: _core.Scope | None = None,
        budget: float = 0.3,
    ) -> _lab.Profile:
        """Measure the plan that :meth:`run` uses, and each of its ops.

        Runs once like :meth:`run`, and then for ``budget`` seconds on copies of
        the parameters, longer until there were 10 turns or 3 s are over: plain
        runs take turns with runs that have a clock around every op. Times are
        medians.
        """
        from . import _lab

        program, scope = program_and_scope(program, scope)
        return _lab._profile(
            self, program, feed, fetch_list, scope, float(budget)
        )

    def run_traced(
        self,
        program: Program | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Sequence[Any] | None = None,
        scope: _core.Scope | None = None,
    ) -> TracedRun:
        """Run once like :meth:`run`, and record when each step happened.

        Unlike :meth:`profile` it waits only where a plain run waits, and is a
        single run, so all of several ranks can call it. The track "host" is the
        thread of the run. A collective op has its own track, with a bar from
        its start until a wait for it ended; it may have ended earlier. So has
        each queue of a device; its kernels are on the host's track while they
        are enqueued. Bars name kernel, op, tensors, bytes, phase and your line.

        Raises:
            SluiceError: see :meth:`run`.
            UnimplementedError: the program runs in several stretches.
        """
        program, scope = program_and_scope(program, scope)
        fetched = Fetched(program, fetch_list)
        results, trace, start = _core._run_traced(
            self, program, feed, fetched.all, scope
        )
        return TracedRun(fetched.true_rows(results), trace, start)

    def run_checked(
        self,
        program: Program | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Sequence[Any] | None = None,
        scope: _core.Scope | None = None,
        check_nan: bool = True,
    ) -> list[Any]:
        """Run like :meth:`run`, but slowly: wait for the device after each op.

        Raises:
            InternalError: a kernel leaves elements of its outputs unwritten.
                With ``check_nan``, an op made a NaN or an infinity of finite
                numbers, a NaN of infinities, or reads a NaN that was fed or
                stored before; names the op, also where it is part of a fused
                one, how many elements are NaN, +Inf and -Inf, the first of
                them, and the range of each input. Parameters are unchanged.
        """
        program, scope = program_and_scope(program, scope)
        fetched = Fetched(program, fetch_list)
        run = self._find_nan if check_nan else self._run_debugging
        return fetched.true_rows(
            run(program, feed, fetched.all, scope, check_nan, True)
        )

    def _run_or_check(self, program: Program, *arguments: Any) -> list[Any]:
        """Run; every ``check_nan_every``-th run also looks for NaN."""
        runs = self._runs.get(program.uid, 0)
        self._runs[program.uid] = runs + 1
        if runs % self._check_every:
            return self._run(program, *arguments)
        feed, fetch_list, scope, return_numpy = arguments
        try:
            return self._find_nan(
                program, feed, fetch_list, scope, True, return_numpy
            )
        except errors.InternalError as error:
            text = f"run {runs + 1} of this program, which was checked for NaN"
            error.args = (f"{error.args[0]}\n  in {text}",)
            raise

    def _find_nan(
        self, program: Program, feed: Any, fetches: Any, scope: Any, *how: Any
    ) -> list[Any]:
        """Run with a check after every op. If a fused one fails, a run without
        passes finds the op as it was written.
        """
        try:
            return self._run_debugging(program, feed, fetches, scope, *how)
        except errors.InternalError as error:
            if error.check_id != "run.not_finite" or not self._passes:
                raise
            found = error
        try:
            as_written = Executor(self._place, passes=False)
            copy = _copy_of(scope, program)
            as_written._run_debugging(program, feed, fetches, copy, *how)
        except errors.InternalError as error:
            raise error from None
        text = "only where ops are fused: sluice.lab.bisect says which"
        found.args = (f"{found.args[0]}\n  {text}",)
        raise found

    def run_keeping_all(
        self,
        program: Program | None = None,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Sequence[Any] | None = None,
        scope: _core.Scope | None = None,
        keep_updates: bool = False,
    ) -> dict[str, Any]:
        """Run slowly and return every value, by name, in order of computation.

        It does not train: parameters and other stored values stay as they are,
        and the next run draws the same random numbers. Under the name of a
        parameter is what its optimizer's op would write.

        Values inside fused ops are not computed. ``sluice.kernel_hints("exclude
        pass=fuse_elementwise")`` keeps element-wise ops apart, for example;
        ``explain`` names the passes.

        Args:
            program, feed, fetch_list, scope: as for :meth:`run`.
            keep_updates: whether to store what ops write, as :meth:`run` does.
        """
        program, scope = program_and_scope(program, scope)
        if not keep_updates:
            scope = _copy_of(scope, program)
        return self._run_keeping_all(program, feed, fetch_list, scope)


def _copy_of(scope: _core.Scope, program: Program) -> _core.Scope:
    """A scope with copies of what a run of ``program`` reads from ``scope``."""
    copy = _core.Scope()
    copy.step = scope.step
    for var in program.list_vars():
        value = scope.find_var(var.name) if var.persistable else None
        if value is not None:
            copy.set(var.name, value)
    return copy


def _name_missing(error: Any, program: Program, scope: _core.Scope) -> None:
    """Do not advise a startup program that would draw other values anew."""
    names = [v.name for v in program.list_vars() if v.persistable]
    missing = [name for name in names if scope.find_var(name) is None]
    if error.check_id == "run.uninitialised" and 0 < len(missing) < len(names):
        shown = ", ".join(missing[:8]) + ", ..." * (len(missing) > 8)
        text = f", while others are; {len(missing)} have no value: {shown}"
        old = ": run the startup program first"
        error.args = (error.args[0].replace(old, text),)


help_with_attributes(Executor)
