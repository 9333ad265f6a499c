"""Draws plans: which kernel runs each op where, and what it costs."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

from .. import _core
from ..display import (
    LIBRARIES,
    call_name,
    call_number,
    counted,
    flag,
    kernel_name,
    of_bytes,
    of_seconds,
    shape_text,
)
from ..errors import InvalidArgumentError
from .drawing import (
    Box,
    Cell,
    fold_layers,
    fold_repeats,
    fold_training,
    render,
    write,
)
from .program_drawing import about, feed_boxes

_MOST_BOXES = 40  # that are drawn without folding repeated blocks
# The attributes of fused ops that are those of an op in them.
_WINDOW = {"strides", "dilations", "groups", "ksize", "pooling_type"}
_HEAT = "over 10 %", "3 to 10 %", "under 3 %"


def _time(seconds: float) -> str:
    """Two digits, in µs until those are over 99 999."""
    micros = float(f"{seconds * 1e6:.2g}")
    if micros > 99_999:
        return f"{micros / 1000:.0f} ms"
    return f"{micros:g} µs" if micros >= 1 else "<1 µs"


def _share(part: float, total: float) -> str:
    percent = round(100 * part / total) if total > 0 else 0
    return f"{percent} %" if percent else ""


class _Plan:
    """The ops of a plan as boxes, from its JSON."""

    def __init__(self, data: Mapping[str, Any], by: str, layers: Any) -> None:
        self.ops, self.place, self.by = data["ops"], data["place"], by
        self.layers = layers
        self.measured = bool(self.ops) and "measured" in self.ops[0]
        self.seconds = [
            op["measured"]["median"]
            if self.measured
            else op["predicted_seconds"]
            for op in self.ops
        ]
        self.total = sum(self.seconds)
        self.slowest = max(self.seconds, default=0) or 1
        self.parts: dict[str, float] = {}
        if by == "time":
            self.parts = dict.fromkeys(_HEAT, 0)
        for op, seconds in zip(self.ops, self.seconds, strict=True):
            name = self.category(op, seconds)
            self.parts[name] = self.parts.get(name, 0) + seconds
        # Categories after the sixth share a colour.
        shades = "521" if by == "time" else "123456".ljust(len(self.parts), "6")
        self.colour = dict(zip(self.parts, shades, strict=False))
        if by == "library":
            self.colour = dict(LIBRARIES.values())
            self.colour |= dict.fromkeys(self.parts.keys() - self.colour, "6")
        slots = data["slots"]
        self.kept = {s["var"] for s in slots if s["kind"] == "persistable"}
        self.moves = {
            (t["var"], t["op_index"]): f"{of_bytes(t['bytes'])} to {t['to']}"
            for t in data["transfers"]
        }
        read = {value["var"] for op in self.ops for value in op["inputs"]}
        fed = {f["var"]: (f["dtype"], f["shape"]) for f in data["feeds"]}
        self.boxes, self.maker = feed_boxes(fed, read)
        self.made_by: dict[int, Any] = {}
        phase = "forward"
        for op, seconds in zip(self.ops, self.seconds, strict=True):
            # What a pass put in belongs to what is around it.
            phase = op["purpose"] if op["covers"] else phase
            self._add(op, seconds, phase)

    def time(self, seconds: float) -> str:
        """A time, and its share of all."""
        return f"{_time(seconds)}\u2003{_share(seconds, self.total)}".strip()

    def category(self, op: Mapping[str, Any], seconds: float) -> str:
        """The category of an op, which chooses its colour."""
        if self.by == "time":
            share = seconds / self.total if self.total else 0
            return _HEAT[(share < 0.1) + (share < 0.03)]
        if self.by == "place":
            return op["place"]
        return LIBRARIES.get(op["library"], (op["library"], ""))[0]

    def _add(self, op: Mapping[str, Any], seconds: float, phase: str) -> None:
        sources: dict[int, str] = {}
        for value in op["inputs"]:
            source = self.maker.get(value["var"])
            if source is not None:
                moved = self.moves.get((value["var"], op["index"]), "")
                sources[source] = sources.get(source) or moved
        shape = shape_text(op["outputs"][0]["shape"]) if op["outputs"] else "[]"
        if shape == "[]" or phase == "optimize":
            shape = ""
        box = Box([self._cell(op, seconds, phase)], sources, shape, phase)
        for value in op["outputs"]:
            self.maker[value["var"]] = len(self.boxes)
            if (value["var"], -1) in self.moves:
                box.copied = self.moves[value["var"], -1] + ", fetched"
            if value["var"] in self.layers:
                self.made_by[len(self.boxes)] = self.layers[value["var"]]
        self.boxes.append(box)

    def _cell(self, op: Mapping[str, Any], seconds: float, phase: str) -> Cell:
        covered = op["covered_ops"] or [op["op"]]
        kernel = kernel_name(op["library"], op["variant"])
        if self.by != "place" and op["place"] != self.place:
            kernel += f" at {op['place']}"
        colour = self.colour[self.category(op, seconds)]
        name = call_name(op)
        tip = [name, kernel, op["reason"], f"layout {op['layout']}"]
        for sign, values in ("<-", op["inputs"]), ("->", op["outputs"]):
            tip += [
                f"{sign} {v['var']}: {v['dtype']} {shape_text(v['shape'])}"
                for v in values
            ]
        return Cell(
            name,
            call_number(op),
            self._about(op, covered[0], phase),
            "op",
            "\n".join([*tip, os.path.basename(op["line"])]).strip(),
            kernel=kernel,
            time=self.time(seconds),
            bars=((colour, seconds / self.slowest),),
            seconds=seconds,
        )

    def _about(self, op: Mapping[str, Any], first: str, phase: str) -> str:
        if not op["covers"]:
            if op["pass"] == "channels_last":
                return "put in for NHWC"
            return f"put in by {op['pass']}" if op["pass"] else "put in"
        inputs = {v["argument"]: v for v in reversed(op["inputs"])}
        if "Param" in inputs:
            return inputs["Param"]["var"]
        weights = sum(
            math.prod(v["shape"])
            for v in op["inputs"]
            if v["var"] in self.kept
            and v["argument"] not in ("Mean", "Variance")
            and phase == "forward"
        )
        shapes = {argument: v["shape"] for argument, v in inputs.items()}
        plain = op["op"] == first
        attrs = {
            name: value  # which reports of older versions lack
            for name, value in op.get("attributes", {}).items()
            if name in _WINDOW or (plain and name != "data_format")
        }
        text = about(op["op"], shapes, weights, attrs)
        layout = op["layout"] * (op["layout"] not in ("any", "NCHW"))
        return ", ".join(part for part in (text, layout) if part)

    def sum_of(self, name: str, members: list[int]) -> Cell:
        """The box for the calls of a phase, or of a layer."""
        word = "optimizer" if name == "optimize" else name
        cells = [self.boxes[m].cells[0] for m in members]
        parts: Counter[str] = Counter()
        for cell in cells:
            parts[cell.bars[0][0]] += cell.seconds
        total = sum(parts.values())
        most = max(cells, key=lambda cell: cell.seconds)
        marks = [cell.mark for cell in cells if cell.mark[:1] == "#"]
        lines = [f"{c.mark} {c.name}: {c.kernel}, {c.time}" for c in cells]
        return Cell(
            f"{word}: {counted(len(cells), 'call')}",
            f"{marks[0]}-{marks[-1][1:]}" if marks else "",
            f"most: {most.mark} {most.name}",
            "op",
            "\n".join(lines),
            dashed=True,
            kernel=counted(len({(c.name, c.kernel) for c in cells}), "kernel"),
            time=self.time(total),
            bars=tuple((c, s / (total or 1)) for c, s in parts.items()),
        )

    def sum_up(self, cells: list[Cell]) -> Cell:
        """The cell of calls in repeated blocks: with their time in all."""
        seconds = sum(cell.seconds for cell in cells)
        return cells[0]._replace(time=self.time(seconds))


def draw(
    plan: _core.Plan | Mapping[str, Any],
    path: str | os.PathLike[str] | None = None,
    by: str = "library",
    all: bool = False,
    columns: int = 1,
) -> str:
    """See :meth:`sluice.Plan.draw`; also the ``plan`` of a report's data, with
    measured times.
    """
    if by not in ("library", "place", "time"):
        raise InvalidArgumentError(
            'draw: by: expected "library", "place" or "time", got '
            f"{_core._shown(by)}",
            "python.draw_by",
        )
    all = flag("draw: all", all)
    layers = getattr(plan, "_layers", {})
    if isinstance(plan, _core.Plan):
        plan = json.loads(_core._explain_by_signature(plan))
    graph = _Plan(plan, by, layers)
    boxes = whole = graph.boxes
    if not all:
        graph.boxes = fold_layers(boxes, graph.made_by, graph.sum_of)
        boxes = fold_training(graph.boxes, graph.sum_of)
        if len(boxes) > _MOST_BOXES:
            boxes = fold_repeats(boxes, graph.sum_up)
    word = "measured" if graph.measured else "predicted"
    total = of_seconds(graph.total).replace("us", "µs")
    lines = [
        f"at {plan['place']}, {counted(plan['threads'], 'thread')}: "
        f"{total} {word}, {counted(len(graph.ops), 'call')}",
        "bars: time, relative to the slowest call",
    ]
    if any(not op["covers"] for op in graph.ops):
        lines.append("+ is an op that Sluice put in")
    copied = sum(t["bytes"] for t in plan["transfers"])
    if copied:
        lines.append(f"red: copies between places, {of_bytes(copied)} in all")
    if len(boxes) < len(whole):
        lines.append("folded: draw(all=True) shows every op")
    if plan["rest"]["reason"]:
        lines.append("the first stretch only: " + plan["rest"]["reason"])
    legend = [
        (graph.colour[name], f"{name}: {_share(part, graph.total) or '<1 %'}")
        for name, part in graph.parts.items()
        if part
    ]
    return write(render(boxes, lines, legend, columns), path)
