"""Shows what the steps of a gate took (build/log/steps), what costs most first,
and fails where a step took more than its budget allows.

Budgets are seconds of all processors together, without any compiler cache, on a
machine that checks the syntax of PROGRAM in REFERENCE_SECONDS; a slower one may take longer,
in proportion, and so may one on which other programs run: they share its caches and cores.
Therefore PROGRAM is timed after each step: --machine prints its seconds. A step may have
parts, which are added up. To allow a step more, say in the commit what grew."""

import pathlib
import resource
import statistics
import subprocess
import sys

BUDGET = {
    "lint": 1000,
    "build release": 2200,
    "tests release": 2000,
    "tests without_oneDNN": 60,
    "build tsan": 700,
    "tests tsan": 20,
    "build dev": 2000,
    "tests dev": 1200,
    "device code": 1500,
}
PROGRAM = "#include <regex>"
REFERENCE_SECONDS = 0.6


def seconds_of_program():
    """The median of three times."""
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = ["g++", "-std=c++20", "-xc++", "-fsyntax-only", "-"]
        subprocess.run(command, input=PROGRAM, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        )
    return statistics.median(seconds)


def main():
    if sys.argv[1:] == ["--machine"]:
        print(f"{seconds_of_program():.2f}")
        return 0
    steps = {}
    for line in pathlib.Path("build/log/steps").read_text().splitlines():
        step, seconds, cpu, of_program = line.split(",")
        there = int(cpu) / max(1, float(of_program) / REFERENCE_SECONDS)
        part = int(seconds), int(cpu), there
        steps[step] = tuple(map(sum, zip(steps.get(step, (0, 0, 0)), part)))
    print("seconds, of all processors, of those of the reference, allowed:")
    over = []
    for step, (seconds, cpu, there) in sorted(steps.items(), key=lambda each: -each[1][0]):
        print(f"{seconds:6} {cpu:6} {there:6.0f} {BUDGET[step]:6}  {step}")
        if there > BUDGET[step]:
            over.append(f"{step} took {cpu} s of processors, which are too many")
    for problem in over:
        print(f"tools/step_budgets.py: {problem}", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
