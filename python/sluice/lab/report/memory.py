"""How much memory a plan uses from instruction to instruction."""

from __future__ import annotations

from typing import Any


def over_time(
    plan: dict[str, Any], most_points: int, most_blocks: int
) -> list[dict[str, Any]]:
    """For each place with an arena, what is in use at each instruction.

    Returns:
        For each place: ``place``; ``arena``, bytes; ``steps``, pairs of an
        instruction and the bytes in use from then on; ``blocks``, the largest
        values in the arena, with ``var``, ``first``, ``last``, ``offset``,
        ``bytes``; ``left_out``, how many smaller ones there are.
    """
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
            # Of those of one size, some from everywhere in the plan.
            key=lambda i: (-slots[i]["bytes"], i * 7919 % len(slots)),
        )
        blocks = [
            {
                key: slots[i][key]
                for key in ("var", "kind", "first", "last", "offset", "bytes")
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
        # What a device may still use is kept until after the last one.
        change[min(slot["last"] + 1, instructions)] -= slot["bytes"]
    # The largest of each group of instructions, so that peaks stay.
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
