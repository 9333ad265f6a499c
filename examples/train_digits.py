"""Trains two networks on 1,000 digits and tests them on the other 797.

The same two programs run on the plain CPU kernels, on oneDNN if this build has
it, and for two epochs on CUDA (emulated without a GPU), compared step by step
with the CPU. Writes the graphs as SVG, and loss curves if Matplotlib is
installed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import digits_data
import numpy as np
from tqdm import tqdm

import sluice as sl

BATCH = 25
PLAIN = "exclude library=ONEDNN"


@dataclass
class Network:
    """Programs that train, test and initialise."""

    name: str
    epochs: int
    rate: float  # the initial learning rate
    train: sl.Program
    test: sl.Program
    startup: sl.Program
    loss: sl.Variable
    logits: sl.Variable


def lenet(image: sl.Variable, dropout: bool = True) -> sl.Variable:
    """LeNet for 8x8 pixels: two convolutions, two dense layers, dropout."""
    drop = sl.layers.dropout if dropout else lambda x, _: x
    x = image
    for filters in (20, 50):
        x = sl.layers.conv2d(x, filters, 3, padding=1, act="relu")
        x = drop(sl.layers.pool2d(x, 2), 0.2)
    x = drop(sl.layers.fc(x, 500, act="relu"), 0.5)
    return sl.layers.fc(x, 10)


def maxout(image: sl.Variable) -> sl.Variable:
    """Two maxout layers: 64 and 32 units, each the largest of 4."""
    x = image
    for units in (64, 32):
        x = sl.layers.fc(x, 4 * units)
        x = sl.layers.reshape(x, shape=[-1, 4 * units, 1, 1])
        x = sl.layers.maxout(x, groups=4)
    return sl.layers.fc(x, 10)


def build(make, epochs: int, rate: float, distribute=None) -> Network:
    """The programs of one network; its optimizer is passed to `distribute`."""
    train, startup = sl.Program(), sl.Program()
    with sl.program_guard(train, startup):
        image = sl.data("image", [None, 1, 8, 8])
        label = sl.data("label", [None, 1], "int64")
        logits = make(image)
        loss = sl.layers.mean(
            sl.layers.softmax_with_cross_entropy(logits, label)
        )
        test = train.clone(for_test=True)
        optimizer = sl.optimizer.Adam(sl.data("rate", [1]))
        if distribute is not None:
            optimizer = distribute(optimizer)
        optimizer.minimize(loss)
    return Network(
        make.__name__, epochs, rate, train, test, startup, loss, logits
    )


def batches(
    network: Network,
    seed: int,
    epochs: int,
    batch: int = BATCH,
    first_epoch: int = 0,
):
    """Feeds of shuffled digits, with a cosine decay of the rate to 0."""
    images, labels = digits_data.load()
    random = np.random.default_rng(seed)
    for epoch in range(epochs):
        order = random.permutation(digits_data.TRAIN)
        if epoch < first_epoch:
            continue
        for first in range(0, digits_data.TRAIN, batch):
            chosen = order[first : first + batch]
            done = (epoch + first / digits_data.TRAIN) / epochs
            rate = network.rate * (1 + math.cos(math.pi * done)) / 2
            yield {
                "image": images[chosen],
                "label": labels[chosen],
                "rate": np.asarray([rate], np.float32),
            }


def start(network: Network, exe: sl.Executor, seed: int) -> sl.Scope:
    """Initial parameters for a seed, the same at every place."""
    scope = sl.Scope()
    scope.step = 100_000 * seed
    exe.run(network.startup, scope=scope)
    return scope


def train(
    network: Network, exe: sl.Executor, seed: int, label: str
) -> tuple[float, list[float]]:
    """Accuracy on the test digits, and the loss of each epoch."""
    scope = start(network, exe, seed)
    steps = digits_data.TRAIN // BATCH
    losses: list[float] = []
    total = network.epochs * steps
    for feed in tqdm(
        batches(network, seed, network.epochs),
        label,
        total,
        leave=False,
        unit="step",
        disable=None,  # if the output is no terminal
    ):
        (loss,) = exe.run(
            network.train, feed=feed, fetch_list=[network.loss], scope=scope
        )
        losses.append(float(loss))
    curve = np.asarray(losses).reshape(-1, steps).mean(1)
    return accuracy(network, exe, scope), curve.tolist()


def accuracy(network: Network, exe: sl.Executor, scope: sl.Scope) -> float:
    """The accuracy on the test digits."""
    images, labels = digits_data.load()
    rest = slice(digits_data.TRAIN, None)
    (logits,) = exe.run(
        network.test,
        feed={"image": images[rest], "label": labels[rest]},
        fetch_list=[network.logits],
        scope=scope,
    )
    return float(np.mean(logits.argmax(1) == labels[rest, 0]))


def compare(network: Network, place, epochs: int) -> tuple[int, float, float]:
    """Train at two places; return steps and errors of loss and logits."""
    here, there = sl.Executor(sl.CPUPlace()), sl.Executor(place)
    # Both places start with the parameters of the CPU.
    scopes = [start(network, exe, 1) for exe in (here, there)]
    steps, worst = 0, np.zeros(2)
    for feed in batches(network, 1, epochs):
        fetched = [
            exe.run(
                network.train,
                feed=feed,
                fetch_list=[network.loss, network.logits],
                scope=scope,
            )
            for exe, scope in zip((here, there), scopes, strict=True)
        ]
        steps += 1
        apart = [np.abs(a - b).max() for a, b in zip(*fetched, strict=True)]
        worst = np.maximum(worst, apart)
    return steps, *worst.tolist()


def draw_curves(path: Path, title: str, curves: dict[str, list[float]]) -> bool:
    """One curve over epochs for each line, as SVG; False without Matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams["svg.fonttype"] = "none"  # as text, not as outlines
    figure, axes = pyplot.subplots(figsize=(7, 4))
    # Thin lines over wide ones, because the curves coincide.
    for i, (name, values) in enumerate(curves.items()):
        epochs = range(1, len(values) + 1)
        axes.plot(epochs, values, label=name, linewidth=5 - 2 * i, alpha=0.7)
    axes.set(title=title, xlabel="epoch", ylabel="mean loss", ylim=(0, None))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(True, alpha=0.3)
    axes.legend()
    figure.savefig(path)
    pyplot.close(figure)
    return True


