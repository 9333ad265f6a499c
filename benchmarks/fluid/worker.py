"""Runs one contestant of `./dev bench fluid` in a process of its own.

    worker.py LIBRARY ROW NAME THREADS [--small]

The module with_<library> has {row: {name: make}}; make(sizes) returns an object
with check() and sample(seconds), see Steps. For each line "check" or "sample
SECONDS" this prints one line of JSON. A contestant that cannot be made ends the
process; its last line on stderr says why.
"""

import importlib
import json
import os
import statistics
import sys
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "peers")]

CHECKS = 3


class Steps:
    """A contestant whose figure is the time of a step, in ms. `step` returns a
    loss, or `value` a number, that depends on all that a step computes."""

    def __init__(self, step, value=None):
        self.step, self.value = step, value

    def check(self):
        """The losses of the first steps."""
        losses = []
        for _ in range(CHECKS):
            loss = self.step()
            losses.append(float(loss if self.value is None else self.value()))
        return losses

    def sample(self, seconds):
        """The median time of as many steps as fit, after one more."""
        self.step()
        times, end = [], time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            begin = time.perf_counter()
            self.step()
            times.append(time.perf_counter() - begin)
        return statistics.median(times) * 1e3


class Loop:
    """A contestant whose figure is what one more iteration of a loop costs
    beyond its kernels, in ns of the CPU's time, on one thread.

    `run(trips)` runs a loop and returns its result, `chain()` runs the kernels
    of `links` iterations without a loop.
    """

    FEW = 100

    def __init__(self, sizes, run, chain, links):
        self.sizes, self.run, self.chain, self.links = sizes, run, chain, links

    def check(self):
        """Results of loops."""
        return [float(self.run(n)) for n in (self.FEW, self.sizes.trips)]

    def more(self, count):
        """By how much `count()` grows with each iteration."""
        self.run(self.sizes.trips)
        self.run(self.FEW)
        values = [count()]
        for trips in (self.FEW, self.sizes.trips):
            self.run(trips)
            values.append(count())
        a, b, c = values
        return (c - b - (b - a)) / (self.sizes.trips - self.FEW)

    def sample(self, seconds):
        """The median of as many pairs of a loop and a chain as fit."""
        found, end = [], time.perf_counter() + seconds
        self.chain()
        while not found or time.perf_counter() < end:
            iteration = self.more(time.process_time)
            begin = time.process_time()
            self.chain()
            chain = (time.process_time() - begin) / self.links
            found.append((iteration - chain) * 1e9)
        return statistics.median(found)


class Mallocs(Loop):
    """A loop whose figure is the number of calls of malloc an iteration, in a
    process in which count_mallocs.c counts them."""

    def sample(self, seconds):
        import ctypes

        count = ctypes.CDLL(None).sluice_mallocs
        count.restype = ctypes.c_long
        return max(0.0, round(self.more(count), 3))


def of_loops(rows, loops):
    """Adds the rows "loop" and "mallocs" of makers of arguments of Loop."""
    for row, kind in (("loop", Loop), ("mallocs", Mallocs)):
        rows[row] = {
            name: lambda sizes, make=make, kind=kind: kind(sizes, *make(sizes))
            for name, make in loops.items()
        }


class Batches:
    """The figure of a loader is the time of a batch of an epoch, in ms."""

    def __init__(self, loader):
        self.loader = loader

    def check(self):
        """How many numbers an epoch has."""
        return [sum(images.shape[0] * images.shape[1] * images.shape[2]
                    * images.shape[3] for images, _ in self.loader)]

    def sample(self, seconds):
        """One epoch."""
        begin = time.perf_counter()
        count = sum(1 for _ in self.loader)
        return (time.perf_counter() - begin) / count * 1e3


class Busy:
    """The figure of a trainer is the share of time, in %, that it does not wait
    for its loader."""

    def __init__(self, loader, step):
        self.loader, self.step = loader, step

    def check(self):
        """The batches of an epoch."""
        return [sum(1 for _ in self.loader)]

    def sample(self, seconds):
        """Epochs of so many seconds."""
        import images

        return images.busy_share(self.loader, self.step, seconds) * 100


def main():
    library, row, name, threads = sys.argv[1:5]
    import cases

    sizes = cases.SMALL if "--small" in sys.argv else cases.Sizes()
    # What libraries print is not an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    module = importlib.import_module(f"with_{library}")
    module.set_threads(int(threads))
    contestant = module.ROWS[row][name](sizes)
    for line in sys.stdin:
        word, *arguments = line.split()
        if word == "check":
            found = {"losses": contestant.check(), "version": module.VERSION}
        else:
            found = contestant.sample(*map(float, arguments))
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
