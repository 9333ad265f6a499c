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

from . import arguments, programs, tune_kernels, worker
from .bisect import add_parser as add_bisect
from .compare import add_parser as add_compare
from .fit import add_parser as add_fit
from .machine import add_parser as add_machine
from .race import race
from .records import files, records_table
from .report import command as report_command
from .verify import add_parser as add_verify
from .what_if import add_parser as add_what_if

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
    parser.add_argument(
        "--threads", type=arguments.count, help="of each kernel"
    )
    commands = parser.add_subparsers(dest="command", required=True)

    tune = commands.add_parser("tune", help="a program", description=_TUNE)
    arguments.add_program(tune)
    arguments.add_place(tune)
    arguments.add_seconds(tune, "--budget", 10, "for all of it")
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
        type=arguments.counts,
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
    arguments.add_seconds(one, "--budget", 2, "for each size")
    arguments.add_place(one)
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

    report_command.add_parser(commands)

    known = commands.add_parser("records", help="what was measured")
    known.add_argument("op", nargs="?", metavar="OP")
    known.set_defaults(run=_records)
    add_verify(commands)
    add_bisect(commands)
    add_compare(commands)
    add_what_if(commands)
    add_machine(commands)
    add_fit(commands)
    for command in commands.choices.values():
        command.formatter_class = arguments.Formatter
    return parser


def _tune(parsed: argparse.Namespace) -> int | None:
    if parsed.kernels:
        return tune_kernels.run(parsed)
    job = programs.load(parsed.program, parsed.batch)
    print(
        sl.tune(
            job.program,
            job.feed,
            job.fetch_list,
            parsed.budget,
            place=parsed.place,
            scope=job.scope,
            again=parsed.again,
        ),
        end="",
    )
    user = sl._lab._record_files()["user"]
    print(f"records: {user or 'in memory only, as SLUICE_RECORDS says'}")
    return None


def _race(parsed: argparse.Namespace) -> None:
    def progress(size: int) -> None:
        if sys.stderr.isatty():
            print(f"{parsed.op}: n = {size}", end="\r", file=sys.stderr)

    for path in parsed.kernels:
        worker.load(path)
    result = race(
        parsed.op,
        parsed.sizes,
        dict(parsed.shape),
        dict(parsed.attr),
        parsed.dtype,
        parsed.budget,
        parsed.place,
        progress,
    )
    print(result)
    if parsed.json:
        with open(parsed.json, "w", encoding="utf-8") as file:
            json.dump(result.to_json(), file, indent=1)
    if parsed.svg:
        try:
            result.save_svg(parsed.svg)
        except ImportError:
            raise SystemExit(
                "sluice-lab: --svg needs Matplotlib: pip install matplotlib"
            ) from None


def _records(parsed: argparse.Namespace) -> None:
    print(records_table(parsed.op))
    print(files())


def main(command: Sequence[str] | None = None) -> int:
    """Run the program and return the exit status."""
    parsed = _parser().parse_args(command)
    try:
        arguments.check_files(parsed)
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
