"""bench_cuda_kernels on the emulated CUDA: its rows, their contents, and rows
that cannot run.

  cuda_kernels_test.py PROGRAM SLUICE_KERNELS
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, KERNELS = "", ""


def run(*arguments, **variables):
    """(status, output, the JSON file or None)."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "rows.json"
        done = subprocess.run(
            [PROGRAM, "--json", file, "--seconds", "0.001", *arguments],
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        found = json.loads(file.read_text()) if file.exists() else None
    return done.returncode, done.stdout, found


def cuda_ops():
    """The ops that have a float32 kernel for CUDA."""
    said = subprocess.run(
        [KERNELS, "--device", "cuda"], stdout=subprocess.PIPE, text=True
    ).stdout
    words = [line.split() for line in said.splitlines()]
    return {w[0] for w in words if w[1:3] == ["cuda", "float32"]}


def element(i, fill):
    """FillTensor's number, from its comment."""
    bits = 0xFFFFFFFF
    h = (i * 2654435761 + fill["seed"] * 40503) & bits
    h ^= h >> 16
    h = (h * 0x45D9F3B) & bits
    h ^= h >> 16
    return fill["low"] + (fill["high"] - fill["low"]) * (h >> 8) / 2**24


class Rows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.status, cls.text, cls.found = run()
        said = subprocess.run([PROGRAM, "--list"], stdout=subprocess.PIPE)
        cls.listed = json.loads(said.stdout)
        cls.rows = {row["id"]: row for row in cls.found["rows"]}

    def test_every_row_of_the_list_is_measured(self):
        self.assertEqual(self.status, 0, self.text)
        self.assertEqual(self.found["failed"], {})
        ids = [r["id"] for r in self.listed["ops"] + self.listed["copies"]]
        self.assertEqual(len(ids), len(set(ids)))
        more = {"cuda/pairs", "cuda/launch/host", "cuda/launch/device"}
        self.assertEqual(set(self.rows), {*ids, *more})
        for row in self.rows.values():
            self.assertGreater(row["value"], 0, row)

    def test_every_kernel_is_measured_or_named(self):
        measured = {r["gradient"] or r["op"] for r in self.listed["ops"]}
        self.assertGreater(len(cuda_ops()), 60)
        self.assertEqual(
            cuda_ops(), measured | set(self.found["left_out"])
        )
        self.assertLessEqual(
            {"mul", "mul_grad_x", "mul_grad_y"}, set(self.found["left_out"])
        )

    def test_the_emulation_says_that_times_mean_nothing(self):
        self.assertIs(self.found["emulated"], True)
        self.assertIn("these times mean nothing", self.text)

    def test_bandwidth_has_the_copy_on_the_device_for_a_limit(self):
        for size in ("4KB", "1MB", "256MB"):
            row = self.rows[f"cuda/softmax/{size}"]
            self.assertEqual(row["unit"], "GB/s")
            self.assertGreater(row["limit"], 0)
            other = self.rows[f"cuda/relu_grad/{size}"]
            self.assertEqual(row["limit"], other["limit"])

    def test_arithmetic_has_the_rate_of_additions_for_a_limit(self):
        pairs = self.rows["cuda/pairs"]["value"]
        distance = self.rows["cuda/manhattan_distance/64x64x64"]
        self.assertEqual(distance["limit"], pairs)
        self.assertIn("151 ms", distance["note"])
        product = self.rows["cuda/matmul/8192"]
        self.assertAlmostEqual(product["limit"] / (4e-3 * pairs), 1)

    def test_all_convolutions_have_both_gradients(self):
        ids = [i.split("/") for i in self.rows if "/conv2d" in i]
        for op in ("conv2d", "conv2d_grad_input", "conv2d_grad_filter"):
            self.assertEqual(sum(i[1] == op for i in ids), 23)

    def test_work_is_what_must_be_read_and_written(self):
        work = {row["id"]: row["work"] for row in self.listed["ops"]}
        self.assertEqual(work["cuda/elementwise_add/1MB"], 3 << 20)
        self.assertEqual(work["cuda/sigmoid_grad/4KB"], 3 << 12)
        self.assertEqual(work["cuda/crop/256MB"], 128 << 20)
        # Only the shape of the input is used.
        self.assertEqual(work["cuda/gather_grad/1MB"], (2 << 20) + 8 * 4096)
        self.assertEqual(work["cuda/matmul/512"], 2 * 512**3)
        # 64 filters of 3x7x7 on 112 x 112 pixels of 32 images.
        self.assertEqual(
            work["cuda/conv2d/3x224_64x7x7_s2"],
            2 * 32 * 112**2 * 64 * 3 * 49,
        )

    def test_sums_are_those_of_the_numbers_of_the_list(self):
        listed = {row["id"]: row for row in self.listed["ops"]}
        fill = listed["cuda/assign/4KB"]["inputs"][0]["fill"]
        terms = [
            (1 + (i % 61) / 61) * element(i, fill) for i in range(1024)
        ]
        total, absolute = self.rows["cuda/assign/4KB"]["sums"]["Out"]
        self.assertAlmostEqual(total, sum(terms), delta=1e-5)
        self.assertAlmostEqual(absolute, sum(map(abs, terms)), delta=1e-5)


class Failures(unittest.TestCase):
    def test_only_leaves_the_others_out(self):
        status, text, found = run("--only", "cuda/relu/4KB")
        self.assertEqual(status, 0, text)
        self.assertEqual([r["id"] for r in found["rows"]], ["cuda/relu/4KB"])

    def test_a_row_without_memory_is_left_out_with_the_reason(self):
        status, text, found = run(
            "--only",
            "/4KB",
            SLUICE_CUDA_EMULATION_MEMORY=str((2 << 20) + (24 << 10)),
        )
        self.assertEqual(status, 0, text)
        reason = found["left_out"]["cuda/adam/4KB"]
        self.assertIn("no room for 5.12 kB", reason)
        self.assertNotIn("\n", reason)
        self.assertIn("cuda/relu/4KB", [row["id"] for row in found["rows"]])

    def test_rows_after_the_limit_are_left_out(self):
        status, text, found = run("--limit", "0", "--only", "cuda/relu")
        self.assertEqual(status, 0, text)
        self.assertEqual(found["rows"], [])
        self.assertIn("--limit", found["left_out"]["cuda/relu/4KB"])

    def test_a_wrong_result_fails_and_the_rest_goes_on(self):
        # No other number is that close.
        status, text, found = run("--tolerance", "-1", "--only", "cuda/tanh")
        self.assertEqual(status, 1, text)
        self.assertEqual(set(found["failed"]), {"cuda/tanh/4KB"})
        self.assertIn("the CPU's kernel gives", found["failed"]["cuda/tanh/4KB"])
        self.assertIn("cuda/tanh/1MB", [row["id"] for row in found["rows"]])

    def test_without_a_device_it_says_so(self):
        status, text, found = run(SLUICE_CUDA_EMULATION_DEVICES="0")
        self.assertEqual(status, 1)
        self.assertIn("no CUDA-capable device", text)
        self.assertIsNone(found)

    def test_profiling_runs_without_figures(self):
        status, text, found = run("--profile", "--only", "cuda/softmax_grad")
        self.assertEqual((status, text), (0, ""))
        self.assertIsNone(found)


if __name__ == "__main__":
    KERNELS = sys.argv.pop()
    PROGRAM = sys.argv.pop()
    unittest.main()
