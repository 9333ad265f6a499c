#!/usr/bin/env python3
"""Compiles a CUDA source and holds its device functions to a budget.

  check_device_code.py [--stack BYTES] [--spills BYTES] COMMAND...

Runs COMMAND, an nvcc with `-Xptxas -v`, and reads what ptxas reports of each
function: the local memory that it keeps arrays and the slow paths of sin and
cos in (its stack frame), and the bytes of registers that it spills there,
stored and loaded. Fails if a function needs more. Prints other output of nvcc.
"""

import argparse
import re
import shutil
import subprocess
import sys

FUNCTION = re.compile(r"Function properties for (\S+)")
ARCHITECTURE = re.compile(r"Compiling entry function '\S+' for '(\w+)'")
USE = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, "
    r"(\d+) bytes spill loads"
)


def problems(report, stack, spills):
    """Returns functions that exceed the budget, and lines of other output."""
    over, rest = [], []
    function = architecture = "?"
    for line in report.splitlines():
        if found := ARCHITECTURE.search(line):
            architecture = found[1]
        elif found := FUNCTION.search(line):
            function = found[1]
        elif found := USE.search(line):
            frame, stored, loaded = map(int, found.groups())
            if frame > stack or stored + loaded > spills:
                over.append((function, architecture, frame, stored + loaded))
        elif not line.startswith("ptxas info"):
            rest.append(line)
    return over, rest


def readable(name):
    if shutil.which("c++filt") is None:
        return name
    return subprocess.run(
        ["c++filt", name], capture_output=True, text=True
    ).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    # The stack that the slow paths of sin and cos need for float64.
    parser.add_argument("--stack", type=int, default=40)
    parser.add_argument("--spills", type=int, default=0)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()

    done = subprocess.run(
        arguments.command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    over, rest = problems(done.stdout, arguments.stack, arguments.spills)
    for line in rest:
        print(line, file=sys.stderr)
    for function, architecture, frame, spilled in over:
        print(
            f"error: {readable(function)} ({architecture}): {frame} bytes of "
            f"local memory, {spilled} bytes of spills; at most "
            f"{arguments.stack} and {arguments.spills}",
            file=sys.stderr,
        )
    return done.returncode or (1 if over else 0)


if __name__ == "__main__":
    sys.exit(main())
