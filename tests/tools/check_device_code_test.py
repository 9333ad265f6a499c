"""Tests tools/check_device_code.py with a report like ptxas writes."""

import pathlib
import subprocess
import sys
import unittest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "check_device_code.py"
REPORT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z3addPd' for 'sm_90'
ptxas info    : Function properties for _Z3addPd
    {} bytes stack frame, {} bytes spill stores, {} bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers
"""


def check(report, *limits, status=0):
    """Runs the tool on a compiler that prints `report`; (status, stderr)."""
    code = f"import sys; sys.stderr.write({report!r}); sys.exit({status})"
    done = subprocess.run(
        [sys.executable, TOOL, *limits, sys.executable, "-c", code],
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stderr


class CheckDeviceCode(unittest.TestCase):
    def test_what_is_within_the_budget_passes_without_a_word(self):
        report = REPORT.format(16, 0, 0)
        self.assertEqual(check(report, "--stack", "16"), (0, ""))

    def test_too_much_local_memory_names_the_kernel(self):
        status, text = check(REPORT.format(24, 0, 0), "--stack", "16")
        self.assertEqual(status, 1)
        for part in ("add(double*)", "sm_90", "24 bytes", "at most 16"):
            self.assertIn(part, text)

    def test_a_spill_either_way_fails(self):
        for stores, loads in ((4, 0), (0, 4)):
            report = REPORT.format(0, stores, loads)
            status, text = check(report, "--stack", "16")
            self.assertEqual(status, 1)
            self.assertIn("4 bytes of spills", text)
            allowed = check(report, "--stack", "0", "--spills", "4")
            self.assertEqual(allowed[0], 0)

    def test_other_words_of_the_compiler_pass_through(self):
        report = "a.cu(3): warning\n" + REPORT.format(0, 0, 0)
        self.assertEqual(
            check(report, "--stack", "0"), (0, "a.cu(3): warning\n")
        )

    def test_a_compiler_that_fails_fails(self):
        self.assertEqual(check("no\n", "--stack", "0", status=2), (2, "no\n"))


if __name__ == "__main__":
    unittest.main()
