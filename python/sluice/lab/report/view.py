"""Selects the parts of a report that the page shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sluice import _lab
from sluice.display import LIBRARIES, call_name, call_number
from sluice.show.drawing import COLOURS

from . import graph, memory
from .difference import shown as shown_times


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
        least = {"ops": 0, "nodes": self.nodes}
        least |= {"arguments": 2, "characters": 50}
        halves = {name: value // 2 for name, value in asdict(self).items()}
        return Limits(**{n: max(h, least.get(n, 1)) for n, h in halves.items()})


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
        "groups": graph.groups(ops, limits.groups),
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
    view["graph"] = graph.make(plan, limits.nodes)
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
