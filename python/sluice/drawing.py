"""Renders boxes and the edges between them as SVG, for light and dark pages."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .graph_layout import Point, lay_out, levels

_LEAST, _MOST, _PAD, _MARGIN = 150, 270, 9, 16  # widths in pixels
_LONG = 24  # an edge over more rows is drawn as two ends that name each other
_FONT = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
# Light and dark. Texts are legible on every fill: WCAG's AA, as tests compute.
COLOURS = {
    "page": ("#ffffff", "#14181d"),
    "text": ("#1f2328", "#eef1f4"),
    "dim": ("#4a535d", "#bac3cd"),
    "line": ("#68717b", "#8d97a3"),
    "moved": ("#b42318", "#ff9a8f"),
    "track": ("#dde2e7", "#3a434d"),
    "feed": ("#ffffff", "#14181d"),
    "convolution": ("#d3e4fd", "#1d3b66"),
    "product": ("#e6dbfa", "#3d2e69"),
    "pooling": ("#d3f0da", "#1c4a2c"),
    "normalisation": ("#fbeebb", "#4c400f"),
    "activation": ("#fedfcd", "#5c3016"),
    "loss, metric": ("#fcd9e5", "#5b2039"),
    "data movement": ("#e1e5e9", "#38414b"),
    "control flow": ("#eadfcb", "#4a3c27"),
    "optimizer": ("#dcdff0", "#31364f"),
    "other": ("#cfeeee", "#174648"),
    "op": ("#f4f6f8", "#1f262d"),
    "1": ("#0b5fa5", "#62ade8"),
    "2": ("#a34700", "#f29d50"),
    "3": ("#1a7034", "#5cc677"),
    "4": ("#7a3fc4", "#bb9bff"),
    "5": ("#a3195b", "#ff8fbf"),
    "6": ("#665900", "#d9c34a"),
}
_TEXTS = ("text", "dim", "moved", *"123456")


class Cell(NamedTuple):
    """One op, or what stands for several."""

    name: str
    mark: str = ""  # at the right, such as "#4"
    detail: str = ""
    kind: str = "other"  # its fill
    tip: str = ""
    dashed: bool = False
    kernel: str = ""
    time: str = ""
    category: str = "text"  # the colour of its kernel
    bars: tuple[tuple[str, float], ...] = ()  # colours, and parts of the width


@dataclass
class Box:
    """Cells on top of each other, and the boxes that they read from."""

    cells: list[Cell]
    sources: list[int] = field(default_factory=list)
    shape: str = ""  # of the first output
    purpose: str = "forward"
    moved: dict[int, str] = field(default_factory=dict)  # text by source


def text_width(text: str, size: float = 12, bold: bool = False) -> float:
    """An upper bound of its width: that in DejaVu Sans, which is wide."""
    ems = sum(
        0.4 if c in "iljftr'.,:;|![]()/ I" else 0.95 if c in "mwMW@%…" else 0.64
        for c in text
    )
    return ems * size * (1.1 if bold else 1)


def cut(text: str, width: float, size: float = 12, bold: bool = False) -> str:
    """The text, without its middle if it is wider."""
    width += 0.1  # sums of the same numbers may differ
    if text_width(text, size, bold) <= width:
        return text
    keep = int(len(text) * width / text_width(text, size, bold))
    while keep > 2:
        short = text[: keep // 2] + "…" + text[len(text) - (keep - 1) // 2 :]
        if text_width(short, size, bold) <= width:
            return short
        keep -= 1
    return "…"


def fold(boxes: list[Box], groups: Sequence[tuple[list[int], Box]]) -> list[Box]:
    """Replace boxes by one; it is where the first of them was."""
    whole = {min(members): box for members, box in groups}
    owner = {m: min(members) for members, _ in groups for m in members}
    made: list[Box] = []
    index: dict[int, int] = {}
    members: dict[int, list[int]] = {}
    for old in range(len(boxes)):
        first = owner.get(old, old)
        members.setdefault(first, []).append(old)
        if first == old:
            index[old] = len(made)
            made.append(whole.get(old, boxes[old]))
    for first, old_ones in members.items():
        box = made[index[first]]
        sources: dict[int, None] = {}
        moved: dict[int, str] = {}
        for old in old_ones:
            for source in boxes[old].sources:
                new = index[owner.get(source, source)]
                if new != index[first]:
                    sources[new] = None
                    if source in boxes[old].moved:
                        moved[new] = boxes[old].moved[source]
        made[index[first]] = Box(
            box.cells, list(sources), box.shape, box.purpose, moved
        )
    return made


def runs(keys: Sequence[str]) -> Iterable[tuple[str, list[int]]]:
    """Neighbours with the same key."""
    start = 0
    for i in range(1, len(keys) + 1):
        if i == len(keys) or keys[i] != keys[start]:
            yield keys[start], list(range(start, i))
            start = i


def stack(boxes: list[Box], joins: Callable[[Cell], bool]) -> list[Box]:
    """Put cells that ``joins`` accepts below the one that they alone read."""
    readers = [0] * len(boxes)
    for box in boxes:
        for source in box.sources:
            readers[source] += 1
    group = list(range(len(boxes)))
    for i, box in enumerate(boxes):
        if len(box.sources) != 1 or not joins(box.cells[0]):
            continue
        (source,) = box.sources
        above = boxes[source]
        same = box.shape == above.shape and above.cells[-1].kind != "feed"
        if same and readers[source] == 1 and not above.cells[-1].dashed:
            group[i] = group[source]
    members: dict[int, list[int]] = {}
    for i, first in enumerate(group):
        members.setdefault(first, []).append(i)
    return fold(
        boxes,
        [
            (many, Box([c for m in many for c in boxes[m].cells], [], boxes[first].shape))
            for first, many in members.items()
            if len(many) > 1
        ],
    )


def _mark(box: Box) -> str:
    return box.cells[-1].mark or cut(box.cells[-1].name, 90)


def _ends(boxes: list[Box]) -> list[Box]:
    """Replace long edges by boxes "to #8" and "from #1" at their ends."""
    edges = [(s, t, 0) for t, box in enumerate(boxes) for s in box.sources]
    level = levels(len(boxes), edges)
    far = [e for e in edges if level[e[1]] - level[e[0]] > _LONG]
    to: dict[int, list[str]] = {}
    origin: dict[int, list[str]] = {}
    made = list(boxes)
    for source, target, _ in far:
        to.setdefault(source, []).append(_mark(boxes[target]))
        origin.setdefault(target, []).append(_mark(boxes[source]))
    gone = {(s, t) for s, t, _ in far}

    def end(word: str, marks: list[str], sources: list[int]) -> int:
        more = ", …" if len(marks) > 3 else ""
        text = f"{word} {', '.join(marks[:3])}{more}"
        tip = f"{word} {', '.join(marks)}"
        made.append(Box([Cell("", detail=text, kind="end", tip=tip)], sources))
        return len(made) - 1

    for source, marks in to.items():
        end("to", marks, [source])
    for target, marks in origin.items():
        box = boxes[target]
        kept = [s for s in box.sources if (s, target) not in gone]
        kept.append(end("from", marks, []))
        made[target] = Box(box.cells, kept, box.shape, box.purpose, box.moved)
    return made


def _one_row(cell: Cell, width: float) -> bool:
    """Whether name, detail and mark fit beside each other."""
    need = text_width(cell.name, 13, True) + text_width(cell.mark)
    need += text_width(cell.detail) + 2 * _PAD + 16
    return not cell.kernel and (not cell.detail or need <= width)


def _height(cell: Cell, width: float) -> float:
    if cell.kind == "end":
        return 20
    if cell.kernel or cell.bars:
        rows = 1 + bool(cell.detail) + bool(cell.kernel)
        return 18 * rows + 6 + 8 * bool(cell.bars)
    return 24 if _one_row(cell, width) else 42


def _widths(boxes: list[Box]) -> list[float]:
    """Ops have one width; feeds and ends are as wide as their texts."""
    need = []
    for box in boxes:
        widest = 0.0
        for c in box.cells:
            first = text_width(c.name, 13, True) + text_width(c.mark) + 10
            last = text_width(c.kernel, 12, True) + text_width(c.time) + 10
            widest = max(widest, first, last, text_width(c.detail))
        need.append(min(widest + 2 * _PAD, _MOST))
    ops = [
        w
        for w, box in zip(need, boxes, strict=True)
        if box.cells[0].kind not in ("feed", "end")
    ]
    common = max([_LEAST, *ops])
    return [
        w if box.cells[0].kind in ("feed", "end") else common
        for w, box in zip(need, boxes, strict=True)
    ]


def _text(
    x: float, y: float, words: str, look: str = "text", anchor: str = ""
) -> str:
    """A text; ``look`` is a colour, with "bold" or "name" before it."""
    style, _, colour = look.rpartition(" ")
    colour = colour or "text"
    extra = f' text-anchor="{anchor}"' if anchor else ""
    extra += {"": "", "bold": ' font-weight="600"'}.get(
        style, ' font-weight="600" font-size="13"'
    )
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="t{_TEXTS.index(colour)}"'
        f"{extra}>{html.escape(words)}</text>"
    )


def _cell(cell: Cell, x: float, y: float, width: float, height: float) -> str:
    """One cell with its texts, the upper left corner at x and y."""
    left, right, room = x + _PAD, x + width - _PAD, width - 2 * _PAD
    fill = list(COLOURS).index("page" if cell.kind == "end" else cell.kind)
    dash = ' stroke-dasharray="4 3"' if cell.dashed or cell.kind == "end" else ""
    radius = 10 if cell.kind in ("feed", "end") else 4
    parts = [
        f"<g><title>{html.escape(cell.tip)}</title>" if cell.tip else "<g>",
        f'<rect class="box f{fill}" x="{x:.1f}" y="{y:.1f}" '
        f'width="{width:.1f}" height="{height:.1f}" rx="{radius}"{dash}/>',
    ]
    if cell.kind == "end":
        words = cut(cell.detail, room)
        parts.append(_text(x + width / 2, y + 14.5, words, "dim", "middle"))
        return "".join([*parts, "</g>"])
    base = y + 16.5
    space = room - (text_width(cell.mark) + 8 if cell.mark else 0)
    name = cut(cell.name, space, 13, True)
    parts.append(_text(left, base, name, "name text"))
    if cell.mark:
        parts.append(_text(right, base, cell.mark, "dim", "end"))
    if cell.detail:
        at = left
        if _one_row(cell, width):
            at += text_width(cell.name, 13, True) + 8
        else:
            base += 17.5
        parts.append(_text(at, base, cut(cell.detail, right - at), "dim"))
    if cell.kernel:
        base += 17.5
        space = room - text_width(cell.time) - 8
        kernel = cut(cell.kernel, space, 12, True)
        parts.append(_text(left, base, kernel, f"bold {cell.category}"))
        parts.append(_text(right, base, cell.time, "text", "end"))
    if cell.bars:
        parts.append(_bars(cell, left, y + height - 9, room))
    return "".join([*parts, "</g>"])


def _bars(cell: Cell, x: float, y: float, width: float) -> str:
    index = list(COLOURS).index
    parts = [f'<rect class="f{index("track")}" x="{x:.1f}" y="{y:.1f}" '
             f'width="{width:.1f}" height="4"/>']
    for colour, part in cell.bars:
        long = max(part * width, 1)
        parts.append(
            f'<rect class="f{index(colour)}" x="{x:.1f}" y="{y:.1f}" '
            f'width="{long:.1f}" height="4"/>'
        )
        x += long
    return "".join(parts)


def _edge(route: list[Point], x: float, y: float, moved: bool) -> str:
    """A path: straight beside boxes, curved between rows, with an arrow."""
    points = [(a + x, b + y) for a, b in route]
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for i, (a, b) in enumerate(points[1:], 1):
        u, v = points[i - 1]
        if i % 2 or u == a:
            path += f"V{b:.1f}"
        else:
            mid = (v + b) / 2
            path += f"C{u:.1f} {mid:.1f} {a:.1f} {mid:.1f} {a:.1f} {b:.1f}"
    a, b = points[-1]
    kind = "edge moved" if moved else "edge"
    return (
        f'<path class="{kind}" d="{path}"/><path class="{kind} head" '
        f'd="M{a - 3.5:.1f} {b - 7:.1f}h7L{a:.1f} {b:.1f}z"/>'
    )


def _style() -> str:
    rules = []
    for dark in (False, True):
        colour = {name: pair[dark] for name, pair in COLOURS.items()}
        lines = [
            f".f{i}{{fill:{shade}}}" for i, shade in enumerate(colour.values())
        ]
        lines += [f".t{i}{{fill:{colour[n]}}}" for i, n in enumerate(_TEXTS)]
        lines += [
            f".box{{stroke:{colour['line']}}}",
            f".edge{{stroke:{colour['line']};fill:none}}",
            f".edge.moved{{stroke:{colour['moved']};stroke-width:2.5}}",
            f".edge.head{{fill:{colour['line']};stroke:none}}",
            f".moved.head{{fill:{colour['moved']}}}",
        ]
        rules.append("".join(f".sluice-drawing {line}" for line in lines))
    light, dark_rules = rules
    return f"{light}@media(prefers-color-scheme:dark){{{dark_rules}}}"


def _legend(
    entries: Iterable[tuple[str, str]], x: float, y: float, width: float
) -> tuple[list[str], float]:
    """Coloured squares with texts, in as many lines as they need."""
    parts, at = [], x
    for colour, words in entries:
        long = text_width(words) + 32
        if at > x and at + long - 14 > width - _MARGIN:
            at, y = x, y + 19
        index = list(COLOURS).index(colour)
        parts.append(
            f'<rect class="box f{index}" x="{at:.1f}" y="{y - 10:.1f}" '
            'width="11" height="11" rx="2"/>'.replace('"box ', '"key box ')
            + _text(at + 16, y, words)
        )
        at += long
    return parts, y + 19 if parts else y


def render(
    boxes: list[Box],
    title: str,
    notes: Iterable[str],
    legend: Iterable[tuple[str, str]],
) -> str:
    """Return the SVG text of boxes whose sources are before them."""
    boxes = _ends(boxes)
    widths = _widths(boxes)
    heights = [
        [_height(cell, width) for cell in box.cells]
        for box, width in zip(boxes, widths, strict=True)
    ]
    edges = [
        (s, t, int(s in box.moved))
        for t, box in enumerate(boxes)
        for s in box.sources
    ]
    labels: list[tuple[str, str]] = [("", "dim")] * len(boxes)
    for i, box in enumerate(boxes):
        shapes = {boxes[s].shape for s in box.sources}
        if box.shape and box.shape not in shapes and box.cells[0].kind != "feed":
            labels[i] = (box.shape, "dim")
    for box in boxes:
        for source, words in box.moved.items():
            labels[source] = (words, "bold moved")
    layout = lay_out(
        [(w, sum(h) + 2 * len(h) - 2) for w, h in zip(widths, heights, strict=True)],
        edges,
        [text_width(words, bold=True) if words else 0 for words, _ in labels],
    )
    lines = [(title, "name text"), *((note, "dim") for note in notes)]
    width = max(layout.width, min(text_width(title, 13, True), 450), 350)
    width += 2 * _MARGIN
    parts, y = [], 26.0
    for words, look in lines:
        for line in _wrap(words, width - 2 * _MARGIN):
            parts.append(_text(_MARGIN, y, line, look))
            y += 19
    keys, y = _legend(legend, _MARGIN, y, width)
    parts += keys
    left, top = (width - layout.width) / 2, y + 4
    for (_, target, moved), route in zip(edges, layout.routes, strict=True):
        parts.append(_edge(route, left, top, bool(moved)))
    for i, box in enumerate(boxes):
        x, y = layout.boxes[i][0] + left, layout.boxes[i][1] + top
        for cell, height in zip(box.cells, heights[i], strict=True):
            parts.append(_cell(cell, x, y, widths[i], height))
            y += height + 2
        if labels[i][0]:
            x, y = layout.labels[i][0] + left, layout.labels[i][1] + top + 14
            parts.append(_text(x, y, *labels[i]))
    height = layout.height + top + _MARGIN
    page = list(COLOURS).index("page")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="sluice-drawing" '
            f'width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" '
            f'font-family="{_FONT}" font-size="12">',
            f"<style>{_style()}</style>",
            f'<rect class="f{page}" width="100%" height="100%"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _wrap(words: str, width: float) -> list[str]:
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, 13, True) > width:
            lines.append(cut(word, width))
        else:
            lines[-1] = cut(longer, width, 13, True)
    return lines


def write(svg: str, path: str | os.PathLike[str] | None) -> str:
    """Return the SVG text; with a path, write it to the file."""
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(svg)
    return svg
