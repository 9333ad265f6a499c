"""The common parts of the suite `distributed` for all libraries: the networks'
parameters, the batches of each rank, and the turns of programs.

lenet is that of networks.py. resnet20 has a convolution of 16 filters, three
stages of three residual blocks with 16, 32 and 64 filters, each convolution
with batch norm, and a unit for each of 10 classes without bias; the first block
of a later stage halves the image, and converts the sum to its shape by a 1x1
convolution. It has 60 parameters, in the order of the network: those of the
branch before the 1x1 convolution.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

import networks
import numpy as np

BATCH = 64  # of each rank
RATE = 0.01
MOMENTUM = 0.9
STEPS = 3  # number of compared losses
# Limits for the turn of one program.
TURN_SECONDS = 0.1
MOST_STEPS = 10
LEAST_TURNS = 7
FILTERS = (16, 32, 64)
BLOCKS = 3
IMAGE = {"lenet": (1, 28, 28), "resnet20": (3, 32, 32)}


def parse_arguments(wants):
    """Parses the arguments; `wants` has the functions that measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=wants)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--folder", type=pathlib.Path,
                        help="an empty one, for this start alone")
    parser.add_argument("--smoke", action="store_true",
                        help="take each turn once, with a step or two")
    return parser.parse_args()


def resnet20_shapes():
    """The shapes: filters have four dims; batch norm's scale and shift one."""
    def conv_norm(filters, channels):
        return [(filters, channels, 3, 3), (filters,), (filters,)]

    shapes = conv_norm(FILTERS[0], 3)
    channels = FILTERS[0]
    for filters in FILTERS:
        for _ in range(BLOCKS):
            shapes += conv_norm(filters, channels)
            shapes += conv_norm(filters, filters)
            if channels != filters:
                shapes.append((filters, channels, 1, 1))
            channels = filters
    return [*shapes, (channels, 10)]


def parameters(network):
    """Parameters that are equal on every rank."""
    if network == "lenet":
        return networks.new_case("lenet64").parameters
    random = np.random.default_rng(0)
    made = []
    for shape in resnet20_shapes():
        if len(shape) == 1:  # a scale of one, then a shift of zero
            shift = len(made) > 0 and made[-1].ndim == 1
            made.append(np.full(shape, 0 if shift else 1, np.float32))
            continue
        inputs = np.prod(shape[1:]) if len(shape) == 4 else shape[0]
        value = random.standard_normal(shape, np.float32)
        made.append(value * np.float32(np.sqrt(2 / inputs)))
    return made


def batch(network, rank):
    """Images and labels of a rank."""
    random = np.random.default_rng(1000 + rank)
    image = random.random((BATCH, *IMAGE[network]), np.float32)
    return image, random.integers(0, 10, BATCH)


class Ranks:
    """The ranks of one library. reduced(list, "sum" or "max") returns the sum,
    or the maximum, of each element of a list over all ranks."""

    def __init__(self, rank, size, reduced, options):
        self.rank, self.size, self.options = rank, size, options
        self.reduced = reduced
        self.waits = 0

    def losses(self, step):
        """The first losses of all ranks."""
        own = [float(step()) for _ in range(STEPS)]
        return [loss / self.size for loss in self.reduced(own, "sum")]

    def take_turns(self, programs, alone=()):
        """{name: [median seconds of a step, one for each turn]}, until the last
        rank is done. Programs are functions that do a step; those in `alone`
        run on rank 0 while the others sleep."""
        if self.options.smoke:
            return {
                name: [self.some(step, 1, name in alone)]
                for name, step in programs.items()
            }
        counts, whole = {}, 0.0
        for name, step in programs.items():
            once = self.some(step, 3, name in alone)
            counts[name] = max(1, min(MOST_STEPS, round(TURN_SECONDS / once)))
            whole += once * (counts[name] + 1)
        turns = max(LEAST_TURNS, round(self.options.seconds / whole))
        found = {name: [] for name in programs}
        for _ in range(turns):
            for name, step in programs.items():
                found[name].append(
                    self.some(step, counts[name], name in alone)
                )
        return found

    def some(self, step, count, alone):
        """The median time of some steps, after a warm-up step."""
        times = [0.0] * count
        if not alone:
            step()
            for i in range(count):
                self.reduced([0.0], "max")  # all ranks begin together
                times[i] = seconds(step)
        elif self.rank == 0:
            step()
            times = [seconds(step) for _ in range(count)]
            self.wake_the_others()
        else:
            self.sleep_until_woken()
        return statistics.median(self.reduced(times, "max"))

    def sleep_until_woken(self):
        """Sleeps without using the processor; waits in a library may use it."""
        self.waits += 1
        while not (self.options.folder / str(self.waits)).exists():
            time.sleep(0.01)

    def wake_the_others(self):
        self.waits += 1
        (self.options.folder / str(self.waits)).touch()


def seconds(step):
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def hidden(world, network_step, parameters_step):
    """Measures lenet, and its gradients without the network, by functions of a
    network, whether its gradients are reduced, and the momentum."""
    step = network_step("lenet")
    return {
        "losses": world.losses(step),
        "turns": world.take_turns({
            "network without": network_step("lenet", parallel=False),
            "network": step,
            "gradients without": parameters_step("lenet", False, MOMENTUM),
            "gradients": parameters_step("lenet", True, MOMENTUM),
        }),
    }


def scaling(world, network_step):
    """Measures resnet20 on all ranks, and on one while the others sleep."""
    step = network_step("resnet20")
    programs = {"all": step, "one": network_step("resnet20", parallel=False)}
    return {
        "losses": world.losses(step),
        "turns": world.take_turns(programs, alone=["one"]),
    }


def report(rank, found):
    """Rank 0's answer to bench_distributed.py."""
    if rank == 0:
        print(json.dumps(found), flush=True)


def report_end_of_step(rank):
    """The end of every rank's step, on the machine's clock, which all processes
    share."""
    found = {"rank": rank, "end": time.monotonic()}
    os.write(sys.stdout.fileno(), (json.dumps(found) + "\n").encode())
