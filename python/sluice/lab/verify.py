"""Verifies the kernels of a library, of sources or of a Python file."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from sluice.errors import InvalidArgumentError, NotFoundError
from sluice.kernel_sources import ENDINGS

from . import arguments, text
from .supervise import Worker, ended
from .verdicts import Mistake, Verdict, Verification

_ABOUT = """\
Runs the kernels of a library (made by sluice_add_kernel_library or
sluice_add_operator_library), of C++ or CUDA sources (compiled into one library,
as sl.compile_kernels does) or of a Python file (functions with @sl.kernel) with
the examples that Sluice's own kernels are tested with, and with other
sizes, and compares them with the op's plain kernel in float64: tails, sizes 0
and 1, NaN and infinities, several threads, equal bits on reruns, elements that
are not written, writes and reads out of bounds, changed inputs, bad labels and
indices. Each in a process of its own, so that one that crashes or hangs is
named. The exit status is 1 when a kernel is wrong or cannot be checked.
  sluice-lab verify mine.cc
  sluice-lab verify my_op_op.cc my_op_kernel.cc
  sluice-lab verify build/libmine.so
  sluice-lab verify mine.py --kernel relu/mine"""


class _Job:
    """The verification of one library, by as many processes as needed."""

    def __init__(
        self, paths: list[str], options: dict[str, Any], budget: float
    ) -> None:
        self._options = {"paths": paths, **options}
        self._budget = budget
        self._result = Verification(", ".join(paths))
        self._kernels: list[dict[str, str]] | None = None

    def run(self) -> Verification:
        start = 0
        while start is not None:
            start = self._run_from(start)
        if not self._result.refusal and not self._result.verdicts:
            raise NotFoundError(self._nothing_to_do(), "lab.verify_kernel")
        return self._result

    def _nothing_to_do(self) -> str:
        path, name = self._result.path, self._options["kernel"]
        names = sorted(
            {
                f"{k['op']}/{k['variant']} {k['dtype']}"
                for k in self._kernels or ()
            }
        )
        if not names:
            return f"{path}: it has no kernels"
        kernel = f"kernel {name}" if name else "kernel"
        dtype = self._options["dtype"]
        wanted = kernel + f" that computes {dtype}" * bool(dtype)
        return f"{path}: there is no {wanted}; it has {', '.join(names)}"

    def _run_from(self, start: int) -> int | None:
        """Check from kernel ``start`` on; return the next to check, or None."""
        job = {**self._options, "start": start}
        with Worker("sluice.lab.worker", job) as worker:
            return self._follow(worker, start)

    def _follow(self, worker: Worker, start: int) -> int | None:
        index, step = start, {}
        running = False
        tried: set[int] = set()  # examples that the current kernel ran
        for event in worker.events(self._budget):
            what = event.pop("event")
            if what == "refused":
                self._result.refusal = event["message"]
                return None
            if what == "invalid":
                raise InvalidArgumentError(
                    f"verify: {event['message']}", "lab.verify_examples"
                )
            if what == "loaded":
                self._kernels = event["kernels"]
            elif what == "kernel":
                index, step = event["index"], {}
                running = True
                tried.clear()
            elif what == "step":
                step = event
                tried.add(step["example"])
            elif what == "report":
                index, step = event["index"] + 1, {}
                self._report(event)
                running = False
            elif what == "end":
                return None
            elif what == "silence":
                worker.kill()
                self._died(
                    index,
                    step,
                    len(tried),
                    "hang",
                    f"no end after {self._budget:g} s (--budget)",
                )
                return self._after(index)
        status = worker.wait()
        if status == 0 and not running:
            return self._after(index - 1)
        self._died(index, step, len(tried), "crash", ended(status))
        return self._after(index)

    def _after(self, index: int) -> int | None:
        if self._kernels is None or index + 1 >= len(self._kernels):
            return None
        return index + 1

    def _report(self, event: dict[str, Any]) -> None:
        """Add the verdict on a kernel; ``event`` is what the worker says."""
        assert self._kernels is not None
        kernel = self._kernels[event.pop("index")]
        mistakes = event.pop("mistakes")
        key = ("op", "variant", "place", "dtype", "library")
        verdict = Verdict(*(kernel[name] for name in key), **event)
        verdict.mistakes = [
            Mistake(verdict.name, command=self._command(verdict, each), **each)
            for each in mistakes
        ]
        self._result.verdicts.append(verdict)

    def _died(
        self,
        index: int,
        step: dict[str, Any],
        examples: int,
        check: str,
        message: str,
    ) -> None:
        if self._kernels is None:
            self._result.refusal = f"while it was loaded: {message}"
            return
        if step:
            message += f" (step: {step['step']})"
        mistake = {
            "check": check,
            "example": step.get("example", -1),
            "threads": step.get("threads", 1),
            "signature": step.get("signature", "before the first example"),
            "message": message,
        }
        self._report(
            {"index": index, "examples": examples, "mistakes": [mistake]}
        )

    def _command(self, verdict: Verdict, mistake: dict[str, Any]) -> str:
        """The command that shows a mistake again."""
        options = self._options
        command = ["sluice-lab", "verify", *options["paths"]]
        for path in options["before"]:
            command += ["--library", path]
        if options["examples"]:
            command += ["--examples", options["examples"]]
        command += ["--kernel", f"{verdict.op}/{verdict.variant}"]
        command += ["--dtype", verdict.dtype]
        if mistake["example"] >= 0:
            command += ["--example", str(mistake["example"])]
            command += ["--threads", str(mistake["threads"])]
        return shlex.join(command)


def verify(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    libraries: Sequence[str | os.PathLike[str]] = (),
    kernel: str | None = None,
    dtype: str | None = None,
    example: int = -1,
    examples: str | os.PathLike[str] | None = None,
    threads: Sequence[int] = (1, 2, 4),
    budget: float = 30,
) -> Verification:
    """Check the kernels of a library, of sources or of a Python file.

    They run in other processes; nothing is loaded into this one.

    Args:
        path: a library (``.so``), a C++ or CUDA source (``.cc``, ``.cu``), a
            list of sources that make one library, or a Python file (``.py``).
        libraries: libraries to load before it, which define its ops.
        kernel: only the kernels of this op, or ``op/variant``.
        dtype: only kernels of this dtype.
        example: only the example of this number; all if -1.
        examples: a file with examples, instead of the op's own.
        threads: numbers of threads to run with.
        budget: seconds after which a step counts as hanging.

    Returns:
        A verdict for each kernel, true if all are right; print it.

    Raises:
        NotFoundError: there is no such file or kernel.
        InvalidArgumentError: a file of another kind.
    """
    one = isinstance(path, (str, os.PathLike))
    paths = [os.fspath(file) for file in ([path] if one else path)]
    for file in (*paths, *map(os.fspath, libraries), examples):
        if file is not None and not os.path.isfile(file):
            raise NotFoundError(
                f"verify: there is no file {os.fspath(file)}", "lab.verify_file"
            )
    alone = (".py", ".so") if len(paths) == 1 else ()
    wrong = [file for file in paths if not file.endswith((*alone, *ENDINGS))]
    if wrong or not paths:
        raise InvalidArgumentError(
            f"verify: {', '.join(wrong) or 'no file'}: expected sources of one "
            f"library, *{', *'.join(ENDINGS)}, or a single file: a library, "
            "*.so, or a Python file, *.py",
            "lab.verify_kind",
        )
    options = {
        "before": [os.fspath(library) for library in libraries],
        "kernel": kernel,
        "dtype": dtype,
        "example": example,
        "examples": None if examples is None else os.fspath(examples),
        "threads": list(threads),
    }
    return _Job(paths, options, budget).run()


def add_parser(commands: Any) -> None:
    """Add the command ``verify``."""
    parser = commands.add_parser(
        "verify",
        help="check kernels of your own, of a library, sources or Python file",
        description=_ABOUT,
    )
    parser.set_defaults(run=run)
    arguments.add(
        parser, "files", "LIBRARY",
        "a .so or .py file, or the .cc and .cu files of one library", nargs="+",
    )
    arguments.add(
        parser, "--library", "FILE",
        "load it before, for the ops that LIBRARY is for", several=True,
    )
    arguments.add(parser, "--kernel", "OP[/VARIANT]", "only this")
    arguments.add(parser, "--dtype", None, "only kernels of this dtype")
    arguments.add(
        parser, "--example", "N", "only this one, from 0 on",
        type=arguments.index,
    )
    arguments.add(
        parser, "--examples", "FILE",
        "examples of your own, one JSON object a line",
    )
    arguments.add(
        parser, "--threads", "N,N", "numbers of threads to run with",
        dest="thread_counts", type=arguments.counts, default=[1, 2, 4],
    )
    arguments.add_seconds(
        parser, "--budget", 30, "after which a step counts as hanging"
    )
    arguments.add(parser, "--json", "FILE", "verdicts as JSON")


def run(parsed: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    try:
        result = verify(
            parsed.files,
            libraries=parsed.library,
            kernel=parsed.kernel,
            dtype=parsed.dtype,
            example=-1 if parsed.example is None else parsed.example,
            examples=parsed.examples,
            threads=parsed.thread_counts,
            budget=parsed.budget,
        )
    except (NotFoundError, InvalidArgumentError) as error:
        print(f"sluice-lab: {error}", file=sys.stderr)
        return 2
    text.show(result)
    if parsed.json:
        with open(parsed.json, "w", encoding="utf-8") as file:
            json.dump(result.to_json(), file, indent=1)
    return 0 if result else 1

