"""Races all kernels of one op over a range of sizes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import sluice as sl
from sluice.display import preformatted
from sluice.program import unread

from . import text
from .one_op import find_dtype, find_op, one_op, shape_texts

# Columns of a table.
_SIZES = 5


@dataclass(repr=False)
class Race:
    """Times of kernels by size, in seconds; nan if not timed."""

    op: str
    sizes: list[int]
    medians: dict[str, list[float]] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, str] = field(default_factory=dict)

    def winners(self) -> list[str]:
        """The fastest kernel for each size; "" if none was timed."""
        names = []
        for i in range(len(self.sizes)):
            timed = {
                name: row[i]
                for name, row in self.medians.items()
                if not np.isnan(row[i])
            }
            names.append(min(timed, key=timed.__getitem__) if timed else "")
        return names

    def crossings(self) -> list[str]:
        """The sizes between which the fastest kernel changes."""
        winners = self.winners()
        return [
            f"between {self.sizes[i]} and {self.sizes[i + 1]}: "
            f"{winners[i]} -> {winners[i + 1]}"
            for i in range(len(winners) - 1)
            if winners[i] != winners[i + 1] and winners[i] and winners[i + 1]
        ]

    def __repr__(self) -> str:
        kernels = text.count(len(self.medians), "kernel")
        sizes = text.count(len(self.sizes), "size")
        return f"<Race of {self.op}: {kernels}, {sizes}>"

    def _repr_html_(self) -> str:
        return preformatted(str(self))

    def _shapes(self) -> str:
        """A text such as "conv2d: Input [8, 16, n, n], Filter [32, 16, 3, 3]".
        """
        named = ", ".join(f"{k} [{shape}]" for k, shape in self.shapes.items())
        return f"{self.op}: {named}" if named else self.op

    def __str__(self) -> str:
        lines = [text.wrap(self._shapes())]
        winners = self.winners()
        for first in range(0, len(self.sizes), _SIZES):
            some = range(first, min(first + _SIZES, len(self.sizes)))
            rows = [["", *(f"n = {self.sizes[i]}  " for i in some)]]
            for name, row in self.medians.items():
                cells = [
                    "-  "
                    if np.isnan(row[i])
                    else text.time(row[i])
                    + (" *" if name == winners[i] else "  ")
                    for i in some
                ]
                rows.append([name, *cells])
            names = max(len(row[0]) for row in rows)
            rows = [[row[0].ljust(names), *row[1:]] for row in rows]
            lines += text.table(rows, str.rjust)
        if any(np.isnan(row).any() for row in self.medians.values()):
            lines.append("* fastest; -: refused or wrong, or see below")
        else:
            lines.append("* fastest")
        lines += self.crossings()
        lines += [
            text.wrap(f"{name}: {message}")
            for name, message in self.messages.items()
        ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """A value for json.dump; None if a kernel was not timed."""
        return {
            "op": self.op,
            "sizes": self.sizes,
            "seconds": {
                name: [None if np.isnan(s) else s for s in row]
                for name, row in self.medians.items()
            },
            "crossings": self.crossings(),
            "messages": self.messages,
        }

    def save_svg(self, path: str) -> None:
        """Draw times over sizes. Raises ImportError without Matplotlib."""
        import matplotlib

        matplotlib.use("svg")
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(8, 5))
        for name, row in self.medians.items():
            axes.plot(self.sizes, np.asarray(row) * 1e6, "o-", label=name)
        axes.set(xscale="log", yscale="log", xlabel="n", ylabel="us per call")
        if not any(self.winners()):
            axes.set_ylim(1, 10)  # a logarithmic axis needs some range
        axes.set_xticks(self.sizes, labels=map(str, self.sizes))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.set_title(text.wrap(self._shapes(), 0, 0))
        axes.grid(True, alpha=0.3)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
        with matplotlib.rc_context({"svg.fonttype": "none"}):
            figure.savefig(path, bbox_inches="tight")
        pyplot.close(figure)


def _hints(op: str) -> str:
    """Hints that keep passes from replacing the op of a one-op program.

    A pass would make it transposes and an op of another layout.
    """
    sl.kernels(op)  # loads its libraries, with their passes
    return "; ".join(f"exclude pass={name}" for name in sl._core._pass_names())


def _enough(program: sl.Program, feed: Mapping[str, Any], place: Any) -> float:
    """Seconds that suffice to compare and race all kernels of its op.

    From predicted times: comparisons take 3 calls, a race 8, and the reference
    4 calls in float64.
    """
    plan = sl.Executor(place).prepare(program, feed, unread(program))
    seconds = 0.0
    for candidate in json.loads(plan.explain_json())["ops"][0]["candidates"]:
        if not candidate["refusal"]:
            plain = (candidate["library"], candidate["variant"]) == (
                "PLAIN",
                "plain",
            )
            seconds += candidate["predicted_seconds"] * (11 + 8 * plain)
    return 2 * seconds  # doubled for other work on the machine


def _fitting(
    make: Callable[[int], Any], budget: float, place: Any
) -> list[int]:
    """Up to five sizes whose ops are estimated to be measured in time."""
    sizes = []
    for size in (4, 8, 16, 32, 64, 128, 256, 512, 1024):
        if sizes and 2 * _enough(*make(n=size), place) > budget:
            break
        sizes.append(size)
    picks = np.linspace(0, len(sizes) - 1, min(len(sizes), _SIZES))
    return [sizes[round(i)] for i in picks]


def _rounded_up(seconds: float) -> str:
    """Round up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(seconds))
    return f"{next(f * power for f in (1, 2, 5, 10) if f * power >= seconds):g}"


