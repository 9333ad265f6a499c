"""Merges the traces of all ranks."""

from __future__ import annotations

import base64
import json
import os
import platform
import zlib
from pathlib import Path
from time import monotonic_ns
from typing import Any, NamedTuple

from .. import _core
from ..errors import InvalidArgumentError, NotFoundError
from ..feed_values import integer
from .arguments import check_path
from .together import together
from .world import rank

_ROUNDS = 20  # of comparing clocks


def gather_trace(
    path: str | os.PathLike[str], trace: str, start_ns: int | None = None
) -> None:
    """Write the traces of all ranks as one file. All ranks call it together.

    Rank 0 writes a file for Perfetto (ui.perfetto.dev) or chrome://tracing in
    which each rank is a process, with the tracks of its trace::

        run = exe.run_traced(feed=feed, fetch_list=[optimizer.loss])
        sl.distributed.gather_trace("ranks.json", run.trace, run.start_ns)

    Times are those of rank 0's clock. Ranks of one host share that clock. For
    other hosts, the ranks synchronise 20 times and read their clocks before and
    after. No rank leaves before all have arrived, so each time bounds the
    difference to rank 0's clock from both sides. The middle of the remaining
    interval is used; half of its width is the error in the process's name.

    Args:
        path: the file, which rank 0 can write.
        trace: this rank's trace in Chrome's format, from
            :meth:`sluice.Executor.run_traced` or from a profile.
        start_ns: ``time.monotonic_ns()`` at time 0 of the trace; if it is None
            on all ranks, all traces begin at 0.

    Raises:
        InvalidArgumentError: ``path`` is not a path; ``trace`` is not a trace;
            ``start_ns`` is not an integer from 0 to 2**63 - 1, or is None on
            some ranks only.
        NotFoundError: rank 0 cannot write the file.
        FailedPreconditionError: a rank calls another function.

        Each is raised on all ranks and names the failing ranks.
    """
    what = "gather_trace"
    packed = together(what, lambda: _packed(path, trace, start_ns))
    clocks = _clocks(what)
    starts = [start for start, _ in packed]
    if None in starts and any(start is not None for start in starts):
        raise InvalidArgumentError(
            f"{what}: start_ns is None on rank {starts.index(None)}, but not "
            "on all ranks",
            "distributed.trace_start",
        )

    def write() -> None:
        events: list[dict[str, Any]] = []
        begins = [
            None if start is None else start - clock.offset
            for start, clock in zip(starts, clocks, strict=True)
        ]
        origin = None if None in begins else min(begins)
        for number, (_, text) in enumerate(packed):
            shift = 0 if origin is None else (begins[number] - origin) / 1000
            process = {"pid": number}
            for event in json.loads(zlib.decompress(base64.b64decode(text))):
                if event.get("name") == "process_name":
                    continue
                event |= process
                if "ts" in event:
                    event["ts"] = round(event["ts"] + shift, 3)
                events.append(event)
            named = {"name": clocks[number].process_name(number)}
            events += [
                {"ph": "M", "name": "process_name", "args": named, **process},
                {
                    "ph": "M",
                    "name": "process_sort_index",
                    "args": {"sort_index": number},
                    **process,
                },
            ]
        _write(Path(path), {"displayTimeUnit": "ns", "traceEvents": events})

    together(what, write, range(1))


def _packed(
    path: str | os.PathLike[str], trace: str, start_ns: int | None
) -> tuple[int | None, str]:
    check_path("gather_trace", path)
    try:
        events = json.loads(trace)
        events = events["traceEvents"] if isinstance(events, dict) else events
        good = all(isinstance(event, dict) for event in events)
    except (TypeError, ValueError, KeyError):
        good = False
    if not good:
        raise InvalidArgumentError(
            f"gather_trace: trace is {_core._shown(trace)}; expected JSON in "
            'Chrome\'s trace format, {"traceEvents": [...]}',
            "distributed.trace",
        )
    if start_ns is not None:
        number = integer(start_ns, 0, 1 << 63)
        if number is None:
            raise InvalidArgumentError(
                f"gather_trace: start_ns is {_core._shown(start_ns)}; expected "
                "nanoseconds as an int from 0 to 2**63 - 1, or None",
                "distributed.trace_start_number",
            )
        start_ns = number
    text = zlib.compress(json.dumps(events).encode(), 1)
    return start_ns, base64.b64encode(text).decode()


def _write(path: Path, trace: dict[str, Any]) -> None:
    try:
        with path.open("w", encoding="utf-8") as file:
            json.dump(trace, file, separators=(",", ":"))
    except OSError as error:
        raise NotFoundError(
            f"cannot write {path}: {error.strerror}", "distributed.trace_file"
        ) from error


class _Clock(NamedTuple):
    """A rank's clock, relative to that of rank 0."""

    host: str
    offset: int  # nanoseconds ahead of rank 0
    error: int  # upper bound, in nanoseconds

    def process_name(self, number: int) -> str:
        name = f"rank {number} on {self.host}"
        if self.error:
            name += f", times within {self.error / 1000:.0f} us"
        return name


def _clocks(what: str) -> list[_Clock]:
    meetings = []
    for _ in range(_ROUNDS):
        come = monotonic_ns()
        _core._exchange(what, b"")
        meetings.append((come, monotonic_ns()))
    notes = together(what, lambda: (platform.node(), _boot(), meetings))
    _, boot_of_0, meetings_of_0 = notes[0]
    clocks = []
    for host, boot, own in notes:
        # Rank 0 arrived before this rank left, and vice versa.
        high = min(
            left - come_0
            for (_, left), (come_0, _) in zip(own, meetings_of_0, strict=True)
        )
        low = max(
            come - left_0
            for (come, _), (_, left_0) in zip(own, meetings_of_0, strict=True)
        )
        # A clock namespace can make clocks of one host differ, too.
        if boot == boot_of_0 and low <= 0 <= high:
            clocks.append(_Clock(host, 0, 0))
        else:
            middle, error = (low + high) // 2, (high - low + 1) // 2
            clocks.append(_Clock(host, middle, error))
    return clocks


def _boot() -> str:
    """An id that is equal for processes whose clocks began together."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"unknown, of rank {rank()}"
