"""The program ``sluice-lab``."""

from __future__ import annotations

import argparse
import ast
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import sluice as sl

from . import programs, tune_kernels, worker
from .arguments import Formatter, check_files, count, seconds
from .bisect import add_parser as add_bisect
from .compare import add_parser as add_compare
from .machine import add_parser as add_machine
from .place import add_parser as add_place
from .race import race
from .records import files, records_table
from .report import command as report_command
from .verify import add_parser as add_verify_parser

_TUNE = """\
Measures the kernels of a program, so that plans choose by evidence from then
on. PROGRAM is a built-in network (lenet, mlp: a training step), a Python
script that defines `program` and `feed` (and, if it likes, `fetch_list`,
`startup` and `scope`), an ONNX model (*.onnx), or a file of
sluice.io.save_program."""
_RACE = """\
Times all kernels of an op over a range of sizes. Shapes are written with n,
which stands for each size in turn:
  sluice-lab race conv2d --shape "Input=8, 3, n, n" --shape "Filter=32, 3, 3, 3"
"""


def _sizes(text: str) -> list[int]:
    return [count(size.strip()) for size in text.split(",")]


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not of the form NAME=VALUE"
        )
    return name.strip(), value.strip()


def _attribute(text: str) -> tuple[str, Any]:
    name, value = _pair(text)
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "sluice-lab", description="Measures kernels, and tells what is known."
    )
    parser.add_argument("--threads", type=count, help="of each kernel")
    commands = parser.add_subparsers(dest="command", required=True)

    tune = commands.add_parser("tune", help="a program", description=_TUNE)
    tune.add_argument("program", metavar="PROGRAM")
    tune.add_argument(
        "--budget",
        type=seconds,
        default=10,
        metavar="SECONDS",
        help="for all of it",
    )
    tune.add_argument(
        "--batch", type=count, default=32, help="for sizes left open"
    )
    tune.add_argument("--place", help="such as cuda:0; the CPU by default")
    tune.add_argument(
        "--again", action="store_true", help="also what has records"
    )
    tune.add_argument(
        "--kernels",
        action="append",
        default=[],
        metavar="FILE",
        help="verify these kernels (.so or .py), then tune with them",
    )

    tune.set_defaults(run=_tune)

    one = commands.add_parser("race", help="one op", description=_RACE)
    one.add_argument("op", metavar="OP")
    one.add_argument(
        "--sizes",
        type=_sizes,
        default=[4, 16, 64, 256, 1024],
        metavar="N,N",
        help="what n stands for",
    )
    one.add_argument(
        "--shape",
        type=_pair,
        action="append",
        default=[],
        metavar="INPUT=SIZES",
        help="of an input; else those that suit the op, mostly 64, n",
    )
    one.add_argument(
        "--attr",
        type=_attribute,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an attribute of the op",
    )
    one.add_argument(
        "--dtype",
        help="of the inputs; by default what the op's first kernel computes, "
        "mostly float32",
    )
    one.add_argument(
        "--budget",
        type=seconds,
        default=2,
        metavar="SECONDS",
        help="for each size",
    )
    one.add_argument("--place", help="such as cuda:0; the CPU by default")
    one.add_argument(
        "--kernels",
        action="append",
        default=[],
        metavar="FILE",
        help="load these kernels (.so or .py) first",
    )
    one.add_argument("--svg", metavar="FILE", help="a chart, by Matplotlib")
    one.add_argument("--json", metavar="FILE", help="the times as JSON")

    one.set_defaults(run=_race)

    report_command.add_parser(commands, seconds, count)

    known = commands.add_parser("records", help="what was measured")
    known.add_argument("op", nargs="?", metavar="OP")
    known.set_defaults(run=_records)
    add_verify_parser(commands, count, seconds)
    add_bisect(commands)
    add_compare(commands)
    add_place(commands)
    add_machine(commands, seconds)
    for command in commands.choices.values():
        command.formatter_class = Formatter
    return parser


def _tune(arguments: argparse.Namespace) -> int | None:
    if arguments.kernels:
        return tune_kernels.run(arguments)
    job = programs.load(arguments.program, arguments.batch)
    print(
        sl.tune(
            job.program,
            job.feed,
            job.fetch_list,
            arguments.budget,
            place=arguments.place,
            scope=job.scope,
            again=arguments.again,
        ),
        end="",
    )
    user = sl._lab._record_files()["user"]
    print(f"records: {user or 'in memory only, as SLUICE_RECORDS says'}")
    return None


def _race(arguments: argparse.Namespace) -> None:
    def progress(size: int) -> None:
        if sys.stderr.isatty():
            print(f"{arguments.op}: n = {size}", end="\r", file=sys.stderr)

    for path in arguments.kernels:
        worker.load(path)
    result = race(
        arguments.op,
        arguments.sizes,
        dict(arguments.shape),
        dict(arguments.attr),
        arguments.dtype,
        arguments.budget,
        arguments.place,
        progress,
    )
    print(result)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(result.to_json(), file, indent=1)
    if arguments.svg:
        try:
            result.save_svg(arguments.svg)
        except ImportError:
            raise SystemExit(
                "sluice-lab: --svg needs Matplotlib: pip install matplotlib"
            ) from None


def _records(arguments: argparse.Namespace) -> None:
    print(records_table(arguments.op))
    print(files())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return the exit status."""
    parsed = _parser().parse_args(arguments)
    try:
        check_files(parsed)
        if parsed.threads is not None:
            sl.set_num_threads(parsed.threads)
        return parsed.run(parsed) or 0
    except BrokenPipeError:
        # The reader closed the pipe, so Python must write nothing when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("sluice-lab: interrupted", file=sys.stderr)
        return 130
    except UnicodeDecodeError as error:
        print(f"sluice-lab: a file is no text: {error}", file=sys.stderr)
        return 1
    except (sl.SluiceError, OSError, MemoryError, RecursionError) as error:
        print(f"sluice-lab: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
