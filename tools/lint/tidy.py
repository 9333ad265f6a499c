"""Runs clang-tidy over the sources of the rooms (or those compiled together with
the named files)."""

import pathlib
import shlex
import subprocess
import sys

import compile_commands
import rooms


def main():
    arguments = compile_commands.arguments(__doc__)
    # Device code is in CUDA's dialect, with names that clang-tidy rejects.
    units = {
        sources: command
        for sources, command in compile_commands.units(arguments.build).items()
        if all(rooms.room_of(s) and s.suffix != ".cu" for s in sources)
        and "platform/cuda" not in str(sources[0])
        and (not arguments.files or set(sources) & set(arguments.files))
    }

    # clang-tidy has no omp.h. From g++'s folder, only headers that exist
    # nowhere else may be used.
    gcc_include = subprocess.check_output(
        ["g++", "-print-file-name=include"], text=True
    ).strip()

    def header_filter(sources):
        # Sources that use CUDA's names are only checked in their own headers.
        if "operators/nccl" in str(sources[0]):
            return "sluice/operators/.*[.]h$"
        # Sources compiled together are included; x.pb.h is protobuf's.
        return r"sluice/.*([^b]\.h|\.cc)$"

    def tidy(unit):
        sources, command = unit
        # The commands are for g++; clang does not support all its flags.
        done = subprocess.run(
            [
                str(pathlib.Path(sys.executable).parent / "clang-tidy"),
                "--quiet",
                f"--header-filter={header_filter(sources)}",
                "--checks=-bugprone-suspicious-include",
                shlex.split(command)[-1],
                "--",
                *compile_commands.flags_of(command),
                "-Wno-unknown-warning-option",
                "-Wno-ignored-optimization-argument",
                "-Wno-deprecated-declarations",  # from libstdc++
                f"-idirafter{gcc_include}",
            ],
            capture_output=True, text=True, cwd=rooms.ROOT,
        )
        return done.stdout + done.stderr if done.returncode else None

    work = sorted(units.items())
    return rooms.report(compile_commands.run_all(arguments.jobs, tidy, work))


if __name__ == "__main__":
    sys.exit(main())
