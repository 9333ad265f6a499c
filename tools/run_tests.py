#!/usr/bin/env python3
"""Runs the tests of a preset, or counts the cases of several such runs.

  run_tests.py [--title TEXT] PRESET [argument of ctest...]
  run_tests.py --summary FILE...

The first form runs ctest, prints the slowest tests, and exits with the status
of ctest. It writes build/PRESET/tests.xml; runs of one preset need titles, and
write tests_TITLE.xml. The second form reads these files, and those of `pytest
--junitxml`. It prints why cases were skipped, which tests failed, and the
number of cases. Exits with 1 if one failed.
"""

import argparse
import collections
import dataclasses
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

# With --gtest_brief=1 no name follows the reason.
GTEST_SKIP = re.compile(
    r"^(\S+:\d+): Skipped\n(.*)(?:\n(?!\S+:\d+: |\[).*)*"
    r"(?:\n\[  SKIPPED \] ([\w/]+\.[\w/]+))?",
    re.M,
)
GTEST_FAILED = re.compile(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", re.M)
GTEST_END = re.compile(
    r"^\[  PASSED  \] (\d+) tests?\.\n(?:\[  SKIPPED \] (\d+) test)?", re.M
)
PYTEST_SKIP = re.compile(r"^SKIPPED \[(\d+)\] (\S+): (.*)", re.M)
PYTEST_END = re.compile(
    r"^(?:=+ )?(\d+ [a-z]+(?:, \d+ [a-z ]+)*) in [\d.]+s", re.M
)
UNITTEST_SKIP = re.compile(r"\.\.\. skipped (['\"])(.*)\1$", re.M)
UNITTEST_END = re.compile(
    r"^Ran (\d+) tests? in [\d.]+s\n\n(?:OK|FAILED)(?: \((.*)\))?$", re.M
)


@dataclasses.dataclass
class Cases:
    """`skipped` has a reason and a name for each skipped case."""

    passed: int = 0
    failed: int = 0
    skipped: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    def with_skips(self, number, test):
        """Extends the list to the number in the output."""
        missing = number - len(self.skipped)
        self.skipped += [("no reason given", test)] * missing
        del self.skipped[number:]
        return self


def last_of(pattern, output):
    return collections.deque([None, *pattern.finditer(output)], 1)[0]


def read_gtest(output, test):
    failed = len(set(GTEST_FAILED.findall(output)))
    end = last_of(GTEST_END, output)
    if end is None:  # it crashed
        return Cases(failed=failed) if failed else None
    skips = [
        (reason.strip() or "no reason given", name or pathlib.Path(place).name)
        for place, reason, name in GTEST_SKIP.findall(output)
    ]
    return Cases(int(end[1]), failed, skips).with_skips(int(end[2] or 0), test)


def read_pytest(output, test):
    end = last_of(PYTEST_END, output)
    if end is None:
        return None
    numbers = collections.Counter()
    for part in end[1].split(", "):
        number, word = part.split(" ", 1)
        numbers[word] += int(number)
    skips = [
        (reason, pathlib.Path(place).name)
        for number, place, reason in PYTEST_SKIP.findall(output)
        for _ in range(int(number))
    ]
    return Cases(
        numbers["passed"] + numbers["xfailed"] + numbers["xpassed"],
        numbers["failed"] + numbers["error"] + numbers["errors"],
        skips,
    ).with_skips(numbers["skipped"], test)


def read_unittest(output, test):
    end = last_of(UNITTEST_END, output)
    if end is None:
        return None
    numbers = collections.Counter()
    for word, number in re.findall(r"([a-z ]+)=(\d+)", end[2] or ""):
        numbers[word.strip()] = int(number)
    failed = sum(
        numbers[word]
        for word in ("failures", "errors", "unexpected successes")
    )
    passed = max(0, int(end[1]) - failed - numbers["skipped"])
    skips = [(found[2], test) for found in UNITTEST_SKIP.finditer(output)]
    return Cases(passed, failed, skips).with_skips(numbers["skipped"], test)


def outcome(test):
    """The outcome of a test from ctest or pytest, and the reason of a skip."""
    if test.get("status") == "disabled":
        return "skipped", "disabled"
    if {"failure", "error"} & {child.tag for child in test}:
        return "failed", ""
    skip = test.find("skipped")
    if skip is None or skip.get("type") == "pytest.xfail":
        return "passed", ""
    message = skip.get("message", "")
    if skip.get("type") == "pytest.skip":
        return "skipped", message or "no reason given"
    # Other tests should have run, e.g. "Unable to find executable".
    return "skipped" if message.startswith("SKIP_") else "failed", message


def cases_of(test):
    """Counts the cases of a test: 1 if its output does not show them."""
    name = test.get("name", "?")
    output = (test.findtext("system-out") or "").strip() + "\n"
    status, reason = outcome(test)
    cases = None
    for read in read_gtest, read_pytest, read_unittest:
        cases = cases or read(output, name)
    if status == "failed":
        cases = cases or Cases()
        cases.failed = max(1, cases.failed)
        return cases
    # Tests that are expected to fail pass although their output has failures.
    if cases and not cases.failed and (cases.skipped or status == "passed"):
        return cases
    if status == "passed":
        return Cases(passed=1)
    if reason.startswith("SKIP_"):
        reason = output.strip().split("\n")[-1] or reason
    return Cases(skipped=[(reason, name)])


def tests_in(file):
    """Returns the tests in a JUnit file; none if it is missing or invalid."""
    try:
        root = xml.etree.ElementTree.parse(file).getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return []
    return list(root.iter("testcase"))


def summarize(files):
    passed, failed = 0, 0
    failures, names_by_reason = [], collections.defaultdict(list)
    for file in files:
        tests = tests_in(file)
        if not tests:
            failed += 1
            failures.append(f"  failed: the run of {file}, which has no tests")
        for test in tests:
            cases = cases_of(test)
            passed += cases.passed
            failed += cases.failed
            for reason, name in cases.skipped:
                names_by_reason[reason].append(name)
            if cases.failed:
                failures.append(f"  failed: {test.get('name')} ({file})")
    groups = sorted(names_by_reason.items(), key=lambda group: -len(group[1]))
    for reason, names in groups:
        different = list(dict.fromkeys(names))
        shown = different[:3] + ["..."] * (len(different) > 3)
        print(f"  {len(names)} skipped: {reason} ({', '.join(shown)})")
    for failure in failures:
        print(failure)
    skipped = sum(len(names) for names in names_by_reason.values())
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


def run(title, preset, arguments):
    suffix = "_" + re.sub(r"\W+", "_", title) if title else ""
    file = pathlib.Path("build", preset, f"tests{suffix}.xml").absolute()
    file.unlink(missing_ok=True)
    print(f"tests: {title or preset}", flush=True)
    # Both ends of a long output matter: the first error and the last line.
    command = ["ctest", "--preset", preset, *arguments]
    command += ["--test-output-size-passed", "1000000"]
    command += ["--test-output-truncation", "middle"]
    command += ["--output-junit", str(file)]
    status = subprocess.run(command).returncode
    times = [(float(t.get("time", 0)), t.get("name")) for t in tests_in(file)]
    slowest = sorted(times, reverse=True)[:10]
    if slowest:
        names = ", ".join(f"{name} {time:.1f} s" for time, name in slowest)
        print(f"slowest: {names}", flush=True)
    return status


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--title")
    parser.add_argument("--summary", nargs="+", metavar="FILE")
    parser.add_argument("preset", nargs="?")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if given.summary:
        return summarize(given.summary)
    if not given.preset:
        parser.error("expected a preset or --summary")
    return run(given.title, given.preset, given.arguments)


if __name__ == "__main__":
    sys.exit(main())
