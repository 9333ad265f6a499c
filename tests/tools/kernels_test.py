"""sluice-kernels: its output, and its errors.

  kernels_test.py SLUICE_KERNELS
"""

import subprocess
import sys
import unittest

KERNELS = ""


def run(*arguments):
    """(status, ops that it lists, its messages on stderr)."""
    done = subprocess.run(
        [KERNELS, *arguments], capture_output=True, text=True, check=False
    )
    ops = {line.split()[0] for line in done.stdout.splitlines()[1:]}
    return done.returncode, ops, done.stderr


class KernelsTest(unittest.TestCase):
    def test_a_device_leaves_the_operator_to_the_operator(self):
        for arguments in (
            ["--device", "fpga", "relu"],
            ["relu", "--device", "fpga"],
            ["--device", "fpga", "--device", "fpga", "relu"],
            ["relu"],
        ):
            status, ops, _ = run(*arguments)
            self.assertEqual((status, ops), (0, {"relu"}), arguments)

    def test_a_device_that_is_asked_for_must_be_there(self):
        status, _, error = run("--device", "relu")
        self.assertNotEqual(status, 0)
        self.assertIn("libsluice_relu.so", error)

    def test_an_unknown_operator_is_an_error(self):
        status, _, error = run("rleu")
        self.assertNotEqual(status, 0)
        self.assertIn("did you mean relu?", error)


if __name__ == "__main__":
    KERNELS = sys.argv.pop()
    unittest.main()
