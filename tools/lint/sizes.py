"""Fails for files over 600 lines (with a warning from 400 on) and folders over
40 files."""

import collections
import sys

import rooms

MAX_LINES = 600
WARN_LINES = 400
MAX_FILES = 40


def main():
    problems = []
    folders = collections.Counter()
    sources = (".h", ".cc", ".inc", ".cu", ".cuh", ".c", ".py", ".cmake")
    for path in rooms.files(*sources):
        folders[str(path.parent)] += 1
        lines = (rooms.ROOT / path).read_bytes().count(b"\n")
        if lines > MAX_LINES:
            problems.append(f"{path}: {lines} lines, at most {MAX_LINES}")
        elif lines > WARN_LINES:
            print(f"warning: {path}: {lines} lines; which two things is it?")
    for folder, count in sorted(folders.items()):
        if count > MAX_FILES:
            problems.append(f"{folder}: {count} files, at most {MAX_FILES}")
    return rooms.report(problems)


if __name__ == "__main__":
    sys.exit(main())
