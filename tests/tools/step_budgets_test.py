"""Tests that tools/step_budgets.py notices a step that grew."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "step_budgets.py"


def run_with(steps, *options):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "build", "log", "steps")
        file.parent.mkdir(parents=True)
        file.write_text(steps)
        return subprocess.run([sys.executable, TOOL, *options], cwd=folder, capture_output=True, text=True)


class StepBudgetsTest(unittest.TestCase):
    def test_a_step_within_its_budget_passes(self):
        done = run_with("tests tsan,2,3,0.6\nlint,90,120,1.2\nlint,5,40,0.3\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("95    160    100   1000  lint\n     2      3      3     20  tests tsan\n", done.stdout)

    def test_a_step_that_grew_is_an_error(self):
        done = run_with("lint,90,1000000,0.6\n")
        self.assertEqual((done.returncode, "lint took 1000000 s" in done.stderr), (1, True))

    def test_a_slow_machine_may_take_longer(self):
        self.assertEqual(run_with("lint,90,1300,0.9\n").returncode, 0)
        self.assertEqual(run_with("lint,90,1300,0.6\n").returncode, 1)
        self.assertEqual(run_with("lint,90,600,0.6\nlint,90,600,0.6\n").returncode, 1)
        self.assertRegex(run_with("", "--machine").stdout, r"^\d+\.\d\d\n$")


if __name__ == "__main__":
    unittest.main()