def train_everywhere(networks: list[Network], options) -> None:
    """Train on the CPU with several sets of kernels, and draw the results."""
    exe = sl.Executor(sl.CPUPlace())
    ways = {"plain": PLAIN, "chosen": "", "oneDNN": "prefer library=ONEDNN"}
    for network in networks:
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
        drawn = draw_curves(path, network.name, curves)
        network.test.draw(str(options.output / f"{network.name}.svg"))
    if not drawn:
        print("no curves: they need Matplotlib, pip install matplotlib")
    print(f"{'curves and ' if drawn else ''}graphs: {options.output}")


def compare_with_cuda(networks: list[Network], epochs: int) -> None:
    """Train on CUDA and the CPU; exit with an error if they disagree."""
    for network in networks:
        begin = time.perf_counter()
        steps, loss, logits = compare(network, sl.CUDAPlace(0), epochs)
        print(
            f"{network.name:7} cuda:0  loss within {loss:.0e} and logits "
            f"within {logits:.0e} of the CPU's in each of {steps} steps "
            f"in {time.perf_counter() - begin:.1f} s"
        )
        # Rounding differs, and the difference grows from step to step.
        if not (loss <= 1e-3 and logits <= 1e-2):
            raise SystemExit(
                f"train_digits: {network.name} on cuda:0 differs from the CPU"
            )


def main() -> None:
    """Train all networks everywhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, help="instead of the usual ones")
    parser.add_argument("--cuda-epochs", type=int, default=2)
    parser.add_argument(
        "--only-cuda", action="store_true", help="only what runs on CUDA"
    )
    parser.add_argument("--output", type=Path, default=Path("build/demo"))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    networks = [build(lenet, 40, 2e-3), build(maxout, 40, 2e-3)]
    for network in networks:
        network.epochs = options.epochs or network.epochs
    if options.only_cuda:
        compare_with_cuda(networks, options.cuda_epochs)
        return
    train_everywhere(networks, options)
    try:
        compare_with_cuda(networks, options.cuda_epochs)
    except sl.UnimplementedError as error:
        print(error)


if __name__ == "__main__":
    main()
