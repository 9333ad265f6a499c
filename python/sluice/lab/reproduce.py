"""Writes stand-alone scripts that reproduce findings of ``bisect``."""

from __future__ import annotations

import contextlib
import math
import os
import pprint
from collections.abc import Iterator
from typing import Any

import numpy as np

import sluice as sl
from sluice import _lab

_SCRIPT = '''\
"""{ops} with two kernels, on the same inputs.

A: {kernels_a}
B: {kernels_b}
{message}
Written by `sluice-lab bisect`. Exits with 1 where the results differ by more
than ALLOWED, or where B raises.
"""

import pathlib
import statistics
import sys
import time

import numpy as np

import sluice as sl
import sluice.lab

# The largest difference that is taken for rounding.
ALLOWED = {allowed}
PLACE = {place!r}
THREADS = {threads}

# Each op: its type, inputs, outputs, attributes and kernel.
A = {part_a}
B = {part_b}


def arrays(file):
    """Arrays by name; what NumPy cannot store is kept as its bits."""
    stored = np.load(pathlib.Path(__file__).resolve().parent / file)
    kept = {{}}
    for key in stored.files:
        name, _, dtype = key.rpartition(":bits:")
        array = stored[key]
        kept[name or key] = array.view(sl.DType(dtype).dtype) if name else array
    return kept


class Side:
    """One part as a program that can run."""

    def __init__(self, name, part):
        self.part = part
        self.feed = arrays(f"{{name}}_inputs.npz")
        self.program, self.scope = sl.Program(), sl.Scope()
        for key, value in self.feed.items():
            self.program.data(key, value.shape, value.dtype)
        for key, value in arrays(f"{{name}}_parameters.npz").items():
            self.program.persistable(key, value.shape, value.dtype)
            self.scope[key] = value
        with sl.lab.internal_ops():
            for op, inputs, outputs, attributes, hint in part["ops"]:
                self.program.append_op(op, inputs, outputs, attributes, hint)
        # The ops as they are: passes made them.
        self.executor = sl.Executor(PLACE, passes=False)

    def run(self):
        """Results by variable, with axes as in the program."""
        results = self.executor.run(
            self.program, self.feed, self.part["fetches"], self.scope
        )
        return {{
            name: np.moveaxis(array, -1, 1) if channels_last else array
            for (name, channels_last), array in zip(
                self.part["values"], results, strict=True
            )
        }}


def difference(a, b):
    """The largest of all elements, and where."""
    a, b = np.asarray(a, "float64"), np.asarray(b, "float64")
    if a.shape != b.shape:
        return float("inf"), ()
    with np.errstate(invalid="ignore"):
        error = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, abs(a - b))
    error = np.where(np.isnan(error), np.inf, error)
    where = np.unravel_index(np.argmax(error), error.shape)
    return float(error[where]), tuple(int(i) for i in where)


def times(sides, seconds=1.0):
    """Medians; the sides take turns."""
    taken = [[] for _ in sides]
    end = time.perf_counter() + seconds
    while len(taken[0]) < 5 or time.perf_counter() < end:
        for samples, side in zip(taken, sides, strict=True):
            begin = time.perf_counter()
            side.run()
            samples.append(time.perf_counter() - begin)
    return [statistics.median(samples) for samples in taken]


def main():
    """Runs both and compares them; the exit status."""
    sl.set_num_threads(THREADS)
{setup}    a, b = Side("a", A), Side("b", B)
    expected = a.run()
    try:
        found = b.run()
    except sl.SluiceError as error:
        print(f"B raises {{error}}")
        return 1
    differs = False
    for name, value in expected.items():
        if name not in found:
            continue
        largest, where = difference(value, found[name])
        print(f"{{name}}: largest difference {{largest:.6g}}", end="")
        if largest > 0:
            print(
                f" at {{list(where)}}: {{value[where]}} under A, "
                f"{{found[name][where]}} under B",
                end="",
            )
        print()
        differs = differs or largest > ALLOWED
    seconds_a, seconds_b = times([a, b])
    print(
        f"A takes {{seconds_a * 1e6:.1f}} us, B {{seconds_b * 1e6:.1f}} us: "
        f"{{seconds_b / seconds_a:.3f}} times"
    )
    print("the results differ" if differs else "the results agree")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
'''


