"""benchmarks/bench_cuda.py without a GPU: the page of the worst kernels, ncu's
metrics, the rows of peers, and failures of its programs.

  bench_cuda_test.py PROGRAM
"""

import argparse
import ast
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS / "peers")]

import bench_cuda  # noqa: E402
import bench_report  # noqa: E402
import cuda_torch  # noqa: E402
import worst_kernels  # noqa: E402

PROGRAM = ""


def row(name, value, unit="GB/s", limit=None, **peers):
    return {
        "id": name,
        "unit": unit,
        "value": value,
        "limit": limit,
        "at_most": None,
        "of_best": None,
        "peers": peers,
    }


REPORT = {
    "machine": "a GPU",
    "emulated": False,
    "rows": [
        row("good", 90, limit=100),
        row("bad", 10, limit=100, torch=50),
        row("beaten", 80, limit=100, torch=400),
        row("alone", 1),
        row("slow", 40, unit="us", torch=4),
    ],
    "left_out": {"mul": "as matmul"},
    "failed": {"top_k": "wrong"},
}


class Page(unittest.TestCase):
    def test_the_worst_come_first_by_limit_or_peer(self):
        found = worst_kernels.worst(REPORT["rows"], 3)
        self.assertEqual([r["id"] for r in found], ["bad", "slow", "beaten"])

    def test_rows_with_nothing_to_compare_take_no_part(self):
        found = worst_kernels.worst(REPORT["rows"])
        self.assertEqual(len(found), 4)

    def test_the_page_is_a_table_with_what_was_left_out(self):
        report = dict(REPORT, emulated=True)
        report["rows"][1]["ncu"] = [
            {"kernel": "Bad", "dram": 9.6, "sm": 20, "occupancy": 30}
        ]
        page = worst_kernels.page(report)
        self.assertIn("| bad | 10 GB/s | 10 % | limit, 100 |", page)
        self.assertIn("| beaten | 80 GB/s | 20 % | torch, 400 |", page)
        self.assertIn("| slow | 40 us | 10 % | torch, 4 |", page)
        self.assertIn("Bad: 10 / 20 / 30 %", page)
        self.assertIn("- mul: as matmul", page)
        self.assertIn("- top_k: wrong", page)
        self.assertIn("these times mean nothing", page)


NCU = """\
==PROF== Connected to process 7
==PROF== Disconnected
"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","void Softmax<float>(const T1 *)","dram__throughput.avg.pct_of_peak_sustained_elapsed","%","61.5"
"0","void Softmax<float>(const T1 *)","sm__throughput.avg.pct_of_peak_sustained_elapsed","%","20"
"0","void Softmax<float>(const T1 *)","sm__warps_active.avg.pct_of_peak_sustained_active","%","93.25"
"""


class Ncu(unittest.TestCase):
    def test_kernels_have_their_metrics(self):
        self.assertEqual(
            bench_cuda.read_ncu(NCU),
            [
                {
                    "kernel": "void Softmax<float>",
                    "dram": 61.5,
                    "sm": 20.0,
                    "occupancy": 93.25,
                }
            ],
        )

    def test_a_refusal_is_the_reason(self):
        with self.assertRaisesRegex(RuntimeError, "ERR_NVGPUCTRPERM"):
            bench_cuda.read_ncu("==ERROR== ERR_NVGPUCTRPERM\nsorry\n")


def torch_ops_names(name):
    """The strings of a dict or set of torch_ops.py, without PyTorch."""
    text = (BENCHMARKS / "peers" / "torch_ops.py").read_text()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            value = node.value
            each = value.keys if isinstance(value, ast.Dict) else value.elts
            return {ast.literal_eval(key) for key in each}
    raise AssertionError(f"torch_ops.py has no {name}")


def sums_of(values):
    """The sums of torch_ops.weighted_sums."""
    terms = [(1 + (i % 61) / 61) * v for i, v in enumerate(values)]
    return sum(terms), sum(map(abs, terms))


class Peers(unittest.TestCase):
    def test_what_peers_describe_is_in_the_list(self):
        said = subprocess.run([PROGRAM, "--list"], stdout=subprocess.PIPE)
        rows = json.loads(said.stdout)["ops"]
        described = torch_ops_names("OPS")
        self.assertGreater(len(described), 40)
        described |= torch_ops_names("ABSENT")
        self.assertEqual(described - {r["op"] for r in rows}, set())

    def test_other_numbers_are_noticed(self):
        ours = {"Out": sums_of([1, 2, 3])}

        def differs(values):
            return cuda_torch.differs(ours, {"Out": values}, sums_of, {})

        self.assertEqual(differs([1, 2, 3]), "")
        self.assertIn("of Out", differs([1, 3, 2]))
        self.assertIn("of Out", differs([1, 2, float("nan")]))
        # Missing outputs of a library cannot be compared.
        self.assertEqual(cuda_torch.differs(ours, {}, sums_of, {}), "")

    def test_what_was_printed_before_the_time_was_up_counts(self):
        code = (
            "import json, time; print(json.dumps({'rows': {'a': {'torch': 1}},"
            " 'left_out': {}}), flush=True); time.sleep(60)"
        )
        found = bench_cuda.run_peer([sys.executable, "-c", code, "part"], 3)
        self.assertEqual(found["rows"], {"a": {"torch": 1}})
        self.assertIn("more than 3 s", found["left_out"]["torch: part"])

    def test_an_interpreter_without_torch_is_the_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            python = pathlib.Path(folder) / "python"
            python.write_text("#!/bin/sh\necho No module >&2\nexit 1\n")
            python.chmod(0o755)
            options = type("Options", (), {"python": str(python)})
            with self.assertRaisesRegex(RuntimeError, "No module"):
                bench_cuda.python_with_torch(options)


