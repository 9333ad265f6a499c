"""The memory that a plan uses at each instruction."""

from __future__ import annotations

from typing import Any


def over_time(
    plan: dict[str, Any], most_points: int, most_blocks: int
) -> list[dict[str, Any]]:
    """The memory in use at each instruction, for each place with an arena.

    Returns:
        For each place: ``place``; ``arena``, bytes; ``steps``, pairs of an
        instruction and the bytes in use from then on; ``blocks``, the largest
        values in the arena, with ``var``, ``first``, ``last``, ``offset``,
        ``bytes``, and the ops of first and last as ``from``, ``to``;
        ``left_out``, the number of smaller ones.
    """
    names = {op["index"]: f"{op['index']} {op['op']}" for op in plan["ops"]}
    steps = [
        names.get(step["op_index"], step["kind"])
        for step in plan["instructions"]
    ] + ["end"]
    places = []
    for place, arena in plan["arenas"].items():
        slots = [
            slot
            for slot in plan["slots"]
            if slot["place"] == place
            and "offset" in slot
            and "alias_of" not in slot
            and slot["first"] >= 0
        ]
        largest = sorted(
            range(len(slots)),
            # Among values of one size, picks some from everywhere in the plan.
            key=lambda i: (-slots[i]["bytes"], i * 7919 % len(slots)),
        )
        blocks = [
            {
                key: slots[i][key]
                for key in ("var", "kind", "first", "last", "offset", "bytes")
            }
            | {
                "from": steps[slots[i]["first"]],
                "to": steps[slots[i]["last"]],
            }
            for i in largest[:most_blocks]
        ]
        places.append(
            {
                "place": place,
                "arena": arena,
                "steps": _steps(slots, len(plan["instructions"]), most_points),
                "blocks": blocks,
                "left_out": len(slots) - len(blocks),
            }
        )
    return places


def _steps(
    slots: list[dict[str, Any]], instructions: int, most_points: int
) -> list[list[int]]:
    change = [0] * (instructions + 1)
    for slot in slots:
        change[slot["first"]] += slot["bytes"]
        # A device may still use it after the last instruction.
        change[min(slot["last"] + 1, instructions)] -= slot["bytes"]
    # Takes the maximum of each group of instructions, so that peaks remain.
    group = max(1, -(-instructions // most_points))
    steps: list[list[int]] = []
    used = peak = 0
    for i in range(instructions):
        used += change[i]
        peak = max(peak, used)
        if (i + 1) % group == 0 or i + 1 == instructions:
            steps.append([i - i % group, peak])
            peak = 0
    return steps
