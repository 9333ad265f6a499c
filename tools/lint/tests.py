"""Checks that every test is compiled: a source tests/**/*_test.cc or .cu is
part of the build, or a test copies it into another project (tests/guides/)."""

import subprocess
import sys

import compile_commands
import rooms


def main():
    arguments = compile_commands.arguments(__doc__)
    units = compile_commands.units(arguments.build)
    compiled = {str(path) for sources in units for path in sources}
    names = subprocess.check_output(
        ["git", "ls-files", "tests/**_test.cc", "tests/**_test.cu"],
        cwd=rooms.ROOT, text=True,
    ).split()
    problems = [
        f"{name}: no target of tests/CMakeLists.txt compiles it"
        for name in names
        if not name.startswith("tests/guides/") and name not in compiled
    ]
    return rooms.report(problems)


if __name__ == "__main__":
    sys.exit(main())
