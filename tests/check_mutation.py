#!/usr/bin/env python3
"""Proves that a test fails if a check is missing.

Lists the ids of all checks in the sources. For each it runs the tests that
mention its id: all must pass. Then it switches the check off
(SLUICE_TEST_DISABLE_CHECK) and runs them again: an assertion must fail. Reports
checks that no test mentions, checks whose absence no test detects, or only by a
hang, and ids that two checks share.

  tests/check_mutation.py --root . build/release/tests/sluice_*_test
"""

import argparse
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOMS = ("platform", "memory", "framework", "operators", "onnx", "fluid", "nn")
FORM = r"[a-z0-9_]+(?:\.[a-z0-9_]+)+"
# SLUICE_ENFORCE(condition, code, "id", ...) and a shape function's
# context.Require(condition, "id", ...), or three ? "id" : "id" for two ops.
CHECK = re.compile(
    rf'ErrorCode::k\w+,\s*"{FORM}"'
    rf'|\bRequire\((?:[^;"]|"(?!{FORM}")[^"]*")*(?:"{FORM}"[^;"]*)+'
)
CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGABRT}
TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.M)


def check_ids(root, rooms):
    """Returns {id: [where, ...]} of the sources of these rooms."""
    found = {}
    for room in rooms:
        for path in sorted((root / room).rglob("*")):
            if path.suffix not in (".h", ".cc", ".cu"):
                continue
            text = path.read_text()
            for match in CHECK.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                where = f"{path.relative_to(root)}:{line}"
                for check_id in re.findall(f'"({FORM})"', match.group()):
                    found.setdefault(check_id, []).append(where)
    return found


def tests_mentioning(root, check_id):
    """Returns a gtest filter; None if nothing mentions the id."""
    filters = set()
    for path in sorted((root / "tests").rglob("*.c[cu]")):
        text = path.read_text()
        for match in re.finditer(re.escape(f'"{check_id}"'), text):
            tests = [
                t for t in TEST.finditer(text) if t.start() < match.start()
            ]
            if not tests:  # in a helper, which any test may use
                return "*"
            suite, name = tests[-1].groups()
            filters.add(f"{suite}.{name}")
            filters.add(f"{suite}/*.{name}")
            filters.add(f"*/{suite}.{name}/*")
    for path in sorted((root / "tests").rglob("refusals.txt")):
        for line in path.read_text().splitlines():
            if line and line[0] not in "# ":
                test = line
            elif re.match(rf"    (\w+ )?{re.escape(check_id)}:", line):
                filters |= {test, f"{test}/*"}
    return ":".join(sorted(filters)) or None


def run(command, environment, timeout):
    """Run a program without its output."""
    nothing = subprocess.DEVNULL
    return subprocess.run(
        command, env=environment, stdout=nothing, stderr=nothing, timeout=timeout
    )


def failed_assertions(program, test_filter, environment, timeout):
    """The number of failed tests, and "" or why the program was aborted."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        try:
            options = f"--gtest_filter={test_filter}", f"--gtest_output=json:{report}"
            done = run([program, *options], environment, timeout)
        except subprocess.TimeoutExpired:
            return 0, f"took more than {timeout:.0f} s"
        if -done.returncode in CRASHES:
            return 1, ""
        if not report.exists():
            return 0, f"exited with {done.returncode} and without a report"
        return json.loads(report.read_text())["failures"], ""


def failed_python_tests(python, files, environment, timeout):
    """The same for pytest, whose exit status is 1 if tests failed."""
    try:
        options = "-m pytest -q -x -p no:cacheprovider".split()
        done = run([python, *options, *files], environment, timeout)
    except subprocess.TimeoutExpired:
        return 0, f"took more than {timeout:.0f} s"
    if -done.returncode in CRASHES:
        return 1, ""
    if done.returncode not in (0, 1):
        return 0, f"exited with {done.returncode}"
    return done.returncode, ""


def problem_of(check_id, runs):
    """The fault of a check's tests; None if they detect its absence.

    `runs` are functions of an environment that run the tests of one program. A
    failed assertion counts, and so does a crash, because the test reached what
    the check prevents. A time-out or any other end does not.
    """
    without = dict(os.environ, SLUICE_TEST_DISABLE_CHECK=check_id)
    ends = []
    for run in runs:
        failed, trouble = run(dict(os.environ))
        if failed or trouble:
            return (
                f"{check_id}: its tests fail with the check in place {trouble}"
            )
        failed, trouble = run(without)
        if failed:
            return None
        if trouble:
            ends.append(trouble)
    if ends:
        return f"{check_id}: without it a test {ends[0]}; none fails"
    return f"{check_id}: no test notices its absence"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", help="the test programs")
    parser.add_argument("--root", type=pathlib.Path, default=".")
    parser.add_argument("--only", default="", help="ids that begin with this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument(
        "--python",
        help="an interpreter that imports sluice: the checks of python/bindings "
        "too, by the tests in tests/python",
    )
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    programs = {p: pathlib.Path(p).read_bytes() for p in arguments.programs}
    python_tests = [
        str(root / "tests" / "python" / f"test_{name}.py")
        for name in ("bad_input", "wrong_arguments", "tensor", "kernels")
    ]

    problems = []
    jobs = {}
    found = check_ids(root, ROOMS)
    in_python = check_ids(root, ("python",)) if arguments.python else {}
    with ThreadPoolExecutor(arguments.jobs) as executor:
        for check_id, places in sorted((found | in_python).items()):
            if not check_id.startswith(arguments.only):
                continue
            if len(places) > 1:
                problems.append(f"{check_id}: used by {', '.join(places)}")
            if check_id in in_python:
                runs = [
                    functools.partial(
                        failed_python_tests,
                        arguments.python,
                        python_tests,
                        timeout=arguments.timeout,
                    )
                ]
                jobs[check_id] = executor.submit(problem_of, check_id, runs)
                continue
            test_filter = tests_mentioning(root, check_id)
            if test_filter is None:
                problems.append(
                    f"{check_id}: no test mentions it ({places[0]})"
                )
                continue
            # Compilers write some literals as numbers.
            mentioning = [
                p
                for p, content in programs.items()
                if check_id.encode() in content
            ] or list(programs)
            runs = [
                functools.partial(
                    failed_assertions,
                    program,
                    test_filter,
                    timeout=arguments.timeout,
                )
                for program in mentioning
            ]
            jobs[check_id] = executor.submit(problem_of, check_id, runs)
        for job in jobs.values():
            if job.result() is not None:
                problems.append(job.result())
    for problem in problems:
        print(problem)
    print(f"{len(jobs)} checks tried, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