class Report(unittest.TestCase):
    def test_the_best_peer_is_the_fastest_in_either_unit(self):
        peers = {"a": 1.0, "b": 2.0}
        time = bench_report.Row("t", "us", 3, peers=peers)
        rate = bench_report.Row("r", "GB/s", 3, peers=peers)
        share = bench_report.Row("s", "of it", 3, peers=peers, at_least=1)
        self.assertEqual((time.best, rate.best, share.best), (1.0, 2.0, 2.0))

    def test_a_missed_bound_is_status_1(self):
        def status(*rows, smoke=False):
            options = argparse.Namespace(json=None, smoke=smoke)
            report = bench_report.Report(options)
            report.rows += rows
            return report.finish()

        Row = bench_report.Row
        peers = {"a": 1.0, "b": 2.0}
        self.assertEqual(status(Row("t", "us", 3, at_most=3)), 0)
        self.assertEqual(status(Row("t", "us", 3.1, at_most=3)), 1)
        self.assertEqual(status(Row("t", "us", 1, of_best=1, peers=peers)), 0)
        self.assertEqual(
            status(Row("t", "us", 1.1, of_best=1, peers=peers)), 1
        )
        self.assertEqual(status(Row("t", "us", float("nan"), at_most=3)), 1)
        self.assertEqual(status(Row("t", "us", 9, at_most=3), smoke=True), 0)
        self.assertEqual(status(Row("t", "us", float("nan")), smoke=True), 1)
        self.assertEqual(status(Row("s", "of it", 2, at_least=2)), 0)
        self.assertEqual(status(Row("s", "of it", 1.9, at_least=2)), 1)
        self.assertEqual(status(Row("r", "GB/s", 2, of_best=1, peers=peers)), 0)
        self.assertEqual(
            status(Row("r", "GB/s", 1.9, of_best=1, peers=peers)), 1
        )
        self.assertIn(
            "1.10 of the best, at most 1",
            Row("t", "us", 1.1, of_best=1, peers=peers).missed(),
        )


FAKE = """#!/bin/sh
while [ "$1" != --json ]; do shift; done
echo '%s' > "$2"
exit %d
"""


def run_bench(report, status):
    """(status, JSON) of bench_cuda.py with a program that writes `report`."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = folder / "program"
        program.write_text(FAKE % (json.dumps(report), status))
        program.chmod(0o755)
        done = subprocess.run(
            [
                sys.executable,
                BENCHMARKS / "bench_cuda.py",
                "--program",
                program,
                "--json",
                folder / "all.json",
                "--seconds",
                "0.001",
            ],
            cwd=folder,
            # Without the package, as if there were only the program.
            env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done, json.loads((folder / "all.json").read_text())


class Whole(unittest.TestCase):
    report = {
        "machine": "m",
        "device": "d",
        "emulated": True,
        "rows": [dict(row("cuda/relu/4KB", 5, limit=10), us=1.5)],
        "left_out": {"mul": "as matmul"},
        "failed": {},
    }

    def test_figures_and_reasons_reach_the_file(self):
        done, found = run_bench(self.report, 0)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(found["rows"][0], self.report["rows"][0])
        self.assertEqual(found["left_out"]["mul"], "as matmul")
        self.assertIn("ncu", found["left_out"])
        self.assertIs(found["emulated"], True)

    def test_a_failed_row_is_status_1_and_in_the_file(self):
        failed = dict(self.report, failed={"cuda/relu/4KB": "wrong"})
        done, found = run_bench(failed, 1)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(found["failed"], {"cuda/relu/4KB": "wrong"})

    def test_a_program_that_ends_badly_is_status_1(self):
        done, found = run_bench(self.report, 1)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(found["failed"], {})

    def test_figures_of_a_program_that_hangs_are_kept(self):
        left = bench_cuda.TimeLeft(-100)
        self.assertEqual(left.of("kernels"), 0)
        self.assertLessEqual(bench_cuda.TimeLeft(10).of("program"), 6)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            program = folder / "program"
            program.write_text(
                FAKE.replace("exit %d", "exec sleep 30")
                % json.dumps(self.report)
            )
            program.chmod(0o755)
            options = argparse.Namespace(program=program, seconds=0.001)
            with unittest.mock.patch.object(bench_cuda, "GRACE", 0.5):
                found, failed = bench_cuda.run_kernels(options, folder, left)
        self.assertEqual(found, self.report)
        self.assertTrue(failed)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()
