"""Training on several ranks, which mpirun starts; each has one thread.

  ./dev bench distributed [--json FILE] [--peers] [--row ROW]

distributed/allreduce_<size>_share: the time of MPI_Allreduce of this size,
divided by that of an all-reduce in a plan, both in place, 16 in a row.
distributed/buckets_over_single: the time to sum the 60 gradients of a ResNet-20
in the buckets of DataParallel, in us; a peer sums them one by one. The
gradients come from cheap ops, and the time of a step without the sums is
subtracted. distributed/hidden: the hidden share of the sums' time in a step of
LeNet on 64 images a rank: 1 minus the seconds that a rank waits for its sums,
divided by the seconds that they take alone. distributed/hidden_work: 1 minus
the additional time of the step with the sums, divided by the time of its sums
alone. A rank's only processor also computes the sums' copies and additions. The
limit is the share that MPI_Iallreduce of the same size hides behind work that
needs no memory, driven by MPI_Test. distributed/scaling2: the speed-up of two
ranks over one in images a second, with a processor each: ResNet-20, 64 images a
rank. distributed/images: images a second of two ranks. distributed/single_cost:
the cost of DataParallel in a step on a single rank.
distributed/start_s: from the start of mpirun with 4 ranks to the end of the
last one's first step, LeNet.

Times end when the last rank is done. Contestants take turns: programs of one
library in one process, libraries by starting one after the other. The peer is
PyTorch's DistributedDataParallel over gloo, with torchrun; its losses must
equal ours.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import bench_report
import libraries
import numpy as np
import ranks

WORKER = bench_report.FOLDER / "distributed_worker.py"
TORCH = "torch_gloo"
# Names and bounds by bytes.
ALL_REDUCE = {
    1 << 16: ("64kib", 0.90),
    1 << 20: ("1mib", 0.95),
    1 << 24: ("16mib", 0.97),
}
HIDDEN = 0.70
SCALING = 1.85
SINGLE_PERCENT = 1
START_OF_BEST = 0.5
START_RANKS = 4
SMOKE_START_RANKS = 2
STARTS = 3  # of each contestant
QUICK_STARTS = 1  # likewise, in a smoke run
TOLERANCE = 1e-3


class Contestant:
    """A library with ranks; `command` starts a given number of them."""

    def __init__(self, name, command, environment, options) -> None:
        self.name, self.command, self.options = name, command, options
        self.environment = {
            **os.environ, "OMP_NUM_THREADS": "1", **environment
        }
        self.smoke = ["--smoke"] if options.smoke else []

    def start(self, size, *words):
        """The ranks' output: a list of objects."""
        run = subprocess.run(
            [*map(str, [*self.command(size), *words, *self.smoke])],
            env=self.environment, stdout=subprocess.PIPE, text=True,
        )
        if run.returncode != 0:
            raise RuntimeError(
                f"{self.name}: exit status {run.returncode} at {words}"
            )
        return [
            json.loads(line)
            for line in run.stdout.splitlines() if line.startswith("{")
        ]

    def measure(self, what, size):
        """Rank 0's result of one of the worker's functions."""
        with tempfile.TemporaryDirectory() as folder:
            (found,) = self.start(
                size, what, "--seconds", self.options.seconds,
                "--folder", folder,
            )
        return found

    def first_step(self, size):
        """Seconds from this call to the end of the last rank's first step."""
        begin = time.monotonic()
        found = self.start(size, "start")
        assert len(found) == size, found
        return max(each["end"] for each in found) - begin


def mpirun(size, options):
    """Binds each rank to a core, if there are enough. In a smoke run ranks
    yield to other processes."""
    if size <= len(os.sched_getaffinity(0)) and not options.smoke:
        place = ["--bind-to", "core"]
    else:
        place = ["--bind-to", "none", "--oversubscribe"]
    return ["mpirun", "-n", size, *place]


def mpi_environment():
    """mpirun needs two variables to run as root."""
    if os.geteuid() != 0:
        return {}
    return {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }


def sluice(options):
    return Contestant(
        "sluice", lambda size: [*mpirun(size, options), sys.executable, WORKER],
        mpi_environment(), options,
    )


def torch(options):
    python = libraries.environment("torch")
    script = bench_report.PEERS / "distributed_torch.py"
    return Contestant(
        TORCH,
        lambda size: [
            python, "-m", "torch.distributed.run", "--standalone",
            "--nproc-per-node", size, script,
        ],
        {"CUDA_VISIBLE_DEVICES": ""}, options,
    )


