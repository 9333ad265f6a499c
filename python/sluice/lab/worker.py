"""The process in which ``verify`` runs kernels.

``python -m sluice.lab.worker JOB FD`` gets a job as JSON, and a file
descriptor. It writes a line of JSON for each event: the loaded kernels, each
step before it begins, a report for each kernel. So its reader knows which step
failed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import sluice as sl
from sluice import _core, _lab, python_kernels
from sluice.kernel_sources import ENDINGS

from .supervise import reporting

# The variant name for the gradient of an op from a library.
GRADIENT = "gradient"


def load(path: str, *others: str) -> list[dict[str, str]]:
    """Load a library, compile the sources of one or run a Python file.

    Returns the new kernels. The gradients of new ops are at the end.

    Raises SluiceError, and what the Python file raises.
    """
    if not path.endswith(".py"):
        known = set(_core._op_names())
        is_source = path.endswith(ENDINGS)
        add = sl.compile_kernels if is_source else sl.load_kernel_library
        kernels = [kernel._asdict() for kernel in add(path, *others)]
        return kernels + [
            {
                "op": op,
                "place": "cpu",
                "dtype": "float64",
                "library": "differences",
                "variant": GRADIENT,
            }
            for op in _core._op_names()
            if op not in known and _core._schema(op)["differentiable"]
        ]
    before = set(python_kernels._origins)
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(
        f"sluice_kernels_{name}", path
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with contextlib.redirect_stdout(sys.stderr):
        spec.loader.exec_module(module)
    return [
        kernel._asdict()
        for op, variant, place in python_kernels._origins
        if (op, variant, place) not in before
        for kernel in sl.kernels(op)
        if (kernel.library, kernel.variant, kernel.place)
        == ("PYTHON", variant, place)
    ]


def matches(
    kernel: dict[str, str], name: str | None, dtype: str | None
) -> bool:
    """Whether a kernel matches OP or OP/VARIANT, and a dtype."""
    both = f"{kernel['op']}/{kernel['variant']}"
    return (name is None or name in (kernel["op"], both)) and (
        dtype is None or dtype == kernel["dtype"]
    )


class _Worker:
    def __init__(self, job: dict[str, Any], say: Callable[..., None]) -> None:
        self._job, self._say = job, say
        self._index = -1

    def _before(
        self, example: int, threads: int, signature: str, step: str
    ) -> None:
        self._say(
            "step",
            index=self._index,
            example=example,
            threads=threads,
            signature=signature,
            step=step,
        )

    @contextlib.contextmanager
    def _busy(self) -> Iterator[None]:
        """Say each second that the compiler is at work: it does not hang."""
        done = threading.Event()

        def beat() -> None:
            while not done.wait(1):
                self._say("compiling")

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def run(self) -> None:
        job = self._job
        try:
            for path in job["before"]:
                load(path)
            if job["paths"][0].endswith(ENDINGS):
                with self._busy():
                    sl.compile_library(*job["paths"])
            kernels = load(*job["paths"])
        except Exception as error:
            text = str(error)
            if not isinstance(error, sl.SluiceError):
                text = python_kernels.describe(error)
            self._say("refused", message=text)
            return
        self._say("loaded", kernels=kernels)
        examples = ""
        if job["examples"]:
            try:
                with open(job["examples"], encoding="utf-8") as file:
                    examples = file.read()
                complaint = self._foreign(kernels, examples)
            except UnicodeDecodeError:
                complaint = f"{job['examples']} is no text"
            except sl.SluiceError as error:
                complaint = str(error)
            if complaint:
                self._say("invalid", message=complaint)
                return
        for self._index, kernel in enumerate(kernels):
            if self._index < job["start"] or not matches(
                kernel, job["kernel"], job["dtype"]
            ):
                continue
            self._say("kernel", index=self._index)
            report = self._check(kernel, examples)
            if report is None:
                return
            self._say("report", index=self._index, **report)
            if any(m["check"] == "device" for m in report["mistakes"]):
                return  # other kernels need a working device
        self._say("end")

    def _check(
        self, kernel: dict[str, str], examples: str
    ) -> dict[str, Any] | None:
        """The report on a kernel, or None after an error of the examples."""
        job = self._job
        origin, number = job["examples"] or "", job["example"]
        if kernel["variant"] == GRADIENT:
            return _lab._check_gradient(
                kernel["op"], examples, origin, number, self._before
            )
        try:
            return _lab._check_kernel(
                kernel, examples, origin, job["threads"], number, self._before
            )
        except sl.SluiceError as error:  # not raised by the kernel
            self._say("invalid", message=str(error))
            return None

    def _foreign(self, kernels: list[dict[str, str]], examples: str) -> str:
        """An error message if no example is of one of the ops, else ""."""
        job = self._job
        ops = _lab._example_ops(examples, job["examples"])
        if not ops:
            return f"{job['examples']}: it has no examples"
        wanted = sorted(
            {
                k["op"]
                for k in kernels
                if matches(k, job["kernel"], job["dtype"])
            }
        )
        if not wanted or set(wanted) & set(ops):
            return ""
        return (
            f"{job['examples']}: its examples are of {', '.join(ops)}, and the "
            f"kernels of {', '.join(wanted)}"
        )


def main() -> None:
    """Do the job of the command line."""
    # A kernel that requests more memory than there is gets an error.
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with reporting() as (job, say):
        _Worker(job, say).run()


if __name__ == "__main__":
    main()
