"""Which of Fluid's ops are known, and what PaddlePaddle's tests of them give: from
the table of the translation and the lists in tests/fluid."""

from __future__ import annotations

import sys
from pathlib import Path

from sluice.fluid.translate import ROWS

import op_reference

sys.path.append(str(Path(__file__).parents[1] / "tests/python/fluid"))
import suite_lists

HEAD = """# Fluid's ops

The {known} types of ops that programs of Fluid may have here. The numbers are those of
PaddlePaddle's own classes of tests, release by release: how many are right, of how many, first of
those that compare outputs, then of those that compare gradients. All run on a CPU, also those
that PaddlePaddle runs on a GPU or by oneDNN only. [From i on](fluid_operators_from_i.md)
"""


def counts(entry: suite_lists.Entry | None) -> list[str]:
    """The cells of a release."""
    if entry is None:
        return ["", ""]
    pairs = (entry.outputs, entry.gradients)
    return [f"{right} of {all_}" if all_ else "" for right, all_ in pairs]


def pages() -> dict[str, str]:
    """The pages, by their names: of ops until h, and of the others."""
    lists = [suite_lists.read(suite_lists.path_of(one)) for one in suite_lists.RELEASES]
    rows, untested, absent = [], [], []
    for op in sorted(set(ROWS).union(*lists)):
        entries = [one.get(op) for one in lists]
        if op not in ROWS or not any(entries):
            (untested if op in ROWS else absent).append(f"`{op}`")
            continue
        reasons = {why: None for one in entries if one for why in one.reasons.values()}
        cells = [cell for one in entries for cell in counts(one)]
        rows.append([f"`{op}`", *cells, op_reference.text("; ".join(reasons))])
    numbers = [f"{one} {what}" for one in suite_lists.RELEASES for what in ("outputs", "gradients")]
    titles = ["op", *numbers, "what is not right"]
    until_h = [row for row in rows if row[0] < "`i"]
    first = [HEAD.format(known=len(ROWS)), *op_reference.table(titles, until_h)]
    first += ["## Ops without such tests", "", ", ".join(untested) + ".", ""]
    first += ["## Ops that Sluice does not know", "", ", ".join(absent) + ".", ""]
    first += ["```{toctree}", ":hidden:", "fluid_operators_from_i", "```", ""]
    others = ["# Fluid's ops from i on", "", *op_reference.table(titles, rows[len(until_h) :])]
    return {"fluid_operators": "\n".join(first), "fluid_operators_from_i": "\n".join(others)}
