"""Trains two networks on 1,000 digits and tests them on the other 797.

The same two programs run on the plain CPU kernels, on oneDNN if this build has
it, and for two epochs on CUDA (emulated without a GPU), compared step by step
with the CPU. Writes the graphs as SVG, and if Matplotlib is installed also the
losses and the times of a step.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import console
import digits_data
import numpy as np

import sluice as sl

BATCH = 25
SECONDS = 0.1
WAYS = {
    "plain": "exclude library=ONEDNN",
    "chosen": "",
    "oneDNN": "prefer library=ONEDNN",
}


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


@dataclass
class Training:
    """What a training gave."""

    accuracy: float  # on the test digits
    losses: list[float]  # the mean of each epoch
    step_ms: float  # the median


def train(
    network: Network, exe: sl.Executor, seed: int, bar, label: str
) -> Training:
    """Train with a seed; show the loss on the bar."""
    scope = start(network, exe, seed)
    losses: list[float] = []
    times: list[float] = []
    for feed in batches(network, seed, network.epochs):
        begin = time.perf_counter()
        (loss,) = exe.run(
            network.train, feed=feed, fetch_list=[network.loss], scope=scope
        )
        times.append(time.perf_counter() - begin)
        losses.append(float(loss))
        bar.set_postfix_str(f"{label}, loss {losses[-1]:.3f}", refresh=False)
        bar.update()
    curve = np.asarray(losses).reshape(network.epochs, -1).mean(1)
    return Training(
        accuracy(network, exe, scope),
        curve.tolist(),
        1e3 * statistics.median(times),
    )


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


def compare(network: Network, place, epochs: int, bar) -> np.ndarray:
    """Train at two places.

    Returns the largest differences of loss and logits in the first ten steps,
    and that of the mean loss of the last epoch. Rounding differs, and where it
    decides whether a unit is zero or which is the largest, the networks go
    apart from then on.
    """
    here, there = sl.Executor(sl.CPUPlace()), sl.Executor(place)
    # Both places start with the parameters of the CPU.
    scopes = [start(network, exe, 1) for exe in (here, there)]
    worst = np.zeros(2)
    losses = []
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
        apart = [np.abs(a - b).max() for a, b in zip(*fetched, strict=True)]
        if len(losses) < 10:
            worst = np.maximum(worst, apart)
        losses.append([loss.item() for loss, _ in fetched])
        bar.set_postfix_str(network.name, refresh=False)
        bar.update()
    last = np.mean(losses[-(len(losses) // epochs) :], axis=0)
    return np.append(worst, np.ptp(last))


def draw_losses(
    path: Path, title: str, trainings: dict[str, list[Training]]
) -> bool:
    """Draw losses and times of a step as SVG; return False without Matplotlib.

    The curve is the median of all trainings, the band has all of them.
    """
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams["svg.fonttype"] = "none"  # as text, not as outlines
    pyplot.rcParams["font.size"] = 11
    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(9, 4), width_ratios=(5, 2), layout="constrained"
    )
    losses = np.array([t.losses for each in trainings.values() for t in each])
    epochs = np.arange(1, losses.shape[1] + 1)
    left.plot(epochs, np.median(losses, 0), marker="." * (len(epochs) < 9))
    left.fill_between(epochs, losses.min(0), losses.max(0), alpha=0.25)
    left.set(
        title=f"{title}: training loss, mean of an epoch",
        xlabel=f"epoch (line: median of {len(losses)} trainings; band: all)",
        ylim=(0, None),
    )
    left.xaxis.get_major_locator().set_params(integer=True)
    left.grid(True, alpha=0.3)
    times = [
        statistics.median(training.step_ms for training in each)
        for each in trainings.values()
    ]
    right.bar_label(right.bar(list(trainings), times), fmt="%.2f")
    right.margins(y=0.1)
    right.set(title="ms per step", xlabel="kernels", yticks=[])
    figure.savefig(path)
    pyplot.close(figure)
    return True


def train_everywhere(networks: list[Network], options) -> dict[Path, str]:
    """Train on the CPU with several sets of kernels; return what was drawn."""
    exe = sl.Executor(sl.CPUPlace())
    number, count = 0, len(networks) * len(WAYS) * options.seeds
    steps = digits_data.TRAIN // BATCH * len(WAYS) * options.seeds
    files = {}
    print("network  kernels  accuracy (all seeds)       ms per step  seconds")
    with console.progress(
        "training", steps * sum(network.epochs for network in networks)
    ) as bar:
        for network in networks:
            trainings: dict[str, list[Training]] = {}
            for way, hints in WAYS.items():
                begin = time.perf_counter()
                trainings[way] = each = []
                for seed in range(options.seeds):
                    number += 1
                    bar.set_description_str(f"training {number} of {count}", 0)
                    label = f"{network.name}, {way} kernels, seed "
                    label += f"{seed + 1} of {options.seeds}"
                    with sl.kernel_hints(hints):
                        each.append(train(network, exe, seed, bar, label))
                    if bar.disable:
                        print(f"training {number} of {count}: {label}")
                low, middle, high = np.percentile(
                    [100 * one.accuracy for one in each], [0, 50, 100]
                )
                bar.write(
                    f"{network.name:7}  {way:7}  "
                    f"{middle:.1f} % ({low:.1f} to {high:.1f})"
                    f"{statistics.median(one.step_ms for one in each):18.2f}"
                    f"{time.perf_counter() - begin:9.1f}"
                )
            graph = options.output / f"{network.name}.svg"
            network.test.draw(str(graph))
            files[graph] = "the network"
            losses = options.output / f"{network.name}_loss.svg"
            if draw_losses(losses, network.name, trainings):
                files[losses] = "its losses, and the times of a step"
    if losses not in files:
        print("no losses drawn: that needs Matplotlib, pip install matplotlib")
    return files


def compare_with_cuda(networks: list[Network], epochs: int) -> None:
    """Train on CUDA and the CPU; exit with an error if they disagree."""
    steps = digits_data.TRAIN // BATCH * epochs
    with console.progress(
        "comparing cuda:0 with the CPU", steps * len(networks)
    ) as bar:
        for network in networks:
            begin = time.perf_counter()
            loss, logits, last = compare(network, sl.CUDAPlace(0), epochs, bar)
            bar.write(
                f"{network.name:7}  cuda:0   off the CPU: loss {loss:.0e}, "
                f"logits {logits:.0e}, at last {last:.0e}"
                f"{time.perf_counter() - begin:7.1f} s"
            )
            if not (loss <= 1e-4 and logits <= 1e-3 and last <= 0.1):
                raise SystemExit(
                    f"train_digits: {network.name} on cuda:0 differs from the "
                    "CPU"
                )


def main() -> None:
    """Train all networks everywhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seeds", type=int, default=3, help="trainings of each kind"
    )
    parser.add_argument("--epochs", type=int, default=40, help="of training")
    parser.add_argument("--cuda-epochs", type=int, default=2, help="at cuda:0")
    parser.add_argument(
        "--only-cuda", action="store_true", help="only what runs on CUDA"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("build/demo"),
        help="folder of pictures",
    )
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)

    networks = [build(make, options.epochs, 2e-3) for make in (lenet, maxout)]
    if options.only_cuda:
        compare_with_cuda(networks, options.cuda_epochs)
        return
    # 2 cores take SECONDS for an epoch of both networks.
    minutes = SECONDS * len(WAYS) * options.seeds * options.epochs / 60
    print(
        f"LeNet and a small maxout network, {len(WAYS)} kernel sets, seeds: "
        f"{options.seeds}, epochs: {options.epochs}\n"
        f"about {math.ceil(minutes)} min on 2 cores; --epochs 2 for a look"
    )
    files = train_everywhere(networks, options)
    try:
        compare_with_cuda(networks, options.cuda_epochs)
    except sl.UnimplementedError as error:
        print(error)
    console.finish(files, "./dev demo lab, which explains each kernel's time")


if __name__ == "__main__":
    main()
