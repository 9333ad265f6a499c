"""Draws plans: which kernel runs each op where, and what it costs."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

from . import _core
from .draw import MOST_BOXES, about, counted, dims, kind
from .drawing import Box, Cell, fold_repeats, fold_training, render, write
from .errors import InvalidArgumentError

_SHORT = {
    "batch_norm": "bn",
    "elementwise_add": "add",
    "elementwise_sub": "sub",
    "elementwise_mul": "mul",
    "elementwise_div": "div",
}
_LIBRARIES = {"PLAIN": "own kernels", "ONEDNN": "oneDNN", "EIGEN": "Eigen"}
_HEAT = ("under 3 %", "3 to 10 %", "over 10 %")


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 999.5:
            return f"{count:.2g} {unit}" if count < 10 else f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.2g} GB" if count < 10 else f"{count:.0f} GB"


def _time(seconds: float) -> str:
    """Two digits, in µs until those are over 99 999."""
    micros = float(f"{seconds * 1e6:.2g}")
    if micros < 1:
        return "<1 µs"
    if micros > 99_999:
        return f"{micros / 1000:,.0f} ms".replace(",", " ")
    return f"{micros:.0f} µs" if micros >= 10 else f"{micros:g} µs"


def _share(part: float, total: float) -> str:
    percent = round(100 * part / total) if total > 0 else 0
    return f"\u2003{percent} %" if percent else ""


class _Plan:
    """The ops of a plan as boxes, from its JSON."""

    def __init__(self, data: Mapping[str, Any], by: str) -> None:
        self.data, self.ops = data, data["ops"]
        self.measured = bool(self.ops) and "measured" in self.ops[0]
        self.seconds = [
            op["measured"]["median"] if self.measured else op["predicted_seconds"]
            for op in self.ops
        ]
        self.total = sum(self.seconds)
        self.slowest = max(self.seconds, default=0)
        self.by = by
        names = [self.category(i) for i in range(len(self.ops))]
        there = _HEAT[::-1] if by == "time" else list(dict.fromkeys(names))
        # Categories after the sixth share a colour.
        self.colour = {n: str(min(i + 1, 6)) for i, n in enumerate(there)}
        if by == "time":
            self.colour = dict(zip(_HEAT, "132", strict=True))
        self.boxes: list[Box] = []
        self.maker: dict[str, int] = {}
        for feed in data["feeds"]:
            if any(v["var"] == feed["var"] for op in self.ops for v in op["inputs"]):
                text = f"{feed['dtype']} {dims(feed['shape'])}".replace(
                    "float32 ", ""
                )
                self.maker[feed["var"]] = len(self.boxes)
                cell = Cell(feed["var"], "", text, "feed", f"fed: {text}")
                self.boxes.append(Box([cell], {}, dims(feed["shape"]), "feed"))
        moves = {(t["var"], t["op_index"]): t for t in data["transfers"]}
        phase = "forward"
        for i, op in enumerate(self.ops):
            # What a pass put in belongs to what is around it.
            phase = op["purpose"] if op["covers"] else phase
            self._add(i, op, phase, moves)

    def time(self, seconds: float) -> str:
        """A time, and its share of all."""
        return _time(seconds) + _share(seconds, self.total)

    def category(self, i: int) -> str:
        """What the colour of an op says."""
        op = self.ops[i]
        if self.by == "time":
            share = self.seconds[i] / self.total if self.total else 0
            return _HEAT[(share >= 0.03) + (share >= 0.1)]
        if self.by == "place":
            return op["place"]
        return _LIBRARIES.get(op["library"], op["library"])

    def _add(
        self, i: int, op: dict[str, Any], phase: str, moves: dict[Any, Any]
    ) -> None:
        slots = self.data["slots"]
        shapes = {v["argument"]: v["shape"] for v in reversed(op["inputs"])}
        weights = sum(
            math.prod(v["shape"])
            for v in op["inputs"]
            if slots[v["slot"]]["kind"] == "persistable"
            and v["argument"] not in ("Mean", "Variance")
        )
        covered = op["covered_ops"]
        name = op["op"]
        if len(covered) > 1:
            rest = [_SHORT.get(each, each) for each in covered[1:]]
            name = "+".join([covered[0], *rest])
        first = covered[0] if covered else op["op"]
        attrs: dict[str, Any] = {}
        if kind(first) == "convolution" and phase == "forward":
            at = 1 if op["layout"] == "NHWC" else 2
            high = op["outputs"][0]["shape"][at]
            attrs["strides"] = [round(op["inputs"][0]["shape"][at] / high)]
        weights *= phase == "forward"
        detail = about(first, shapes, weights, attrs)
        if not covered:
            detail = f"put in by {op['pass']}" if op["pass"] else "put in"
        elif "Param" in shapes:
            detail = next(v["var"] for v in op["inputs"] if v["argument"] == "Param")
        library = op["library"].lower()
        kernel = op["variant"]
        if library != "plain":
            kernel = f"{library}/{kernel}"
        if self.by != "place" and op["place"] != self.data["place"]:
            kernel += f" at {op['place']}"
        category = self.colour[self.category(i)]
        bar = self.seconds[i] / self.slowest if self.slowest else 0
        tip = [name, op["kernel"], op["reason"], f"layout {op['layout']}"]
        for sign, key in ("<-", "inputs"), ("->", "outputs"):
            tip += [
                f"{sign} {v['var']}: {v['dtype']} {dims(v['shape'])}" for v in op[key]
            ]
        tip.append(os.path.basename(op["line"]))
        cell = Cell(
            name,
            f"{'#' if covered else '+'}{op['index']}",
            detail,
            "op",
            "\n".join(tip).strip(),
            kernel=kernel,
            time=self.time(self.seconds[i]),
            category=category,
            bars=((category, bar),),
        )
        sources: dict[int, str] = {}
        for value in op["inputs"]:
            source = self.maker.get(value["var"])
            if source is not None:
                move = moves.get((value["var"], op["index"]))
                text = f"{_bytes(move['bytes'])} to {move['to']}" if move else ""
                sources[source] = sources.get(source, "") or text
        shape = dims(op["outputs"][0]["shape"]) if op["outputs"] else "[]"
        if shape == "[]" or phase == "optimize":
            shape = ""
        box = Box([cell], sources, shape, phase)
        for value in op["outputs"]:
            self.maker[value["var"]] = len(self.boxes)
            if (value["var"], -1) in moves:
                move = moves[value["var"], -1]
                box.copied = f"{_bytes(move['bytes'])} to {move['to']}, fetched"
        self.boxes.append(box)

    def training(self, phase: str, members: list[int]) -> Cell:
        """The box for the calls of one phase."""
        fed = len(self.boxes) - len(self.ops)
        ops = [m - fed for m in members]
        part: dict[str, float] = {}
        for i in ops:
            colour = self.colour[self.category(i)]
            part[colour] = part.get(colour, 0) + self.seconds[i]
        seconds = sum(part.values())
        cells = [self.boxes[m].cells[0] for m in members]
        most = cells[ops.index(max(ops, key=self.seconds.__getitem__))]
        lines = [f"{c.mark} {c.name}: {c.kernel}, {c.time}" for c in cells]
        word = "optimizer" if phase == "optimize" else phase
        return Cell(
            f"{word}: {counted(len(ops), 'call')}",
            "",
            f"most: {most.mark} {most.name}",
            "op",
            "\n".join(lines),
            dashed=True,
            kernel=counted(len({self.ops[i]["kernel"] for i in ops}), "kernel"),
            time=self.time(seconds),
            bars=tuple((c, s / (seconds or 1)) for c, s in part.items()),
        )

    def sum_up(self, cells: list[Cell]) -> Cell:
        """The cell of calls in repeated blocks: with their time in all."""
        marks = {cell.mark[1:] for cell in cells}
        seconds = sum(
            s
            for op, s in zip(self.ops, self.seconds, strict=True)
            if str(op["index"]) in marks
        )
        return cells[0]._replace(time=self.time(seconds))


def draw_plan(
    plan: _core.Plan | Mapping[str, Any],
    path: str | os.PathLike[str] | None = None,
    by: str = "library",
    all: bool = False,
) -> str:
    """Draw a plan as SVG, for light and dark pages.

    Each op has its kernel, time and share of the predicted time; copies to
    other places are red.

    Args:
        plan: a plan, or the ``plan`` of a report's data, with measured times.
        path: a file to write it to, too.
        by: what colours show: "library", "place" or "time".
        all: also draw each op of the backward pass and of the optimizer.

    Raises:
        InvalidArgumentError: for another ``by``.
    """
    if by not in ("library", "place", "time"):
        raise InvalidArgumentError(
            'draw: by: expected "library", "place" or "time", got '
            f"{_core._shown(by)}",
            "python.draw_by",
        )
    if isinstance(plan, _core.Plan):
        plan = json.loads(_core._explain_by_signature(plan))
    made = _Plan(plan, by)
    boxes = made.boxes
    if not all:
        boxes = fold_training(boxes, made.training)
        if len(boxes) > MOST_BOXES:
            boxes = fold_repeats(boxes, made.sum_up)
    word = "measured" if made.measured else "predicted"
    lines = [
        f"at {plan['place']}, {counted(plan['threads'], 'thread')}: "
        f"{_time(made.total)} {word}, {counted(len(made.ops), 'call')}",
        "bars: time, relative to the slowest call",
    ]
    if any(not op["covers"] for op in made.ops):
        lines.append("+ is an op that Sluice put in")
    copied = sum(t["bytes"] for t in plan["transfers"])
    if copied:
        lines.append(f"red: copies between places, {_bytes(copied)} in all")
    if len(boxes) < len(made.boxes):
        lines.append("folded: draw(all=True) shows every op")
    if plan["rest"]["reason"]:
        lines.append("the first stretch only: " + plan["rest"]["reason"])
    parts: dict[str, float] = dict.fromkeys(made.colour, 0)
    for i, seconds in enumerate(made.seconds):
        parts[made.category(i)] += seconds
    legend = [
        (made.colour[name], name + _share(seconds, made.total))
        for name, seconds in parts.items()
        if seconds
    ]
    return write(render(boxes, lines, legend), path)
