"""Supervises processes that run foreign kernels, which may crash or hang."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

_PAST_THE_END = "as when it reads or writes past the end of a tensor"
_HINTS = {
    "SIGSEGV": _PAST_THE_END,
    "SIGBUS": _PAST_THE_END,
    "SIGABRT": "as when it writes over memory that is not its own",
    "SIGFPE": "as when it divides an integer by 0",
    "SIGILL": "as when it needs instructions that this CPU has not",
    "SIGKILL": "as when memory runs out",
}


class Worker:
    """A Python module in a separate process, which reports events.

    It is started with the job, as JSON, and a file descriptor to which it
    writes a line of JSON for each event. Use it in a ``with`` statement: at its
    end the process has ended.

    Args:
        module: the module to run, ``python -m module JOB FD``.
        job: a value for json.dumps.
        capture: whether its output goes to our standard error.
    """

    def __init__(
        self, module: str, job: dict[str, Any], capture: bool = True
    ) -> None:
        self._read, write = os.pipe()
        self.killed = False
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, json.dumps(job), str(write)],
                pass_fds=[write],
                stdout=_fileno(sys.stderr) if capture else None,
                env=dict(
                    os.environ,
                    PYTHONPATH=os.pathsep.join(filter(None, sys.path)),
                ),
            )
        finally:
            os.close(write)

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._read)
        if kind is not None:
            self._process.kill()
        self._process.wait()

    def events(self, patience: float) -> Iterator[dict[str, Any]]:
        """Yield its events until it ends.

        ``{"event": "silence"}`` comes last if there is no event for
        ``patience`` seconds.
        """
        rest = b""
        while True:
            ready, _, _ = select.select([self._read], [], [], patience)
            if not ready:
                yield {"event": "silence"}
                return
            data = os.read(self._read, 1 << 16)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield json.loads(line)

    def kill(self) -> None:
        """Kill the process."""
        self.killed = True
        self._process.kill()

    def wait(self) -> int:
        """Wait for its end; return the exit status, or minus a signal."""
        return self._process.wait()


@contextlib.contextmanager
def reporting() -> Iterator[tuple[dict[str, Any], Callable[..., None]]]:
    """In a worker: its job, and a function that reports an event."""
    with os.fdopen(int(sys.argv[2]), "w", encoding="utf-8") as pipe:

        def say(event: str, **what: Any) -> None:
            pipe.write(json.dumps({"event": event, **what}) + "\n")
            pipe.flush()

        yield json.loads(sys.argv[1]), say


def _fileno(stream: Any) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None


def ended(status: int) -> str:
    """How a process ended, from the result of Worker.wait."""
    if status >= 0:
        return f"it ended the process with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        return f"the process ended by signal {-status}"
    hint = _HINTS.get(name)
    return f"the process ended by {name}" + (f", {hint}" if hint else "")
