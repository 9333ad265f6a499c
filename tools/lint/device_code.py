"""Checks that the device code of all .cu files compiles with nvcc and keeps to
its budget: what `./dev build cuda` checks, without host code."""

import shlex
import subprocess
import sys

import compile_commands
import rooms

CHECK = rooms.ROOT / "tools" / "check_device_code.py"
# Flags for object and dependency files; each takes one argument.
OF_OBJECTS = {"-o", "-MF", "-MT"}


def fatbin_command(command):
    """The command that compiles only the device code of an object."""
    words, kept = iter(command), []
    for word in words:
        if word in OF_OBJECTS:
            next(words)
        elif word not in ("-c", "-MD"):
            kept.append(word)
    return [*kept, "-fatbin", "-o", "/dev/null"]


def main():
    arguments = compile_commands.arguments(__doc__)
    commands = {
        sources[0]: shlex.split(command)
        for sources, command in compile_commands.units(arguments.build).items()
        if rooms.room_of(sources[0]) and sources[0].suffix == ".cu"
    }
    sources = sorted(commands)
    if not sources:
        return rooms.report([f"{arguments.build} compiles no .cu file"])

    def compile_device_code(source):
        done = subprocess.run(
            [sys.executable, CHECK, *fatbin_command(commands[source])],
            capture_output=True,
            text=True,
            cwd=arguments.build,
        )
        if done.returncode == 0:
            return None
        return f"{source}:\n{done.stdout}{done.stderr}"

    problems = compile_commands.run_all(
        arguments.jobs, compile_device_code, sources
    )
    return rooms.report(problems)


if __name__ == "__main__":
    sys.exit(main())
