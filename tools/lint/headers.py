"""Checks that every header compiles alone, with the flags and include roots of
its room; the plug-in header also as C99. Headers that the source of the same
name includes first are skipped: compiling that checks the same."""

import re
import subprocess
import sys

import compile_commands
import rooms

KEPT_FLAGS = ("-I", "-D", "-std=", "-W", "-f")


def flags_of(command):
    """The flags of a compile command that affect the meaning of a header."""
    flags, words = [], iter(command[1:])
    for word in words:
        if word == "-isystem":
            flags += [word, next(words)]
        elif word.startswith(KEPT_FLAGS):
            flags.append(word)
    return flags


def uses_cuda(path):
    """Whether it includes CUDA's headers, or those of the emulation."""
    folders = {"cuda", "cuda_emulation"} & set(path.parts)
    return bool(folders) or path.suffix in (".cu", ".cuh")


def is_included_first(path):
    """Whether the source of the same name includes `path` first."""
    for suffix in (".cc", ".cu"):
        source = rooms.ROOT / path.with_suffix(suffix)
        if source.is_file():
            first = re.search(r'#include\s+["<](.*?)[">]', source.read_text())
            if first and first[1] == f"sluice/{path}":
                return True
    return False


def compile_alone(compiler, flags, include, language):
    source = f'#include "{include}"\n'
    done = subprocess.run(
        [*compiler, *flags, "-fsyntax-only", "-x", language, "-"],
        input=source,
        capture_output=True,
        text=True,
    )
    return done.stderr if done.returncode else None


def main():
    arguments = compile_commands.arguments(__doc__)
    flags = {}
    for path, command in compile_commands.room_commands(
        arguments.build
    ).items():
        # All .cu files are compiled with the flags of the operators.
        cuda = "cuda" if uses_cuda(path) else rooms.room_of(path)
        flags.setdefault(cuda, flags_of(command))
    work = []
    for path in rooms.files(".h", ".cuh"):
        if not rooms.room_of(path) or "native" in path.parts:  # for nvcc only
            continue
        if is_included_first(path):
            continue
        key = "cuda" if uses_cuda(path) else rooms.room_of(path)
        if key in flags:
            include = f"sluice/{path}"
            work.append((["g++"], flags[key], include, "c++"))
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
