"""The graph of a plan: ops, or ranges of ops if there are many."""

from __future__ import annotations

from dataclasses import dataclass, field
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


def make(plan: dict[str, Any], most_nodes: int) -> Graph:
    """The graph, with at most ``most_nodes`` nodes for ops.

    With more ops, each node is a range of consecutive ops.
    """
    ops = plan["ops"]
    length = max(1, -(-len(ops) // most_nodes))
    starts = range(0, len(ops), length)
    stretches = [range(i, min(i + length, len(ops))) for i in starts]
    maker: dict[str, str] = {}
    for i, feed in enumerate(plan["feeds"]):
        maker[feed["var"]] = f"f{i}"
    moves = {(t["var"], t["op_index"]): t["bytes"] for t in plan["transfers"]}
    slots = plan["slots"]
    edges: dict[tuple[str, str], Edge] = {}
    for position, op in enumerate(ops):
        node = f"n{position // length}"
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
