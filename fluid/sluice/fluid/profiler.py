"""``fluid.profiler``: times of the kernels of runs."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from .. import _core
from ..errors import InvalidArgumentError, UnimplementedError

__all__ = [
    "cuda_profiler", "profiler", "reset_profiler", "start_profiler",
    "stop_profiler",
]  # fmt: skip

_KEYS = ("calls", "total", "min", "max", "ave")
_traces: list[str] | None = None  # of the runs since the start


def traced(executor: Any, *arguments: Any) -> list[Any]:
    """Run, and keep the trace between start and stop."""
    if _traces is not None:
        try:
            made = executor.run_traced(*arguments)
        except UnimplementedError:  # it runs in several stretches
            return executor.run(*arguments)
        _traces.append(made.trace)
        return made.results
    return executor.run(*arguments)


def start_profiler(state: str = "All", tracer_option: str = "Default") -> None:
    """Record the runs that follow."""
    global _traces
    _traces = [] if _traces is None else _traces


def reset_profiler() -> None:
    """Forget the runs that are recorded."""
    if _traces is not None:
        _traces.clear()


def stop_profiler(
    sorted_key: str | None = None, profile_path: str = "/tmp/profile"
) -> None:
    """Print the times of kernels, and write the trace of the last run.

    Args:
        sorted_key: ``"calls"``, ``"total"``, ``"min"``, ``"max"``, ``"ave"``.
        profile_path: a file for ui.perfetto.dev.
    """
    global _traces
    if sorted_key not in (None, "default", *_KEYS):
        raise InvalidArgumentError(
            f"stop_profiler: sorted_key must be one of {_KEYS}, got "
            f"{sorted_key!r}",
            "fluid.profiler_key",
        )
    traces, _traces = _traces or [], None
    times: dict[str, list[float]] = {}
    for trace in traces:
        for event in json.loads(trace)["traceEvents"]:
            if event.get("ph") == "X":
                times.setdefault(event["name"], []).append(event["dur"] / 1000)
    rows = [
        (name, len(all), sum(all), min(all), max(all), sum(all) / len(all))
        for name, all in times.items()
    ]
    if sorted_key in _KEYS:
        rows.sort(
            key=lambda row: row[1 + _KEYS.index(sorted_key)], reverse=True
        )
    print(f"{len(traces)} runs, times in ms")
    print(f"{'kernel':<30}" + "".join(f"{key:>10}" for key in _KEYS))
    for name, calls, *rest in rows:
        numbers = "".join(f"{each:>10.3f}" for each in rest)
        print(f"{name[:29]:<30}{calls:>10}{numbers}")
    if traces:
        _core._replace_file(profile_path, [traces[-1].encode()])


@contextlib.contextmanager
def profiler(
    state: str = "All",
    sorted_key: str | None = None,
    profile_path: str = "/tmp/profile",
    tracer_option: str = "Default",
) -> Iterator[None]:
    """Record the runs of the block; see :func:`stop_profiler`."""
    start_profiler(state, tracer_option)
    try:
        yield
    finally:
        stop_profiler(sorted_key, profile_path)


def cuda_profiler(
    output_file: str, output_mode: str | None = None, config: Any = None
) -> Any:
    """:func:`profiler`, whose trace of the last run is ``output_file``; mode
    and config have no effect.
    """
    return profiler(profile_path=output_file)