@contextlib.contextmanager
def internal_ops() -> Iterator[None]:
    """Allow ops in programs of this thread that normally only passes make.

    For parts of plans, which an ``Executor(passes=False)`` runs after the
    passes. Loads the libraries that have such ops.
    """
    guard = _lab._InternalOps()
    try:
        yield
    finally:
        del guard


class _Name:
    """An object whose repr is the given Python code."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _literal(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return _Name(f'float("{value}")')
    if isinstance(value, (list, tuple)):
        return [_literal(item) for item in value]
    if isinstance(value, (str, bool, int, float)):
        return value
    return _Name(f"sl.{value.name}")


def _part(part: _lab.ProgramPart) -> str:
    ops = [
        (
            op["type"],
            dict(op["inputs"]),
            dict(op["outputs"]),
            {name: _literal(v) for name, v in op["attributes"].items()},
            op["hint"],
        )
        for op in part.program._blocks()[0]["ops"]
    ]
    return pprint.pformat(
        {
            "ops": ops,
            "fetches": part.fetches,
            "values": [tuple(value) for value in part.values],
        },
        width=78,
        sort_dicts=False,
    )


def _save(path: str, arrays: dict[str, np.ndarray]) -> None:
    stored = {}
    for name, array in arrays.items():
        if array.dtype.type.__module__ != "numpy":
            bits = np.uint16 if array.dtype.itemsize == 2 else np.uint8
            stored[f"{name}:bits:{array.dtype.name}"] = array.view(bits)
        else:
            stored[name] = array
    np.savez(path, **stored)


def _setup(finding: _lab.BisectFinding, script: str | None) -> str:
    """Lines that load or define kernels from outside."""
    lines = [
        f"    sl.load_kernel_library({path!r})\n"
        for path in _lab._kernel_library_paths()
    ]
    hints = [
        op["hint"]
        for part in (finding.a, finding.b)
        for op in part.program._blocks()[0]["ops"]
    ]
    if script is not None and any("library=PYTHON" in hint for hint in hints):
        lines.append(
            "    # Its kernels are Python functions of this script.\n"
            f"    sl.lab.run_script({os.path.abspath(script)!r})\n"
        )
    return "".join(lines)


def write_script(
    finding: _lab.BisectFinding,
    folder: str | os.PathLike[str],
    *,
    script: str | None = None,
    place: Any = None,
) -> str:
    """Write a Python file that reproduces a finding, with its inputs.

    Args:
        finding: a finding of ``bisect``.
        folder: for ``reproduce.py`` and four ``.npz`` files; is created.
        script: the Python file that defines the Python kernels.
        place: as for ``bisect``.

    Returns:
        The path of the Python file.

    Raises:
        OSError: the files cannot be written.
    """
    os.makedirs(folder, exist_ok=True)
    for name, part in (("a", finding.a), ("b", finding.b)):
        _save(os.path.join(folder, f"{name}_inputs.npz"), part.feeds)
        _save(os.path.join(folder, f"{name}_parameters.npz"), part.parameters)
    path = os.path.join(folder, "reproduce.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            _SCRIPT.format(
                ops=finding.ops,
                kernels_a=finding.kernels_a,
                kernels_b=finding.kernels_b,
                message=_in_docstring(finding.message),
                setup=_setup(finding, script),
                allowed=repr(finding.allowed_error),
                place=str(sl.CPUPlace() if place is None else place),
                threads=sl.num_threads(),
                part_a=_part(finding.a),
                part_b=_part(finding.b),
            )
        )
    return path


def _in_docstring(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    return f"\n{text}\n" if text else ""
