"""All kernels of one op over a range of sizes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import sluice as sl
from sluice.errors import InvalidArgumentError

# Shapes for ops that do not take all inputs as [64, n]. One more entry, attrs,
# where the op has attributes without a default.
_SHAPES: dict[str, dict[str, Any]] = {
    "conv2d": {
        "Input": "8, 16, n, n",
        "Filter": "32, 16, 3, 3",
        "attrs": {"paddings": [1, 1]},
    },
    "pool2d": {"X": "8, 16, n, n", "attrs": {"ksize": [2, 2]}},
    "matmul": {"X": "n, n", "Y": "n, n"},
    "mul": {"X": "32, n", "Y": "n, n"},
    "manhattan_distance": {"X": "n, 64", "Y": "n, 64"},
    "lookup_table": {"W": "1000, n", "Ids": "64, 1"},
    "bias_add": {"X": "64, n", "Bias": "n"},
    "batch_norm": {
        "X": "8, n, 14, 14",
        "Scale": "n",
        "Bias": "n",
        "Mean": "n",
        "Variance": "n",
    },
    "softmax_with_cross_entropy": {"Logits": "64, n", "Label": "64, 1"},
    "top_k": {"X": "64, n", "attrs": {"k": 1}},
    "sgd": {"LearningRate": "1"},
    "momentum": {"LearningRate": "1", "attrs": {"mu": 0.9}},
    "adam": {"LearningRate": "1", "Beta1Pow": "1", "Beta2Pow": "1"},
    "fill_constant": {"attrs": {"shape": ["n"], "value": 1.0}},
}


@dataclass
class Race:
    """Times of kernels by size, in seconds; nan where one was not timed."""

    op: str
    sizes: list[int]
    medians: dict[str, list[float]] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)

    def winners(self) -> list[str]:
        """The fastest kernel for each size; "" where none was timed."""
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
        """Between which sizes another kernel becomes the fastest."""
        winners = self.winners()
        return [
            f"between {self.sizes[i]} and {self.sizes[i + 1]}: "
            f"{winners[i]} -> {winners[i + 1]}"
            for i in range(len(winners) - 1)
            if winners[i] != winners[i + 1] and winners[i] and winners[i + 1]
        ]

    def __str__(self) -> str:
        names = list(self.medians)
        rows = [["n", *names]]
        winners = self.winners()
        for i, size in enumerate(self.sizes):
            cells = [
                "-"
                if np.isnan(self.medians[name][i])
                else _time(self.medians[name][i])
                + (" *" if name == winners[i] else "  ")
                for name in names
            ]
            rows.append([str(size), *cells])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True))
            for row in rows
        ]
        lines += self.crossings()
        lines += [f"{name}: {text}" for name, text in self.messages.items()]
        return "\n".join(line.rstrip() for line in lines)

    def to_json(self) -> dict[str, Any]:
        """What json.dump takes; None where a kernel was not timed."""
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
        axes.set(xscale="log", yscale="log", xlabel="n", ylabel="us a call")
        axes.set_title(self.op)
        axes.grid(True, which="both", alpha=0.3)
        axes.legend()
        figure.savefig(path)
        pyplot.close(figure)


def _time(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.2f} us"
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _evaluate(text: str, n: int, what: str) -> Any:
    """A number or list in which ``n`` and + - * // stand for numbers."""

    def value(node: ast.expr) -> Any:
        if isinstance(node, (ast.List, ast.Tuple)):
            return [value(item) for item in node.elts]
        if isinstance(node, ast.Name) and node.id == "n":
            return n
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.BinOp):
            left, right = value(node.left), value(node.right)
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Sub):
                return left - right
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, ast.FloorDiv) and right:
                return left // right
        raise ValueError

    try:
        return value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError):
        raise InvalidArgumentError(
            f"{what}: expected numbers, n, and + - * // of them, such as "
            f"'8, 16, n, n', got {text!r}",
            "lab.expression",
        ) from None


