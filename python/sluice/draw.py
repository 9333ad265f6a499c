"""The graph of a program as SVG, laid out in layers from top to bottom."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .framework import Operator, Program

_ROW, _GAP, _HEIGHT, _CHAR, _MARGIN = 84, 24, 44, 7.2, 20
_FILL = {
    "data": "#d9ead3",
    "parameter": "#fff2cc",
    "forward": "#dce6f7",
    "backward": "#f7dcdc",
    "optimize": "#e8dcf7",
}


class Box(NamedTuple):
    """One op, or one variable that no op writes."""

    label: str
    shape: str  # of its first output, "" if unknown
    tip: str
    kind: str

    @property
    def width(self) -> float:
        """The width in pixels."""
        return max(len(self.label), len(self.shape)) * _CHAR + 20


def _boxes(program: Program) -> tuple[list[Box], list[tuple[int, int, str]]]:
    """The boxes, and edges between them labelled with the variable."""
    variables = {v["name"]: v for v in program._blocks()[0]["vars"]}
    boxes: list[Box] = []
    edges: list[tuple[int, int, str]] = []
    maker: dict[str, int] = {}

    def shape(name: str) -> str:
        var = variables[name]
        dims = "?" if var["shape"] is None else list(var["shape"])
        return f"{var['dtype']} {dims}".replace("None", "?")

    def text(name: str) -> str:
        return f"{name}: {shape(name)}"

    for op in program.ops:
        sources = []
        for name in dict.fromkeys(n for ns in op.inputs.values() for n in ns):
            if name not in maker:
                kind = "data" if variables[name]["is_data"] else "parameter"
                maker[name] = len(boxes)
                boxes.append(Box(name, shape(name), text(name), kind))
            sources.append((maker[name], name))
        index = len(boxes)
        made = [name for names in op.outputs.values() for name in names]
        first = shape(made[0]) if made else ""
        boxes.append(Box(op.type, first, _tip(op), op.purpose))
        edges += [(source, index, text(name)) for source, name in sources]
        maker.update(dict.fromkeys(made, index))
    return boxes, edges


def _tip(op: Operator) -> str:
    lines = [f"{name} = {value}" for name, value in op.attrs.items()]
    file, line = op.line
    return "\n".join([op.type, *lines, f"{file}:{line}" if file else ""])


def _rows(
    boxes: list[Box], edges: list[tuple[int, int, str]]
) -> list[list[int]]:
    """Boxes by layer: an op below all its inputs, an input just above."""
    level = [0] * len(boxes)
    for source, target, _ in edges:  # in program order, so once is enough
        level[target] = max(level[target], level[source] + 1)
    fed = {target for _, target, _ in edges}
    for index in range(len(boxes)):
        below = [level[t] for s, t, _ in edges if s == index]
        if index not in fed and below:
            level[index] = min(below) - 1
    rows: list[list[int]] = [[] for _ in range(max(level, default=0) + 1)]
    for index, row in enumerate(level):
        rows[row].append(index)
    return rows


def _positions(
    boxes: list[Box], edges: list[tuple[int, int, str]], rows: list[list[int]]
) -> dict[int, float]:
    """The middle of each box; rows are sorted by the position of inputs."""
    centre: dict[int, float] = {}
    for row in rows:

        def wish(index: int) -> float:
            above = [
                centre[s] for s, t, _ in edges if t == index and s in centre
            ]
            return sum(above) / len(above) if above else 0.0

        row.sort(key=wish)
        width = sum(boxes[i].width + _GAP for i in row) - _GAP
        x = -width / 2
        for index in row:
            centre[index] = x + boxes[index].width / 2
            x += boxes[index].width + _GAP
    return centre


def _line(x: float, y: float, words: str, colour: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" '
        f'fill="{colour}">{html.escape(words)}</text>'
    )


def draw(program: Program) -> str:
    """Return the SVG text. Tooltips have attributes and lines.

    ``sluice.lab.report`` draws a plan, with kernels, places and times.
    """
    boxes, edges = _boxes(program)
    rows = _rows(boxes, edges)
    centre = _positions(boxes, edges, rows)
    level = {index: r for r, row in enumerate(rows) for index in row}
    left = min(
        (centre[i] - b.width / 2 for i, b in enumerate(boxes)), default=0
    )
    right = max(
        (centre[i] + b.width / 2 for i, b in enumerate(boxes)), default=0
    )
    width = right - left + 2 * _MARGIN
    height = len(rows) * _ROW - (_ROW - _HEIGHT) + 2 * _MARGIN

    def at(index: int) -> tuple[float, float]:
        return centre[index] - left + _MARGIN, level[index] * _ROW + _MARGIN

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        'font-family="monospace" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" '
        'markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#888"/></marker></defs>',
    ]
    for source, target, label in edges:
        (x1, y1), (x2, y2) = at(source), at(target)
        y1 += _HEIGHT
        bend = max((y2 - y1) / 2, 12)
        parts.append(
            f'<path d="M{x1:.1f} {y1:.1f}C{x1:.1f} {y1 + bend:.1f} '
            f'{x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}" fill="none" '
            'stroke="#888" marker-end="url(#arrow)">'
            f"<title>{html.escape(label)}</title></path>"
        )
    for index, box in enumerate(boxes):
        x, y = at(index)
        parts.append(
            f"<g><title>{html.escape(box.tip)}</title><rect "
            f'x="{x - box.width / 2:.1f}" y="{y:.1f}" '
            f'width="{box.width:.1f}" height="{_HEIGHT}" rx="5" '
            f'fill="{_FILL[box.kind]}" stroke="#555"/>'
            + _line(x, y + 18, box.label, "#000")
            + _line(x, y + 35, box.shape, "#666")
            + "</g>"
        )
    return "\n".join([*parts, "</svg>\n"])
