"""The time of a training step and an inference, from Python, on one thread.

  ./dev bench train [--json FILE] [--peers]

train/mlp64/t1: 64-128-64-10, batch 64, one step of SGD with the loss fetched;
train/lenet64/t1: likewise LeNet (20 and 50 filters 5x5, 500) on 28x28;
infer/lenet_b1/t1 and infer/lenet_b64/t1: its forward pass; medians, in us.
startup/lenet_first_step_ms: preparing and running its first step, in a process
that has trained the other network before. startup/import_ms: `import sluice` in
a fresh interpreter that has imported NumPy.

Peers start with the same parameters and must get the same losses and logits.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile

import bench_report
import networks
import numpy as np
import peer_timing

import sluice as sl

# Bounds of the rows, from the issue.
AT_MOST = {"startup/lenet_first_step_ms": 30, "startup/import_ms": 40}
OF_BEST = {
    "train/mlp64/t1": 0.65,
    "train/lenet64/t1": 0.85,
    "infer/lenet_b1/t1": 0.8,
    "infer/lenet_b64/t1": 0.8,
}


def logits_of(name, image):
    x = image
    if name == "lenet64":
        for filters in (20, 50):
            x = sl.layers.conv2d(x, filters, 5, act="relu")
            x = sl.layers.pool2d(x, 2)
        return sl.layers.fc(sl.layers.fc(x, 500, act="relu"), 10)
    for units in (128, 64):
        x = sl.layers.fc(x, units, act="relu")
    return sl.layers.fc(x, 10)


def at(place, value):
    """The array itself for the CPU, else a tensor at the place."""
    return value if place == "cpu" else sl.Tensor(value, place)


class Network:
    """A case of networks.py as programs, with its parameters in a scope."""

    def __init__(self, case, place="cpu"):
        self.train, startup = sl.Program(), sl.Program()
        with sl.program_guard(self.train, startup), sl.unique_name.guard():
            shape = networks.IMAGE[case.name]
            image = sl.data("image", [None, *shape])
            label = sl.data("label", [None, 1], "int64")
            self.logits = logits_of(case.name, image)
            self.loss = sl.layers.mean(
                sl.layers.softmax_with_cross_entropy(self.logits, label)
            )
            self.infer = self.train.clone(for_test=True)
            sl.optimizer.SGD(networks.RATE).minimize(self.loss)
        self.scope = sl.Scope()
        sl.Executor().run(startup, scope=self.scope)
        parameters = self.train.all_parameters()
        for variable, value in zip(parameters, case.parameters, strict=True):
            self.scope[variable.name] = at(place, value)


def make_step(case, place="cpu"):
    network, exe = Network(case, place), sl.Executor(place)
    feed = {
        "image": at(place, case.image),
        "label": at(place, case.label[:, None]),
    }
    fetch_list = [network.loss]
    return lambda: exe.run(
        network.train, feed=feed, fetch_list=fetch_list, scope=network.scope
    )[0]


def make_forward(case, batch, place="cpu"):
    network, exe = Network(case, place), sl.Executor(place)
    feed = {"image": at(place, case.image[:batch])}
    fetch_list = [network.logits]
    return lambda: exe.run(
        network.infer, feed=feed, fetch_list=fetch_list, scope=network.scope
    )[0]


def write_cases(path, names=tuple(networks.IMAGE)):
    """Writes the peers' initial parameters, and our plain kernels' results."""
    cases = []
    with sl.kernel_hints("prefer library=PLAIN"):
        for name in names:
            case = networks.new_case(name)
            case.logits = make_forward(case, networks.BATCH)()
            step = make_step(case)
            losses = [step().item() for _ in range(networks.STEPS)]
            case.losses = np.array(losses)
            cases.append(case)
    networks.save(path, cases)


def main():
    if "--first-step" in sys.argv:  # a separate process, see networks.py
        options = peer_timing.arguments()
        sl.set_num_threads(1)
        cases = networks.load(options.case)
        print(networks.first_step_ms(make_step, cases))
        return 0
    options = bench_report.parse_options(__doc__, seconds=3.0)
    sl.set_num_threads(1)
    report = bench_report.Report(options)
    with tempfile.TemporaryDirectory() as folder:
        options.case = str(pathlib.Path(folder) / "case.npz")
        write_cases(options.case)
        for row, _, value in networks.measure(
            __file__,
            options,
            "sluice",
            {"sluice": make_step},
            {"sluice": make_forward},
        ):
            unit = "ms" if row.endswith("_ms") else "us"
            report.add(row, unit, value, AT_MOST.get(row), OF_BEST.get(row))
        seconds = str(options.seconds)
        report.measure_peers(
            "train", "--threads", "1", "--case", options.case,
            "--seconds", seconds,
        )
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
