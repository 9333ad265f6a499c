"""What all chapters do: train, go on, score, export, compare with a twin.

A chapter is a :class:`Task` for each of its networks; this module does the
rest, and says in one line whether the task has reached what it promised.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import console
import elsewhere
import numpy as np

import sluice as sl
import sluice.fluid as fluid

STEPS = 20  # in which the losses are compared with the twin's
APART = 1e-4  # what they may differ by, of the larger of the loss and 1
SEED = 90
HEAD = (
    "chapter                         score  wanted    twin    loss  ONNX   C++"
    "      s"
)


@dataclass
class Network:
    """What a chapter builds, with layers and optimizers of Fluid."""

    feeds: Sequence[fluid.Variable]  # what a sample has, in this order
    inputs: Sequence[fluid.Variable]  # those that the outputs need
    outputs: Sequence[fluid.Variable]
    test: fluid.Program  # computes the outputs
    # Each batch runs the program of every loss, one after the other.
    losses: Sequence[fluid.Variable]


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
    draw: Callable[..., str] | None = None


@dataclass
class Result:
    """What a task gave; ``problems`` says what it missed."""

    task: Task
    score: float = 0.0
    twin: float | None = None
    apart: float | None = None
    onnx: str = "-"
    cpp: str = "-"
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    def check(self, holds: bool, problem: str) -> None:
        """Note a problem unless this holds."""
        if not holds:
            self.problems.append(f"{self.task.name}: {problem}")

    def __str__(self) -> str:
        twin = "-" if self.twin is None else f"{self.twin:.4f}"
        apart = "-" if self.apart is None else f"{self.apart:.0e}"
        return (
            f"{self.task.name:29} {self.score:7.4f} {self.task.wanted:7.2f} "
            f"{twin:>7} {apart:>7} {self.onnx:>5} {self.cpp:>5}"
            f"{self.seconds:7.1f}"
        )


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
        folders = [self.folder / f"checkpoint_{i}" for i in range(len(self.programs))]
        files = [{p.name for p in f.glob("step-*[0-9].safetensors")} for f in folders]
        both = sorted(set.intersection(*files))
        if number is not None:
            both = [f"step-{number:09d}.safetensors"]
        if not both:
            return 0
        for folder, program in zip(folders, self.programs, strict=True):
            found = sl.io.load_checkpoint(folder / both[-1], program.sluice, self.scope)
        self.losses = found.extra
        return found.step

    def save(self, number: int) -> None:
        """Write what the next pass needs."""
        for i, program in enumerate(self.programs):
            sl.io.save_checkpoint(
                self.folder / f"checkpoint_{i}",
                program.sluice,
                self.scope,
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
                    self._record(f"{step}/", feed)
                self.losses.append(losses)
                bar.set_postfix_str(f"loss {losses[0]:.3f}", refresh=False)
                bar.update()
            self.save(number + 1)
            count = len(self.losses) // (number + 1)
            mean = np.mean(self.losses[-count:], 0)
            text = ", ".join(f"{loss:.4f}" for loss in mean)
            bar.write(f"  pass {number + 1} of {self.passes}: loss {text}")

    def _record(self, prefix: str, feed: dict[str, Any]) -> None:
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


def run(
    task: Task, options: argparse.Namespace, told: bool
) -> tuple[Result, dict[Path, str]]:
    """Do all that a task has to do; return also the files and what they are."""
    begin = time.perf_counter()
    folder = options.output / task.name
    if not options.resume:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    result = Result(task)
    training = Training(task, folder, options.quick)
    start = training.start_values()
    with fluid.scope_guard(training.scope):
        done = training.resume() if options.resume else 0
        steps = sum(len(training.batches(i)) for i in range(done, training.passes))
        with console.progress(task.name, steps) as bar:
            if not told:
                bar.write = lambda _: None
            if done:
                bar.write(f"  goes on after pass {done}")
            training.train(done, bar, options.peers)
        feed = training.inputs()
        outputs = training.outputs(feed)
        result.score = task.score([*map(np.asarray, outputs)], training.test)
        losses = np.array(training.losses)
        files = elsewhere.export(training, feed, outputs, result)
    if options.quick:
        result.check(losses[-5:, 0].mean() < losses[:5, 0].mean(),
                     "the loss does not fall")  # fmt: skip
        _check_resumed(training, folder, result)
    else:
        result.check(result.score >= task.wanted, f"score {result.score:.4f}")
    twin = None
    if options.peers:
        training._record("test/", feed)
        twin = elsewhere.twin(training, start, result)
    files |= drawn(folder / "losses.svg", losses_of(losses, twin))
    if task.draw is not None:
        draw = task.draw
        files |= drawn(
            folder / "picture.svg", lambda figure: draw(figure, outputs, training)
        )
    result.seconds = time.perf_counter() - begin
    return result, files


def _check_resumed(training: Training, folder: Path, result: Result) -> None:
    """Train the last pass once more, from the checkpoint before it."""
    again = Training(training.task, folder, True)
    with fluid.scope_guard(again.scope):
        again.resume(1)
        with console.progress("once more") as bar:
            bar.write = lambda _: None
            again.train(1, bar)
    ours, theirs = training.start_values(), again.start_values()
    result.check(
        training.losses == again.losses
        and all(np.array_equal(ours[n], theirs[n]) for n in ours),
        "going on from the checkpoint gives other bits",
    )


def drawn(path: Path, draw: Callable[[Any], str]) -> dict[Path, str]:
    """Draw on a figure and save it as SVG; nothing without Matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return {}
    matplotlib.use("svg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(7, 5), layout="constrained")
    what = draw(figure)
    figure.savefig(path)
    pyplot.close(figure)
    return {path: what}


def losses_of(ours: np.ndarray, twin: np.ndarray | None) -> Callable[..., str]:
    """Return what draws the losses of each batch."""

    def draw(figure: Any) -> str:
        axes = figure.subplots()
        axes.plot(ours, label="Sluice")
        if twin is not None:
            axes.plot(twin, ":", label="PyTorch")
        axes.set(xlabel="batch", ylabel="loss")
        axes.legend()
        return "the losses"

    return draw


def arguments(text: str | None) -> argparse.ArgumentParser:
    """The options of every chapter."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--output", type=Path, default=Path("build/demo/book"))
    parser.add_argument("--resume", action="store_true",
                        help="go on after the last finished pass")  # fmt: skip
    parser.add_argument("--peers", action="store_true",
                        help="train a twin in PyTorch, too")  # fmt: skip
    parser.add_argument("--quick", action="store_true",
                        help="two short passes; no score is promised")  # fmt: skip
    return parser


def check_options(
    parser: argparse.ArgumentParser, options: argparse.Namespace
) -> None:
    """End with an error if options exclude each other."""
    if options.peers and options.resume:
        parser.error("--peers compares all steps: leave out --resume")
    if options.peers and not elsewhere.TORCH.exists():
        print("no twins: ./dev bench train --peers installs PyTorch")
        options.peers = False


def main(text: str, *tasks: Task) -> None:
    """Run the tasks of one chapter as a script."""
    parser = arguments(text.partition("\n")[0])
    options = parser.parse_args()
    check_options(parser, options)
    print(text)
    run_all(tasks, options, True)


def run_all(
    tasks: Sequence[Task], options: argparse.Namespace, told: bool = False
) -> None:
    """Run tasks, with a line for each; exit with 1 if one has a problem.

    ``told`` is whether passes and files are printed, too.
    """
    problems, files = [], {}
    if not told:
        print(HEAD)
    for task in tasks:
        result, made = run(task, options, told)
        if told:
            print(HEAD)
        print(result)
        problems += result.problems
        files |= made
    if told:
        console.finish(files, "--resume goes on, --peers trains a twin")
    if problems:
        raise SystemExit("\n".join(problems))
