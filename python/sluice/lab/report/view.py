"""Selects the parts of a report that the page shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from sluice import _lab
from sluice.display import LIBRARIES, call_name, call_number, kernel_name
from sluice.show.drawing import COLOURS

from . import graph, memory
from .difference import shown as shown_times
from .layout import positions

_HEIGHT = 40.0  # height of a node, in pixels
_CHARACTER = 7.2  # width of a character, in pixels
_LONGEST_LABEL = 48


@dataclass(frozen=True)
class Limits:
    """Limits on the parts of a long plan that the page shows."""

    ops: int
    nodes: int
    groups: int
    blocks: int
    transfers: int
    changes: int
    arguments: int  # of one op
    characters: int  # of one text

    def halved(self) -> Limits:
        """The limits of a page with less content."""
        return replace(
            self,
            ops=self.ops // 2,
            groups=max(self.groups // 2, 1),
            blocks=max(self.blocks // 2, 1),
            transfers=max(self.transfers // 2, 1),
            changes=max(self.changes // 2, 1),
            arguments=max(self.arguments // 2, 2),
            characters=max(self.characters // 2, 50),
        )


LIMITS = Limits(2000, 600, 300, 400, 300, 500, 16, 400)


def shortened(value: Any, characters: int) -> Any:
    """The value with all texts cut to this number of characters."""
    if isinstance(value, str):
        if len(value) <= characters:
            return value
        return f"{value[:characters]}... ({len(value)} characters)"
    if isinstance(value, dict):
        return {k: shortened(v, characters) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [shortened(v, characters) for v in value]
    return value


def make_view(
    data: dict[str, Any], changes: dict[str, Any] | None, limits: Limits
) -> dict[str, Any]:
    """The data for the page's scripts.

    It has the slowest ops, up to a limit, by their index in the plan, and a
    summary of the others.
    """
    plan = data["plan"]
    ops = plan["ops"]
    order = sorted(range(len(ops)), key=lambda i: -ops[i]["measured"]["median"])
    shown = sorted(order[: limits.ops])
    lists = sorted({ops[i]["candidate_list"] for i in shown})
    moved = sorted(plan["transfers"], key=lambda t: -t["bytes"])
    view = {
        key: data[key]
        for key in ("name", "created", "sluice", "machine", "tuning", "summary")
    }
    view["role"] = data.get("role", "")
    view["run_text"], view["why_no_times"] = shown_times(data)
    fault = data.get("fault")
    view["fault"] = fault and {
        "op": fault["op"],
        "lines": fault["text"].splitlines(),
    }
    view["wrong_kernels"] = wrong_kernels(data)[:20]
    view["least_turns"] = _lab._LEAST_TURNS
    view |= {
        key: plan[key]
        for key in ("place", "threads", "times", "arenas", "feeds", "fetches")
    }
    view |= {
        "notes": plan["notes"][:200],
        "notes_left_out": max(len(plan["notes"]) - 200, 0),
        "ops": [_op(ops[i], i, limits) for i in shown],
        "ops_left_out": len(ops) - len(shown),
        "lists": {str(i): plan["candidate_lists"][i] for i in lists},
        "groups": _groups(plan, limits.groups),
        "memory": memory.over_time(plan, 1500, limits.blocks),
        "instructions": len(plan["instructions"]),
        "transfers": moved[: limits.transfers],
        "transfers_left_out": max(len(moved) - limits.transfers, 0),
        "changes": None,
        "colours": {lib: COLOURS[c] for lib, (_, c) in LIBRARIES.items()},
    }
    if changes is not None:
        found = changes["ops"]
        if changes["why_no_times"]:
            found = [_without_times(row) for row in found]
            found = [row for row in found if row["changes"]]
        rows = found[: limits.changes]
        view["changes"] = {**changes, "ops": rows}
        view["changes"]["left_out"] = len(found) - len(rows)
    # A long hostile name appears in feeds as well as in ops.
    view = shortened(view, limits.characters)
    view["graph"] = _graph(plan, limits.nodes)
    return view


def first_lines(data: dict[str, Any]) -> list[str]:
    """What is wrong: the fault of the run, then kernels with wrong results."""
    fault = data.get("fault")
    lines = [fault["text"].replace("\n", ", ")] if fault else []
    return lines + wrong_kernels(data)


def wrong_kernels(data: dict[str, Any]) -> list[str]:
    """A sentence for each kernel of an op that gave wrong results."""
    plan = data["plan"]
    found: dict[str, list[str]] = {}
    for op in plan["ops"]:
        for candidate in plan["candidate_lists"][op["candidate_list"]][
            "candidates"
        ]:
            record = candidate.get("measured")
            if record and record["verdict"] == "wrong":
                numbers = found.setdefault(candidate["kernel"], [])
                numbers.append(call_number(op))
    return [
        f"{kernel} gave wrong results and is not used: {', '.join(numbers)}"
        for kernel, numbers in found.items()
    ]


def _without_times(row: dict[str, Any]) -> dict[str, Any]:
    changes = [c for c in row["changes"] if c not in ("slower", "faster")]
    return {**row, "changes": changes}


def _op(op: dict[str, Any], place: int, limits: Limits) -> dict[str, Any]:
    shown = {k: v for k, v in op.items() if k not in ("kernel", "expected")}
    shown["position"] = place
    shown |= {"op": call_name(op), "number": call_number(op)}
    for key in ("inputs", "outputs", "covers"):
        shown[key] = op[key][: limits.arguments]
        if len(op[key]) > limits.arguments:
            shown[f"{key}_left_out"] = len(op[key]) - limits.arguments
    return shown


def _groups(plan: dict[str, Any], most: int) -> list[dict[str, Any]]:
    """Groups of ops of one type with the same kernel."""
    groups: dict[tuple, dict[str, Any]] = {}
    for op in plan["ops"]:
        key = (call_name(op), op["library"], op["variant"], op["place"])
        group = groups.setdefault(
            key,
            {
                "op": call_name(op),
                "library": op["library"],
                "variant": op["variant"],
                "place": op["place"],
                "count": 0,
                "seconds": 0.0,
                "predicted_seconds": 0.0,
            },
        )
        group["count"] += 1
        group["seconds"] += op["measured"]["median"]
        group["predicted_seconds"] += op["predicted_seconds"]
    return sorted(groups.values(), key=lambda g: -g["seconds"])[:most]


def _label(text: str) -> str:
    if len(text) <= _LONGEST_LABEL:
        return text
    return text[: _LONGEST_LABEL - 3] + "..."


def _graph(plan: dict[str, Any], most_nodes: int) -> dict[str, Any]:
    """Nodes with labels and positions, and edges with curves."""
    shown = graph.make(plan, most_nodes)
    nodes = _nodes(plan, shown)
    widths = {
        node["id"]: _CHARACTER * max(map(len, node["label"])) + 22
        for node in nodes
    }
    where = positions(shown, widths, _HEIGHT)
    for node in nodes:
        node["x"], node["y"] = where["nodes"][node["id"]]
        node["width"] = round(widths[node["id"]], 1)
    edges = [
        {**asdict(edge), "points": points}
        for edge, points in zip(shown.edges, where["edges"], strict=True)
    ]
    return {
        "width": where["width"],
        "height": where["height"],
        "node_height": _HEIGHT,
        "nodes": nodes,
        "edges": edges,
    }


def _nodes(plan: dict[str, Any], shown: graph.Graph) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = []
    for feed in shown.feeds:
        name = plan["feeds"][feed]["var"]
        nodes.append({"id": f"f{feed}", "label": [_label(name), "fed"]})
    for number, stretch in enumerate(shown.stretches):
        inside = [plan["ops"][i] for i in stretch]
        node: dict[str, Any] = {
            "id": f"n{number}",
            "first": stretch.start,
            "count": len(inside),
            "seconds": sum(op["measured"]["median"] for op in inside),
            "predicted_seconds": sum(op["predicted_seconds"] for op in inside),
            "margin": min(
                (op["margin"] for op in inside if "margin" in op), default=None
            ),
            "groups": _groups({"ops": inside}, 8),
        }
        first = inside[0]
        if len(inside) == 1:
            kernel = kernel_name(first["library"], first["variant"])
            node["label"] = [_label(call_name(first)), _label(kernel)]
            del node["groups"]
        else:
            layer = first.get("layer") or [""]
            whole = layer == inside[-1].get("layer")
            name = f"{layer[0]}: " * whole
            node["label"] = [
                f"{name}{len(inside)} ops",
                f"{call_number(first)} to {call_number(inside[-1])}",
            ]
        nodes.append(node)
    return nodes
