"""Renders boxes and the edges between them as SVG, for light and dark pages."""

from __future__ import annotations

import functools
import html
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple

from .._core import _shown
from ..display import Drawing, clean
from ..errors import InvalidArgumentError
from .graph_layout import Point, lay_out, levels
from .summary import MOST_OPS

_LEAST, _MOST, _PAD, _MARGIN = 150, 270, 9, 16  # widths in pixels
_LONGEST = 48  # characters of a name that are drawn; tooltips have all
_LONG = 24  # an edge over more rows is drawn as two ends that name each other
_LONGEST_BLOCK = 48  # in boxes, of blocks that are found to repeat
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
    # Colours and parts of the width. The kernel has the colour of a single one.
    bars: tuple[tuple[str, float], ...] = ()
    seconds: float = 0


@dataclass
class Box:
    """Cells on top of each other, and the boxes that they read."""

    cells: list[Cell]
    # By index; the text of an edge that is a copy to another place, else "".
    sources: dict[int, str] = field(default_factory=dict)
    shape: str = ""  # of the first output
    purpose: str = "forward"  # or "feed", "backward", "optimize"
    copied: str = ""  # what is copied to be fetched


@functools.lru_cache(maxsize=1 << 14)  # many ops have the same texts
def text_width(text: str, size: float = 12, bold: bool = False) -> float:
    """An upper bound of its width: that in DejaVu Sans, which is wide."""
    ems = sum(
        0.4 if c in "iljftr'.,:;|![]()/ I" else 0.95 if c in "mwMW@%…" else 0.64
        for c in text
    )
    return ems * size * (1.1 if bold else 1)


def _tip(text: str) -> str:
    return html.escape("\n".join(map(clean, text.split("\n"))))


def cut(text: str, width: float, size: float = 12, bold: bool = False) -> str:
    """The text, without its middle if it is wider."""
    text = clean(text)
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


def fold(
    boxes: list[Box], first: Sequence[int], instead: Mapping[int, Box]
) -> list[Box]:
    """Make one box of those with the same ``first``: that, or ``instead``."""
    index = {old: new for new, old in enumerate(dict.fromkeys(first))}
    folded = [
        replace(instead.get(old, boxes[old]), sources={}, copied="")
        for old in index
    ]
    for old, box in enumerate(boxes):
        target = index[first[old]]
        folded[target].copied = folded[target].copied or box.copied
        for source, text in box.sources.items():
            new = index[first[source]]
            if new != target:
                before = folded[target].sources.get(new, "")
                folded[target].sources[new] = before or text
    return folded


def stack(boxes: list[Box], joins: Callable[[Cell], bool]) -> list[Box]:
    """Put cells that ``joins`` accepts below the op that they alone read."""
    readers = Counter(source for box in boxes for source in box.sources)
    first = list(range(len(boxes)))
    whole = {i: replace(box, cells=[*box.cells]) for i, box in enumerate(boxes)}
    for i, box in enumerate(boxes):
        for source in box.sources:
            above = boxes[source]
            if (
                len(box.sources) == readers[source] == 1
                and box.shape == above.shape
                and above.purpose == box.purpose
                and joins(box.cells[0])
            ):
                first[i] = first[source]
                whole[first[i]].cells += box.cells
    return fold(boxes, first, whole)


def fold_layers(
    boxes: list[Box],
    made_by: Mapping[int, Any],
    cell: Callable[[str, list[int]], Cell],
) -> list[Box]:
    """Make one box of those of each layer of many ops, by ``cell``."""
    first, instead = list(range(len(boxes))), {}
    for call, inside in groupby(first[:], made_by.get):
        found = list(inside)
        if call is not None and len(found) > MOST_OPS:
            first[found[0] : found[-1] + 1] = [found[0]] * len(found)
            cells = [cell(call.name, found)]
            instead[found[0]] = replace(boxes[found[-1]], cells=cells)
    return fold(boxes, first, instead)


def fold_training(
    boxes: list[Box], cell: Callable[[str, list[int]], Cell]
) -> list[Box]:
    """Make one box each of the backward pass and the optimizer.

    Its edge is from the box before it; it reads values of most others.
    """
    first, instead = list(range(len(boxes))), {}
    for i in range(len(boxes)):
        purpose = boxes[i].purpose
        if purpose in ("backward", "optimize"):
            if i and boxes[i - 1].purpose == purpose:
                first[i] = first[i - 1]
                continue
            end = i
            while end < len(boxes) and boxes[end].purpose == purpose:
                end += 1
            members = list(range(i, end))
            instead[i] = Box([cell(purpose, members)], {}, "", purpose)
    folded = fold(boxes, first, instead)
    for i, box in enumerate(folded):
        if i and box.purpose in ("backward", "optimize"):
            copies = {s: text for s, text in box.sources.items() if text}
            before = {} if folded[i - 1].purpose == "feed" else {i - 1: ""}
            box.sources = before | copies
    return folded


