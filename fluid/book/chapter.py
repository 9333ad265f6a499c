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

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import console
import elsewhere
import numpy as np
from training import Network, Task, Training

import sluice.fluid as fluid

__all__ = ["Network", "Task", "main"]

HEAD = (
    "chapter                       score wanted   twin  loss Paddle  ONNX   C++"
    "     s"
)


@dataclass
class Result:
    """What a task gave; ``problems`` says what it missed."""

    task: Task
    score: float = 0.0
    twin: float | None = None
    apart: float | None = None
    paddle: str = "-"
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
            f"{self.task.name:28} {self.score:6.4f} {self.task.wanted:6.2f} "
            f"{twin:>6} {apart:>5} {self.paddle:>6} {self.onnx:>5} "
            f"{self.cpp:>5}{self.seconds:6.1f}"
        )


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
        steps = sum(
            len(training.batches(i)) for i in range(done, training.passes)
        )
        with console.progress(task.name, steps) as bar:
            if not told:
                bar.write = lambda _: None
            if done:
                bar.write(f"  goes on after pass {done}")
            training.train(done, bar, options.peers)
        feed = training.inputs()
        outputs = training.outputs(feed)
        result.score = task.score(outputs, training.test)
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
        training.record("test/", feed)
        twin = elsewhere.twin(training, start, result)
    files |= drawn(folder / "losses.svg", losses_of(losses, twin))
    if task.draw is not None:
        draw = task.draw
        files |= drawn(
            folder / "picture.svg",
            lambda figure: draw(figure, outputs, training),
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
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("build/demo/book"),
        help="folder of pictures",
    )
    parser.add_argument("--resume", action="store_true",
                        help="go on after the last finished pass")  # fmt: skip
    parser.add_argument("--peers", action="store_true",
                        help="train a twin in PyTorch, too")  # fmt: skip
    parser.add_argument("--quick", action="store_true",
                        help="two short passes, no score")  # fmt: skip
    return parser


def check_options(
    parser: argparse.ArgumentParser, options: argparse.Namespace
) -> None:
    """End with an error if options exclude each other."""
    if options.peers and options.resume:
        parser.error("--peers compares all steps: leave out --resume")
    if options.peers:
        elsewhere.install_peers()


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
