"""The tree's rooms and their sources, for the lint scripts."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def libraries():
    """The folders of operators/ with kernels of a library."""
    text = (ROOT / "operators" / "CMakeLists.txt").read_text()
    return re.search(r"set\(library_modules\s+([^)]*)\)", text)[1].split()


# The lower rooms that each room may use, lowest first.
ROOMS = {
    "platform": [],
    "memory": ["platform"],
    "framework": ["platform", "memory"],
    "operators/math": ["platform", "memory", "framework"],
    "operators": ["platform", "memory", "framework", "operators/math"],
    **{
        f"operators/{library}": [
            "platform",
            "memory",
            "framework",
            "operators/math",
            "operators",
        ]
        for library in libraries()
    },
    "onnx": ["platform", "memory", "framework", "operators"],
    "nn": ["platform", "memory", "framework"],
    "laboratory": ["platform", "memory", "framework"],
    "python": [
        "platform",
        "memory",
        "framework",
        "operators/math",
        "operators",
        "onnx",
        "laboratory",
    ],
}

# The floors of rooms that have some, lowest first: a folder may use only those
# before it.
FLOORS = {
    "framework": [
        "framework/files",
        "framework/values",
        "framework/costs",
        "framework/op",
        "framework/hints",
        "framework/program",
        "framework/checkpoint",
        "framework/algorithms",
        "framework/choice",
        "framework/plan",
        "framework/inspect",
        "framework/run",
    ],
    "laboratory": [
        "laboratory/measure",
        "laboratory/records",
        "laboratory/tuning",
        "laboratory/bisect",
        "laboratory",
    ],
}


def floor_of(path):
    """The number of the floor of a path (or an include without "sluice/"); -1
    if it is on no floor of a room with floors, None in other rooms."""
    floors = FLOORS.get(room_of(path))
    if floors is None:
        return None
    folder = str(pathlib.PurePath(path).parent)
    return floors.index(folder) if folder in floors else -1


def room_of(path):
    """The room of a path (or of an include without "sluice/")."""
    for room in sorted(ROOMS, key=len, reverse=True):
        if str(path).startswith(room + "/"):
            return room
    return None


def files(*suffixes):
    """The tree's files with one of the suffixes, except ignored ones."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    paths = sorted(set(map(pathlib.Path, listed)))
    return [p for p in paths if p.suffix in suffixes and (ROOT / p).is_file()]


def report(problems):
    """Prints the problems and returns the exit status."""
    for problem in problems:
        print(problem)
    return 1 if problems else 0
