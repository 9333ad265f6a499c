"""A network of a chapter, its data, and its training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sluice as sl
import sluice.fluid as fluid

STEPS = 20  # in which the losses are compared with the twin's
SEED = 90


@dataclass
class Network:
    """What a chapter builds, with layers and optimizers of Fluid."""

    feeds: Sequence[fluid.Variable]  # what a sample has, in this order
    inputs: Sequence[fluid.Variable]  # those that the outputs need
    outputs: Sequence[fluid.Variable]
    test: fluid.Program  # computes the outputs
    # Each batch runs the program of every loss, one after the other.
    losses: Sequence[fluid.Variable]
    shown: Sequence[fluid.Variable] = ()  # in a picture


@dataclass
class Task:
    """A network, its data, and the score that it promises.

    Attributes:
        name: the chapter, or ``chapter/network``.
        network: builds it in the default programs.
        data: returns samples to train with and to test with, lists of tuples;
            the former may be a function of a generator of random numbers,
            which is called for each pass, the latter may have more values, for
            the score.
        score: of outputs for the samples of the test; 1 is perfect.
        wanted: the score that must be reached.
        passes: how often all samples are shown.
        batch: samples of a step.
        without_onnx: what in it ONNX does not have.
        without_paddle: what in it PaddlePaddle 2.6.2 cannot run.
        draw: draws on a figure of Matplotlib, by the outputs and the training;
            returns what it shows.
    """

    name: str
    network: Callable[[], Network]
    data: Callable[[], tuple[Any, list[tuple]]]
    score: Callable[[list[np.ndarray], list[tuple]], float]
    wanted: float
    passes: int
    batch: int
    without_onnx: str = ""
    without_paddle: str = ""
    draw: Callable[..., str] | None = None


class Training:
    """A network that is being trained, in a scope of its own."""

    def __init__(self, task: Task, folder: Path, quick: bool) -> None:
        self.task, self.folder = task, folder
        self.passes = min(task.passes, 2) if quick else task.passes
        self.samples, self.test = task.data()
        self.quick = quick
        self.scope, self.startup = fluid.Scope(), fluid.Program()
        self.startup.random_seed = SEED
        main = fluid.Program()
        main.random_seed = SEED
        with fluid.program_guard(main, self.startup), fluid.unique_name.guard():
            self.network = task.network()
        self.exe = fluid.Executor(fluid.CPUPlace())
        self.programs = [loss.block.program for loss in self.network.losses]
        self.losses: list[list[float]] = []
        self.arrays: dict[str, Any] = {}  # for the twin
        with fluid.scope_guard(self.scope):
            self.exe.run(self.startup)

    def start_values(self) -> dict[str, np.ndarray]:
        """Everything that is stored, by name."""
        names = {name for p in self.programs for name in p.stored}
        return {name: np.array(self.scope[name]) for name in sorted(names)}

    def batches(self, number: int) -> list[list[tuple]]:
        """The batches of a pass, the same whenever it is asked for."""
        random = np.random.default_rng([SEED, number])
        made = self.samples(random) if callable(self.samples) else self.samples
        made = [made[i] for i in random.permutation(len(made))]
        size = self.task.batch
        count = len(made) // size
        count = min(count, STEPS) if self.quick else count
        return [made[i * size : (i + 1) * size] for i in range(count)]

    def resume(self, number: int | None = None) -> int:
        """Load the last pass, or that of a number; return how many passes."""
        folders = [
            self.folder / f"checkpoint_{i}" for i in range(len(self.programs))
        ]
        files = [
            {p.name for p in f.glob("step-*[0-9].safetensors")} for f in folders
        ]
        both = sorted(set.intersection(*files))
        if number is not None:
            both = [f"step-{number:09d}.safetensors"]
        if not both:
            return 0
        for folder, program in zip(folders, self.programs, strict=True):
            found = sl.io.load_checkpoint(
                folder / both[-1], program.sluice, self.scope.sluice
            )
        self.losses = found.extra
        return found.step

    def save(self, number: int) -> None:
        """Write what the next pass needs."""
        for i, program in enumerate(self.programs):
            sl.io.save_checkpoint(
                self.folder / f"checkpoint_{i}",
                program.sluice,
                self.scope.sluice,
                number,
                extra=self.losses,
            )

    def train(self, done: int, bar: Any, record: bool = False) -> None:
        """Train the passes after the first ``done`` ones."""
        network = self.network
        feeder = fluid.DataFeeder(network.feeds)
        for number in range(done, self.passes):
            for samples in self.batches(number):
                feed = feeder.feed(samples)
                step, losses = len(self.losses), []
                for loss in network.losses:
                    program = loss.block.program
                    masks = [op.output("Mask")[0] for op in program.block(0).ops
                             if op.type == "dropout" and record]  # fmt: skip
                    value, *masks = self.exe.run(program, feed, [loss, *masks])
                    losses.append(value.item())
                    for i, mask in enumerate(masks):
                        self.arrays[f"{step}/mask/{i}"] = mask
                if record:
                    self.record(f"{step}/", feed)
                self.losses.append(losses)
                bar.set_postfix_str(f"loss {losses[0]:.3f}", refresh=False)
                bar.update()
            self.save(number + 1)
            count = len(self.losses) // (number + 1)
            mean = np.mean(self.losses[-count:], 0)
            text = ", ".join(f"{loss:.4f}" for loss in mean)
            bar.write(f"  pass {number + 1} of {self.passes}: loss {text}")

    def record(self, prefix: str, feed: dict[str, Any]) -> None:
        """Keep a feed for the twin."""
        for name, value in feed.items():
            self.arrays[prefix + name] = np.asarray(value)
            if isinstance(value, fluid.LoDTensor):
                (lengths,) = value.recursive_sequence_lengths()
                self.arrays[f"{prefix}{name}/lengths"] = np.array(lengths)

    def inputs(self) -> dict[str, Any]:
        """What the test feeds."""
        names = [each.name for each in self.network.inputs]
        feeder = fluid.DataFeeder(self.network.feeds)
        feed = feeder.feed([s[: len(self.network.feeds)] for s in self.test])
        return {name: feed[name] for name in names}

    def outputs(self, feed: dict[str, Any]) -> list[np.ndarray]:
        """The outputs for these inputs."""
        return self.exe.run(self.network.test, feed, self.network.outputs)
