"""Tests the counts of tools/run_tests.py for outputs of tests."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape, quoteattr

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "run_tests.py"
GTEST = """\
Running main() from gtest_main.cc
[==========] Running 3 tests from 2 test suites.
[ RUN      ] Cuda.A
/src/cuda_test.h:24: Skipped
needs a GPU
and a driver
[  SKIPPED ] Cuda.A (0 ms)
[ RUN      ] All/Cuda.B/0
/src/cuda_test.h:24: Skipped
needs a GPU
[  SKIPPED ] All/Cuda.B/0 (0 ms)
[ RUN      ] Plain.Passes
[       OK ] Plain.Passes (0 ms)
[==========] 3 tests from 2 test suites ran. (0 ms total)
[  PASSED  ] 1 test.
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] Cuda.A
[  SKIPPED ] All/Cuda.B/0
"""
BRIEF = """\
/src/cuda_test.h:24: Skipped
needs a GPU
and a driver
/src/plain_test.cc:8: Skipped

[==========] 9 tests from 2 test suites ran. (0 ms total)
[  PASSED  ] 7 tests.
[  SKIPPED ] 2 tests.
"""
FAILING_SHARD = """\
/src/cuda_test.h:24: Skipped
needs a GPU
/src/plain_test.cc:10: Failure
Failed
[  FAILED  ] Plain.Fails (0 ms)
/src/plain_test.cc:12: Failure
Failed
[  FAILED  ] All/Plain.Fails/1, where GetParam() = 2 (0 ms)
[==========] 8 tests from 3 test suites ran. (0 ms total)
[  PASSED  ] 5 tests.
[  SKIPPED ] 1 test.
"""
PYTEST = """\
ss.sxX                                                                   [100%]
=========================== short test summary info ============================
SKIPPED [2] tests/python/test_a.py:3: no CUDA device
SKIPPED [1] tests/python/test_a.py:13: could not import 'onnx'
1 passed, 3 skipped, 1 xfailed, 1 xpassed, 2 warnings in 61.20s (0:01:01)
"""
UNITTEST = """\
test_a (__main__.T.test_a) ... skipped 'no compiler'
----------------------------------------------------------------------
Ran 4 tests in 0.001s

OK (skipped=1, expected failures=1)
"""


def case(name="t", output="", status="run", skip=None, time=0):
    """One test in ctest's format."""
    inner = "<failure message=''/>" if status == "fail" else ""
    if skip is not None:
        inner = f"<skipped message={quoteattr(skip)}/>"
    return (
        f'<testcase name="{name}" classname="{name}" time="{time}" '
        f'status="{status}">{inner}'
        f"<system-out>{escape(output)}</system-out></testcase>"
    )