class Bench:
    """Measures the rows with all contestants."""

    def __init__(self, options) -> None:
        self.options = options
        self.report = bench_report.Report(options)
        self.ours = sluice(options)
        self.contestants = [self.ours]
        if options.peers and options.only in (None, "torch"):
            try:
                self.contestants.append(torch(options))
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                self.report.left_out["torch"] = str(error)
        self.hidden_by_mpi = None
        once = options.quick or options.smoke
        self.starts = QUICK_STARTS if once else STARTS

    def add(self, row, unit, values, **more):
        """Adds a row, and its peers: {contestant: value}."""
        self.report.add(f"distributed/{row}", unit, values["sluice"], **more)
        added = self.report.rows[-1]
        added.peers = {k: v for k, v in values.items() if k != "sluice"}
        if added.peers:
            print(f"  {added.peers}", flush=True)

    def turns(self, what, size):
        """{contestant: {program: array of seconds}}, the same turns at each
        index."""
        found = {each.name: [] for each in self.contestants}
        for _ in range(self.starts):
            for each in self.contestants:
                found[each.name].append(each.measure(what, size))
        self.same_losses(what, found)
        self.measured = found
        return {
            name: {
                program: np.concatenate([each["turns"][program]
                                         for each in starts])
                for program in starts[0]["turns"]
            }
            for name, starts in found.items()
        }

    def same_losses(self, what, found):
        want = found["sluice"][0].get("losses")
        for name, starts in found.items():
            for each in starts:
                if want is None or np.allclose(
                    each["losses"], want, rtol=TOLERANCE
                ):
                    continue
                raise RuntimeError(
                    f"{what}: the losses of {name} are {each['losses']}, not "
                    f"{want}"
                )

    def all_reduce(self):
        """All-reduces, compared with MPI itself."""
        program = Contestant(
            "bench_allreduce",
            lambda size: [*mpirun(size, self.options), self.options.program],
            mpi_environment(), self.options,
        )
        bytes_of_lenet = sum(p.nbytes for p in ranks.parameters("lenet"))
        (found,) = program.start(2, self.options.seconds, bytes_of_lenet)
        driven = found["driven"]
        self.hidden_by_mpi = (
            1 - (driven["both"] - driven["work"]) / driven["sum"]
        )
        for size, (name, at_least) in ALL_REDUCE.items():
            times = found[str(size)]
            self.add(
                f"allreduce_{name}_share", "of raw MPI",
                {"sluice": times["raw"] / times["plan"]}, at_least=at_least,
                more={"raw_us": times["raw"], "plan_us": times["plan"],
                      "turns": times["turns"]},
            )

    def buckets(self):
        """Sums of gradients without a network."""
        found = self.turns("buckets", 2)
        values = {
            name: 1e6 * cost(programs, "buckets", "without")
            for name, programs in found.items()
        }
        values["one by one"] = 1e6 * cost(
            found["sluice"], "one by one", "without"
        )
        self.add("buckets_over_single", "us", values, of_best=1.0,
                 more={"steps_us": microseconds(found)})

    def hidden(self):
        """Sums of gradients during the backward pass of a network."""
        found = self.turns("hidden", 2)
        alone = {
            name: cost(programs, "gradients", "gradients without")
            for name, programs in found.items()
        }
        waited = statistics.median(
            each["waited"] for each in self.measured["sluice"]
        )
        self.add("hidden", "of the time",
                 {"sluice": 1 - waited / alone["sluice"]}, at_least=HIDDEN,
                 more={"waited_us": 1e6 * waited,
                       "alone_us": 1e6 * alone["sluice"]})
        values = {
            name: 1 - cost(programs, "network", "network without") / alone[name]
            for name, programs in found.items()
        }
        self.add("hidden_work", "of the time", values,
                 limit=self.hidden_by_mpi, more={"steps_us": microseconds(found)})
        if self.hidden_by_mpi is not None:
            print(f"  MPI itself hides {self.hidden_by_mpi:.2f}")

    def scaling(self):
        """Two processors compared with one."""
        found = self.turns("scaling", 2)
        values = {
            name: float(2 * np.median(programs["one"] / programs["all"]))
            for name, programs in found.items()
        }
        more = {"steps_us": microseconds(found)}
        self.add("scaling2", "times", values, at_least=SCALING, more=more)
        images = {
            name: 2 * ranks.BATCH / float(np.median(programs["all"]))
            for name, programs in found.items()
        }
        self.add("images", "images/s", images, of_best=1.0)

    def single(self):
        """One rank; there are no peers."""
        self.contestants, every = [self.ours], self.contestants
        found = self.turns("single", 1)["sluice"]
        self.contestants = every
        parallel = found["parallel"] + found["parallel again"]
        bare = found["bare"] + found["bare again"]
        share = float(np.median(parallel / bare))
        self.add("single_cost", "%", {"sluice": 100 * (share - 1)},
                 at_most=SINGLE_PERCENT)

    def start(self):
        """From the start of processes to the first step."""
        size = SMOKE_START_RANKS if self.options.smoke else START_RANKS
        found = {each.name: [] for each in self.contestants}
        for _ in range(self.starts):
            for each in self.contestants:
                found[each.name].append(each.first_step(size))
        values = {k: statistics.median(v) for k, v in found.items()}
        self.add("start_s", "s", values, of_best=START_OF_BEST)


def cost(programs, more, less):
    """The median of the difference between the times of two programs."""
    return float(np.median(programs[more] - programs[less]))


def microseconds(found):
    """The medians of each contestant's programs."""
    return {
        name: {k: 1e6 * float(np.median(v)) for k, v in programs.items()}
        for name, programs in found.items()
    }


def main() -> int:
    rows = ["all_reduce", "buckets", "hidden", "scaling", "single", "start"]
    parser = bench_report.option_parser(__doc__, seconds=20.0)
    parser.add_argument("--row", choices=rows, help="the only ones to measure")
    parser.add_argument(
        "--quick", action="store_true", help="a second each, started once"
    )
    parser.add_argument(
        "--program", type=pathlib.Path, help="bench_allreduce, as it was built"
    )
    options = parser.parse_args()
    if options.quick:
        options.seconds = 1.0
    if shutil.which("mpirun") is None:
        print("bench distributed: there is no mpirun", file=sys.stderr)
        return 1
    bench = Bench(options)
    for row in [options.row] if options.row else rows:
        getattr(bench, row)()
    return bench.report.finish()


if __name__ == "__main__":
    sys.exit(main())
