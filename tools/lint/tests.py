"""Checks that every test is compiled: a source tests/**/*_test.cc or .cu is
part of the build, or a test copies it into another project (tests/guides/)."""

import subprocess
import sys

import compile_commands
import rooms


def main():
    arguments = compile_commands.arguments(__doc__)
    compiled = {
        str(path) for path in compile_commands.commands(arguments.build)
    }
    names = subprocess.run(
        ["git", "ls-files", "tests/**_test.cc", "tests/**_test.cu"],
        cwd=rooms.ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()
    missing = [
        name for name in names
        if not name.startswith("tests/guides/") and name not in compiled
    ]
    for name in missing:
        print(f"{name}: no target of tests/CMakeLists.txt compiles it")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
