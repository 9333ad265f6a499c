"""What trains, compared with PyTorch, TensorFlow and ONNX Runtime.

  ./dev bench fluid [--peers] [--threads 1 2] [--only ROW...] [--quick]
  [--cpu] [--json FILE] [--gate]

Contestants compute the same from the same first values: one whose first losses
are 0.1 % off is left out. Each has a process of its own, and they take turns; a
figure is the median over turns, a ratio the median of the turns' ratios, with
its interval at 95 %. The table has a line for each contestant: its median, and
which share of it the first one takes. Bounds that are missed are no failure,
unless --gate says so.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import math
import os
import reprlib
import statistics
import sys

import bench_report
from contestants import (
    REFUSED,
    TOLERANCE,
    Contestant,
    FailedError,
    difference,
    ratio,
)

TURNS, SECONDS = 15, 0.3  # of each turn of a contestant
QUICK_TURNS, QUICK_SECONDS = 3, 0.2


@dataclasses.dataclass
class Bound:
    """What the first contestant must be: at most `share` of the time of `of`,
    or of the fastest of them, if they are several; or what contestant `of`
    must be by itself."""

    of: str
    share: float | None = None
    at_most: float | None = None
    at_least: float | None = None

    def __str__(self) -> str:
        if self.at_least is not None:
            return f">= {self.at_least:.3g}"
        limit = self.at_most if self.share is None else self.share
        return f"<= {limit:.3g}"

    def judge(self, figures: dict[str, list[float]]) -> dict | None:
        """The verdict; None if no contestant of ``self.of`` was measured."""
        names = [name for name in self.of.split() if name in figures]
        if not names:
            return None
        at = min(names, key=lambda name: statistics.median(figures[name]))
        found = statistics.median(figures[at])
        if self.share is not None:
            found, _, _ = ratio(next(iter(figures.values())), figures[at])
        met = not (
            (self.share is not None and found > self.share)
            or (self.at_most is not None and found > self.at_most)
            or (self.at_least is not None and found < self.at_least)
        )
        return {"of": at, "found": found, "must": str(self), "met": met}


@dataclasses.dataclass
class Subject:
    """A row: its contestants, ours first, and its bounds."""

    about: str
    names: str
    bounds: list[Bound]
    unit: str = "ms"
    threads: tuple[int, ...] = (1, 2)
    seconds: float = 1  # factor of the time of a turn

    def contestants(self, peers: bool) -> list[str]:
        """Their names."""
        return [name for name in self.names.split()
                if peers or name.startswith("sluice")]


@dataclasses.dataclass
class Suite:
    """Rows, and the module that has their contestants; by default each library
    has its own, see worker.py."""

    name: str
    about: str
    rows: dict[str, Subject]
    module: str | None = None


ADAMS = "torch torch_foreach torch_fused"
ROWS = {
    "lstm": Subject(
        "training step, 2 layers of LSTM, batch 64, 100 steps of 128",
        "sluice torch tensorflow tensorflow_xla",
        [Bound("torch tensorflow tensorflow_xla", 0.8)],
    ),
    "cell": Subject(
        "the same with one layer, whose cell is written by hand",
        "sluice_scan sluice_lstm torch_loop torch_compiled_cell "
        "torch_compiled_loop torch_lstm",
        [Bound("torch_loop", 0.5), Bound("sluice_lstm", 2)],
    ),
    "packed": Subject(
        "as lstm, half of it padding: ragged rows against lengths",
        "sluice_packed sluice_padded torch_packed torch_padded",
        [Bound("sluice_padded", 1 / 1.5)],
    ),
    "loop": Subject(
        "one more iteration of a loop, beyond its kernels",
        "sluice_scan sluice_while onnxruntime",
        [Bound("sluice_scan", at_most=100), Bound("sluice_while", at_most=100)],
        "ns", (1,),
    ),
    "mallocs": Subject(
        "calls of malloc in one more iteration",
        "sluice_scan sluice_while onnxruntime",
        [Bound("sluice_scan", at_most=0), Bound("sluice_while", at_most=0)],
        "calls", (1,), 0,
    ),
    "sgd": Subject(
        "SGD step of a table of 1M x 64, 1 % of it looked up",
        "sluice_sparse sluice_dense torch_sparse torch_dense",
        [Bound("sluice_dense", 0.1), Bound("torch_sparse torch_dense", 1)],
    ),
    "lazy_adam": Subject(
        "the same with lazy Adam",
        "sluice_lazy sluice_dense torch_sparse torch_dense",
        [Bound("sluice_dense", 0.1), Bound("torch_sparse torch_dense", 1)],
    ),
    "adam_large": Subject(
        "Adam over one tensor of 10M", f"sluice {ADAMS}", [Bound(ADAMS, 0.9)]
    ),
    "adam_many": Subject(
        "Adam over 200 tensors of 64 x 64", f"sluice {ADAMS}",
        [Bound(ADAMS, 0.5)],
    ),
    "loader": Subject(
        "a batch of 64x3x32x32, augmented, of 2 workers", "sluice torch",
        [Bound("torch", 1)], threads=(1,),
    ),
    "busy": Subject(
        "share of the time in which a trainer waits for no batch",
        "sluice torch", [Bound("sluice", at_least=95)], "%", (1,), 3,
    ),
}


def say(text: str) -> None:
    """Progress."""
    print(text, file=sys.stderr, flush=True)


def number(value: float) -> str:
    """Three digits."""
    if value and not 0.001 <= abs(value) < 1e6:
        return f"{value:.1e}"
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:.{max(0, digits)}f}"


class Benchmark:
    """The rows of a suite that were measured, and what could not be."""

    def __init__(self, suite: Suite, options: argparse.Namespace) -> None:
        self.suite, self.options = suite, options
        self.report = bench_report.Report(options)
        self.versions: dict[str, str] = {}
        self.missed: list[str] = []
        self.failed: list[str] = []
        self.turns, self.seconds = TURNS, SECONDS
        self.worker_options = ["--small"] * options.smoke
        self.worker_options += ["--cpu"] * options.cpu
        if options.quick:
            self.turns, self.seconds = QUICK_TURNS, QUICK_SECONDS
        if options.smoke:
            self.turns, self.seconds = 1, 0.0

    def measure(self, name: str, threads: int) -> None:
        """Measures a row."""
        subject = self.suite.rows[name]
        key = f"{self.suite.name}/{name}/t{threads}"
        with contextlib.ExitStack() as stack:
            running = self._started(name, threads, stack)
            figures = {each: [] for each in running}
            for turn in range(self.turns if running else 0):
                say(f"{key}: turn {turn + 1} of {self.turns}")
                first = turn % len(running)
                for each in [*running][first:] + [*running][:first]:
                    figures[each].append(
                        running[each].sample(self.seconds * subject.seconds)
                    )
        if figures:
            self._add(key, subject, figures)

    def _started(self, name, threads, stack) -> dict[str, Contestant]:
        """Starts contestants, and leaves out those that compute something
        else. Without the first one there is no row."""
        running, expected = {}, None
        for each in self.suite.rows[name].contestants(self.options.peers):
            key = f"{name}/t{threads}: {each}"
            say(f"{key} starts")
            try:
                one = Contestant(name, each, threads, *self.worker_options,
                                 module=self.suite.module)
                stack.callback(one.close)
                found = one.check()
                losses = found["losses"]
                expected = expected or losses
                if not difference(expected, losses) <= TOLERANCE:
                    raise FailedError(f"computes {reprlib.repr(losses)}, "
                                      f"not {reprlib.repr(expected)}")
            except FailedError as error:
                self._leave_out(key, each, str(error))
                if expected is None:
                    break
                continue
            running[each] = one
            self.versions[one.library] = found["version"]
        return running

    def _leave_out(self, key: str, name: str, why: str) -> None:
        self.report.left_out[key] = why
        say(f"{key} left out: {why}")
        if not name.startswith("sluice"):
            return
        (self.missed if why.startswith(REFUSED) else self.failed).append(key)

    def _add(self, key: str, subject: Subject, figures: dict) -> None:
        """Adds a row, and prints its lines."""
        medians = {name: statistics.median(each)
                   for name, each in figures.items()}
        ours = next(iter(medians))
        judged = [bound.judge(figures) for bound in subject.bounds]
        judged = [found for found in judged if found is not None]
        row = bench_report.Row(key, subject.unit, medians[ours])
        row.peers = {name: value for name, value in medians.items()
                     if name != ours}
        row.more = {"bounds": judged, "figures": figures}
        self.report.rows.append(row)
        self.missed += [f"{key}: {found['of']}" for found in judged
                        if not found["met"]]
        print(f"\n{key}: {subject.about}")
        for name, value in medians.items():
            text = f"  {name:20}{number(value):>8} {subject.unit:5}"
            if name != ours and subject.unit in ("ms", "ns"):
                middle, *ends = map(number, ratio(figures[ours], figures[name]))
                text += f"{middle:>8} ({'-'.join(ends)})"
            for found in judged:
                if found["of"] == name and not self.options.smoke:
                    said = "yes" if found["met"] else "NO"
                    text = f"{text:61} {found['must']:8} {said}"
            print(text.rstrip(), flush=True)

    def finish(self, load: float) -> int:
        """Writes the file. Returns the exit status."""
        header = {
            "machine": bench_report.machine(), "versions": self.versions,
            "turns": self.turns, "seconds": self.seconds,
            "clock": "cpu" if self.options.cpu else "wall",
            "load": [load, os.getloadavg()[0]],
        }
        self.report.header = header
        self.report.write()
        print(f"\n{header['machine']}; load {load:.2f} at the start, "
              f"{header['load'][1]:.2f} at the end")
        print(", ".join(f"{k} {v}" for k, v in self.versions.items()))
        for what, why in self.report.left_out.items():
            print(f"left out: {what}: {why}")
        if self.failed:
            return 1
        return 1 if self.options.gate and self.missed else 0


def parse(suite: Suite) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=suite.about + "\nrows:\n" + "\n".join(
            f"  {name:18}  {row.about}" for name, row in suite.rows.items()),
        formatter_class=argparse.RawTextHelpFormatter,
    )
    add = parser.add_argument
    add("--json", help="write the rows to this file")
    add("--peers", action="store_true",
        help="measure other libraries, too; installs them on first use")
    add("--threads", type=int, nargs="+", default=[1, 2], metavar="N",
        help="numbers of threads (default: 1 2)")
    add("--only", nargs="+", choices=suite.rows, metavar="ROW",
        help="the only rows to measure")
    add("--quick", action="store_true", help="fewer and shorter turns")
    add("--smoke", action="store_true",
        help="everything once, with small sizes, as a test")
    add("--cpu", action="store_true",
        help="steps by the CPU time of their process, for a\n"
        "busy machine; only with one thread")
    add("--gate", action="store_true",
        help="exit with 1 if a bound is missed, too")
    options = parser.parse_args()
    if options.cpu and options.threads != [1]:
        parser.error("--cpu needs --threads 1")
    if min(options.threads) < 1:
        parser.error(f"--threads must be at least 1, got {options.threads}")
    return options


def run(suite: Suite) -> int:
    """Measures the rows, and returns the exit status."""
    options, load = parse(suite), os.getloadavg()[0]
    print(f"  {'contestant':20}{'median':>8}      {'first / it (95 %)':26}"
          "must be  met")
    benchmark = Benchmark(suite, options)
    if load > 0.5:
        say(f"other programs use this machine (load {load:.2f})")
    for name in options.only or suite.rows:
        allowed = suite.rows[name].threads
        for threads in options.threads:
            # Rows of one thread are measured whatever --threads says.
            if threads in allowed or len(allowed) > 1:
                benchmark.measure(name, threads)
    return benchmark.finish(load)


def main(suite: Suite) -> None:
    """Ends the process with the status of the suite."""
    try:
        sys.exit(run(suite))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main(Suite("fluid", __doc__, ROWS))
