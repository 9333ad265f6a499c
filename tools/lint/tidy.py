"""clang-tidy over the sources of the rooms (or the files named)."""

import pathlib
import subprocess
import sys

import compile_commands
import rooms


def main():
    arguments = compile_commands.arguments(__doc__)
    sources = sorted(compile_commands.room_commands(arguments.build))
    # Device code is CUDA's dialect, with names that clang-tidy dislikes.
    sources = [
        s
        for s in sources
        if s.suffix != ".cu" and "platform/cuda" not in str(s)
    ]
    if arguments.files:
        sources = [s for s in sources if s in arguments.files]

    # clang-tidy comes without omp.h; of g++'s folder only what is found nowhere
    # else may be taken.
    gcc_include = subprocess.run(
        ["g++", "-print-file-name=include"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()

    def header_filter(source):
        # What includes CUDA's names is held to the rules itself.
        if "operators/nccl" in str(source):
            return ["--header-filter=sluice/operators/.*[.]h$"]
        return []

    def tidy(source):
        # The commands are g++'s; clang does not know all of its flags.
        done = subprocess.run(
            [
                str(pathlib.Path(sys.executable).parent / "clang-tidy"),
                "--quiet",
                f"-p={arguments.build}",
                "--extra-arg=-Wno-unknown-warning-option",
                "--extra-arg=-Wno-ignored-optimization-argument",
                "--extra-arg=-Wno-deprecated-declarations",  # in libstdc++
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
