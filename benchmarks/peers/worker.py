"""Runs one contestant in a process of its own, for contestants.py.

    worker.py MODULE ROW NAME THREADS [--small] [--cpu]

MODULE.ROWS has {row: {name: make}}; make(sizes) returns an object. For each
line with a JSON list of the name and the arguments of one of its methods this
prints what that returns, as a line of JSON: of bench_fluid.py check() and
sample(seconds), see Steps. A contestant that cannot be made ends the process;
its last line on stderr says why.
"""

import importlib
import json
import os
import statistics
import sys
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "fluid")]

CHECKS = 3
clock = time.perf_counter  # of steps; with --cpu the process's own time


def resident():
    """The bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


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
        times, end = [], clock() + seconds
        while not times or clock() < end:
            begin = clock()
            self.step()
            times.append(clock() - begin)
        return statistics.median(times) * 1e3


class Loop:
    """A contestant whose figure is what one more iteration of a loop costs
    beyond its kernels, in ns of the CPU's time, on one thread.

    `run(trips)` runs a loop and returns its result. `chains` has, by their
    number, functions that run the kernels of so many iterations without a loop;
    they are few, because the data of long chains is not in the caches.
    """

    TRIPS, CHAINS = (100, 10_000), (20, 120)

    def __init__(self, run, chains):
        self.run, self.chains = run, chains

    def check(self):
        """Results of loops."""
        return [float(self.run(trips)) for trips in self.TRIPS]

    def more(self, count, runs=1):
        """By how much `count()` grows with each iteration, at least."""
        few, many = self.TRIPS
        return growth(count, runs, {n: lambda n=n: self.run(n)
                                    for n in (few, many)})

    def sample(self, seconds):
        """The difference of the least disturbed runs."""
        iteration = self.more(time.process_time, 10)
        link = growth(time.process_time, 100, self.chains)
        return (iteration - link) * 1e9


def growth(count, runs, functions):
    """By how much `count()` grows more in a call of the second function than of
    the first, the least of some runs, for each of the steps that it has more.
    `functions` are by their number of steps."""
    least = {}
    for steps, function in functions.items():
        function()
        grown = []
        for _ in range(runs):
            begin = count()
            function()
            grown.append(count() - begin)
        least[steps] = min(grown)
    few, many = least
    return (least[many] - least[few]) / (many - few)


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
            name: lambda sizes, make=make, kind=kind: kind(*make())
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
        """Of epochs until the seconds are over."""
        waited, begin = 0.0, time.perf_counter()
        while True:
            batches, asked = iter(self.loader), time.perf_counter()
            for batch in batches:
                waited += time.perf_counter() - asked
                self.step(batch)
                asked = time.perf_counter()
            whole = time.perf_counter() - begin
            if whole >= seconds:
                return (1 - waited / whole) * 100


def main():
    module, row, name, threads = sys.argv[1:5]
    import cases
    import worker  # this file is __main__

    if "--cpu" in sys.argv:
        worker.clock = time.process_time
    sizes = cases.SMALL if "--small" in sys.argv else cases.Sizes()
    # What libraries print is not an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    module = importlib.import_module(module)
    module.set_threads(int(threads))
    contestant = module.ROWS[row][name](sizes)
    for line in sys.stdin:
        word, *arguments = json.loads(line)
        found = getattr(contestant, word)(*arguments)
        if word == "check":
            found = {"losses": found, "version": module.VERSION}
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
