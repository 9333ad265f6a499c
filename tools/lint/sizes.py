"""Fails for files over 600 lines (with a warning from 400 on, and a list of those
at their limit), folders over 40 files, and functions over 60 lines outside
tests/. Docstrings do not count."""

import collections
import subprocess
import sys

import prices
import rooms

MAX_LINES = 600
WARN_LINES = 400
MAX_FILES = 40
MAX_FUNCTION_LINES = 60

CTAGS = (
    "ctags --languages=C++ --langmap=C++:+.cu.cuh.inc --c++-kinds=f"
    " --excmd=number --fields=ne -f - -L -"
).split()


def functions():
    """Yields the path, name, first and last line of each C++ function."""
    paths = rooms.files(".h", ".cc", ".inc", ".cu", ".cuh")
    listed = subprocess.run(
        CTAGS,
        cwd=rooms.ROOT,
        check=True,
        input="\n".join(str(p) for p in paths if p.parts[0] != "tests"),
        capture_output=True,
        text=True,
    ).stdout
    for line in listed.splitlines():
        name, path, _, *fields = line.split("\t")
        lines = dict(field.split(":", 1) for field in fields)
        if "end" in lines:
            yield path, name, int(lines["line"]), int(lines["end"])


def python_functions():
    """Yields the same of each Python function, without its docstring."""
    for path, node in prices.functions("", ".py"):
        if path.parts[0] != "tests":
            last = node.end_lineno - prices.docstring_lines(node)
            yield path, node.name, node.lineno, last


def main():
    problems = []
    folders = collections.Counter()
    at_limit = []
    sources = (".h", ".cc", ".inc", ".cu", ".cuh", ".c", ".py", ".cmake")
    for path in rooms.files(*sources):
        folders[str(path.parent)] += 1
        lines = (rooms.ROOT / path).read_bytes().count(b"\n")
        if lines > MAX_LINES:
            problems.append(f"{path}: {lines} lines, at most {MAX_LINES}")
        elif lines > WARN_LINES:
            print(f"warning: {path}: {lines} lines; which two things is it?")
            at_limit += [f"{path} ({lines})"] * (lines > MAX_LINES - 5)
    print("files at their limit:", *(at_limit or ["none"]), sep="\n  ")
    for folder, count in sorted(folders.items()):
        if count > MAX_FILES:
            problems.append(f"{folder}: {count} files, at most {MAX_FILES}")
    for path, name, first, last in [*functions(), *python_functions()]:
        lines = last - first + 1
        if lines > MAX_FUNCTION_LINES:
            problems.append(
                f"{path}:{first}: function {name} has {lines} lines, "
                f"at most {MAX_FUNCTION_LINES}"
            )
    return rooms.report(problems)


if __name__ == "__main__":
    sys.exit(main())
