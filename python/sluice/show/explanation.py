"""``explain``: what it returns, a text that is also a table, and for what."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from .. import _core
from ..display import flag, preformatted, printable
from ..errors import InvalidArgumentError
from ..executor import Executor, program_and_scope
from ..feed_values import integer
from ..program import Program, unread
from ..ragged import offsets_of
from .tables import table_html

__all__ = ["Explanation"]

_WIDTH = 100


def screen() -> tuple[int, bool]:
    """The columns to use, and whether a terminal can show colours.

    A terminal's own width, at least 40; 100 for pipes, files and notebooks.
    """
    try:
        terminal = sys.stdout.isatty()
    except (AttributeError, ValueError):
        terminal = False
    if not terminal:
        return _WIDTH, False
    columns = shutil.get_terminal_size((_WIDTH, 25)).columns
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return max(40, columns), not plain


class Explanation(str):
    """Which kernel runs each op, and why: prints, and is a table.

    As a string it is the text, 100 columns wide; in a terminal ``str`` gives
    the terminal's width. Strings have no colours: :meth:`show` prints them,
    unless ``NO_COLOR`` is set. A notebook shows a table.
    """

    _text: Callable[[int, bool], str]
    _tables: Callable[[], str]
    _whole: bool

    def __new__(
        cls,
        text: Callable[[int, bool], str],
        tables: Callable[[], str],
        whole: bool,
    ) -> Explanation:
        """Make one of what prints it, and of what gives its tables as JSON."""
        self = super().__new__(cls, text(_WIDTH, False))
        self._text, self._tables, self._whole = text, tables, whole
        return self

    def __str__(self) -> str:
        width, _ = screen()
        if width == _WIDTH:
            return printable(str.__str__(self))
        return printable(self._text(width, False))

    def show(self) -> None:
        """Print it, in a terminal with colours."""
        print(printable(self._text(*screen())), end="")

    def __repr__(self) -> str:
        return str(self).rstrip("\n")

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str.__str__(self),)

    def tables(self) -> list[dict[str, Any]]:
        """One dict for each plan: ``name``, ``head``, ``columns``, ``rows``,
        ``foot`` as shown, and ``calls``: every kernel call by itself."""
        tables: list[dict[str, Any]] = json.loads(self._tables())
        return tables

    def to_json(self) -> str:
        """The tables as JSON; times are in seconds."""
        return json.dumps(self.tables(), indent=1)

    def to_frame(self) -> Any:
        """Every kernel call as a row of a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise ImportError(
                "to_frame needs pandas: pip install pandas; to_json() and "
                "tables() have the same"
            ) from None
        return pandas.DataFrame(
            [
                {"plan": table["name"], **call}
                for table in self.tables()
                for call in table["calls"]
            ]
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython shows in a terminal."""
        printer.text(printable(self._text(*screen())).rstrip("\n"))

    def _repr_html_(self) -> str:
        if self._whole:
            return preformatted(str.__str__(self))
        return "".join(table_html(table) for table in self.tables())


def layer_names(owner: Any) -> dict[str, tuple[str, int]]:
    """Names and numbers of a program's or a plan's layers, by outputs."""
    calls = getattr(owner, "_layers", {})
    number = {call: i for i, call in enumerate(dict.fromkeys(calls.values()))}
    return {name: (call.name, number[call]) for name, call in calls.items()}


def explained(
    op: Any,
    all: Any,
    fold: Any,
    layers: dict[str, tuple[str, int]],
    text: Callable[[tuple], str],
    tables: Callable[[tuple], str],
) -> Explanation:
    """The explanation by ``text`` and ``tables``; checks the arguments."""
    whole, folded = flag("explain: all", all), flag("explain: fold", fold)
    if isinstance(op, str):
        every = -1, False, False, _WIDTH, False, layers
        op = _named(op, json.loads(tables(every)))
    number = _op_number(op)
    return Explanation(
        lambda *how: text((number, whole, folded, *how, layers)),
        lambda: tables((number, False, folded, _WIDTH, False, layers)),
        whole,
    )


def _named(op: str, tables: list[dict[str, Any]]) -> int:
    """The number of the only op of this name.

    Raises:
        InvalidArgumentError: there are none or several, whose numbers it names.
    """
    found = [
        call["op"]
        for call in tables[0]["calls"]
        if op.lower() in (call["name"], *call["name"].split("+"))
    ]
    if len(found) == 1:
        return int(found[0])
    numbers = ", ".join(map(str, found[:12])) + ", ..." * (len(found) > 12)
    what = f"it is the ops {numbers}; take one" if found else "there is none"
    raise _wrong_op(op, f": {what}")


def _wrong_op(op: Any, more: str = "") -> InvalidArgumentError:
    text = f"explain: op = {op!r}; expected a number of the first column{more}"
    return InvalidArgumentError(text, "explain.op")


def _op_number(op: Any) -> int:
    """A number of the first column; -1 for all ops."""
    if op is None:
        return -1
    number = integer(op, 0, 1 << 31)
    if number is None:
        raise _wrong_op(op)
    return number


def explain_program(
    self: Program,
    feed: Mapping[str, Any] | None = None,
    fetch_list: Iterable[Any] | None = None,
    place: Any = None,
    op: int | None = None,
    all: bool = False,
    fold: bool = True,
) -> Explanation:
    """Say which kernel would run each op at ``place``, and why.

    Data variables that are not in ``feed`` are zeros, with 1 for unknown
    sizes, which the first line shows. By default ``fetch_list`` is all
    outputs that no op reads. For ``op``, ``all`` and ``fold`` see
    :meth:`Executor.explain`.
    """
    arrays = dict(feed or {})
    known = self._blocks()[0]["vars"]
    skipped = {*arrays, *(var["offsets"] for var in known)}
    for var in known:
        if var["is_data"] and var["name"] not in skipped:
            shape = [1 if size is None else size for size in var["shape"]]
            value: Any = np.zeros(shape, var["dtype"].dtype)
            for _ in offsets_of(self, var["name"]):
                value = [value]
            arrays[var["name"]] = value
    fetches = unread(self) if fetch_list is None else list(fetch_list)
    executor = Executor(place)
    executor.prepare(self, arrays, fetches)
    return executor.explain(self, op, all, fold)


def explain_executor(
    self: Executor,
    program: Program | None = None,
    op: int | str | None = None,
    all: bool = False,
    fold: bool = True,
    measure: bool = False,
    feed: Mapping[str, Any] | None = None,
    scope: _core.Scope | None = None,
    budget: float = 0.3,
) -> Explanation:
    """Say which kernel runs each op of the plan prepared last, and why.

    It also says what another kernel of the slowest op would cost, and how
    to ask for it. For a program that ran in several stretches, it explains
    all their plans and those of its blocks.

    Args:
        program: the default main program if None.
        op: a number of the first column, or a name that one op has:
            everything about that op.
        all: every candidate of every op, and every remark.
        fold: whether rows that are alike or small share a line.
        measure: runs the plan as :meth:`profile` does, and shows for each
            op the estimate, the actual time and the factor between them.
        feed: with ``measure``, what to feed; zeros if None.
        scope: with ``measure``, where parameters are read; the global scope
            if None.
        budget: with ``measure``, seconds for the runs.

    Raises:
        FailedPreconditionError: the program has not run yet.
        NotFoundError: the plan does not compute the op.
    """
    program, scope = program_and_scope(program, scope)
    if measure:
        return _explain_measured(self, program, op, fold, feed, scope, budget)
    return explained(
        op, all, fold, layer_names(program),
        partial(self._explain, program),
        partial(self._explain_tables, program),
    )  # fmt: skip


def _explain_measured(
    executor: Executor,
    program: Program,
    op: int | None,
    fold: bool,
    feed: Mapping[str, Any] | None,
    scope: _core.Scope,
    budget: float,
) -> Explanation:
    from .. import _lab

    plan = executor._last_plan(program)
    if feed is None:
        feeds = json.loads(plan.explain_json())["feeds"]
        feed = {f["var"]: np.zeros(f["shape"], f["dtype"]) for f in feeds}
    measured = _lab._measure(plan, program, feed, scope, float(budget))
    return explained(op, False, fold, {}, measured.text, measured.json)


def explain_plan(
    self: _core.Plan,
    op: int | str | None = None,
    all: bool = False,
    fold: bool = True,
) -> Explanation:
    """Say which kernel runs each op of the plan, and why.

    Args:
        self: the plan.
        op: a number of the first column, or a name that one op has:
            everything about that op.
        all: every candidate of every op, and every remark.
        fold: whether rows that are alike or small share a line.

    Returns:
        A text that a notebook shows as a table; ``to_frame()`` and
        ``to_json()`` convert it.

    Raises:
        NotFoundError: the plan does not compute the op.
    """
    layers = layer_names(self)
    return explained(op, all, fold, layers, self._explain, self._explain_tables)
