"""Runs clang-tidy over the sources of the rooms (or the named files)."""

import pathlib
import subprocess
import sys

import compile_commands
import rooms


def main():
    arguments = compile_commands.arguments(__doc__)
    sources = sorted(compile_commands.room_commands(arguments.build))
    # Device code is in CUDA's dialect, with names that clang-tidy rejects.
    sources = [
        s
        for s in sources
        if s.suffix != ".cu" and "platform/cuda" not in str(s)
    ]
    if arguments.files:
        sources = [s for s in sources if s in arguments.files]

    # clang-tidy has no omp.h. From g++'s folder, only headers that exist
    # nowhere else may be used.
    gcc_include = subprocess.run(
        ["g++", "-print-file-name=include"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()

    def header_filter(source):
        # Sources that use CUDA's names are only checked in their own headers.
        if "operators/nccl" in str(source):
            return ["--header-filter=sluice/operators/.*[.]h$"]
        return []

    def tidy(source):
        # The commands are for g++; clang does not support all its flags.
        done = subprocess.run(
            [
                str(pathlib.Path(sys.executable).parent / "clang-tidy"),
                "--quiet",
                f"-p={arguments.build}",
                "--extra-arg=-Wno-unknown-warning-option",
                "--extra-arg=-Wno-ignored-optimization-argument",
                "--extra-arg=-Wno-deprecated-declarations",  # from libstdc++
                f"--extra-arg=-idirafter{gcc_include}",
                *header_filter(source),
                str(rooms.ROOT / source),
            ],
            capture_output=True,
            text=True,
        )
        return done.stdout + done.stderr if done.returncode else None

    problems = compile_commands.run_all(arguments.jobs, tidy, sources)
    return rooms.report(problems)


if __name__ == "__main__":
    sys.exit(main())
