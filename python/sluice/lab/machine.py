"""Measures the machine's figures, which estimates are made of."""

from __future__ import annotations

import argparse
import json
from typing import Any

import sluice as sl
from sluice import _lab
from sluice.errors import FailedPreconditionError

from . import arguments, text
from .records import kept

# Members of the figures: rates have a unit, overheads are times.
_OPERATIONS = ("float32", "float64", "int8", "bfloat16")
_OVERHEADS = ("parallel_for", "kernel_call", "library_call")


def _figure(name: str, value: Any) -> str:
    if name == "date":
        return value or "typical values for this CPU; --measure 3 measures them"
    if not isinstance(value, float):
        return str(value)
    if name in _OVERHEADS:
        return text.time(value)
    unit = "GOP/s" if name in _OPERATIONS else "GB/s"
    return f"{value / 1e9:.4g} {unit}"


def machine_table(threads: int) -> str:
    """The machine's figures that estimates use, as a table.

    Rates are for one thread unless the name says otherwise.
    """
    figures = json.loads(_lab._machine_figures(threads))
    return "\n".join(
        f"{name:32} {_figure(name, value)}"
        for name, value in figures.items()
        if name != "kind"
    )


def _measure(seconds: float) -> tuple[dict[str, Any], bool]:
    """Figures, and whether other programs used a tenth of the CPU time."""
    figures, waited = _lab._measure_machine(seconds)
    return json.loads(figures), waited > seconds / 10


def measure_machine(seconds: float) -> dict[str, Any]:
    """The best figures of three measurements."""
    return _best([_measure(seconds / 3)[0] for _ in range(3)])


def _best(measured: list[dict[str, Any]]) -> dict[str, Any]:
    """The best of each figure: other programs make figures only worse.

    If all measurements were disturbed, a cache still counts as at least as fast
    as the next larger one, and all threads together as one.
    """
    best = dict(measured[-1])
    for key, value in best.items():
        if isinstance(value, float):
            choose = min if key in _OVERHEADS else max
            best[key] = choose(figures[key] for figures in measured)
    levels = ["memory", "l3", "l2", "l1"]
    for larger, level in zip([*levels[:1], *levels], levels, strict=False):
        best[level] = max(best[level], best[larger])
        together = f"{level}_all_threads"
        best[together] = max(
            best[together], best[f"{larger}_all_threads"], best[level]
        )
    return best


def keep_machine(seconds: float) -> None:
    """Measure the machine, for later estimates.

    Uses the current number of threads of kernels, and writes the figures to the
    user's record file.

    Raises FailedPreconditionError, and keeps nothing, if other programs used
    the CPUs in all of three measurements.
    """
    measured = [_measure(seconds / 3) for _ in range(3)]
    quiet = [figures for figures, disturbed in measured if not disturbed]
    if not quiet:
        raise FailedPreconditionError(
            "nothing is kept of the machine: other programs had the CPUs while "
            "it was measured; try again when they have ended",
            "lab.machine_disturbed",
        )
    _lab._keep_machine_figures(json.dumps(_best(quiet)))


def add_parser(commands: Any) -> None:
    """Add the command ``machine``."""
    machine = commands.add_parser(
        "machine",
        help="show the machine's figures that estimates use, or measure them",
        description="Prints what the machine can do, as estimates assume: "
        "typical values for its CPU,\nunless it was measured. Kernels that "
        "have records are chosen by those.\n"
        "  sluice-lab machine --measure 3",
    )
    arguments.add(
        machine, "--measure", "SECONDS",
        "measure it first, and keep that for all processes; best before "
        "tuning, and while nothing else runs",
        type=arguments.seconds,
    )
    machine.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> None:
    if parsed.measure:
        keep_machine(parsed.measure)
    print(machine_table(sl.num_threads()))
    if parsed.measure:
        print(f"kept: {kept()}")
