"""The lines and tables that objects show in a terminal and in a notebook."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..display import (
    STYLE,
    counted,
    cut,
    of_bytes,
    of_seconds,
    preformatted,
    printable,
    shape_text,
    whole_feeds,
)
from .tables import table_html

if TYPE_CHECKING:
    from ..program import Program


def _program(program: Any) -> str:
    from .summary import Layers, count_by_phase

    layers = Layers(program)
    text = count_by_phase(layers.ops, " ({})")
    if size := layers.numbers(layers.parameters):
        text += f", {counted(size, 'parameter')}"
    fed = whole_feeds([n for n, var in layers.vars.items() if var["is_data"]])
    more = f" and {len(fed) - 4} more" * (len(fed) > 4)
    names = ", ".join(cut(name, 30) for name in fed[:4])
    return text + (f"; feed {names}{more}" if fed else "")


def _plan(plan: Any) -> str:
    data = json.loads(_core._explain_by_signature(plan))
    ops = data["ops"]
    covered = sum(len(op["covers"]) for op in ops)
    seconds = sum(op["predicted_seconds"] for op in ops)
    calls = f" in {counted(len(ops), 'call')}" * (covered != len(ops))
    shapes = {f["var"]: shape_text(f["shape"]) for f in data["feeds"]}
    fed = [f"{name} {shapes[name]}" for name in whole_feeds(list(shapes))]
    return (
        f"at {data['place']}, {counted(data['threads'], 'thread')}: "
        f"{counted(covered, 'op')}{calls}, "
        f"{of_seconds(seconds)} predicted, "
        f"{of_bytes(sum(data['arenas'].values()))}"
        + (f"; {cut(', '.join(fed), 80)}" if fed else "")
    )


def _executor(executor: Any) -> str:
    kept = counted(executor.cached_plans, "plan")
    return f"at {executor.place}: {kept} kept"


def _scope(scope: Any) -> str:
    variables = scope._describe()
    full = [each for each in variables if each[1] is not None]
    if not variables:
        return "empty; run the startup program"
    size = sum(dtype.itemsize * math.prod(s) for _, dtype, s, _ in full)
    places = ", ".join(sorted({str(place) for *_, place in full}))
    empty = len(variables) - len(full)
    return (
        f"{counted(len(full), 'tensor')}, {of_bytes(size)}"
        + f" at {places}" * bool(places)
        + f"; {empty} without a value" * (empty > 0)
    )


def _profile(profile: Any) -> str:
    run, times = profile.run, profile.op_seconds
    took, why_no_ops = _shown(run, sum(times))
    text = f"a run takes {took}"
    if sum(times) > 0 and not why_no_ops:
        slowest = max(range(len(times)), key=times.__getitem__)
        share = times[slowest] / sum(times)
        events = json.loads(profile.chrome_trace)["traceEvents"]
        names = {e.get("args", {}).get("op"): e["name"] for e in events}
        name = names.get(str(slowest), "op")
        text += f"; slowest {slowest} {name}, {100 * share:.0f} %"
    return text


def _comparison(found: Any) -> str:
    low, high = found.b_over_a
    a, b = of_seconds(found.run_a.median), of_seconds(found.run_b.median)
    times = "no difference in time" if low <= 1 <= high else (
        f"B takes {found.run_b.median / found.run_a.median:.2f}x as long"
    )
    other = sum(op.kernel_a != op.kernel_b for op in found.ops)
    results = "results within bound"
    if found.first_difference >= 0:
        op = found.ops[found.first_difference]
        results = f"results differ from {op.op_index} {op.op} on"
    return (
        f"{times} ({a}, {b}); {other} of "
        f"{counted(len(found.ops), 'op')} differ in kernel; {results}"
    )


def _tuned(found: Any) -> str:
    names = [
        (each.before and each.before.name, each.winner and each.winner.name)
        for each in found.signatures
    ]
    other = sum(after not in (None, before) for before, after in names)
    return (
        f"{counted(len(names), 'signature')} measured in "
        f"{of_seconds(found.seconds)}, {other} with another kernel"
        + f", {found.known} known before" * (found.known > 0)
        + f", {found.left_out} left out" * (found.left_out > 0)
    )


def _placement(found: Any) -> str:
    now, then = map(of_seconds, (found.predicted_now, found.predicted_then))
    changed = sum(op.changes for op in found.ops)
    return (
        f"{now} predicted now, {then} with the change; {changed} of "
        f"{counted(len(found.ops), 'op')} run elsewhere or otherwise"
    )


def _shown(timing: Any, ops: float) -> tuple[str, str]:
    """A run as screens show it, and why they do not show its ops, or ""."""
    from .. import _lab

    run = (timing.median, timing.low, timing.high, timing.rounds)
    return _lab._shown_times(run, ops)


def _timing(timing: Any) -> str:
    return _shown(timing, timing.median)[0]


# One line for each class of the extensions, without its name where that is all.
_LINES: dict[str, str | Callable[[Any], str]] = {
    "_Measured": "estimates beside times",
    "BisectFinding": "ops {0.ops}, {0.value}",
    "BisectResult": lambda found: f"{counted(len(found.findings), 'finding')} "
    f"in {counted(found.ops, 'op')}, {counted(found.runs, 'run')}",
    "Comparison": _comparison,
    "Executor": _executor,
    "OpComparison": "{0.op_index} {0.op} by {0.kernel_a} | {0.kernel_b}",
    "PlacedOp": "{0.op_index} {0.op} by {0.kernel_now} -> {0.kernel_then}",
    "Placement": _placement,
    "Plan": _plan,
    "Profile": _profile,
    "Program": _program,
    "ProgramPart": lambda part: _program(part.program),
    "Scope": _scope,
    "Timing": _timing,
    "TuneResult": _tuned,
    "_InternalOps": "appends what passes make",
    "_TimedPlan": "JSON and a trace",
    "_ThreadCount": "threads of a block",
    "_CancelBlock": "a flag for a block",
    "_CancelFlag": "cancels runs",
}


def attach(kind: Any, **methods: Callable[..., Any]) -> None:
    """Give a class methods as if they were written in it, also for its stub."""
    for name, method in methods.items():
        method.__name__, method.__module__ = name, kind.__module__
        method.__qualname__ = f"{kind.__qualname__}.{name}"
        setattr(kind, name, method)


def equip(module: Any) -> None:
    """Give the classes of an extension their displays."""
    for name, line in _LINES.items():
        if kind := getattr(module, name, None):
            _equip(kind, line)


def _equip(kind: Any, line: str | Callable[[Any], str]) -> None:
    name, text = kind.__name__, kind.__str__

    def __repr__(self: object) -> str:
        return printable(_line(self, name, line))

    def __str__(self: object) -> str:
        return printable(text(self))

    def _repr_html_(self: object) -> str:
        return object_html(self)

    attach(kind, __repr__=__repr__, _repr_html_=_repr_html_)
    if text is not object.__str__:
        attach(kind, __str__=__str__)


def _line(shown: Any, name: str, line: str | Callable[[Any], str]) -> str:
    text = line.format(shown) if isinstance(line, str) else line(shown)
    at = "" if text.startswith("at ") else ":"
    return f"<{name}{at} {text}>"


def object_html(shown: Any) -> str:
    """The line of an object, and all that its text says."""
    head = f"<code>{html.escape(repr(shown))}</code>"
    if hasattr(shown, "explain_json"):
        text = shown.explain()
        own = getattr(text, "_repr_html_", None)
        return head + (own() if own else preformatted(text))
    if type(shown).__str__ is object.__str__:
        return head
    table = json.loads(shown._table()) if hasattr(shown, "_table") else None
    if table and table["columns"]:
        return head + table_html(table)
    return head + preformatted(str(shown))


def tensor_repr(self: object) -> str:
    """The values, then dtype, shape and place."""
    tensor: Any = self
    values = np.array2string(tensor.numpy(), threshold=200, separator=", ")
    return (
        f"Tensor({values}, {tensor.dtype} {shape_text(tensor.shape)} "
        f"at {tensor.place})"
    )


def tensor_html(self: object) -> str:
    """The values, then dtype, shape and place, as HTML."""
    tensor: Any = self
    values = np.array2string(tensor.numpy(), threshold=200)
    head = f"{tensor.dtype} {shape_text(tensor.shape)} at {tensor.place}"
    return f"<b>{html.escape(head)}</b><pre>{html.escape(values)}</pre>"


def program_html(self: Program) -> str:
    """The drawing and the text below it, as HTML."""
    text = html.escape(str(self))
    return (
        f'<div style="{STYLE}">{self.draw()}</div>'
        f"<details><summary>text</summary><pre>{text}</pre></details>"
    )
