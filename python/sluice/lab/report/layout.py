"""Computes the positions of a graph's nodes with Graphviz."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import subprocess
import sys
from typing import Any

from sluice.errors import InternalError, NotFoundError

from .graph import Edge, Graph

_SECONDS = 30
# With this many nodes, Graphviz does not get edges over more rows: they would
# take minutes, and cover the others.
_MANY_NODES = 100
_MOST_ROWS = 8
# The wheel of pygraphviz contains Graphviz. It runs in a separate process, so
# that it can be killed.
_PYGRAPHVIZ = """
import sys
try:
    import pygraphviz
except ImportError as error:
    sys.exit(f"pygraphviz cannot be loaded: {error}")
graph = pygraphviz.AGraph(string=sys.stdin.read())
sys.stdout.buffer.write(graph.draw(format="plain", prog="dot"))
"""
_MISSING = """report: Graphviz is missing, which lays out the graph:
  pip install pygraphviz, or apt-get install graphviz"""


class TooSlowError(Exception):
    """Graphviz takes too long for this graph."""


def _command() -> list[str]:
    program = shutil.which("dot")
    if program is not None:
        return [program, "-Tplain"]
    if importlib.util.find_spec("pygraphviz") is not None:
        return [sys.executable, "-c", _PYGRAPHVIZ]
    raise NotFoundError(_MISSING, "lab.graphviz")


def lay_out(
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

    Raises:
        NotFoundError: there is no Graphviz.
        TooSlowError: it takes more than 30 seconds.
    """
    names = graph.names()
    if not names:
        return {"width": 0, "height": 0, "nodes": {}, "edges": []}
    kept = _short_edges(graph) if len(names) > _MANY_NODES else graph.edges
    lines = [
        "digraph {",
        "graph [nodesep=0.25, ranksep=0.4, nslimit=2, mclimit=0.5]",
        f'node [shape=box, fixedsize=true, label="", height={height / 72:.3f}]',
        *(f"{name} [width={widths[name] / 72:.3f}]" for name in names),
        *(f"{edge.source} -> {edge.target}" for edge in kept),
        "}",
    ]
    command = _command()
    try:
        done = subprocess.run(
            command,
            input="\n".join(lines),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise TooSlowError from None
    if "pygraphviz cannot be loaded" in done.stderr:
        raise NotFoundError(
            f"report: {done.stderr.strip()[:500]}\n"
            "  apt-get install graphviz serves as well",
            "lab.pygraphviz",
        )
    if done.returncode != 0:
        raise InternalError(
            f"report: {shlex.quote(command[0])} failed with status "
            f"{done.returncode}: {done.stderr.strip()[:500]}",
            "lab.graphviz_failed",
        )
    return _read(done.stdout, graph)


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


def _read(plain: str, graph: Graph) -> dict[str, Any]:
    """Read Graphviz' format "plain": inches, from the bottom to the top."""
    width = height = 0.0
    nodes: dict[str, list[float]] = {}
    curves: dict[tuple[str, str], list[list[float]]] = {}

    def point(x: str, y: str) -> list[float]:
        return [round(float(x) * 72, 1), round((height - float(y)) * 72, 1)]

    for line in plain.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "graph":
            width, height = float(words[2]), float(words[3])
        elif words[0] == "node":
            nodes[words[1]] = point(words[2], words[3])
        elif words[0] == "edge":
            count = int(words[3])
            numbers = words[4 : 4 + 2 * count]
            curves[words[1], words[2]] = [
                point(numbers[2 * i], numbers[2 * i + 1]) for i in range(count)
            ]
    return {
        "width": round(width * 72, 1),
        "height": round(height * 72, 1),
        "nodes": nodes,
        "edges": [curves.get((e.source, e.target)) for e in graph.edges],
    }
