"""Fits what the counts of kernels cost on this machine (``SLUICE_COSTS``)."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np

from sluice import _lab
from sluice.errors import FailedPreconditionError

from . import arguments

# Rows with fewer samples keep their costs.
_FEWEST = 12


class Samples:
    """Measured calls of the kernels of one row of costs.

    Attributes:
        seconds: of a call, measured.
        fixed: of these, for calling the kernel and starting its loops.
        counted: for each call the seconds of each count if its cost were 1.
        operations, overlap: for each count, whether it is of operations, or of
            the bytes that are read and written meanwhile.
    """

    def __init__(
        self,
        seconds: Any,
        fixed: Any,
        counted: Any,
        operations: Any,
        overlap: Any,
    ) -> None:
        self.seconds: np.ndarray = np.asarray(seconds, float)
        self.fixed: np.ndarray = np.asarray(fixed, float)
        self.counted: np.ndarray = np.asarray(counted, float)
        self.operations = np.asarray(operations, bool)
        self.overlap = np.asarray(overlap, bool)

    def terms(self, costs: np.ndarray) -> np.ndarray:
        """The counted seconds, without those of the shorter part of two that
        overlap."""
        arithmetic = self.counted @ (costs * self.operations)
        memory = self.counted @ (costs * self.overlap)
        longer = arithmetic >= memory
        left_out = np.where(longer[:, None], self.overlap, self.operations)
        return self.counted * ~left_out

    def ratios(self, costs: np.ndarray) -> np.ndarray:
        """Predicted over measured seconds."""
        return (self.fixed + self.terms(costs) @ costs) / self.seconds


def nonnegative(
    matrix: np.ndarray, right: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """The x >= 0 with the smallest x' matrix x / 2 - right' x.

    `matrix` is symmetric and positive definite. By coordinate descent.
    """
    x = start.copy()
    for _ in range(1000):
        before = x.copy()
        for i in range(len(x)):
            slope = matrix[i] @ x - right[i]
            x[i] = max(x[i] - slope / matrix[i, i], 0)
        if np.abs(x - before).max() <= 1e-7 * max(np.abs(x).max(), 1e-30):
            break
    return x


def fit(samples: Samples, costs: np.ndarray) -> np.ndarray:
    """Costs with the smallest sum of |log(predicted / measured)|.

    Least squares, weighted again and again by the errors' inverse, so that a
    few odd times count little. `costs` are the start; what the samples do not
    tell apart stays near it.
    """
    used = np.flatnonzero((samples.counted > 0).any(axis=0))
    prior = np.maximum(costs[used], 1e-3)
    # In these units all costs start with 1.
    scaled = np.ones(len(used))
    found = costs.copy()
    for _ in range(50):
        found[used] = scaled * prior
        terms = samples.terms(found)[:, used] * prior / samples.seconds[:, None]
        wanted = 1 - samples.fixed / samples.seconds
        ratios = terms @ scaled + 1 - wanted
        errors = np.maximum(np.abs(ratios - 1), 0.02)
        weights = 1 / (errors * np.maximum(ratios, 0.1))
        keep = 0.3 / np.maximum(scaled, 1) ** 2
        matrix = (terms * weights[:, None]).T @ terms + np.diag(keep)
        right = terms.T @ (weights * wanted) + keep
        before, scaled = scaled, nonnegative(matrix, right, scaled)
        # Which part is longer may change to and fro: half a step ends that.
        scaled = (before + scaled) / 2
        if np.abs(scaled - before).max() < 1e-4:
            break
    found[used] = scaled * prior
    return found


def off_by(ratios: np.ndarray) -> tuple[float, float]:
    """The median ratio, and the factor that 90 % of the ratios are within."""
    factors = np.maximum(ratios, 1 / np.maximum(ratios, 1e-9))
    return float(np.median(ratios)), float(np.quantile(factors, 0.9))


def measure(seconds: float, seed: int, threads: int) -> dict[str, Samples]:
    """Measure kernels over drawn ops for about that long, by rows of costs."""
    _, operations, overlap = zip(*_lab._cost_counts(), strict=True)
    end = time.monotonic() + seconds
    drawn: dict[str, list[tuple[float, float, list[float]]]] = {}
    count = 0
    while time.monotonic() < end:
        # One batch in five has volumes, whose kernels are slow.
        for row, *sample in _lab._cost_samples(
            seed, 5, seed % 5 == 4, threads, 0.02
        ):
            drawn.setdefault(row, []).append(tuple(sample))
            count += 1
        seed += 1
        if sys.stderr.isatty():
            print(
                f"{count} times of {len(drawn)} kernels",
                end="\r",
                file=sys.stderr,
            )
    return {
        row: Samples(*zip(*samples, strict=True), operations, overlap)
        for row, samples in sorted(drawn.items())
    }


def fit_rows(
    measured: dict[str, Samples],
) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Fit the rows: their costs by name, and a table of what that changes."""
    names = [name for name, *_ in _lab._cost_counts()]
    rows: dict[str, dict[str, float]] = {}
    table = [
        "predicted / measured: the median, and the factor of 90 %",
        f"{'kernel':44} {'times':>5} {'before':>14} {'after':>14}",
    ]
    for row, samples in measured.items():
        before = np.asarray(_lab._costs(row))
        old_errors = off_by(samples.ratios(before))
        line = (
            f"{row:44} {len(samples.seconds):5} "
            f"{old_errors[0]:7.2f} {old_errors[1]:6.2f}"
        )
        if len(samples.seconds) < _FEWEST:
            table.append(f"{line}   too few times to fit")
            continue
        after = fit(samples, before)
        new_errors = off_by(samples.ratios(after))
        line = f"{line} {new_errors[0]:7.2f} {new_errors[1]:6.2f}"
        if new_errors[1] > old_errors[1]:
            after = before
            line += "   worse: unchanged"
        table.append(line)
        used = (samples.counted > 0).any(axis=0)
        rows[row] = {
            name: float(f"{after[i]:.4g}")
            for i, name in enumerate(names)
            if used[i]
        }
    return rows, table


