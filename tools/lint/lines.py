"""Prints the lines and words of each room, and what one more op, layer, handler,
row of Fluid or test case costs, and fails if a budget is exceeded or a commit
raises one (tools/lint/budgets.py). --write records words and prices. Lower a
budget of lines when its room shrinks; raise it only with a reason."""

import sys

import budgets
import prices
import rooms
import words

# Maximum number of lines of sources: code, comments and empty lines.
BUDGET = {
    "platform": 13_476,
    "memory": 1_032,
    "framework": 29_655,  # raised for kinds of values, where benchmarks fell
    "nn": 2_292,  # raised for scans and averages
    "operators": 67_513,
    "onnx": 19_295,
    "laboratory": 13_890,  # raised for times on emulated devices and budgets
    "python": 34_817,
    "benchmarks": 11_500,  # raised for fluid/, saved models, elementary functions
    "tools": 4_799,  # raised for circles of Python files, which python pays
    "fluid": 14_151,
    "book": 2_650,  # fluid/book: tutorials and their twins
    # examples, docs, cmake, include, dev; raised for the site, and LAC
    "others": 6_919,
    "tests": 109_435,
}
SUFFIXES = (
    ".h .cc .inc .cu .cuh .c .py .cmake .txt .js .css .html .proto .sh".split()
)
WITHOUT_SUFFIX = ("dev", "run", "sluice-lab")

# Data files count by words only, and not if a program recorded them.
DATA = (".json", ".jsonl", ".pyi", ".toml", ".txt")
RECORDED = (
    "benchmarks/results/",
    "fluid/sluice/fluid/names_of_fluid.txt",
    "records/",
    "tests/fluid/",
    "tests/onnx/suite_",
    "tests/python/fluid/layers_of_fluid.txt",
    "tests/python/optimizers/of_pytorch.json",
    budgets.FILE,
)


def room_of(path):
    room = path.parts[0] if path.parts[0] in BUDGET else "others"
    return "book" if path.parts[:2] == ("fluid", "book") else room


def count():
    """The lines and the words of each room."""
    lines, counted = dict.fromkeys(BUDGET, 0), dict.fromkeys(BUDGET, 0)
    for path in rooms.files("", *SUFFIXES, *DATA):
        if path.suffix == "" and path.name not in WITHOUT_SUFFIX:
            continue
        text = (rooms.ROOT / path).read_text(errors="replace")
        is_data = path.suffix in DATA and path.name != "CMakeLists.txt"
        if not is_data:
            lines[room_of(path)] += text.count("\n")
        elif str(path).startswith(RECORDED) or "recorded" in path.parts:
            continue
        counted[room_of(path)] += words.count(text, path.suffix)
    return lines, counted


def main():
    lines, counted = count()
    costs = prices.prices()
    if sys.argv[1:] == ["--write"]:
        budgets.write(counted, costs)
    recorded = budgets.read()
    problems = []
    for room, budget in BUDGET.items():
        print(
            f"{lines[room]:>8,} of {budget:>7,} lines  {counted[room]:>8,} of "
            f"{recorded['words'].get(room, 0):>8,} words  {room}"
        )
        if lines[room] > budget:
            problems.append(
                f"{room}: {lines[room]:,} lines, its budget (tools/lint/lines.py) "
                f"is {budget:,}"
            )
    for title, values in (("lines", lines), ("words", counted)):
        total = sum(values.values()) - values["tests"]
        print(f"{total:>8,} {title} without tests")
    for kind, median in costs.items():
        print(f"{median:>8,} of {recorded['lines'].get(kind, 0):>7,} lines  {kind}")
    problems += budgets.exceeded(recorded, counted, costs)
    problems += budgets.raised_in_history(recorded)
    return rooms.report(problems)


if __name__ == "__main__":
    sys.exit(main())
