"""Trains two networks on 1,000 digits and tests them on the other 797.

The same two programs run on the plain CPU kernels, on oneDNN where this build
has it, and for a few steps on CUDA (emulated where there is no GPU), compared
step by step with the CPU. Writes loss curves and the graph as SVG.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import digits_data
import numpy as np
import svg_curve
from tqdm import tqdm

import sluice as sl

BATCH = 25
PLAIN = "exclude library=ONEDNN"


@dataclass
class Network:
    """A program that trains, one that tests, and one that begins."""

    name: str
    epochs: int
    train: sl.Program
    test: sl.Program
    startup: sl.Program
    loss: sl.Variable
    logits: sl.Variable


def lenet(image: sl.Variable) -> sl.Variable:
    """LeNet for 8x8 pixels: two convolutions, dropout, two dense layers."""
    x = image
    for filters in (20, 50):
        x = sl.layers.conv2d(x, filters, 3, padding=1, act="relu")
        x = sl.layers.pool2d(x, 2)
    x = sl.layers.dropout(sl.layers.fc(x, 500, act="relu"), 0.5)
    return sl.layers.fc(x, 10)


def maxout(image: sl.Variable) -> sl.Variable:
    """Two maxout layers: 64 and 32 units, each the largest of 4."""
    x = image
    for units in (64, 32):
        x = sl.layers.fc(x, 4 * units)
        x = sl.layers.reshape(x, shape=[-1, 4 * units, 1, 1])
        x = sl.layers.maxout(x, groups=4)
    return sl.layers.fc(x, 10)


def build(make, epochs: int, rate: float) -> Network:
    """The programs of one network."""
    train, startup = sl.Program(), sl.Program()
    with sl.program_guard(train, startup):
        image = sl.data("image", [None, 1, 8, 8])
        label = sl.data("label", [None, 1], "int64")
        logits = make(image)
        loss = sl.layers.mean(
            sl.layers.softmax_with_cross_entropy(logits, label)
        )
        test = train.clone(for_test=True)
        sl.optimizer.Adam(rate).minimize(loss)
    return Network(
        make.__name__, epochs, train, test, startup, loss, logits
    )


def batches(seed: int, epochs: int):
    """Feeds of shuffled digits."""
    images, labels = digits_data.load()
    random = np.random.default_rng(seed)
    for _ in range(epochs):
        order = random.permutation(digits_data.TRAIN)
        for first in range(0, digits_data.TRAIN, BATCH):
            chosen = order[first : first + BATCH]
            yield {"image": images[chosen], "label": labels[chosen]}


def start(network: Network, exe: sl.Executor, seed: int) -> sl.Scope:
    """Parameters of their own for each seed, the same at every place."""
    scope = sl.Scope()
    scope.step = 100_000 * seed
    exe.run(network.startup, scope=scope)
    return scope


def train(
    network: Network, exe: sl.Executor, seed: int, label: str
) -> tuple[float, list[float]]:
    """Accuracy on the digits kept back, and the loss of each epoch."""
    scope = start(network, exe, seed)
    steps = digits_data.TRAIN // BATCH
    losses: list[float] = []
    total = network.epochs * steps
    for feed in tqdm(
        batches(seed, network.epochs), label, total, leave=False, unit="step"
    ):
        (loss,) = exe.run(
            network.train, feed=feed, fetch_list=[network.loss], scope=scope
        )
        losses.append(float(loss))
    images, labels = digits_data.load()
    rest = slice(digits_data.TRAIN, None)
    (logits,) = exe.run(
        network.test,
        feed={"image": images[rest], "label": labels[rest]},
        fetch_list=[network.logits],
        scope=scope,
    )
    right = np.mean(logits.argmax(1) == labels[rest, 0])
    curve = np.asarray(losses).reshape(-1, steps).mean(1)
    return float(right), curve.tolist()


def compare(network: Network, place, steps: int) -> float:
    """The largest difference of the loss from the CPU's, step by step."""
    here, there = sl.Executor(sl.CPUPlace()), sl.Executor(place)
    # A place begins with the parameters that the CPU begins with.
    scopes = [start(network, exe, 1) for exe in (here, there)]
    worst = 0.0
    for feed, _ in zip(batches(1, 1), range(steps), strict=False):
        losses = [
            float(
                exe.run(
                    network.train,
                    feed=feed,
                    fetch_list=[network.loss],
                    scope=scope,
                )[0]
            )
            for exe, scope in zip((here, there), scopes, strict=True)
        ]
        worst = max(worst, abs(losses[0] - losses[1]))
    return worst


def main() -> None:
    """Train everything everywhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="instead of the usual ones")
    parser.add_argument("--output", type=Path, default=Path("build/demo"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    networks = [build(lenet, 60, 1e-3), build(maxout, 40, 2e-3)]
    exe = sl.Executor(sl.CPUPlace())
    ways = {"plain": PLAIN, "chosen": "", "oneDNN": "prefer library=ONEDNN"}
    for network in networks:
        if options.epochs:
            network.epochs = options.epochs
        curves = {}
        for way, hints in ways.items():
            begin = time.perf_counter()
            rights = []
            with sl.kernel_hints(hints):
                for seed in range(options.seeds):
                    right, curve = train(
                        network, exe, seed, f"{network.name}, {way}, {seed}"
                    )
                    rights.append(right)
            curves[way] = curve
            print(
                f"{network.name:7} {way:7} "
                f"{100 * statistics.median(rights):.1f} % right "
                f"({', '.join(f'{100 * right:.1f}' for right in rights)}) "
                f"in {time.perf_counter() - begin:.1f} s"
            )
        path = options.output / f"{network.name}_loss.svg"
        svg_curve.write(path, f"{network.name}: loss by epoch", curves)
        network.test.draw(str(options.output / f"{network.name}.svg"))
    try:
        for network in networks:
            worst = compare(network, sl.CUDAPlace(0), 5)
            print(
                f"{network.name:7} cuda:0  loss within {worst:.1e} of "
                "the CPU's in each of 5 steps"
            )
    except sl.UnimplementedError as error:
        print(error)
    print(f"curves and graphs: {options.output}")


if __name__ == "__main__":
    main()
