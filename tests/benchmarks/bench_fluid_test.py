"""benchmarks/bench_fluid.py: its figures, and contestants that fail."""

import argparse
import contextlib
import io
import pathlib
import sys
import unittest
import unittest.mock

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS / "peers")]

import bench_fluid  # noqa: E402
import bench_saved_models  # noqa: E402
import contestants  # noqa: E402


class Figures(unittest.TestCase):
    def test_the_interval_of_a_median_leaves_out_three_of_15_on_each_side(self):
        self.assertEqual(contestants.interval(list(range(15))), (3, 11))
        self.assertEqual(contestants.interval(list(range(6))), (0, 5))

    def test_few_turns_are_all_in_the_interval(self):
        self.assertEqual(contestants.interval([2, 3, 1]), (1, 3))
        self.assertEqual(contestants.interval([1]), (1, 1))

    def test_ratios_are_those_of_turns_not_of_medians(self):
        found, low, high = contestants.ratio([1, 20, 3], [2, 40, 60])
        self.assertEqual((found, low, high), (0.5, 0.05, 0.5))

    def test_losses_differ_by_their_number_and_by_nan(self):
        difference = contestants.difference
        self.assertEqual(difference([1, 2], [1, 2]), 0)
        self.assertAlmostEqual(difference([2, 2], [2, 2.1]), 0.05)
        self.assertEqual(difference([1, 2], [1]), float("inf"))
        self.assertEqual(difference([1], [float("nan")]), float("inf"))

    def test_a_bound_takes_the_fastest_of_several(self):
        figures = {"sluice": [5, 5], "torch": [20, 20], "tensorflow": [8, 8]}
        bound = bench_fluid.Bound("torch tensorflow onnxruntime", 0.6)
        found = bound.judge(figures)
        self.assertEqual((found["of"], found["met"]), ("tensorflow", False))
        bound.share = 0.7
        self.assertTrue(bound.judge(figures)["met"])

    def test_a_bound_of_what_was_not_measured_is_none(self):
        self.assertIsNone(bench_fluid.Bound("torch", 1).judge({"sluice": [1]}))

    def test_a_share_of_time_must_be_at_least_the_bound(self):
        bound = bench_fluid.Bound("sluice", at_least=95)
        self.assertTrue(bound.judge({"sluice": [96, 95, 20]})["met"])
        self.assertFalse(bound.judge({"sluice": [94.9]})["met"])


class FakeContestant:
    """Answers as a process of worker.py."""

    LOSSES = {"sluice": [2, 1], "torch": [2, 1.5], "tensorflow": [2, 1.0001]}

    def __init__(self, row, name, threads, module=None):
        self.name = self.library = name
        if name == "tensorflow_xla":
            raise contestants.FailedError("no such library")

    def check(self):
        return {"losses": self.LOSSES[self.name], "version": "1"}

    def sample(self, seconds):
        return {"sluice": 9, "tensorflow": 10}[self.name]

    def close(self):
        pass


FLUID = bench_fluid.Suite("fluid", "", bench_fluid.ROWS)


def measured(row, contestant, suite=FLUID, **options):
    """What is printed of a row, and the benchmark."""
    options = argparse.Namespace(json=None, peers=True, quick=True,
                                 smoke=False, cpu=False, gate=False,
                                 **options)
    benchmark = bench_fluid.Benchmark(suite, options)
    said = io.StringIO()
    with (
        unittest.mock.patch.object(bench_fluid, "Contestant", contestant),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        benchmark.measure(row, 1)
    return said.getvalue(), benchmark


class Contestants(unittest.TestCase):
    def test_who_computes_something_else_or_nothing_is_left_out(self):
        said, benchmark = measured("lstm", FakeContestant)
        self.assertEqual(
            list(benchmark.report.left_out.values()),
            ["computes [2, 1.5], not [2, 1]", "no such library"],
        )
        (row,) = benchmark.report.rows
        self.assertEqual((row.value, row.peers), (9, {"tensorflow": 10}))
        self.assertRegex(said, r"tensorflow +10.0 ms +0.900 .* <= 0.8 +NO")
        self.assertEqual(benchmark.missed, ["fluid/lstm/t1: tensorflow"])
        self.assertEqual(benchmark.failed, [])

    def test_lines_have_at_most_80_columns(self):
        said, _ = measured("lstm", FakeContestant)
        self.assertLessEqual(max(map(len, said.splitlines())), 80)

    def test_contestants_of_saved_models_come_from_their_module(self):
        asked = []

        class Asking(FakeContestant):
            LOSSES = dict.fromkeys(bench_saved_models.ALL.split(), [1])

            def __init__(self, row, name, threads, module=None):
                super().__init__(row, name, threads)
                asked.append((name, module))

            def sample(self, seconds):
                return 1

        suite = bench_fluid.Suite("saved_models", "", bench_saved_models.ROWS,
                                  "saved_models")
        for row, subject in bench_saved_models.ROWS.items():
            asked.clear()
            said, _ = measured(row, Asking, suite)
            self.assertEqual(asked, [(name, "saved_models")
                                     for name in subject.names.split()])
            self.assertRegex(said, rf"^\nsaved_models/{row}/t1: ")
            self.assertLessEqual(max(map(len, said.splitlines())), 80)

    def test_without_ours_there_is_no_row_but_a_reason(self):
        for why, failed in (("refused: no", False), ("KeyError: 1", True)):

            def refusing(row, name, threads, module, why=why):
                if name == "sluice":
                    raise contestants.FailedError(why)
                return FakeContestant(row, name, threads)

            said, benchmark = measured("lstm", refusing)
            self.assertEqual((said, benchmark.report.rows), ("", []))
            self.assertIn(why, benchmark.report.left_out.values())
            self.assertEqual(bool(benchmark.failed), failed)
            self.assertEqual(bool(benchmark.missed), not failed)

    def test_a_process_that_dies_says_why(self):
        one = contestants.Contestant("nothing", "sluice", 1)
        self.addCleanup(one.close)
        # Without Sluice's package the import fails, with it the row is unknown.
        with self.assertRaisesRegex(contestants.FailedError, "Error: "):
            one.check()


if __name__ == "__main__":
    unittest.main()
