"""Prints the lines of each room, and fails if one exceeds its budget. Lower a
budget when its room shrinks; raise it only with a reason."""

import collections
import sys

import rooms

# Maximum number of lines of sources: code, comments and empty lines.
BUDGET = {
    "platform": 13_290,
    "memory": 1_035,
    "framework": 26_925,  # raised for loops' trips, owners of variables, emulated ops
    "nn": 2_300,  # raised for scans and averages
    "operators": 64_000,
    "onnx": 12_840,
    "laboratory": 13_730,  # raised for times on emulated devices and budgets
    "fluid": 570,
    "python": 44_650,  # raised for all names of Fluid and onnxruntime
    "benchmarks": 11_430,  # raised for fluid/, saved models, elementary functions
    "tools": 4_330,  # raised for the seconds of each step of the gates
    "book": 2_650,  # examples/book: tutorials and their twins
    # examples, docs, cmake, include, dev; raised for the site, and LAC
    "others": 6_290,
    "tests": 109_340,
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
        if path.parts[:2] == ("examples", "book"):
            room = "book"
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