def fold_repeats(
    boxes: list[Box], sum_up: Callable[[list[Cell]], Cell]
) -> list[Box]:
    """Make one box, marked "x 8", of equal blocks that follow each other.

    ``sum_up`` makes one cell of those at the same position in the blocks.
    """
    keys = [
        (
            *((c.name, c.detail, c.kernel) for c in box.cells),
            box.shape,
            *sorted(i - source for source in box.sources),
        )
        for i, box in enumerate(boxes)
    ]
    size = len(keys)
    best = [(0, 0)] * size  # boxes in the repeats that begin here; the period
    for period in range(1, min(_LONGEST_BLOCK, size // 2) + 1):
        same = 0
        for i in range(size - period - 1, -1, -1):
            same = same + 1 if keys[i] == keys[i + period] else 0
            covered = (same // period + 1) * period
            if covered > max(best[i][0], period, 2):
                best[i] = covered, period
    first, instead = list(range(size)), {}
    for start in sorted(range(size), key=lambda i: -best[i][0]):
        covered, period = best[start]
        end = start + covered
        # Longer ones came before, so an overlap contains one of the ends.
        free = first[start] == start and first[end - 1] == end - 1
        free = free and start not in instead and end - 1 not in instead
        if covered and free and boxes[start].purpose != "feed":
            first[start:end] = [start] * covered
            shown = [
                sum_up([box.cells[j] for box in boxes[i:end:period]])
                for i in range(start, start + period)
                for j in range(len(boxes[i].cells))
            ]
            last = boxes[end - 1].cells[-1].mark[1:]
            mark = f"{boxes[start].cells[0].mark}-{last}"
            about = f"block of {len(shown)} op{'s' * (len(shown) > 1)}"
            shown.insert(0, Cell(f"x {covered // period}", mark, about, "op"))
            if len(shown) > 14:
                more = f"and {len(shown) - 13} more ops"
                shown[13:] = [Cell(more, kind="op")]
            instead[start] = replace(boxes[end - 1], cells=shown)
    return fold(boxes, first, instead)


def _ends(boxes: list[Box]) -> list[Box]:
    """Replace long edges by boxes "to #8" and "from #1" at their ends."""
    level = levels(
        len(boxes), [(s, t, 0) for t, b in enumerate(boxes) for s in b.sources]
    )
    nodes = [replace(box, sources=dict(box.sources)) for box in boxes]
    ends: dict[tuple[int, str], list[str]] = {}
    for target, box in enumerate(boxes):
        for source in box.sources:
            if level[target] - level[source] > _LONG:
                text = nodes[target].sources.pop(source)
                there = f"{text} {_mark(box)}".strip()
                here = _mark(boxes[source])
                ends.setdefault((source, "to"), []).append(there)
                ends.setdefault((target, "from"), []).append(here)
    for (node, word), marks in ends.items():
        text = f"{word} {', '.join(marks[:3])}{', …' * (len(marks) > 3)}"
        cell = Cell("", "", text, "end", f"{word} {', '.join(marks)}", True)
        if word == "from":
            nodes[node].sources[len(nodes)] = ""
        nodes.append(Box([cell], {node: ""} if word == "to" else {}))
    return nodes


def _mark(box: Box) -> str:
    return box.cells[-1].mark or cut(box.cells[-1].name, 90)


def _one_row(cell: Cell, width: float) -> bool:
    """Whether name, detail and mark fit beside each other."""
    need = text_width(cell.name, 13, True) + text_width(cell.mark)
    need += text_width(cell.detail) + 2 * _PAD + 16
    return not cell.kernel and (not cell.detail or need <= width)


def _details(cell: Cell, width: float) -> list[str]:
    """The lines of the detail, which is broken after commas."""
    lines: list[str] = []
    for part in cell.detail.split(", ") if cell.detail else ():
        longer = f"{lines[-1]}, {part}" if lines else part
        if lines and text_width(longer) > width - 2 * _PAD:
            lines[-1] += ","
            lines.append(part)
        else:
            lines[-1:] = [longer]
    return lines


def _height(cell: Cell, width: float) -> float:
    if cell.kind == "end":
        return 20
    rows = len(_details(cell, width))
    if cell.kernel or cell.bars:
        return 18 * (1 + rows + bool(cell.kernel)) + 6 + 8 * bool(cell.bars)
    return 24 if _one_row(cell, width) else 24 + 18 * rows


def _widths(boxes: list[Box]) -> list[float]:
    """Ops have one width; feeds and ends are as wide as their texts."""
    need, common = [], float(_LEAST)
    for box in boxes:
        widest = max(
            max(
                text_width(clean(c.name)[:_LONGEST], 13, True)
                + text_width(c.mark),
                text_width(c.kernel, 12, True) + text_width(c.time),
                min(text_width(c.detail), _MOST),
                *(text_width(part[:_LONGEST]) for part in c.detail.split(", ")),
            )
            for c in box.cells
        )
        need.append(widest + 2 * _PAD + 10)
        if box.cells[0].kind not in ("feed", "end"):
            common = max(common, need[-1])
    return [
        width if box.cells[0].kind in ("feed", "end") else common
        for width, box in zip(need, boxes, strict=True)
    ]


def _fill(colour: str) -> str:
    return f"f{list(COLOURS).index(colour)}"


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
    fill = _fill("page" if cell.kind == "end" else cell.kind)
    dash = ' stroke-dasharray="4 3"' if cell.dashed else ""
    radius = 10 if cell.kind in ("feed", "end") else 4
    parts = [
        f"<g><title>{_tip(cell.tip)}</title>" if cell.tip else "<g>",
        f'<rect class="box {fill}" x="{x:.1f}" y="{y:.1f}" '
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
    if cell.detail and _one_row(cell, width):
        at = left + text_width(cell.name, 13, True) + 8
        parts.append(_text(at, base, cell.detail, "dim"))
    elif cell.detail:
        for line in _details(cell, width):
            base += 17.5
            parts.append(_text(left, base, cut(line, room), "dim"))
    if cell.kernel:
        base += 17.5
        space = room - text_width(cell.time) - 8
        kernel = cut(cell.kernel, space, 12, True)
        colour = cell.bars[0][0] if len(cell.bars) == 1 else "text"
        parts.append(_text(left, base, kernel, f"bold {colour}"))
        parts.append(_text(right, base, cell.time, "text", "end"))
    if cell.bars:
        parts.append(_bars(cell, left, y + height - 9, room))
    return "".join([*parts, "</g>"])


def _bars(cell: Cell, x: float, y: float, width: float) -> str:
    parts = [(x, "track", width)]
    for colour, part in cell.bars:
        parts.append((x, colour, max(part * width, 1)))
        x += parts[-1][2]
    return "".join(
        f'<rect class="{_fill(colour)}" x="{at:.1f}" y="{y:.1f}" '
        f'width="{long:.1f}" height="4"/>'
        for at, colour, long in parts
    )


def curve(points: Sequence[Point]) -> str:
    """A path along a route: straight beside boxes, curved between rows."""
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for i, (a, b) in enumerate(points[1:], 1):
        u, v = points[i - 1]
        if i % 2 or u == a:
            path += f"V{b:.1f}"
        else:
            mid = (v + b) / 2
            path += f"C{u:.1f} {mid:.1f} {a:.1f} {mid:.1f} {a:.1f} {b:.1f}"
    return path


def _edge(route: list[Point], x: float, y: float, moved: bool) -> str:
    """The path of a route, with an arrow."""
    points = [(a + x, b + y) for a, b in route]
    a, b = points[-1]
    kind = "edge moved" if moved else "edge"
    return (
        f'<path class="{kind}" d="{curve(points)}"/><path class="{kind} head" '
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
            f".box,.sluice-drawing .key{{stroke:{colour['line']}}}",
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
        parts.append(
            f'<rect class="key {_fill(colour)}" x="{at:.1f}" y="{y - 10:.1f}" '
            f'width="11" height="11" rx="2"/>{_text(at + 16, y, words)}'
        )
        at += long
    return parts, y + 19 if parts else y


def _heading(
    lines: Sequence[str], legend: Iterable[tuple[str, str]], width: float
) -> tuple[list[str], float]:
    """The lines above a drawing with its legend, and where they end."""
    parts, y = [], 26.0
    for i, line in enumerate(lines):
        look = "dim" if i else "name text"
        short = cut(line, width, 12 if i else 13, not i)
        parts.append(_text(_MARGIN, y, short, look))
        y += 19
    keys, y = _legend(legend, _MARGIN, y, width + 2 * _MARGIN)
    return parts + keys, y


def _labels(boxes: list[Box]) -> list[tuple[str, str]]:
    """The text below each box and its look: shapes that change, and copies."""
    labels = []
    for box in boxes:
        shapes = {boxes[s].shape for s in box.sources}
        new = box.purpose != "feed" and box.shape not in shapes
        labels.append((box.shape if new else "", "dim"))
    for box in boxes:
        for source, text in box.sources.items():
            if text:
                labels[source] = text, "bold moved"
    return [
        (box.copied, "bold moved") if box.copied else label
        for box, label in zip(boxes, labels, strict=True)
    ]


def render(
    boxes: list[Box],
    lines: Sequence[str],
    legend: Iterable[tuple[str, str]],
    columns: int = 1,
) -> str:
    """Return the SVG text of boxes, below lines of text and a legend.

    Raises:
        InvalidArgumentError: for columns other than 1 and 2.
    """
    if isinstance(columns, bool) or columns not in (1, 2):
        raise InvalidArgumentError(
            f"draw: columns: expected 1 or 2, got {_shown(columns)}",
            "python.draw_columns",
        )
    boxes = _ends(boxes)
    widths, labels = _widths(boxes), _labels(boxes)
    heights = [
        [_height(cell, width) for cell in box.cells]
        for box, width in zip(boxes, widths, strict=True)
    ]
    edges = [
        (source, target, int(bool(text)))
        for target, box in enumerate(boxes)
        for source, text in box.sources.items()
    ]
    layout = lay_out(
        [
            (width, sum(high) + 2 * len(high) - 2)
            for width, high in zip(widths, heights, strict=True)
        ],
        edges,
        [text_width(text, bold=True) for text, _ in labels],
    )
    width = max(layout.width, min(text_width(lines[0], 13, True), 450), 350)
    parts, y = _heading(lines, legend, width)
    width += 2 * _MARGIN
    left, top, found = (width - layout.width) / 2, y + 4, []
    for (_, _, moved), route in zip(edges, layout.routes, strict=True):
        parts.append(_edge(route, left, top, bool(moved)))
    for i, box in enumerate(boxes):
        x, y = layout.boxes[i][0] + left, layout.boxes[i][1] + top
        found.append((x, y, y + sum(heights[i]) + 2 * len(heights[i]) - 2))
        for cell, height in zip(box.cells, heights[i], strict=True):
            parts.append(_cell(cell, x, y, widths[i], height))
            y += height + 2
        if labels[i][0]:
            x, y = layout.labels[i][0] + left, layout.labels[i][1] + top + 14
            parts.append(_text(x, y, *labels[i]))
    high = layout.height + top + _MARGIN
    if columns == 2 and found:
        parts, width, high = _halves(parts, width, high, found)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="sluice-drawing" '
            f'width="{width:.0f}" height="{high:.0f}" '
            f'viewBox="0 0 {width:.0f} {high:.0f}" '
            f'font-family="{_FONT}" font-size="12">',
            f"<style>{_style()}</style>",
            f'<rect class="{_fill("page")}" width="100%" height="100%"/>',
            *parts,
            "</svg>\n",
        ]
    )


def _halves(
    body: list[str], width: float, high: float, boxes: list[tuple[float, ...]]
) -> tuple[list[str], float, float]:
    """A drawing, its lower half beside the upper one; its width and height.

    ``boxes`` are the left, top and bottom of each. It is cut below a box and
    the shape under it, where only arrows are.
    """
    ends = [bottom + 22 for _, _, bottom in boxes]
    free = [e for e in ends if not any(top < e < end for _, top, end in boxes)]
    at = min(free, key=lambda end: max(end, high - end))
    left = min(x for x, *_ in boxes) - _MARGIN
    second, rest = width - 2 * left, high - at
    upper = f'<svg width="{width:.0f}" height="{at:.0f}">'
    lower = (
        f'<svg x="{width:.0f}" width="{second:.0f}" height="{rest:.0f}" '
        f'viewBox="{left:.0f} {at:.0f} {second:.0f} {rest:.0f}">'
    )
    group = '<g id="sluice-halves" class="sluice-drawing">'
    body = [f"{upper}{group}", *body, "</g></svg>"]
    body.append(f'{lower}<use href="#sluice-halves"/></svg>')
    return body, width + second, max(at, rest)


def write(svg: str, path: str | os.PathLike[str] | None) -> str:
    """Return the SVG text, in ASCII; with a path, also write it to the file.

    Raises InvalidArgumentError for an ending other than ``.svg``.
    """
    ending = "" if path is None else os.path.splitext(os.fspath(path))[1]
    if ending.lower() not in ("", ".svg"):
        raise InvalidArgumentError(
            f"draw: path: expected a name that ends with .svg, got {path}",
            "python.draw_path",
        )
    svg = svg.encode("ascii", "xmlcharrefreplace").decode()
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(svg)
    return Drawing(svg, path)
