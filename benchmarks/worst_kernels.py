#!/usr/bin/env python3
"""The rows that are farthest from their limits, as a Markdown page.

  benchmarks/worst_kernels.py FILE.json [--count N]

FILE.json is from `./dev bench cuda --json` or any other benchmark. A row's
share is its figure divided by its limit, or by its best peer's if that is less;
rows with neither are skipped. The page is written to stdout.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys


# The suffix of ids of rows that the emulation runs in full size.
SMALLEST = "/4KB"


def shares(row: dict) -> dict[str, float]:
    """The figure as a share of the limit and of each peer's; 1 means equal."""
    others = dict(row.get("peers", {}))
    if row.get("limit"):
        others["limit"] = row["limit"]
    if not row["value"]:
        return {}
    if row["unit"].endswith("/s"):
        return {name: row["value"] / other for name, other in others.items()}
    return {name: other / row["value"] for name, other in others.items()}


def worst(rows: list[dict], count: int = 10) -> list[dict]:
    """The rows with the smallest shares, the worst first."""
    compared = [row for row in rows if shares(row)]
    return sorted(compared, key=lambda row: min(shares(row).values()))[:count]


def number(value: float) -> str:
    return f"{value:.4g}"


def table_row(row: dict) -> str:
    found = shares(row)
    against = min(found, key=found.get)
    other = row["limit"] if against == "limit" else row["peers"][against]
    profile = "; ".join(
        f"{kernel['kernel']}: {kernel['dram']:.0f} / {kernel['sm']:.0f} / "
        f"{kernel['occupancy']:.0f} %"
        for kernel in row.get("ncu", [])
    )
    cells = [
        row["id"],
        f"{number(row['value'])} {row['unit']}",
        f"{100 * found[against]:.0f} %",
        f"{against}, {number(other)}",
        row.get("note", ""),
        profile,
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page(report: dict, count: int = 10) -> str:
    """The page about one JSON file."""
    lines = ["# The slowest kernels against what they could be", ""]
    lines.append(f"{report['machine']}.")
    if report.get("emulated"):
        lines.append("The CPU played the device: these times mean nothing.")
    lines += [
        "",
        "| row | figure | share | of | note | ncu: DRAM / SM / occupancy |",
        "|---|---|---|---|---|---|",
    ]
    lines += [table_row(row) for row in worst(report["rows"], count)]
    for title, key in (("Failed", "failed"), ("Left out", "left_out")):
        if report.get(key):
            lines += ["", f"## {title}", ""]
            lines += [f"- {what}: {why}" for what, why in report[key].items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path, metavar="FILE.json")
    parser.add_argument("--count", type=int, default=10)
    options = parser.parse_args()
    report = json.loads(options.file.read_text())
    sys.stdout.write(page(report, options.count))
    return 0


if __name__ == "__main__":
    sys.exit(main())