def to_text(rows: dict[str, dict[str, float]]) -> str:
    """The file of costs, with a line for each row."""
    lines = ",\n".join(
        f"  {json.dumps(row)}: {json.dumps(costs)}"
        for row, costs in rows.items()
    )
    machine = json.dumps(_lab._machine_id()[0])
    return (
        f'{{"kind": "costs", "machine": {machine}, "costs": {{\n{lines}\n}}}}\n'
    )


def add_parser(commands: Any) -> None:
    """Add the command ``fit``."""
    parser = commands.add_parser(
        "fit",
        help="fit the costs that estimates use to this machine (minutes)",
        description="Measures kernels over ops of well-known networks, fits "
        "the costs that\nestimates use, and writes them to a file. Processes "
        "with\nSLUICE_COSTS=FILE use it. Best while nothing else runs.\n"
        "  sluice-lab fit --seconds 300 --output costs.json",
    )
    arguments.add_seconds(parser, "--seconds", 300, "for all measurements")
    arguments.add(
        parser, "--seed", None, "of the ops", type=arguments.count,
        default=1000,
    )
    arguments.add(
        parser, "--output", "FILE",
        "where the costs are written; by default costs-ID.json in this "
        "folder, ID being the machine's",
    )
    parser.set_defaults(run=_run)


def _run(parsed: argparse.Namespace) -> None:
    output = parsed.output = (
        parsed.output or f"costs-{_lab._machine_id()[1]}.json"
    )
    arguments.check_files(parsed)
    measured = measure(parsed.seconds, parsed.seed, parsed.threads or 1)
    rows, table = fit_rows(measured)
    print("\n".join(table))
    if not rows:
        raise FailedPreconditionError(
            f"{parsed.seconds:g} seconds were too short to fit any kernel: "
            "give --seconds more",
            "lab.fit_seconds",
        )
    with open(output, "w", encoding="utf-8") as file:
        file.write(to_text(rows))
    print(f"SLUICE_COSTS={output} uses these costs")
