"""Runs the GPU kit on this machine's GPU; without one, on the emulation."""

from __future__ import annotations

import argparse
import os
import pathlib
import signal
import sys

from parts import PARTS
from runner import Kit

CANNOT_BEGIN = 101


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:
        self.print_usage(sys.stderr)
        self.exit(CANNOT_BEGIN, f"{self.prog}: {message}\n")


def _between(kind: type, least: float, most: float) -> object:
    def parse(text: str) -> float:
        value = kind(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"{text}: expected {least} to {most}"
            )
        return value

    parse.__name__ = f"number from {least} to {most}"
    return parse


def _arguments() -> argparse.Namespace:
    parser = _Parser(
        prog="run.sh",
        description=__doc__
        + " Parts: "
        + "; ".join(f"{i} {name}" for i, (name, *_) in enumerate(PARTS, 1))
        + ". Exit status: the number of failures, at most 100; above: it could "
        "not begin.",
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default="gpu_kit_results",
        help="folder for gpu_kit.json and gpu_kit.log",
    )
    parser.add_argument(
        "--parts",
        type=lambda text: {
            _between(int, 1, len(PARTS))(part) for part in text.split(",")
        },
        default=set(),
        metavar="N,N",
        help="only these parts, e.g. 2,4 (1 always runs)",
    )
    parser.add_argument(
        "--limit",
        type=_between(float, 1, 86400),
        default=580,
        metavar="SECONDS",
        help="for everything",
    )
    parser.add_argument(
        "--jobs",
        type=_between(int, 1, 256),
        default=min(8, os.cpu_count() or 1),
        help="processes at once",
    )
    parser.add_argument(
        "--python",
        default="",
        help="the Python with NumPy, and PyTorch for comparisons",
    )
    parser.add_argument(
        "--libraries",
        default="",
        help="folders with libcublas.so.13 and libcuda.so.1, with :",
    )
    parser.add_argument(
        "--gpu",
        action="store_true",
        help=f"end with status {CANNOT_BEGIN} where there is no GPU",
    )
    return parser.parse_args()


def main() -> int:
    """Run the parts; the exit status."""
    given = _arguments()
    folder = pathlib.Path(__file__).resolve().parents[1]
    try:
        kit = Kit(
            folder,
            given.output.absolute(),
            given.libraries,
            given.python,
            given.jobs,
            given.limit,
        )
    except OSError as error:
        print(
            f"{given.output} cannot be written ({error.strerror}): give a "
            "folder for the results with --output FOLDER",
            file=sys.stderr,
        )
        return CANNOT_BEGIN

    def end(number: int, _frame: object) -> None:
        kit.kill_all()
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    for i, (name, seconds, run) in enumerate(PARTS, 1):
        if i > 1 and given.parts and i not in given.parts:
            continue
        kit.run_part(i, name, seconds, lambda run=run: run(kit))
        if kit.mode == "none" or (given.gpu and not kit.on_gpu):
            kit.print("nothing can be run, see part 1")
            return CANNOT_BEGIN
    return min(kit.finish(), 100)


if __name__ == "__main__":
    sys.exit(main())
