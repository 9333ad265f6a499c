"""The graph of a plan: ops, or ranges of ops if there are many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any


@dataclass
class Edge:
    """One or more values that one node writes and another one reads."""

    source: str
    target: str
    values: int = 0
    bytes: int = 0
    moved: int = 0  # bytes copied to another place in between


@dataclass
class Graph:
    """Nodes by name: "f0" is a feed, "n3" is the op or range at index 3."""

    feeds: list[int]  # indices into the plan's list of feeds
    stretches: list[range]  # indices into the plan's list of ops, by node
    edges: list[Edge] = field(default_factory=list)

    def names(self) -> list[str]:
        """All nodes."""
        return [
            *(f"f{feed}" for feed in self.feeds),
            *(f"n{node}" for node in range(len(self.stretches))),
        ]


def _layers(ops: list[dict[str, Any]]) -> Iterator[range]:
    """Ranges of ops: those of a layer, and single ones."""
    start = 0
    for layer, inside in groupby(ops, lambda op: op.get("layer")):
        end = start + sum(1 for _ in inside)
        step = end - start if layer else 1
        yield from (range(i, i + step) for i in range(start, end, step))
        start = end


def make(plan: dict[str, Any], most_nodes: int) -> Graph:
    """The graph, with at most ``most_nodes`` nodes for ops.

    A layer of many ops is one; with more nodes, each is a range of ops.
    """
    ops = plan["ops"]
    stretches = list(_layers(ops))
    length = -(-len(ops) // most_nodes)
    if len(stretches) > most_nodes:
        starts = range(0, len(ops), length)
        stretches = [range(i, min(i + length, len(ops))) for i in starts]
    nodes = [f"n{i}" for i, inside in enumerate(stretches) for _ in inside]
    maker: dict[str, str] = {}
    for i, feed in enumerate(plan["feeds"]):
        maker[feed["var"]] = f"f{i}"
    moves = {(t["var"], t["op_index"]): t["bytes"] for t in plan["transfers"]}
    slots = plan["slots"]
    edges: dict[tuple[str, str], Edge] = {}
    for position, op in enumerate(ops):
        node = nodes[position]
        for value in {value["var"]: value for value in op["inputs"]}.values():
            source = maker.get(value["var"])
            if source is None or source == node:
                continue
            edge = edges.setdefault((source, node), Edge(source, node))
            edge.values += 1
            edge.bytes += slots[value["slot"]]["bytes"]
            edge.moved += moves.get((value["var"], op["index"]), 0)
        for value in op["outputs"]:
            maker[value["var"]] = node
    read = {edge.source for edge in edges.values()}
    feeds = [i for i in range(len(plan["feeds"])) if f"f{i}" in read]
    if len(feeds) > most_nodes:
        feeds = []
    kept = {f"f{i}" for i in feeds}
    return Graph(
        feeds,
        stretches,
        [
            edge
            for edge in edges.values()
            if edge.source.startswith("n") or edge.source in kept
        ],
    )