def _left_out(
    tuned: sl._lab.TuneResult,
    program: sl.Program,
    feed: Mapping[str, Any],
    budget: float,
    place: Any,
) -> str:
    """Why times are missing, and how to get them."""
    if tuned.disturbed:
        return "other programs had the CPUs; race it again"
    enough = max(_enough(program, feed, place), 2 * budget)
    return (
        f"the budget of {budget:g} s is too small, about "
        f"{_rounded_up(enough)} s should do"
    )


def race(
    op: str,
    sizes: Sequence[int] | None = None,
    shapes: Mapping[str, str] | None = None,
    attrs: Mapping[str, Any] | None = None,
    dtype: Any = None,
    budget: float = 2,
    place: Any = None,
    progress: Callable[[int], Any] | None = None,
) -> Race:
    """Time all correct kernels of an op, for each size.

    Passes do not replace the op. Times are kept as records, like those of
    ``sl.tune``. A kernel much slower than the fastest is timed once.

    Args:
        op: the op's type.
        sizes: the values of ``n`` in shapes; if None, up to five from 4 to 1024
            that are estimated to fit the budget.
        shapes: shapes of inputs, such as ``{"X": "8, 16, n, n"}``; the default
            is mostly ``64, n``.
        attrs: attributes of the op.
        dtype: of the inputs that may have it; by default the one that the first
            kernel of the op computes, mostly float32.
        budget: seconds for each size.
        place: the CPU if None.
        progress: called with each size before it is measured.

    Raises:
        NotFoundError: there is no such op; lists similar names.
        InvalidArgumentError: passes make the op, or no kernel computes the
            dtype.
        SluiceError: the op rejects these shapes.
    """
    schema = find_op(op)
    dtype = find_dtype(op, dtype, place)
    named = shape_texts(schema, shapes or {})
    with sl.kernel_hints(_hints(op)):
        if sizes is None:
            of_size = partial(
                one_op, op, shapes=shapes or {}, attrs=attrs or {}
            )
            sizes = _fitting(partial(of_size, dtype=dtype), budget, place)
        result = Race(op, [int(size) for size in sizes], shapes=named)
        for i, size in enumerate(result.sizes):
            if progress is not None:
                progress(size)
            program, feed = one_op(op, size, shapes or {}, attrs or {}, dtype)
            tuned = sl.tune(
                program, feed, None, budget, False, place=place, again=True
            )
            _add(result, i, tuned)
            if tuned.left_out and not tuned.cancelled:
                why = _left_out(tuned, program, feed, budget, place)
                result.messages[f"n = {size}"] = f"not measured in full: {why}"
            if tuned.cancelled:
                break
    return result


def _add(result: Race, i: int, tuned: sl._lab.TuneResult) -> None:
    """Add the measurements for size i."""
    for signature in tuned.signatures:
        if signature.op != result.op:
            continue
        for kernel in signature.kernels:
            name = text.kernel(kernel.library, kernel.variant)
            if str(kernel.place) != str(sl.CPUPlace()):
                name = f"{kernel.place} {name}"
            row = result.medians.setdefault(
                name, [float("nan")] * len(result.sizes)
            )
            if kernel.rounds > 0:
                row[i] = kernel.median
            if kernel.message:
                result.messages.setdefault(
                    name, f"n = {result.sizes[i]}: {kernel.message}"
                )
