"""The graph of a plan on the page: ops, or ranges of ops if there are many."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from sluice.display import call_name, call_number, cut, kernel_name
from sluice.show.drawing import curve
from sluice.show.graph_layout import lay_out

_HEIGHT = 40.0  # height of a node, in pixels
_CHARACTER = 7.2  # width of a character, in pixels
_LONGEST_LABEL = 48
# With this many nodes, edges over more rows are left out of the layout: they
# would push the nodes apart, and cover the others.
_MANY_NODES = 100
_MOST_ROWS = 8

Node = dict[str, Any]
"""``id``: "f0" is a feed, "n3" the op or range at index 3; ``label``, ``width``
and, for ops, their indices, times and groups."""
Edge = dict[str, Any]
"""The values that one node writes and another one reads: ``source``,
``target``, their number, ``bytes``, and ``moved``, bytes that are copied to
another place in between."""


def make(plan: dict[str, Any], most_nodes: int) -> dict[str, Any]:
    """Nodes with labels and positions, in pixels, and edges with curves.

    There are at most ``most_nodes`` nodes for ops. A layer of many ops is one;
    with more nodes, each is a range of ops.
    """
    ops = plan["ops"]
    stretches = list(_layers(ops))
    length = -(-len(ops) // most_nodes)
    if len(stretches) > most_nodes:
        starts = range(0, len(ops), length)
        stretches = [range(i, min(i + length, len(ops))) for i in starts]
    edges = _edges(plan, stretches)
    read = {edge["source"] for edge in edges}
    nodes = [
        _node(f"f{i}", feed["var"], "fed")
        for i, feed in enumerate(plan["feeds"])
        if f"f{i}" in read
    ]
    if len(nodes) > most_nodes:
        nodes = []
    ids = {node["id"] for node in nodes}
    edges = [e for e in edges if e["source"][0] == "n" or e["source"] in ids]
    nodes += [
        _node_of(f"n{i}", inside.start, ops[inside.start : inside.stop])
        for i, inside in enumerate(stretches)
    ]
    return place(nodes, edges)


def _layers(ops: list[dict[str, Any]]) -> Iterator[range]:
    """Ranges of ops: those of a layer, and single ones."""
    start = 0
    for layer, inside in groupby(ops, lambda op: op.get("layer")):
        end = start + sum(1 for _ in inside)
        step = end - start if layer else 1
        yield from (range(i, i + step) for i in range(start, end, step))
        start = end


def _edges(plan: dict[str, Any], stretches: list[range]) -> list[Edge]:
    nodes = [f"n{i}" for i, inside in enumerate(stretches) for _ in inside]
    maker = {feed["var"]: f"f{i}" for i, feed in enumerate(plan["feeds"])}
    moves = {(t["var"], t["op_index"]): t["bytes"] for t in plan["transfers"]}
    edges: dict[tuple[str, str], Edge] = {}
    for node, op in zip(nodes, plan["ops"], strict=True):
        for name, value in {v["var"]: v for v in op["inputs"]}.items():
            source = maker.get(name)
            if source is None or source == node:
                continue
            edge = {"source": source, "target": node}
            edge |= {"values": 0, "bytes": 0, "moved": 0}
            edge = edges.setdefault((source, node), edge)
            edge["values"] += 1
            edge["bytes"] += plan["slots"][value["slot"]]["bytes"]
            edge["moved"] += moves.get((name, op["index"]), 0)
        maker |= {value["var"]: node for value in op["outputs"]}
    return list(edges.values())


def _node(id: str, *lines: str, **facts: Any) -> Node:
    label = [cut(line, _LONGEST_LABEL) for line in lines]
    width = _CHARACTER * max(map(len, label)) + 22
    return {"id": id, "label": label, "width": round(width, 1), **facts}


def _node_of(id: str, first: int, ops: list[dict[str, Any]]) -> Node:
    """The node of a range of ops, which begins at ``first``."""
    margins = [op["margin"] for op in ops if "margin" in op]
    facts: dict[str, Any] = {
        "first": first,
        "count": len(ops),
        "seconds": sum(op["measured"]["median"] for op in ops),
        "predicted_seconds": sum(op["predicted_seconds"] for op in ops),
        "margin": min(margins, default=None),
    }
    op, last = ops[0], ops[-1]
    if len(ops) == 1:
        kernel = kernel_name(op["library"], op["variant"])
        return _node(id, call_name(op), kernel, **facts)
    layer = op.get("layer") or [""]
    name = f"{layer[0]}: " * (layer == last.get("layer"))
    numbers = f"{call_number(op)} to {call_number(last)}"
    facts["groups"] = groups(ops, 8)
    return _node(id, f"{name}{len(ops)} ops", numbers, **facts)


def groups(ops: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Groups of ops of one type with the same kernel, the slowest first."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for op in ops:
        key = {"op": call_name(op)}
        key |= {part: op[part] for part in ("library", "variant", "place")}
        start = {"count": 0, "seconds": 0.0, "predicted_seconds": 0.0}
        group = found.setdefault(tuple(key.values()), key | start)
        group["count"] += 1
        group["seconds"] += op["measured"]["median"]
        group["predicted_seconds"] += op["predicted_seconds"]
    return sorted(found.values(), key=lambda g: -g["seconds"])[:most]


def place(nodes: list[Node], edges: list[Edge]) -> dict[str, Any]:
    """Give each node its centre, ``x`` and ``y``, and each edge its ``path``.

    Long edges of a large graph are ``far``: they cross other nodes.
    """
    index = {node["id"]: i for i, node in enumerate(nodes)}
    lines = _short(nodes, edges) if len(nodes) > _MANY_NODES else edges
    layout = lay_out(
        [(node["width"], _HEIGHT) for node in nodes],
        [(index[edge["source"]], index[edge["target"]], 0) for edge in lines],
        [0.0] * len(nodes),
    )
    for node, (x, y) in zip(nodes, layout.boxes, strict=True):
        node["x"] = round(x + node["width"] / 2, 1)
        node["y"] = round(y + _HEIGHT / 2, 1)
    for edge, route in zip(lines, layout.routes, strict=True):
        edge |= {"far": False, "path": curve(route)}
    for edge in edges:
        if "path" not in edge:
            ends = nodes[index[edge["source"]]], nodes[index[edge["target"]]]
            (x, y), (u, v) = ((end["x"], end["y"]) for end in ends)
            y, v = y + _HEIGHT / 2, v - _HEIGHT / 2
            path = curve([(x, y), (x, y), (u, v), (u, v)])
            edge |= {"far": True, "path": path}
    return {
        "width": round(layout.width, 1),
        "height": round(layout.height, 1),
        "node_height": _HEIGHT,
        "nodes": nodes,
        "edges": edges,
    }


def _short(nodes: list[Node], edges: list[Edge]) -> list[Edge]:
    """Edges over few rows, and the shortest edge of nodes without any."""
    row = dict.fromkeys((node["id"] for node in nodes), 0)
    # Edges are in the order of their targets, after those of their sources.
    for edge in edges:
        source, target = edge["source"], edge["target"]
        row[target] = max(row[target], row[source] + 1)

    def rows(edge: Edge) -> int:
        return row[edge["target"]] - row[edge["source"]]

    result = []
    connected: set[str] = set()
    for edge in sorted(edges, key=rows):
        ends = {edge["source"], edge["target"]}
        if rows(edge) <= _MOST_ROWS or not ends <= connected:
            result.append(edge)
            connected |= ends
    return result
