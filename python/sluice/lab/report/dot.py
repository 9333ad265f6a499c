"""A plan as a graph for Graphviz."""

from __future__ import annotations

from typing import Any

from . import graph

_MOST_NODES = 2000


def _quoted(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{text[:200]}"'


def _shade(share: float) -> str:
    """A colour from white to orange, as Graphviz' hue, saturation, value."""
    return f"0.08 {min(1.0, share * 4):.3f} 1.000"


def to_dot(data: dict[str, Any]) -> str:
    """The graph; a darker op takes a larger share of the time.

    With more than 2,000 ops, a node is a range of consecutive ops.
    """
    plan = data["plan"]
    ops = plan["ops"]
    made = graph.make(plan, _MOST_NODES)
    total = sum(op["measured"]["median"] for op in ops) or 1.0
    lines = ["digraph plan {", "  node [shape=box, style=filled];"]
    for feed in made.feeds:
        name = _quoted(plan["feeds"][feed]["var"])
        lines.append(
            f"  f{feed} [label={name}, shape=ellipse, fillcolor=white];"
        )
    for node, stretch in enumerate(made.stretches):
        inside = [ops[i] for i in stretch]
        seconds = sum(op["measured"]["median"] for op in inside)
        first = inside[0]
        what = (
            f"{first['op']} {first['place']}/{first['variant']}"
            if len(inside) == 1
            else f"{len(inside)} ops from {first['index']} {first['op']}"
        )
        label = _quoted(f"{what} {seconds * 1e6:.1f} us")
        lines.append(
            f'  n{node} [label={label}, fillcolor="{_shade(seconds / total)}"];'
        )
    for edge in made.edges:
        style = ", style=dashed" if edge.moved else ""
        moved = f" ({edge.moved} bytes move)" if edge.moved else ""
        label = _quoted(f"{edge.bytes} bytes{moved}")
        lines.append(
            f"  {edge.source} -> {edge.target} [label={label}{style}];"
        )
    return "\n".join([*lines, "}", ""])
