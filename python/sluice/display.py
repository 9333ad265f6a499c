"""Representations of tensors, variables and programs."""

from __future__ import annotations

import html
import json
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._core import Tensor
    from .explanation import Explanation
    from .framework import Program, Variable

STYLE = "border:1px solid #8884;padding:6px;overflow:auto;max-height:560px"


def printable(text: str) -> str:
    """The text with escapes for what standard output cannot encode."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


class Text(str):
    """Text that a terminal shows as it is, and a notebook as HTML."""

    def __new__(cls, text: str, html: str = "") -> Text:  # noqa: D102
        self = super().__new__(cls, text)
        self.html = html
        return self

    def __str__(self) -> str:
        return printable(str.__str__(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.html or _pre(self)


def _pre(text: str) -> str:
    return f'<pre style="{STYLE}">{html.escape(text)}</pre>'


def grouped(number: int | None) -> str:
    """A count with groups of three digits; "?" if it is unknown."""
    return "?" if number is None else f"{number:,}".replace(",", " ")


def counted(number: int, noun: str) -> str:
    """Such as "1 op" or "1 008 ops"."""
    return f"{grouped(number)} {noun}" + "s" * (number != 1)


def of_bytes(number: int) -> str:
    """Such as "459 kB"; units are powers of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.5:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


def of_seconds(seconds: float) -> str:
    """Such as "570 us"; what is shorter than 1 us cannot be told."""
    if seconds < 1e-6:
        return "below 1 us"
    for unit, size in (("us", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def shape_text(shape: Any) -> str:
    """Such as "[?, 8]"."""
    if shape is None:
        return "?"
    return f"[{', '.join('?' if n is None else str(n) for n in shape)}]"


# The libraries of kernels: their names, and their colour in every drawing.
LIBRARIES = {
    "PLAIN": ("own kernels", "1"),
    "ONEDNN": ("oneDNN", "2"),
    "EIGEN": ("Eigen", "3"),
    "OPENBLAS": ("OpenBLAS", "4"),
    "CUBLAS": ("cuBLAS", "5"),
}
_SHORT = {
    "batch_norm": "bn",
    "elementwise_add": "add",
    "elementwise_sub": "sub",
    "elementwise_mul": "mul",
    "elementwise_div": "div",
}


def kernel_name(library: str, variant: str) -> str:
    """Such as "plain" of an own kernel, "onednn/direct" of others."""
    if library == "PLAIN":
        return variant
    name = library.lower()
    return name if name == variant else f"{name}/{variant}"


def call_name(op: Mapping[str, Any]) -> str:
    """The name of a call in a plan's JSON, as explain() has it."""
    first, *rest = op["covered_ops"] or [op["op"]]
    return "+".join([first, *(_SHORT.get(each, each) for each in rest)])


def call_number(op: Mapping[str, Any]) -> str:
    """Its number there: "#6", or "+38" of a call that a pass put in."""
    return f"#{min(op['covers'])}" if op["covers"] else f"+{op['index']}"


def whole_feeds(names: Iterable[str]) -> list[str]:
    """The names without those of offsets, which are fed with their rows."""
    known = set(names)
    return [
        name
        for name in names
        if not (name.endswith("@LOD") and name.removesuffix("@LOD") in known)
    ]


# What would change a terminal or the direction of text, or is no XML.
_CONTROL = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"
    "\\ud800-\\udfff\\ufffe\\uffff]"
)


def clean(text: str) -> str:
    """The text with control characters as ``\\x1b``."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def cut(text: str, width: int) -> str:
    """The text without its middle if it is wider; the end often tells most."""
    text = clean(text)
    if len(text) <= width:
        return text
    end = max(0, width - 2) // 2
    return f"{text[: width - 2 - end]}..{text[len(text) - end :]}"[:width]


def flag(what: str, value: Any) -> bool:
    """The value of an argument that is True or False, or 1 or 0.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(value, (int, np.bool_)) and value in (0, 1):
        return bool(value)
    from ._core import _shown

    raise TypeError(f"{what}: expected True or False, got {_shown(value)}")


def _wrapped(text: str, width: int) -> list[str]:
    """Its lines, of which all but the first are indented."""
    return textwrap.wrap(
        clean(text), width, subsequent_indent="  ", break_on_hyphens=False
    )


def table(
    head: list[str], rows: list[list[str]], foot: list[list[str]], width: int
) -> Text:
    """Lines, columns of which the first and the last are numbers, and totals.

    The widest columns between them are cut until a row fits ``width``. Other
    lines are wrapped; those above the columns are cut to about two lines.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * len(widths) - 2 > width and max(widths[1:-1]) > 6:
        widths[widths.index(max(widths[1:-1]), 1)] -= 1

    def line(row: list[str], right: tuple[int, ...], widths: list[int]) -> str:
        cells = [
            cell.rjust(size) if i in right else cut(cell, size).ljust(size)
            for i, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    numbers = (0, len(widths) - 1)
    totals = [max(map(len, column)) for column in zip(*foot, strict=True)]
    above = [_wrapped(cut(each, 2 * width - 2), width) for each in head]
    below = [_wrapped(line(row, (1, 2), totals), width) for row in foot]
    lines = [each for wrapped in above for each in wrapped]
    lines += [line(row, numbers, widths) for row in rows]
    lines += [each for wrapped in below for each in wrapped]
    return Text("\n".join(lines), _table_html(head, rows, foot))


def _table_html(
    head: list[str], rows: list[list[str]], foot: list[list[str]]
) -> str:
    def row(cells: list[str], tag: str, right: tuple[int, ...]) -> str:
        sides = ["right" if i in right else "left" for i in range(len(cells))]
        return "<tr>" + "".join(
            f'<{tag} style="text-align:{side}">{html.escape(cell)}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )

    numbers = (0, len(rows[0]) - 1)
    body = "".join(row(each, "td", numbers) for each in rows[1:])
    return (
        f'<div style="{STYLE}">{"<br>".join(map(html.escape, head))}'
        f"<table><thead>{row(rows[0], 'th', numbers)}</thead>{body}</table>"
        f"<table>{''.join(row(each, 'td', (1, 2)) for each in foot)}</table>"
        "</div>"
    )


class Shown:
    """Shows public attributes in one line, in place of an address."""

    def __repr__(self) -> str:
        parts = [
            f"{name} {cut(_value_text(value), 60)}"
            for name, value in vars(self).items()
            if not name.startswith("_")
        ]
        text = f"{type(self).__name__}: {', '.join(parts)}"
        line = f"<{cut(text, 200) if parts else type(self).__name__}>"
        return printable(line)


def _value_text(value: Any) -> str:
    """A value in one line, without addresses."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {shape_text(value.shape)}"
    text = " ".join(repr(value).split())
    return type(value).__name__ if " at 0x" in text else text


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


def variable_text(variable: Variable) -> str:
    """What a variable is, in one line."""
    desc = variable._desc()
    kept = desc["stop_gradient"] or not desc["dtype"].is_floating
    kinds = {
        "is_data": ", fed",
        "persistable": ", kept in the scope" if kept else ", parameter",
    }
    kind = next((text for key, text in kinds.items() if desc[key]), "")
    file, line = variable.program._made_at(variable.name)
    cell = file.startswith("cell ")
    at = f"in {file}, line" if cell else f"at {file.rpartition('/')[2]}:"
    made = f", made {at}{' ' * cell}{line}" if file else ""
    return (
        f"Variable {cut(variable.name, 100)}: {desc['dtype']} "
        f"{shape_text(desc['shape'])}{kind}{made}"
    )


def _plan(plan: Any) -> str:
    from ._core import _explain_by_signature

    data = json.loads(_explain_by_signature(plan))
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
    from . import _lab

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
}


