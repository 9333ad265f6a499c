"""Checks that every header compiles alone, with the flags and include roots of
its folder; the plug-in header also as C99. Headers that a source compiled first
includes first are skipped: compiling that checks the same."""

import re
import subprocess
import sys

import compile_commands
import rooms


def places_of_flags(path):
    """Where `path` may have its flags from, best first; all .cu files are
    compiled with those of the operators."""
    if {"cuda", "cuda_emulation"} & set(path.parts) or path.suffix[:3] == ".cu":
        return ["cuda"]
    return [str(path.parent), rooms.room_of(path)]


def first_include(source):
    """The path of the header that `source` includes first, or None."""
    text = (rooms.ROOT / source).read_text()
    found = re.search(r'#include\s+["<](.*?)[">]', text)
    return found and found[1].removeprefix("sluice/")


def compile_alone(compiler, flags, include, language):
    source = f'#include "{include}"\n'
    done = subprocess.run(
        [*compiler, *flags, "-fsyntax-only", "-x", language, "-"],
        input=source, capture_output=True, text=True,
    )
    return done.stderr if done.returncode else None


def main():
    arguments = compile_commands.arguments(__doc__)
    flags, compiled = {}, set()
    for sources, command in compile_commands.units(arguments.build).items():
        first = sources[:1]
        sources = list(filter(rooms.room_of, sources))
        for path in sources:
            for key in places_of_flags(path):
                flags.setdefault(key, compile_commands.flags_of(command))
        compiled.update(map(first_include, filter(rooms.room_of, first)))
    work = []
    for path in rooms.files(".h", ".cuh"):
        if not rooms.room_of(path) or "native" in path.parts:  # for nvcc only
            continue
        found = [flags[key] for key in places_of_flags(path) if key in flags]
        if found and str(path) not in compiled:
            work.append((["g++"], found[0], f"sluice/{path}", "c++"))
    root = arguments.build / "include" / "platform"
    c_flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    c_flags.append(f"-I{root}")
    plugin_header = "sluice/platform/device_plugin.h"
    work.append((["gcc"], c_flags, plugin_header, "c"))
    problems = compile_commands.run_all(
        arguments.jobs, lambda item: compile_alone(*item), work
    )
    return rooms.report(problems)


if __name__ == "__main__":
    sys.exit(main())
