"""Tests that tools/step_budgets.py notices a step that grew."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "step_budgets.py"


def run_with(steps):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "build", "log", "steps")
        file.parent.mkdir(parents=True)
        file.write_text(steps)
        command = [sys.executable, TOOL]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True)


class StepBudgetsTest(unittest.TestCase):
    def test_a_step_within_its_budget_passes(self):
        done = run_with("tests tsan,2,3\nlint,90,120\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r" +90 +120 +\d+  lint\n +2 +3 +\d+  tests tsan\n")

    def test_a_step_that_grew_is_an_error(self):
        done = run_with("lint,90,1000000\n")
        self.assertEqual((done.returncode, "lint took 1000000 s" in done.stderr), (1, True))


if __name__ == "__main__":
    unittest.main()
