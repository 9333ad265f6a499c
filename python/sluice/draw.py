"""Draws programs: their ops from top to bottom, coloured by kind."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from .drawing import COLOURS, Box, Cell, fold, render, runs, stack, write

if TYPE_CHECKING:
    from .framework import Operator, Program

_MOST = 60  # boxes that are drawn without folding repeated blocks
_LONGEST_BLOCK = 48
_KINDS = {
    "convolution": r"conv\dd",
    "pooling": r"pool|maxout",
    "normalisation": r"_norm|^lrn",
    "loss, metric": r"entropy|_loss|accuracy|crf|^mean$|^top_k",
    "product": r"^(mul|matmul|lookup_table|lstm|gru|simple_rnn|linear_att)",
    "activation": r"relu|sigmoid|^tanh|[gscm]elu|^elu|soft|swish|mish|dropout",
    "control flow": r"^(if|loop)$",
    "data movement": r"reshape|transpose|squeeze|concat|slice|pad|crop|expand"
    r"|tile|flatten|gather|scatter|cast|assign|^shape|shuffle|resize|^c_",
}
# Written below the op whose result they change.
_JOINED = r"relu|sigmoid|^tanh|elu|swish|mish|dropout|_norm|bias_add"


def kind(op: str) -> str:
    """The kind of an op, by its type; a gradient has that of its op."""
    plain = re.sub(r"^fused_|_grad(_\w+)?$", "", op)
    for name, pattern in _KINDS.items():
        if re.search(pattern, plain):
            return name
    return "other"


def dims(shape: Sequence[int | None] | None) -> str:
    """A shape as text; unknown sizes are "?"."""
    if shape is None:
        return "?"
    return "[" + ", ".join("?" if n is None else str(n) for n in shape) + "]"


def counted(number: int, noun: str) -> str:
    """A text such as "1 op" or "10 500 weights"."""
    digits = f"{number:,}".replace(",", " ") if number > 9999 else str(number)
    return f"{digits} {noun}{'s' * (number != 1)}"


def about(
    op: str,
    shapes: Mapping[str, Sequence[int | None]],
    weights: int,
    attrs: Mapping[str, Any],
) -> str:
    """What an op is, such as "3x3, 16 filters, 448 weights".

    ``shapes`` are those of its inputs by argument.
    """
    parts = []
    what = kind(op)
    other = {name: v for name, v in attrs.items() if name != "paddings"}
    if what == "convolution" and "Filter" in shapes:
        filters = list(shapes["Filter"])
        strides = other.pop("strides", [1])
        window = "x".join(map(str, filters[2:]))
        step = f"/{strides[0]}" if set(strides) != {1} else ""
        many = filters["transpose" in op] * other.get("groups", 1) ** (
            "transpose" in op
        )
        parts += [window + step, f"{many} filters"]
    elif what == "pooling" and other.get("ksize"):
        size, strides = other.pop("ksize"), other.pop("strides", [])
        step = f"/{strides[0]}" if list(strides) != list(size) else ""
        window = "x".join(map(str, size)) + step
        parts.append(f"{other.pop('pooling_type', '')} {window}".strip())
    elif what == "product" and weights and len(shapes.get("Y", ())) == 2:
        parts.append("{} to {}".format(*shapes["Y"]))
    parts += _settings(op, other)
    if weights:
        parts.append(counted(weights, "weight"))
    return ", ".join(parts)


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
        if value not in ("", []) and len(text) < 28:
            parts.append(text)
    return parts


def _tip(op: Operator, shape: Mapping[str, str]) -> str:
    lines = [op.type]
    for sign, arguments in ("<-", op.inputs), ("->", op.outputs):
        lines += [f"{sign} {n}: {shape[n]}" for ns in arguments.values() for n in ns]
    lines += [f"{name} = {str(value)[:99]}" for name, value in op.attrs.items()]
    file, line = op.line
    return "\n".join([*lines, *([f"{os.path.basename(file)}:{line}"] * bool(file))])


class _Boxes:
    """The feeds and ops of a program's first block as boxes."""

    def __init__(self, program: Program) -> None:
        self.blocks = program._blocks()
        self.variables = {v["name"]: v for v in self.blocks[0]["vars"]}
        self.text = {
            name: f"{v['dtype']} {dims(v['shape'])}"
            for name, v in self.variables.items()
        }
        ops = program.ops
        read = {n for op in ops for ns in op.inputs.values() for n in ns}
        self.boxes: list[Box] = []
        self.maker: dict[str, int] = {}
        self.constants: dict[str, str] = {}
        for name, var in self.variables.items():
            if var["is_data"] and name in read:
                self.maker[name] = len(self.boxes)
                text = self.text[name].replace("float32 ", "")
                cell = Cell(name, "", text, "feed", f"fed: {name}: {text}")
                self.boxes.append(Box([cell], [], dims(var["shape"]), "feed"))
        for index, op in enumerate(ops):
            made = [n for ns in op.outputs.values() for n in ns]
            if not op.inputs and read.issuperset(made) and not op.hint:
                value = op.attrs.get("value", "")
                self.constants.update(dict.fromkeys(made, f"{op.type} {value}"))
            else:
                self._add(index, op, made)

    def weights(self, names: Sequence[str]) -> int:
        """The size of the parameters among these."""
        found = [self.variables[name] for name in dict.fromkeys(names)]
        return sum(
            math.prod(v["shape"])
            for v in found
            if v["persistable"] and not v["stop_gradient"]
        )

    def _add(self, index: int, op: Operator, made: list[str]) -> None:
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
        for name, value in op.attrs.items():
            if name.endswith("block") and isinstance(value, int):
                inner = Counter(o["type"] for o in self.blocks[value]["ops"])
                many = ", ".join(f"{t} x{n}" if n > 1 else t for t, n in inner.items())
                word = {"block": "repeats"}.get(name, name.removesuffix("_block"))
                cells.append(
                    Cell(f"{word}:", "", many or "nothing", what, tip, True)
                )
        sources = dict.fromkeys(self.maker[n] for n in names if n in self.maker)
        shape = dims(self.variables[made[0]]["shape"]) if made else ""
        self.boxes.append(
            Box(cells, list(sources), "" if shape == "[]" else shape, op.purpose)
        )
        self.maker.update(dict.fromkeys(made, len(self.boxes) - 1))