def equip(module: Any) -> None:
    """Give the classes of an extension, which calls this, their displays."""
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

    made = [__repr__, _repr_html_]
    for method in made + [__str__] * (text is not object.__str__):
        method.__module__ = kind.__module__  # for its stub
        setattr(kind, method.__name__, method)


def _line(shown: Any, name: str, line: str | Callable[[Any], str]) -> str:
    said = line.format(shown) if isinstance(line, str) else line(shown)
    at = "" if said.startswith("at ") else ":"
    return f"<{name}{at} {said}>"


def object_html(shown: Any) -> str:
    """The line of an object, and all that its text says."""
    head = f"<code>{html.escape(repr(shown))}</code>"
    if hasattr(shown, "explain_json"):
        text = shown.explain()
        own = getattr(text, "_repr_html_", None)
        return head + (own() if own else _pre(text))
    if type(shown).__str__ is object.__str__:
        return head
    from .explanation import table_html, table_of

    text = str(shown)
    table = table_of(text)
    return head + (table_html(table) if table else _pre(text))


def tensor_repr(tensor: Tensor) -> str:
    """The values, then dtype, shape and place."""
    values = np.array2string(tensor.numpy(), threshold=200, separator=", ")
    return (
        f"Tensor({values}, {tensor.dtype} {shape_text(tensor.shape)} "
        f"at {tensor.place})"
    )


def tensor_html(tensor: Tensor) -> str:
    """The values, then dtype, shape and place, as HTML."""
    values = np.array2string(tensor.numpy(), threshold=200)
    head = f"{tensor.dtype} {shape_text(tensor.shape)} at {tensor.place}"
    return f"<b>{html.escape(head)}</b><pre>{html.escape(values)}</pre>"


def variable_html(variable: Variable) -> str:
    """What a variable is, as HTML."""
    return f"<code>{html.escape(repr(variable))}</code>"


def program_html(program: Program) -> str:
    """The drawing and the text below it, as HTML."""
    text = html.escape(str(program))
    return (
        f'<div style="{STYLE}">{program.draw()}</div>'
        f"<details><summary>text</summary><pre>{text}</pre></details>"
    )


def unread(program: Program) -> list[str]:
    """The outputs that no op reads and that are not persistable."""
    ops = program.ops
    read = {n for op in ops for names in op.inputs.values() for n in names}
    written = [n for op in ops for names in op.outputs.values() for n in names]
    return [
        name
        for name in dict.fromkeys(written)
        if name not in read and not program._var(name)["persistable"]
    ]


def explain(
    program: Program,
    feed: Mapping[str, Any] | None,
    fetch_list: Iterable[Any] | None,
    place: Any,
    op: int | None,
    all: bool,
    fold: bool,
) -> Explanation:
    """Prepare a program for a signature and explain the plan."""
    from .executor import Executor
    from .ragged import offsets_of

    arrays = dict(feed or {})
    known = program._blocks()[0]["vars"]
    skipped = {*arrays, *(var["offsets"] for var in known)}
    for var in known:
        if var["is_data"] and var["name"] not in skipped:
            shape = [1 if size is None else size for size in var["shape"]]
            value: Any = np.zeros(shape, var["dtype"].dtype)
            for _ in offsets_of(program, var["name"]):
                value = [value]
            arrays[var["name"]] = value
    fetches = unread(program) if fetch_list is None else list(fetch_list)
    executor = Executor(place)
    executor.prepare(program, arrays, fetches)
    return executor.explain(program, op, all, fold)
