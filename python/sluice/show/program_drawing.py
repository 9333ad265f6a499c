"""Draws programs: their ops from top to bottom, coloured by kind."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from ..display import counted, flag, shape_text, whole_feeds
from .drawing import (
    COLOURS,
    Box,
    Cell,
    fold_layers,
    fold_repeats,
    fold_training,
    render,
    stack,
    write,
)
from .summary import Layers, count_by_phase, family

if TYPE_CHECKING:
    from ..elsewhere import LayerCall
    from ..program import Operator, Program

_MOST_BOXES = 60  # that are drawn without folding repeated blocks
# The families of ops that have a colour; others are "other".
_KINDS = {
    "convolution": ["conv"],
    "pooling": ["pool"],
    "normalisation": ["norm"],
    "loss, metric": ["loss", "metric", "sequence"],
    "product": ["contraction", "embedding", "recurrent"],
    "activation": ["activation", "softmax", "dropout"],
    "control flow": ["control_flow"],
    "data movement": [
        "movement",
        "indexing",
        "conversion",
        "creation",
        "collective",
        "ragged",
        "resize",
    ],
}
_KIND_OF = {f: kind for kind, families in _KINDS.items() for f in families}
# Of what is written below the op whose result it changes, besides a bias.
_JOINED = {"activation", "dropout", "norm"}


def kind(op: str) -> str:
    """The kind of an op, by its family."""
    return _KIND_OF.get(family(op), "other")


def feed_boxes(
    feeds: Mapping[str, tuple[Any, Any]], read: set[str]
) -> tuple[list[Box], dict[str, int]]:
    """Boxes of the fed variables that are read, and their indices by name.

    ``feeds`` are dtypes and shapes; offsets belong to the box of their rows.
    """
    boxes: list[Box] = []
    index: dict[str, int] = {}
    for name in whole_feeds(feeds):
        offsets, (dtype, shape) = f"{name}@LOD", feeds[name]
        if read.isdisjoint({name, offsets}):
            continue
        index[name] = index[offsets] = len(boxes)
        short = f"{dtype} {shape_text(shape)}".removeprefix("float32 ")
        short = "ragged " * (offsets in feeds) + short
        tip = f"fed: {name}: {dtype} {shape_text(shape)}"
        cell = Cell(name, "", short, "feed", tip)
        boxes.append(Box([cell], {}, shape_text(shape), "feed"))
    return boxes, index


def about(
    op: str,
    shapes: Mapping[str, Sequence[int | None]],
    weights: int,
    attrs: Mapping[str, Any],
) -> str:
    """A short description of an op, such as "3x3, 16 filters, 448 weights".

    ``shapes`` are those of its inputs, by argument.
    """
    parts = []
    rest = {name: v for name, v in attrs.items() if name != "paddings"}
    if kind(op) == "convolution" and "Filter" in shapes:
        filters = shapes["Filter"]
        parts.append(_window(filters[2:], rest.pop("strides", [1])))
        parts.append(f"{filters['transpose' in op]} filters")
    elif kind(op) == "pooling" and rest.get("ksize"):
        size = rest.pop("ksize")
        strides = rest.pop("strides", size)
        window = _window(size, strides if strides != size else [1])
        parts.append(f"{rest.pop('pooling_type', 'max')} {window}".strip())
    elif kind(op) == "product" and weights and len(shapes.get("Y", ())) == 2:
        parts.append("{} to {}".format(*shapes["Y"]))
    parts += _settings(op, rest)
    if weights:
        parts.append(counted(weights, "weight"))
    return ", ".join(parts)


def _window(size: Sequence[Any], strides: Sequence[Any]) -> str:
    step = f"/{strides[0]}" if set(strides) != {1} else ""
    return "x".join(map(str, size)) + step


def _settings(op: str, attrs: Mapping[str, Any]) -> list[str]:
    """The attributes that are not the defaults, if their text is short."""
    if not attrs:
        return []
    parts = []
    for setting in _core._schema(op)["attributes"]:
        name, default = setting["name"], setting["default"]
        value = attrs.get(name, default)
        if isinstance(value, tuple):
            value = list(value)
        if value == default or name == "seed" or "block" in name:
            continue
        if isinstance(value, float):
            value = f"{value:g}"
        text = f"{name} {value}".replace("[", "").replace("]", "")
        if isinstance(value, bool):
            text = name if value else f"no {name}"
        if value not in ("", []) and len(text) < 28 and "'" not in text:
            parts.append(text)
    return parts


def _tip(op: Operator, shape: Mapping[str, str]) -> str:
    lines = [op.type]
    for sign, arguments in ("<-", op.inputs), ("->", op.outputs):
        names = [name for ns in arguments.values() for name in ns]
        lines += [f"{sign} {name}: {shape[name]}" for name in names]
    lines += [f"{name} = {str(value)[:99]}" for name, value in op.attrs.items()]
    file, line = op.line
    lines += [f"{os.path.basename(file)}:{line}"] if file else []
    return "\n".join(lines)


class _Boxes:
    """The feeds and ops of a program's first block as boxes."""

    def __init__(self, program: Program) -> None:
        self.blocks = program._blocks()
        self.variables = {v["name"]: v for v in self.blocks[0]["vars"]}
        self.text = {
            name: f"{v['dtype']} {shape_text(v['shape'])}"
            for name, v in self.variables.items()
        }
        self.ops = program.ops
        read = {n for op in self.ops for ns in op.inputs.values() for n in ns}
        self.constants: dict[str, str] = {}
        self.layers = program._layers
        self.made_by: dict[int, tuple[int, LayerCall | None]] = {}
        fed = {
            name: (var["dtype"], var["shape"])
            for name, var in self.variables.items()
            if var["is_data"]
        }
        self.boxes, self.maker = feed_boxes(fed, read)
        for index, op in enumerate(self.ops):
            outputs = [n for ns in op.outputs.values() for n in ns]
            if not op.inputs and read.issuperset(outputs) and not op.hint:
                value = op.attrs.get("value", "")
                constant = f"{op.type} {value}"
                self.constants.update(dict.fromkeys(outputs, constant))
            else:
                self._add(index, op, outputs)

    def weights(self, names: Sequence[str]) -> int:
        """The size of the parameters among these."""
        found = [self.variables[name] for name in dict.fromkeys(names)]
        return sum(
            math.prod(v["shape"])
            for v in found
            if v["persistable"] and not v["stop_gradient"]
        )

    def _add(self, index: int, op: Operator, outputs: list[str]) -> None:
        names = [n for ns in op.inputs.values() for n in ns]
        shapes = {
            argument: self.variables[ns[0]]["shape"] or ()
            for argument, ns in op.inputs.items()
            if ns
        }
        forward = op.purpose == "forward"
        detail = about(
            op.type, shapes, forward and self.weights(names), op.attrs
        )
        if "Param" in op.inputs:
            detail = op.inputs["Param"][0]
        constants = [self.constants[n] for n in names if n in self.constants]
        if not detail and constants:
            detail = ", ".join(constants).replace("fill_constant ", "")
        what = "optimizer" if op.purpose == "optimize" else kind(op.type)
        tip = "\n".join([_tip(op, self.text), *constants])
        cells = [Cell(op.type, f"#{index}", detail, what, tip)]
        for name, value in sorted(op.attrs.items(), reverse=True):
            if name.endswith("block") and isinstance(value, int):
                inner = Counter(o["type"] for o in self.blocks[value]["ops"])
                ops = [f"{t} x{n}" if n > 1 else t for t, n in inner.items()]
                text = ", ".join(ops) or "nothing"
                word = name.removesuffix("_block").replace("block", "repeats")
                cells.append(Cell(f"{word}:", "", text, what, tip, True))
        makers = [self.maker[n] for n in names if n in self.maker]
        first = outputs[0] if outputs else None
        shape = shape_text(self.variables[first]["shape"]) if first else "[]"
        if shape == "[]" or op.purpose == "optimize":
            shape = ""
        self.boxes.append(
            Box(cells, dict.fromkeys(makers, ""), shape, op.purpose)
        )
        self.maker.update(dict.fromkeys(outputs, len(self.boxes) - 1))
        call = self.layers.get(first) if first and forward else None
        self.made_by[len(self.boxes) - 1] = index, call

    def layer(self, name: str, found: list[int]) -> Cell:
        """The box for the ops of one layer."""
        at = [self.made_by[i][0] for i in found]
        ops = [self.ops[i] for i in at]
        names = [n for op in ops for ns in op.inputs.values() for n in ns]
        weights = self.weights(names)
        detail = counted(len(ops), "op")
        if weights:
            detail += f", {counted(weights, 'weight')}"
        kinds = [kind(op.type) for op in ops]
        what = next(
            (k for k in kinds if k not in ("data movement", "other")), "other"
        )
        inside = Counter(op.type for op in ops)
        tip = "\n".join(f"{n} {op}" for op, n in inside.items())
        return Cell(name, f"#{at[0]}-{at[-1]}", detail, what, tip, True)

    def training(self, purpose: str, members: list[int]) -> Cell:
        """The box for the ops of one purpose."""
        first = last = int(self.boxes[members[0]].cells[0].mark[1:])
        while first and self.ops[first - 1].purpose == purpose:
            first -= 1  # a constant
        while last < len(self.ops) and self.ops[last].purpose == purpose:
            last += 1
        ops = self.ops[first:last]
        updates = [op.type for op in ops if "Param" in op.inputs]
        name, detail = f"backward: {counted(len(ops), 'op')}", ""
        if purpose == "optimize":
            what = ", ".join(dict.fromkeys(updates))
            name = f"optimizer: {what or counted(len(ops), 'op')}"
            detail = counted(len(updates), "parameter")
        inside = Counter(op.type for op in ops)
        tip = "\n".join(f"{n} {op}" for op, n in inside.items())
        mark = f"#{first}" + f"-{last - 1}" * (last - first > 1)
        return Cell(name, mark, detail, "optimizer", tip, True)


