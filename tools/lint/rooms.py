"""What the lint scripts know about the tree: its rooms and their sources."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A room and the rooms below it that it may use, lowest first.
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
        for library in ("eigen", "nccl", "onednn")
    },
    "onnx": ["platform", "memory", "framework"],
    "python": [
        "platform",
        "memory",
        "framework",
        "operators/math",
        "operators",
        "onnx",
    ],
}

# The floors of framework/, lowest first: a folder may use those before it, and
# only them.
FLOORS = [
    "framework/files",
    "framework/values",
    "framework/measure",
    "framework/op",
    "framework/hints",
    "framework/program",
    "framework/checkpoint",
    "framework/plan/assignment",
    "framework/plan",
    "framework/inspect",
    "framework/tuning",
    "framework/run",
    "framework/laboratory/bisect",
    "framework/laboratory",
]


def floor_of(path):
    """The number of the floor that a path (or an include without "sluice/")
    lies on; -1 in framework/ but on no floor, None elsewhere."""
    folder = str(pathlib.PurePath(path).parent)
    if not f"{folder}/".startswith("framework/"):
        return None
    return FLOORS.index(folder) if folder in FLOORS else -1


def room_of(path):
    """The room that a path (or an include without "sluice/") lies in."""
    for room in sorted(ROOMS, key=len, reverse=True):
        if str(path).startswith(room + "/"):
            return room
    return None


def files(*suffixes):
    """The tree's files with one of the suffixes, ignored ones left out."""
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
    """Prints the problems; the exit status."""
    for problem in problems:
        print(problem)
    return 1 if problems else 0
