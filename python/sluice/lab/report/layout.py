"""Computes the positions of a graph's nodes and the curves of its edges."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sluice.show.graph_layout import Point, lay_out

from .graph import Edge, Graph

# With this many nodes, edges over more rows are left out of the layout: they
# would push the nodes apart, and cover the others.
_MANY_NODES = 100
_MOST_ROWS = 8


def positions(
    graph: Graph, widths: dict[str, float], height: float
) -> dict[str, Any]:
    """Compute the centre of each node and the curve of each edge, in pixels.

    Args:
        graph: its nodes get positions.
        widths: of nodes, in pixels.
        height: of all nodes, in pixels.

    Returns:
        ``width``, ``height``; ``nodes``: name to [x, y]; ``edges``: for each
        edge, the points of a curve of cubic Bezier pieces, or None for a long
        edge that was omitted from a large graph.
    """
    names = graph.names()
    kept = _short_edges(graph) if len(names) > _MANY_NODES else graph.edges
    index = {name: i for i, name in enumerate(names)}
    layout = lay_out(
        [(widths[name], height) for name in names],
        [(index[edge.source], index[edge.target], 0) for edge in kept],
        [0.0] * len(names),
    )
    curves = {
        (edge.source, edge.target): _curve(route)
        for edge, route in zip(kept, layout.routes, strict=True)
    }
    return {
        "width": round(layout.width, 1),
        "height": round(layout.height, 1),
        "nodes": {
            name: _rounded(x + widths[name] / 2, y + height / 2)
            for name, (x, y) in zip(names, layout.boxes, strict=True)
        },
        "edges": [curves.get((e.source, e.target)) for e in graph.edges],
    }


def _rounded(x: float, y: float) -> list[float]:
    return [round(x, 1), round(y, 1)]


def _curve(route: list[Point]) -> list[list[float]]:
    """A route as the start and three points for each piece of a curve."""
    points = [_rounded(*route[0])]
    for (x, y), (u, v) in pairwise(dict.fromkeys(route)):
        middle = (y + v) / 2  # pieces begin and end vertically
        points += [
            _rounded(*at) for at in ((x, middle), (u, middle), (u, v))
        ]
    return points


def _short_edges(graph: Graph) -> list[Edge]:
    """Edges over few rows, and the shortest edge of nodes without any."""
    row = dict.fromkeys(graph.names(), 0)
    # Edges are in the order of their targets, after those of their sources.
    for edge in graph.edges:
        row[edge.target] = max(row[edge.target], row[edge.source] + 1)

    def rows(edge: Edge) -> int:
        return row[edge.target] - row[edge.source]

    kept = []
    connected: set[str] = set()
    for edge in sorted(graph.edges, key=rows):
        ends = {edge.source, edge.target}
        if rows(edge) <= _MOST_ROWS or not ends <= connected:
            kept.append(edge)
            connected |= ends
    return kept