def summary(*files):
    """The status, and the lines printed for files of these contents."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{index}.xml" for index in range(len(files))]
        for name, text in zip(names, files):
            if text is not None:
                pathlib.Path(folder, name).write_text(text)
        done = subprocess.run(
            [sys.executable, TOOL, "--summary", *names],
            cwd=folder,
            capture_output=True,
            text=True,
        )
    return done.returncode, (done.stdout + done.stderr).splitlines()


def count(*cases):
    return summary(f"<testsuite>{''.join(cases)}</testsuite>")


class Summary(unittest.TestCase):
    def test_skipped_gtest_cases_are_named_with_their_reason(self):
        lines = [
            "  2 skipped: needs a GPU (Cuda.A, All/Cuda.B/0)",
            "1 passed, 0 failed, 2 skipped",
        ]
        self.assertEqual(count(case(output=GTEST)), (0, lines))

    def test_brief_gtest_has_the_place_of_a_skip(self):
        lines = [
            "  1 skipped: needs a GPU (cuda_test.h:24)",
            "  1 skipped: no reason given (plain_test.cc:8)",
            "7 passed, 0 failed, 2 skipped",
        ]
        self.assertEqual(count(case(output=BRIEF)), (0, lines))

    def test_a_failing_shard_counts_each_case(self):
        lines = [
            "  1 skipped: needs a GPU (cuda_test.h:24)",
            "  failed: shard.0 (0.xml)",
            "5 passed, 2 failed, 1 skipped",
        ]
        test = case("shard.0", FAILING_SHARD, "fail")
        self.assertEqual(count(test), (1, lines))

    def test_a_shard_that_crashes_is_one_failure(self):
        output = "[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n[ RUN      ] A.C\n"
        lines = ["  failed: t (0.xml)", "0 passed, 1 failed, 0 skipped"]
        self.assertEqual(count(case("t", output, "fail")), (1, lines))

    def test_ctest_has_the_last_word_on_a_failure(self):
        output = "[  PASSED  ] 3 tests.\nLeakSanitizer: detected leaks\n"
        _, lines = count(case("t", output, "fail"))
        self.assertEqual(lines[-1], "3 passed, 1 failed, 0 skipped")

    def test_a_program_that_should_fail_is_one_test(self):
        _, lines = count(case("t", FAILING_SHARD))
        self.assertEqual(lines, ["1 passed, 0 failed, 0 skipped"])

    def test_a_skip_of_ctest_has_the_reason_of_the_gtest_case(self):
        skip = "SKIP_REGULAR_EXPRESSION_MATCHED"
        output = GTEST.replace("[  PASSED  ] 1 test.", "[  PASSED  ] 0 tests.")
        _, lines = count(case("t", output, "notrun", skip))
        self.assertEqual(lines[-1], "0 passed, 0 failed, 2 skipped")
        self.assertIn("needs a GPU (Cuda.A", lines[0])

    def test_pytest_skips_have_their_reasons(self):
        lines = [
            "  2 skipped: no CUDA device (test_a.py:3)",
            "  1 skipped: could not import 'onnx' (test_a.py:13)",
            "3 passed, 0 failed, 3 skipped",
        ]
        self.assertEqual(count(case(output=PYTEST)), (0, lines))

    def test_pytest_counts_errors_as_failures(self):
        output = "=== 1 failed, 4 passed, 1 skipped, 2 errors in 0.02s ===\n"
        lines = [
            "  1 skipped: no reason given (t)",
            "  failed: t (0.xml)",
            "4 passed, 3 failed, 1 skipped",
        ]
        self.assertEqual(count(case("t", output, "fail")), (1, lines))

    def test_unittest_cases_count(self):
        lines = [
            "  1 skipped: no compiler (t)",
            "3 passed, 0 failed, 1 skipped",
        ]
        self.assertEqual(count(case(output=UNITTEST)), (0, lines))

    def test_unittest_failures_count(self):
        output = "Ran 7 tests in 1.0s\n\nFAILED (failures=1, errors=2)\n"
        _, lines = count(case("t", output, "fail"))
        self.assertEqual(lines[-1], "4 passed, 3 failed, 0 skipped")

    def test_other_output_is_one_case(self):
        for output in ("", "3 passed\n", "Ran 2 tests\n", "[  PASSED  ] x\n"):
            _, lines = count(case(output=output))
            self.assertEqual(lines, ["1 passed, 0 failed, 0 skipped"])

    def test_a_script_says_in_its_last_line_why_it_skips(self):
        test = case("s", "a\nno network\n\n", "notrun", "SKIP_RETURN_CODE=77")
        lines = [
            "  1 skipped: no network (s)",
            "0 passed, 0 failed, 1 skipped",
        ]
        self.assertEqual(count(test), (0, lines))

    def test_a_disabled_test_is_skipped(self):
        lines = ["  1 skipped: disabled (t)", "0 passed, 0 failed, 1 skipped"]
        self.assertEqual(count(case("t", "Disabled", "disabled")), (0, lines))

    def test_a_test_that_could_not_run_fails(self):
        test = case("t", "no such file", "notrun", "Unable to find executable")
        lines = ["  failed: t (0.xml)", "0 passed, 1 failed, 0 skipped"]
        self.assertEqual(count(test), (1, lines))

    def test_equal_reasons_share_a_line_with_three_names(self):
        cases = [
            case(name, "no GPU", "notrun", "SKIP_RETURN_CODE=77")
            for name in "abcda"
        ]
        _, lines = count(*cases)
        self.assertEqual(lines[0], "  5 skipped: no GPU (a, b, c, ...)")

    def test_several_runs_add_up(self):
        run = f"<testsuite>{case()}</testsuite>"
        lines = ["2 passed, 0 failed, 0 skipped"]
        self.assertEqual(summary(run, run), (0, lines))

    def test_a_run_without_results_fails(self):
        for text in (None, "<testsuite>", "<testsuite/>"):
            lines = [
                "  failed: the run of 0.xml, which has no tests",
                "0 passed, 1 failed, 0 skipped",
            ]
            self.assertEqual(summary(text), (1, lines))

    def test_a_file_of_pytest_counts(self):
        text = """<testsuites><testsuite><testcase name="a"/>
          <testcase name="b"><skipped type="pytest.skip" message="why"/>
          </testcase><testcase name="c"><skipped type="pytest.xfail"/>
          </testcase><testcase name="d"><error/></testcase>
          </testsuite></testsuites>"""
        lines = [
            "  1 skipped: why (b)",
            "  failed: d (0.xml)",
            "2 passed, 1 failed, 1 skipped",
        ]
        self.assertEqual(summary(text), (1, lines))


class Run(unittest.TestCase):
    def run_ctest(self, *arguments, status=0, cases=()):
        """Runs the tool on a ctest that prints its arguments, and writes
        these cases; returns the status, the printed lines and the files."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            build = folder / "build" / "release"
            build.mkdir(parents=True)
            (build / "tests.xml").write_text("from an earlier run")
            (folder / "cases").write_text(
                f"<testsuite>{''.join(cases)}</testsuite>" if cases else ""
            )
            ctest = folder / "ctest"
            ctest.write_text(
                '#!/bin/sh\necho "$@"\nfor file; do :; done\n'
                f'[ -s cases ] && cp cases "$file"\nexit {status}\n'
            )
            ctest.chmod(0o755)
            done = subprocess.run(
                [sys.executable, TOOL, *arguments],
                cwd=folder,
                env={**os.environ, "PATH": f"{name}:{os.environ['PATH']}"},
                capture_output=True,
                text=True,
            )
            files = sorted(path.name for path in build.iterdir())
        return done.returncode, done.stdout.splitlines(), files

    def test_the_arguments_reach_ctest(self):
        _, lines, _ = self.run_ctest("release", "-LE", "slow", "--repeat", "x")
        self.assertIn("--preset release -LE slow --repeat x", lines[1])
        self.assertIn("--test-output-size-passed 1000000", lines[1])

    def test_the_status_is_that_of_ctest(self):
        cases = [case(status="fail")]
        self.assertEqual(self.run_ctest("release", status=8, cases=cases)[0], 8)
        self.assertEqual(self.run_ctest("release", cases=cases)[0], 0)

    def test_a_title_names_the_file(self):
        status, lines, files = self.run_ctest(
            "--title", "without oneDNN", "release", "-R", "x", cases=[case()]
        )
        self.assertEqual(status, 0)
        self.assertEqual(lines[0], "tests: without oneDNN")
        self.assertIn("tests_without_oneDNN.xml", files)

    def test_an_earlier_file_does_not_stay(self):
        self.assertEqual(self.run_ctest("release", status=8)[2], [])

    def test_the_ten_slowest_are_named(self):
        cases = [case(f"t{time}", time=time) for time in range(11)]
        _, lines, _ = self.run_ctest("release", cases=cases)
        slowest = lines[-1].removeprefix("slowest: ").split(", ")
        self.assertEqual(len(slowest), 10)
        self.assertEqual(slowest[0], "t10 10.0 s")
        self.assertEqual(slowest[-1], "t1 1.0 s")


if __name__ == "__main__":
    unittest.main()