def _joins(cell: Cell) -> bool:
    added = cell.name == "elementwise_add" and "weight" in cell.detail
    return added or cell.name == "bias_add" or family(cell.name) in _JOINED


def draw(
    program: Program,
    path: str | os.PathLike[str] | None,
    all: bool,
    columns: int,
) -> str:
    """See :meth:`sluice.Program.draw`."""
    all = flag("draw: all", all)
    graph = _Boxes(program)
    whole = stack(graph.boxes, _joins)
    boxes = whole
    if not all:
        by = {i: call for i, (_, call) in graph.made_by.items() if call}
        graph.boxes = fold_layers(graph.boxes, by, graph.layer)
        boxes = stack(fold_training(graph.boxes, graph.training), _joins)
        if sum(len(box.cells) for box in boxes) > _MOST_BOXES:
            boxes = fold_repeats(boxes, lambda cells: cells[0])
    layers = Layers(program)
    lines = [count_by_phase(layers.ops)]
    if text := layers.parameters_text():
        lines.append(text)
    if len(boxes) < len(whole):
        lines.append("folded: draw(all=True) shows every op")
    there = {cell.kind for box in boxes for cell in box.cells} - {"op"}
    names = {"feed": "fed", "optimizer": "training"}
    legend = [(k, names.get(k, k)) for k in COLOURS if k in there]
    return write(render(boxes, lines, legend, columns), path)