def _shape(text: str, n: int, what: str) -> list[int]:
    sizes = _evaluate(text, n, what)
    sizes = sizes if isinstance(sizes, list) else [sizes]
    if not all(isinstance(s, int) and s >= 0 for s in sizes):
        raise InvalidArgumentError(
            f"{what}: expected sizes of 0 or more for n = {n}, got {sizes}",
            "lab.shape",
        )
    return sizes


def _one_op(
    op: str,
    n: int,
    shapes: Mapping[str, str],
    attrs: Mapping[str, Any],
    dtype: str,
) -> tuple[sl.Program, dict[str, np.ndarray]]:
    schema = sl._core._schema(op)
    names = [argument["name"] for argument in schema["inputs"]]
    for name in shapes:
        if name not in names:
            raise InvalidArgumentError(
                f"{op}: there is no input {name}; its inputs are "
                + ", ".join(names),
                "lab.input",
            )
    known = _SHAPES.get(op, {})
    random = np.random.default_rng(0)
    program, feed, arguments = sl.Program(), {}, {}
    for argument in schema["inputs"]:
        name = argument["name"]
        text = shapes.get(name, known.get(name))
        if text is None and argument["optional"]:
            continue
        shape = _shape(text or "64, n", n, f"{op}: shape of {name}")
        kind = argument["dtype"]
        allowed = schema["type_vars"].get(kind, [kind])
        # The first type variable is the kernel's dtype; others are mostly
        # those of indices and labels, of which 0 is one.
        if kind == next(iter(schema["type_vars"]), None) and dtype in allowed:
            chosen = dtype
        else:
            chosen = "int64" if "int64" in allowed else allowed[-1]
        feed[name] = (
            np.zeros(shape, chosen)
            if np.dtype(chosen).kind in "iub"
            else random.random(shape).astype(chosen)
        )
        arguments[name] = program.data(name, list(shape), chosen)
    values = {**known.get("attrs", {}), **attrs}
    values = {
        key: [n if item == "n" else item for item in value]
        if isinstance(value, list)
        else value
        for key, value in values.items()
    }
    program.append_op(op, arguments, attrs=values)
    return program, feed


def race(
    op: str,
    sizes: Sequence[int] = (4, 16, 64, 256, 1024),
    shapes: Mapping[str, str] | None = None,
    attrs: Mapping[str, Any] | None = None,
    dtype: str = "float32",
    budget: float = 2,
    place: Any = None,
    progress: Callable[[int], Any] | None = None,
) -> Race:
    """Time all kernels of an op that give right results, for each size.

    What is measured is kept as records, as by ``sl.tune``. A kernel much
    slower than the fastest is timed once.

    Args:
        op: the op's type.
        sizes: what ``n`` stands for in shapes.
        shapes: of inputs, such as ``{"X": "8, 16, n, n"}``; others have a
            default, mostly ``64, n``.
        attrs: attributes of the op.
        dtype: of the inputs that may have it.
        budget: seconds for each size.
        place: the CPU if None.
        progress: called with each size before it is measured.

    Raises:
        NotFoundError: there is no such op; lists near names.
        SluiceError: the op refuses these shapes.
    """
    sl._core._schema(op)
    result = Race(op, [int(size) for size in sizes])
    for i, size in enumerate(result.sizes):
        if progress is not None:
            progress(size)
        program, feed = _one_op(op, size, shapes or {}, attrs or {}, dtype)
        tuned = sl.tune(
            program, feed, None, budget, False, place=place, again=True
        )
        for signature in tuned.signatures:
            for kernel in signature.kernels:
                name = f"{kernel.library.lower()}/{kernel.variant}"
                if str(kernel.place) != str(sl.CPUPlace()):
                    name = f"{kernel.place} {name}"
                row = result.medians.setdefault(
                    name, [float("nan")] * len(result.sizes)
                )
                if kernel.rounds > 0:
                    row[i] = kernel.median
                if kernel.message:
                    result.messages.setdefault(
                        name, f"n = {size}: {kernel.message}"
                    )
        if tuned.left_out:
            result.messages[f"n = {size}"] = (
                "not measured in full: more budget would help"
            )
        if tuned.cancelled:
            break
    return result