def _fold_training(boxes: list[Box], program: Program) -> list[Box]:
    """One dashed box each for the backward pass and the optimizer."""
    groups = []
    drawn = [op for op in program.ops]
    for purpose, members in runs([box.purpose for box in boxes]):
        if purpose not in ("backward", "optimize"):
            continue
        marks = [int(boxes[m].cells[0].mark[1:]) for m in members]
        while marks[0] and drawn[marks[0] - 1].purpose == purpose:
            marks.insert(0, marks[0] - 1)  # a constant
        ops = drawn[marks[0] : marks[-1] + 1]
        if purpose == "backward":
            name = f"backward: {counted(len(ops), 'op')}"
            detail = ""
        else:
            types = {op.type: 0 for op in ops if "Param" in op.inputs}
            name = f"optimizer: {', '.join(types) or counted(len(ops), 'op')}"
            many = sum("Param" in op.inputs for op in ops)
            detail = counted(many, "parameter") if many else ""
        inside = Counter(op.type for op in ops)
        tip = "\n".join(f"{n} {op}" for op, n in inside.items())
        mark = f"#{marks[0]}" + f"-{marks[-1]}" * (len(marks) > 1)
        cell = Cell(name, mark, detail, "optimizer", tip, dashed=True)
        groups.append((members, Box([cell], [], "", purpose)))
    folded = fold(boxes, groups)
    loss = [i for i, box in enumerate(folded) if box.purpose == "forward"]
    for i, box in enumerate(folded):
        if box.purpose == "backward":  # not from all whose values it reads
            before = [j for j in loss if j < i]
            box.sources = before[-1:] or box.sources
        elif box.purpose == "optimize":
            box.sources = box.sources[-1:]
    return folded


def fold_repeats(boxes: list[Box]) -> list[Box]:
    """One box, marked "x 8", for blocks that follow each other."""
    keys = [
        (
            *((c.name, c.detail, c.kernel) for c in box.cells),
            box.shape,
            *sorted(i - s for s in box.sources),
        )
        for i, box in enumerate(boxes)
    ]
    numbers = {key: n for n, key in enumerate(dict.fromkeys(keys))}
    ids = [numbers[key] for key in keys]
    size = len(ids)
    best = [(0, 0)] * size  # boxes in repeats that begin here, and the period
    for period in range(1, min(_LONGEST_BLOCK, size // 2) + 1):
        same = 0
        for i in range(size - period - 1, -1, -1):
            same = same + 1 if ids[i] == ids[i + period] else 0
            covered = (same // period + 1) * period if same >= period else 0
            if covered > best[i][0] and covered > 2:
                best[i] = covered, period
    groups = []
    start = 0
    while start < size:
        covered, period = best[start]
        if not covered or boxes[start].purpose == "feed":
            start += 1
            continue
        members = list(range(start, start + covered))
        shown = [c for m in members[:period] for c in boxes[m].cells]
        first, last = boxes[start].cells[0], boxes[members[-1]].cells[-1]
        head = Cell(
            f"x {covered // period}",
            f"{first.mark}-{last.mark[1:]}",
            f"block of {counted(len(shown), 'op')}",
            "op",
        )
        more = [Cell(f"and {counted(len(shown) - 12, 'more op')}", kind="op")]
        cells = [head, *shown[:12], *(more if len(shown) > 12 else [])]
        groups.append((members, Box(cells, [], boxes[members[-1]].shape)))
        start += covered
    return fold(boxes, groups)


def legend(boxes: Sequence[Box]) -> list[tuple[str, str]]:
    """The kinds that are there, in the order of the colours."""
    there = {cell.kind for box in boxes for cell in box.cells}
    names = {"feed": "fed", "optimizer": "training"}
    return [(k, names.get(k, k)) for k in COLOURS if k in there - {"op"}]


def draw(
    program: Program,
    path: str | os.PathLike[str] | None = None,
    all: bool = False,
) -> str:
    """See :meth:`sluice.Program.draw`."""
    made = _Boxes(program)
    boxes = made.boxes
    purposes = Counter(op.purpose for op in program.ops)
    notes = []
    if not all and purposes.keys() - {"forward"}:
        boxes = _fold_training(boxes, program)
        notes.append("draw(all=True) shows each op")
    boxes = stack(
        boxes,
        lambda c: bool(
            re.search(_JOINED, c.name)
            or (c.name == "elementwise_add" and "weight" in c.detail)
        ),
    )
    if not all and sum(len(box.cells) for box in boxes) > _MOST:
        folded = fold_repeats(boxes)
        if len(folded) < len(boxes):
            notes = ["repeated blocks are one: draw(all=True) shows each op"]
        boxes = folded
    names = {"forward": "forward", "backward": "backward", "optimize": "optimizer"}
    title = counted(sum(purposes.values()), "op")
    if len(purposes) > 1:
        counts = [f"{purposes[p]} {n}" for p, n in names.items() if purposes[p]]
        title += ": " + ", ".join(counts)
    weights = made.weights(list(made.variables))
    if weights:
        notes.insert(0, counted(weights, "weight"))
    notes = ["; ".join(notes)] * bool(notes)
    return write(render(boxes, title, notes, legend(boxes)), path)
