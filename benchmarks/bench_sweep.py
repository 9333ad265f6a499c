"""Models of one node over many shapes, compared with onnxruntime and OpenVINO.

  ./dev bench sweep [--json FILE] [--peers] [--cases PATTERN] [--threads N]

sweep/<case>/t<threads>: one run, in ms, the median of runs in turns; the cases
are those of peers/sweep_rows.txt, or of them those that match the
regular expression PATTERN. Those that take
over 1.25 of the best peer's time are measured again, longer. Outputs must be
within 1e-3 of onnxruntime's, relative to their largest number. At the end come
the cases that lose most time, and those whose estimate is more than a factor of
2 off; `worst_kernels.py FILE` makes a page of the JSON file.
"""

from __future__ import annotations

import math
import pathlib
import re
import statistics
import sys
import tempfile

import bench_report
import contestants
import numpy as np
import sweep_rows
import sweeps

AT_MOST = 1.25  # of the best peer's time
TURNS, AGAIN = 3, 9
WORST = 30  # rows that are printed
FACTOR, LONG_MS = 2, 0.05  # of an estimate; what is shorter is mostly the call
TOLERANCE = 1e-3
PEERS = "onnxruntime", "openvino"
SMOKE = 40  # the stride between the cases of a smoke run


class Peer:
    """A library in a process, which is started anew if a case ends it."""

    def __init__(self, name):
        self.name, self.process = name, None

    def ask(self, *words):
        """Calls a method; None if the process fails."""
        try:
            if self.process is None:
                self.process = contestants.Contestant("sweeps", self.name, 1,
                                                      module="sweeps")
            return self.process.ask(*words)
        except contestants.FailedError as error:
            print(f"{self.name}: {error}", file=sys.stderr)
            if self.process is not None:
                self.process.close()
                self.process = None
            return None


def different(ours, theirs):
    """Why outputs differ, or ""."""
    for name, want in theirs.items():
        found = ours[name]
        if found.shape != want.shape or found.dtype != want.dtype:
            return (f"{name} is {found.dtype}{list(found.shape)}, "
                    f"onnxruntime's {want.dtype}{list(want.shape)}")
        scale = max(np.abs(want.astype(float)).max(initial=0), 1e-30)
        off = np.abs(found.astype(float) - want.astype(float)).max(initial=0) / scale
        # Rounding to integers may differ by one.
        allowed = max(TOLERANCE, 1.01 / scale if want.dtype.itemsize == 1 else 0)
        if not off <= allowed:
            return f"{name} is {off:.2g} off"
    return ""


def turns(ours, peers, seconds, count):
    """The median ms of all, by name."""
    runs = max(1, round(seconds * 1e3 / count / max(min(ours.run(2)), 1e-3)))
    times = {name: [] for name in ["", *peers]}
    for _ in range(count):
        times[""] += ours.run(runs)
        for name, peer in peers.items():
            times[name] += peer.ask("run", runs) or [math.inf]
    return {name: statistics.median(found) for name, found in times.items()}


def predicted_ms(session):
    """The estimate of the last run's kernels, in ms."""
    return 1e3 * sum(call["seconds"] or 0.0 for table in session.explain().tables()
                     for call in table["calls"])


def measure(report, peers, case, threads, options):
    """Adds the row of a case."""
    ours, name = sweeps.Sweep(), f"{case}/t{threads}"
    why = ours.load(case, threads)
    able = {}
    for peer in peers.values():
        if peer.ask("load", case, threads) == "":
            able[peer.name] = peer
    if why:
        report.left_out[name] = why
        report.refused |= bool(able)
        return
    if "onnxruntime" in able:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "outputs.npz"
            able["onnxruntime"].ask("write", str(path))
            wrong = different(ours.outputs(), dict(np.load(path)))
        if wrong:
            report.wrong[name] = wrong
    found = turns(ours, able, options.seconds, TURNS)
    best = min((found[each] for each in able), default=math.inf)
    if found[""] > AT_MOST * best:
        found = turns(ours, able, 4 * options.seconds, AGAIN)
    report.add(name, "ms", found.pop(""), of_best=AT_MOST, peers=found,
               more={"predicted": predicted_ms(ours.session)})


class Report(bench_report.Report):
    """The rows, with what a sweep finds besides."""

    def __init__(self, options):
        super().__init__(options)
        self.refused, self.wrong = False, {}

    def finish(self):
        """Prints the worst rows instead of all."""
        compared = [row for row in self.rows if row.peers]
        lost = sorted(compared, key=lambda row: row.best - row.value)[:WORST]
        for row in lost:
            who = min(row.peers, key=row.peers.get)
            print(f"{row.value - row.best:10.4f} ms lost: {row.id}: "
                  f"{row.value:.4f}, {row.share:.2f} of {who}")
        for what, why in self.left_out.items():
            print(f"left out: {what}: {why}")
        for what, why in self.wrong.items():
            print(f"WRONG: {what}: {why}")
        missed = [row for row in self.rows if row.missed()]
        for row in sorted(missed, key=lambda row: -row.share):
            print(f"MISSED: {row.id}: {row.missed()}")
        for row in self.rows:
            factor = row.value / max(row.more["predicted"], 1e-9)
            if row.value >= LONG_MS and not 1 / FACTOR <= factor <= FACTOR:
                print(f"ESTIMATE: {row.id}: {factor:.2f} of "
                      f"{row.more['predicted']:.4f} ms")
        if compared:
            mean = statistics.mean(math.log(row.share) for row in compared)
            print(f"{len(compared)} cases, {math.exp(mean):.2f} of the best in "
                  f"the mean, {len(missed)} over {AT_MOST}")
        self.write()
        bad = self.wrong or self.refused or (missed and not self.options.smoke)
        return 1 if bad else 0


def main() -> int:
    parser = bench_report.option_parser(__doc__, seconds=0.1)
    parser.add_argument("--cases", default="", metavar="PATTERN")
    parser.add_argument("--threads", type=int, choices=[1, 2])
    options = parser.parse_args()
    report = Report(options)
    names = [options.only] if options.only else PEERS
    peers = {name: Peer(name) for name in names} if options.peers else {}
    cases = [case for case in sweep_rows.cases() if re.search(options.cases, case)]
    for case in cases[::SMOKE] if options.smoke else cases:
        for threads in [options.threads] if options.threads else [1, 2]:
            measure(report, peers, case, threads, options)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
