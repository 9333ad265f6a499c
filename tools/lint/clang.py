"""What is in no room (tests, benchmarks, tools, examples) compiles with clang
without a warning; for the rooms clang-tidy says so. Nothing is written."""

import json
import pathlib
import shlex
import subprocess
import sys

import compile_commands
import headers
import rooms

# clang 14 does not know them.
GNU_ONLY = ("-fno-allocation-dce", "-Wno-alloc-size-larger-than")


def commands(build):
    """{source: its arguments} of what is in no room and was not generated."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if not path.is_relative_to(rooms.ROOT):
            continue
        path = path.relative_to(rooms.ROOT)
        if path.suffix != ".cc" or path.parts[0] == "build":
            continue
        if rooms.room_of(path) is None:
            found[path] = shlex.split(entry["command"])
    return found


def main():
    arguments = compile_commands.arguments(__doc__)
    sources = commands(arguments.build)
    wanted = set(arguments.files)

    def compile_source(path):
        flags = [
            flag
            for flag in headers.flags_of(sources[path])
            if flag not in GNU_ONLY
        ]
        done = subprocess.run(
            ["clang++", *flags, "-fsyntax-only", str(rooms.ROOT / path)],
            capture_output=True,
            text=True,
        )
        return done.stderr if done.returncode else None

    work = sorted(p for p in sources if not wanted or p in wanted)
    if not work:
        return rooms.report(["clang: no source to compile"])
    problems = compile_commands.run_all(arguments.jobs, compile_source, work)
    return rooms.report(problems)


if __name__ == "__main__":
    sys.exit(main())
