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
from sluice.kernel_sources import ENDINGS

from . import arguments, programs, text, tune_kernels, worker
from .bisect import add_parser as add_bisect
from .compare import add_parser as add_compare
from .fit import add_parser as add_fit
from .machine import add_parser as add_machine
from .new import add_parser as add_new
from .race import race
from .records import files, kept, records_table
from .report import command as report_command
from .verify import add_parser as add_verify
from .what_if import add_parser as add_what_if

_TUNE = """\
Measures the kernels of a program, so that plans choose by evidence from then
on. PROGRAM is a built-in network (lenet, mlp: a training step), a Python
script that defines `program` and `feed` (`fetch_list`, `startup` and `scope`
are optional), an ONNX model (*.onnx), a model of PaddlePaddle (*.pdmodel, or a
folder with __model__), or a file of sluice.io.save_program.
  sluice-lab tune lenet
  sluice-lab tune model.onnx --budget 60 --all"""
_RECORDS = """\
Lists what was measured on this machine, the newest first.
  sluice-lab records
  sluice-lab records conv2d --all"""
_RACE = """\
Times all kernels of an op over a range of sizes. Shapes are written with n,
which stands for each size in turn. A file of kernels stands for their op:
  sluice-lab race relu
  sluice-lab race fast_relu.cc
  sluice-lab race conv2d --shape "Input=8, 3, n, n" --shape "Filter=32, 3, 3, 3"
"""
_ABOUT = """\
Measures kernels, and tells what is known. Start with a report:
  sluice-lab report lenet -o lenet.html            what runs, and how long
  sluice-lab tune lenet                            choose by measurements
  sluice-lab compare lenet reference default       results and times
  sluice-lab race conv2d --sizes 8,16,32           all kernels of one op
  sluice-lab verify mine.cc                        is a kernel right?
  sluice-lab new kernel fast_relu --op relu        begin one of your own
`sluice-lab COMMAND --help` has examples of a command."""


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
        "sluice-lab",
        description=_ABOUT,
        formatter_class=arguments.Formatter,
    )
    arguments.add(
        parser, "--threads", None, "of each kernel", type=arguments.count,
    )
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True
    )

    report_command.add_parser(commands)
    _add_tune(commands)
    add_compare(commands)
    add_bisect(commands)
    _add_race(commands)
    add_verify(commands)
    add_what_if(commands)
    known = commands.add_parser(
        "records", help="list what was measured", description=_RECORDS
    )
    arguments.add(known, "op", "OP", nargs="?")
    arguments.add_all(known, "records")
    known.set_defaults(run=_records)
    add_machine(commands)
    add_fit(commands)
    add_new(commands)
    for command in commands.choices.values():
        command.formatter_class = arguments.Formatter
    return parser


def _add_tune(commands: Any) -> None:
    tune = commands.add_parser(
        "tune",
        help="measure a program's kernels, and choose by that from then on",
        description=_TUNE,
    )
    arguments.add_program(tune)
    arguments.add_place(tune)
    arguments.add_seconds(tune, "--budget", 10, "for all of it")
    arguments.add(tune, "--again", "", "measure also what has records")
    arguments.add_all(tune, "kernels")
    arguments.add(
        tune, "--kernels", "FILE",
        "verify these kernels (.so, .cc, .cu or .py), then tune with them",
        several=True,
    )
    tune.set_defaults(run=_tune)


def _add_race(commands: Any) -> None:
    one = commands.add_parser(
        "race",
        help="time all kernels of one op over a range of sizes",
        description=_RACE,
    )
    arguments.add(one, "op", "OP", "an op, or a file of kernels of one op")
    arguments.add(
        one, "--sizes", "N,N",
        "what n stands for; else up to five that fit the budget",
        type=arguments.counts, default=None,
    )
    arguments.add(
        one, "--shape", "INPUT=SIZES",
        "of an input; else those that suit the op, mostly 64, n", several=True,
        type=_pair,
    )
    arguments.add(
        one, "--attr", "NAME=VALUE", "an attribute of the op", several=True,
        type=_attribute,
    )
    arguments.add(
        one, "--dtype", None,
        "of the inputs; by default what the op's first kernel computes, "
        "mostly float32",
    )
    arguments.add_seconds(one, "--budget", 2, "for each size")
    arguments.add_place(one)
    arguments.add(
        one, "--kernels", "FILE",
        "load these kernels (.so, .cc, .cu or .py) first", several=True,
    )
    arguments.add(one, "--svg", "FILE", "a chart, by Matplotlib")
    arguments.add(one, "--json", "FILE", "the times as JSON")
    one.set_defaults(run=_race)


def _tune(parsed: argparse.Namespace) -> int | None:
    if parsed.kernels:
        return tune_kernels.run(parsed)
    options = {k: getattr(parsed, k) for k in ("budget", "place", "again")}
    result = programs.call(sl.tune, parsed, **options)
    text.show(
        result.all if parsed.all else result,
        r"^(?:  \*|[0-9]+ of [0-9]+ signature|kernels of).*$",
        r"^  stays with .*$",
    )
    print(f"records: {kept()}")
    return 130 if result.cancelled else None


def _op_of(path: str) -> str:
    """Load a file of kernels, and return the op that they are for."""
    if not os.path.isfile(path):
        text = f"race: there is no file {path}"
        raise sl.NotFoundError(text, "lab.race_file")
    found = worker.load(path)
    ops = sorted({k["op"] for k in found if k["variant"] != worker.GRADIENT})
    if len(ops) != 1:
        commands = [f"sluice-lab race {op} --kernels {path}" for op in ops]
        raise sl.InvalidArgumentError(
            f"race: {path} has kernels of {', '.join(ops) or 'no op'}: "
            f"{', or '.join(commands)}",
            "lab.race_ops",
        )
    return ops[0]


def _race(parsed: argparse.Namespace) -> None:
    def progress(size: int) -> None:
        end = "\r" if sys.stderr.isatty() else "\n"
        print(f"{parsed.op}: n = {size}", end=end, file=sys.stderr, flush=True)

    for path in parsed.kernels:
        worker.load(path)
    if os.path.splitext(parsed.op)[1] in (".so", ".py", *ENDINGS):
        parsed.op = _op_of(parsed.op)
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
    text.show(result, r"[0-9.]+ [mu]?s \*")
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
    text.show(records_table(parsed.op, parsed.all), r"^  \*.*$")
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
