#!/usr/bin/env python3
"""Proves that a test notices when a check is missing.

Lists the ids of all checks in the sources. For each it switches the check off
(SLUICE_TEST_DISABLE_CHECK) and runs the tests that mention its id: one of them
must fail. Reports checks that no test mentions, checks that can be missing
without any test noticing, and ids that two checks share.

  tests/check_mutation.py --root . build/release/tests/sluice_*_test
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOMS = ("platform", "memory", "framework", "operators")
FORM = r"[a-z0-9_]+(?:\.[a-z0-9_]+)+"
# SLUICE_ENFORCE(condition, code, "id", ...) and a shape function's
# context.Require(condition, "id", ...).
CHECK = re.compile(
    rf'ErrorCode::k\w+,\s*"({FORM})"'
    rf'|\bRequire\((?:[^;"]|"(?!{FORM}")[^"]*")*"({FORM})"'
)
TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.M)


def check_ids(root):
    """Returns {id: [where, ...]} of the sources."""
    found = {}
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            if path.suffix not in (".h", ".cc", ".cu"):
                continue
            text = path.read_text()
            for match in CHECK.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                where = f"{path.relative_to(root)}:{line}"
                check_id = match.group(1) or match.group(2)
                found.setdefault(check_id, []).append(where)
    return found


def tests_mentioning(root, check_id):
    """Returns a gtest filter; None if nothing mentions the id."""
    filters = set()
    for path in sorted((root / "tests").rglob("*.c[cu]")):
        text = path.read_text()
        for match in re.finditer(re.escape(f'"{check_id}"'), text):
            tests = [t for t in TEST.finditer(text) if t.start() < match.start()]
            if not tests:  # in a helper: any test may come by
                return "*"
            suite, name = tests[-1].groups()
            filters.add(f"{suite}.{name}")
            filters.add(f"{suite}/*.{name}")
            filters.add(f"*/{suite}.{name}/*")
    return ":".join(sorted(filters)) or None


def is_noticed(check_id, test_filter, programs, timeout):
    """True when a program that contains the id fails without the check."""
    environment = dict(os.environ, SLUICE_TEST_DISABLE_CHECK=check_id)
    mentioning = [
        p for p, content in programs.items() if check_id.encode() in content
    ]
    # Compilers write some literals as numbers.
    for program in mentioning or programs:
        try:
            done = subprocess.run(
                [program, f"--gtest_filter={test_filter}"],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            return True
        if done.returncode != 0:
            return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", help="the test programs")
    parser.add_argument("--root", type=pathlib.Path, default=".")
    parser.add_argument("--only", default="", help="ids that begin with this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=120)
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    programs = {p: pathlib.Path(p).read_bytes() for p in arguments.programs}

    problems = []
    jobs = {}
    found = check_ids(root)
    with ThreadPoolExecutor(arguments.jobs) as executor:
        for check_id, places in sorted(found.items()):
            if not check_id.startswith(arguments.only):
                continue
            if len(places) > 1:
                problems.append(f"{check_id}: used by {', '.join(places)}")
            test_filter = tests_mentioning(root, check_id)
            if test_filter is None:
                problems.append(f"{check_id}: no test mentions it ({places[0]})")
                continue
            jobs[check_id] = executor.submit(
                is_noticed, check_id, test_filter, programs, arguments.timeout
            )
        for check_id, job in jobs.items():
            if not job.result():
                problems.append(f"{check_id}: no test notices its absence")
    for problem in problems:
        print(problem)
    print(f"{len(jobs)} checks tried, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
