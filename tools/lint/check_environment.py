#!/usr/bin/env python3
"""Compares docs/choosing_kernels.md with the variables that the sources read.

Every SLUICE_ name that is passed to getenv, secure_getenv or os.environ must be
on that page, and every SLUICE_ name in the first column of its tables must be
read somewhere.
"""

import pathlib
import re
import sys

ROOMS = (
    "platform",
    "memory",
    "framework",
    "operators",
    "laboratory",
    "python",
    "tests",
    "tools",
    "examples",
    "benchmarks",
)
SUFFIXES = (".h", ".cc", ".cu", ".c", ".py")
READ = re.compile(
    r"(?:getenv\s*\(|environ(?:\.get\s*\(|\s*\[))\s*[\"'](SLUICE_[A-Z0-9_]+)[\"']"
)
# A switch for each library in a module; the code concatenates its name.
FAMILY = "SLUICE_ENABLE_"
LISTED = re.compile(r"^\| `(SLUICE_[A-Z0-9_]+)` \|", re.M)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    read = {}
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                for name in READ.findall(path.read_text()):
                    read.setdefault(name, path.relative_to(root))
    listed = set(LISTED.findall((root / "docs/choosing_kernels.md").read_text()))
    problems = [
        f"{where}: reads {name}, which docs/choosing_kernels.md does not list"
        for name, where in sorted(read.items())
        if name not in listed
    ]
    problems += [
        f"docs/choosing_kernels.md: lists {name}, which nothing reads"
        for name in sorted(listed - read.keys())
        if not name.startswith(FAMILY)
    ]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
