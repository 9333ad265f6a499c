"""Lays out a directed graph in rows, so that no edge crosses a box.

An edge over several rows passes each of them at a point of its own. Boxes and
points of a row keep a distance from each other; edges bend only between rows.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

_MOST_IN_ROW = 12  # boxes; more go to the next row
_BESIDE, _LINES, _PORTS = 28.0, 12.0, 16.0  # distances in pixels
_ARROW, _LABEL, _BEND = 8.0, 18.0, 16.0  # heights between two rows

Point = tuple[float, float]


class Layout(NamedTuple):
    """Positions in pixels, from the top left corner."""

    width: float
    height: float
    boxes: list[Point]  # the top left corner of each
    # The points of each edge: two at the sides of a row, joined by a straight
    # line, then two at the next row, joined to the former by a curve.
    routes: list[list[Point]]
    labels: list[Point]  # where the text below each box begins


class _Rows:
    """The rows of a graph, and the segments of edges between them."""

    def __init__(
        self,
        sizes: Sequence[Point],
        edges: Sequence[tuple[int, int, int]],
        labels: Sequence[float],
    ) -> None:
        self.level = levels(len(sizes), edges)
        self.boxes = len(sizes)
        self.width = [size[0] for size in sizes]  # 0 for points
        self.rows: list[list[int]] = [
            [] for _ in range(max(self.level, default=-1) + 1)
        ]
        fed = {target for _, target, _ in edges}
        for node in sorted(range(self.boxes), key=lambda n: n not in fed):
            self.rows[self.level[node]].append(node)
        self.up: list[list[int]] = [[] for _ in sizes]
        self.down: list[list[int]] = [[] for _ in sizes]
        self.chains: list[list[int]] = []  # the points of each edge
        points: dict[tuple[int, int, int], int] = {}
        segments: set[tuple[int, int]] = set()
        for source, target, lane in edges:
            chain = [source]
            for row in range(self.level[source] + 1, self.level[target]):
                key = source, lane, row
                if key not in points:
                    points[key] = self._point(row)
                chain.append(points[key])
            chain.append(target)
            self.chains.append(chain)
            segments.update(pairwise(chain))
        for upper, lower in sorted(segments):
            self.down[upper].append(lower)
            self.up[lower].append(upper)
        # What a box and the text below it need on both sides.
        self.half = [width / 2 for width in self.width]
        for node, text in enumerate(labels):
            ports = _PORTS * len(self.down[node]) / 2
            self.half[node] = max(self.half[node], (text and text + ports))
        self.place = [0] * len(self.level)  # the index in its row
        self._number(self.rows)

    def _point(self, row: int) -> int:
        self.level.append(row)
        self.width.append(0)
        self.up.append([])
        self.down.append([])
        self.rows[row].append(len(self.level) - 1)
        return len(self.level) - 1

    def _number(self, rows: Iterable[list[int]]) -> None:
        for row in rows:
            for place, node in enumerate(row):
                self.place[node] = place

    def order(self) -> None:
        """Sort the rows by barycentres; keep the order with least crossings."""
        best, least = [list(row) for row in self.rows], self._crossings()
        for sweep in range(10 if len(self.level) < 5000 else 4):
            down = sweep % 2 == 0
            near = self.up if down else self.down
            for row in self.rows if down else reversed(self.rows):
                wish = {}
                for node in row:
                    places = [self.place[other] for other in near[node]]
                    own = self.place[node]
                    wish[node] = sum(places) / len(places) if places else own
                row.sort(key=wish.__getitem__)
                self._number([row])
            crossings = self._crossings()
            if crossings < least:
                best, least = [list(row) for row in self.rows], crossings
        self.rows = best
        self._number(best)

    def _crossings(self) -> int:
        count = 0
        for row in self.rows:
            passed: list[int] = []
            for node in row:
                below = sorted(self.place[other] for other in self.down[node])
                for place in below:
                    count += len(passed) - bisect_left(passed, place + 1)
                for place in below:
                    insort(passed, place)
        return count

    def apart(self, left: int, right: int) -> float:
        """The least distance between the middles of two neighbours."""
        lines = left >= self.boxes, right >= self.boxes
        between = _LINES if all(lines) else _BESIDE if not any(lines) else 16
        return self.half[left] + self.half[right] + between

    def columns(self) -> list[int]:
        """The column of each node: what is in one has the same middle.

        Long edges go on straight, then boxes below each other; segments that
        cross are not both straight, so that the order from left to right holds.
        """
        column = list(range(len(self.level)))
        depth = [0] * len(self.level)  # boxes in the longest path from it
        for row in reversed(self.rows):
            for u in row:
                below = [depth[v] + (v < self.boxes) for v in self.down[u]]
                depth[u] = max(below, default=0)
        for row in self.rows:
            segments = [(u, v) for u in row for v in self.down[u]]
            taken: list[tuple[int, int]] = []
            used: set[int] = set()

            def rank(pair: tuple[int, int]) -> tuple[int, int, bool]:
                lines = sum(node >= self.boxes for node in pair)
                return (1, 2, 0)[lines], -depth[pair[1]], not self.up[pair[0]]

            for u, v in sorted(segments, key=rank):
                at = self.place[u], self.place[v]
                i = bisect_left(taken, at)
                if u in used or v in used:
                    continue
                if i and taken[i - 1][1] > at[1]:
                    continue
                if i < len(taken) and taken[i][1] < at[1]:
                    continue
                insort(taken, at)
                used |= {u, v}
                column[v] = column[u]
        return column


def levels(count: int, edges: Sequence[tuple[int, int, int]]) -> list[int]:
    """The row of each node: below all its inputs; an input just above."""
    sources: list[list[int]] = [[] for _ in range(count)]
    targets: list[list[int]] = [[] for _ in range(count)]
    for source, target, _ in edges:
        sources[target].append(source)
        targets[source].append(target)
    level = [0] * count
    filled: dict[int, int] = {}
    for node in range(count):
        if sources[node]:
            row = max(level[s] for s in sources[node]) + 1
            while filled.get(row, 0) >= _MOST_IN_ROW:
                row += 1
            filled[row] = filled.get(row, 0) + 1
            level[node] = row
    alone = 0
    for node in range(count):
        if not sources[node] and targets[node]:
            level[node] = min(level[t] for t in targets[node]) - 1
        elif not sources[node]:
            level[node] = alone // _MOST_IN_ROW
            alone += 1
    return level


def _middles(rows: _Rows) -> list[float]:
    """The middle of each node: near those of its neighbours, apart in rows."""
    column = rows.columns()
    left: dict[int, dict[int, float]] = {c: {} for c in column}
    right: dict[int, dict[int, float]] = {c: {} for c in column}
    near: dict[int, list[tuple[int, int]]] = {c: [] for c in column}
    for row in rows.rows:
        for a, b in pairwise(row):
            one, two = column[a], column[b]
            apart = max(rows.apart(a, b), left[two].get(one, 0))
            left[two][one] = right[one][two] = apart
    for u, lower in enumerate(rows.down):
        for v in lower:
            if column[u] != column[v]:
                weight = 2 if u < rows.boxes and v < rows.boxes else 1
                near[column[u]].append((column[v], weight))
                near[column[v]].append((column[u], weight))
    order = _from_the_left(left, right)
    first = dict.fromkeys(order, 0.0)
    for c in order:
        first[c] = max((first[o] + d for o, d in left[c].items()), default=0)
    last = dict.fromkeys(order, max(first.values(), default=0))
    for c in reversed(order):
        if right[c]:
            last[c] = min(last[o] - d for o, d in right[c].items())
    middle = {c: (first[c] + last[c]) / 2 for c in order}
    for sweep in range(24 if len(column) < 5000 else 8):
        for c in order if sweep % 2 else reversed(order):
            if not near[c]:
                continue
            total = sum(middle[o] * weight for o, weight in near[c])
            wish = total / sum(weight for _, weight in near[c])
            lows = [middle[o] + d for o, d in left[c].items()]
            highs = [middle[o] - d for o, d in right[c].items()]
            middle[c] = max([min([wish, *highs]), *lows])
    return [middle[c] for c in column]


def _from_the_left(
    left: dict[int, dict[int, float]], right: dict[int, dict[int, float]]
) -> list[int]:
    """The columns, each after all that are to its left in some row."""
    waits = {c: len(others) for c, others in left.items()}
    order = [c for c, count in waits.items() if not count]
    for c in order:
        for other in right[c]:
            waits[other] -= 1
            if not waits[other]:
                order.append(other)
    return order


def _ports(
    node: int, others: list[int], middle: list[float], width: float
) -> dict[int, float]:
    """Where edges from or to others touch a box; the nearest is central."""
    others = sorted(others, key=lambda other: middle[other])
    away = [abs(middle[other] - middle[node]) for other in others]
    centre = away.index(min(away)) if away else 0
    most = max(centre, len(others) - 1 - centre, 1)
    step = min(_PORTS, (width / 2 - 12) / most) if width else 0
    return {
        other: middle[node] + (i - centre) * step
        for i, other in enumerate(others)
    }


def _heights(
    rows: _Rows,
    sizes: Sequence[Point],
    labels: Sequence[float],
    bends: list[float],
) -> tuple[list[float], list[float], list[float]]:
    """The top of each row, the bottom of its boxes, and of their labels."""
    tops, bottoms, ends, y = [], [], [], 0.0
    for row, bend in zip(rows.rows, bends, strict=True):
        boxes = [node for node in row if node < len(sizes)]
        tops.append(y)
        bottoms.append(y + max((sizes[node][1] for node in boxes), default=0))
        text = any(labels[node] for node in boxes)
        ends.append(bottoms[-1] + (_LABEL if text else 0))
        y = ends[-1] + min(_BEND + bend / 8, 60) + _ARROW
    return tops, bottoms, ends


def lay_out(
    sizes: Sequence[Point],
    edges: Sequence[tuple[int, int, int]],
    labels: Sequence[float],
) -> Layout:
    """Place boxes and edges.

    Args:
        sizes: the width and height of each box.
        edges: source, target, and a lane: edges that leave a box in one lane
            share a line. The source of an edge is before its target, unless
            the source has no inputs.
        labels: the width of the text below each box, 0 for none.
    """
    rows = _Rows(sizes, edges, labels)
    rows.order()
    middle = _middles(rows)
    nodes, boxes = range(len(middle)), range(len(sizes))
    out = [_ports(n, rows.down[n], middle, rows.width[n]) for n in nodes]
    into = [_ports(n, rows.up[n], middle, rows.width[n]) for n in nodes]
    bends = [
        max([abs(out[u][v] - into[v][u]) for u in row for v in out[u]] or [0])
        for row in rows.rows
    ]
    tops, bottoms, ends = _heights(rows, sizes, labels, bends)
    text = [max(out[n].values(), default=middle[n]) + 6 for n in boxes]
    left = min((middle[n] - rows.width[n] / 2 for n in nodes), default=0)
    right = [middle[n] + rows.width[n] / 2 for n in nodes]
    right += [text[n] + labels[n] for n in boxes if labels[n]]
    corners = []
    for node, (width, height) in enumerate(sizes):
        row = rows.level[node]
        y = (tops[row] + bottoms[row] - height) / 2
        corners.append((middle[node] - width / 2 - left, y))
    routes = []
    for chain in rows.chains:
        source, target = chain[0], chain[-1]
        y = corners[source][1] + sizes[source][1]
        route: list[Point] = []
        for u, v in pairwise(chain):
            x, row = out[u][v] - left, rows.level[u]
            route += [(x, y), (x, ends[row])]
            y = tops[row + 1] - _ARROW
        x = into[target][chain[-2]] - left
        routes.append([*route, (x, y), (x, corners[target][1])])
    return Layout(
        max(right, default=0) - left,
        max(ends, default=0),
        corners,
        routes,
        [(text[n] - left, corners[n][1] + sizes[n][1]) for n in boxes],
    )
