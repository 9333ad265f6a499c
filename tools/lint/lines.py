"""Prints the lines of each room, and fails if one exceeds its budget. Lower a
budget when its room shrinks; raise it only with a reason."""

import collections
import sys

import rooms

# Maximum number of lines of sources: code, comments and empty lines.
BUDGET = {
    "platform": 13_300,
    "memory": 1_100,
    "framework": 26_300,  # raised for gradients through blocks, ragged and sparse
    "nn": 2_300,  # raised for scans and averages
    "operators": 63_202,  # raised for optimizers, losses, metrics, ragged data
    "onnx": 12_800,
    "laboratory": 13_500,  # raised for the corpus, and answers before tables
    "fluid": 600,
    "python": 37_603,  # raised for fluid/, which is to shrink as tables
    "benchmarks": 11_330,  # raised for fluid/, and saved models in it
    "tools": 4_223,  # raised for lint/pages.py, lint/drawing.py
    # examples, docs, cmake, include, dev; raised for the site, and LAC
    "others": 6_303,
    "tests": 105_062,
}
SUFFIXES = (
    ".h .cc .inc .cu .cuh .c .py .cmake .txt .js .css .html .proto .sh".split()
)
WITHOUT_SUFFIX = ("dev", "run", "sluice-lab")


def main():
    lines = collections.Counter()
    for path in rooms.files("", *SUFFIXES):
        if path.suffix == "" and path.name not in WITHOUT_SUFFIX:
            continue
        if path.suffix == ".txt" and path.name != "CMakeLists.txt":
            continue
        room = path.parts[0] if path.parts[0] in BUDGET else "others"
        lines[room] += (rooms.ROOT / path).read_bytes().count(b"\n")
    problems = []
    for room, budget in BUDGET.items():
        print(f"{lines[room]:>8,} of {budget:>7,} lines  {room}")
        if lines[room] > budget:
            problems.append(
                f"{room}: {lines[room]:,} lines, its budget (tools/lint/lines.py) "
                f"is {budget:,}"
            )
    code = sum(lines.values()) - lines["tests"]
    print(f"{code:>8,} lines without tests")
    return rooms.report(problems)


if __name__ == "__main__":
    sys.exit(main())
