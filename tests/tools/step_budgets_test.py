"""Tests that tools/step_budgets.py notices a step that grew."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "step_budgets.py"


def run_with(steps):
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "build", "log")
        log.mkdir(parents=True)
        (log / "steps").write_text(steps)
        return subprocess.run(
            [sys.executable, TOOL], cwd=folder, capture_output=True, text=True
        )


class StepBudgetsTest(unittest.TestCase):
    def test_a_step_within_its_budget_passes(self):
        done = run_with("tests tsan,2,3\nlint,90,120\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        first, second = done.stdout.splitlines()[1:]
        self.assertRegex(first, r"^ +90 +120 +\d+  lint$")
        self.assertRegex(second, r"^ +2 +3 +\d+  tests tsan$")

    def test_a_step_that_grew_is_an_error(self):
        done = run_with("lint,90,1000000\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("lint took 1000000 s of processors, allowed are", done.stderr)


if __name__ == "__main__":
    unittest.main()
