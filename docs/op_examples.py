"""Examples of calls in Python, made from the shapes that an op's kernels are
tested with. Only one that runs is shown."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import sluice
from sluice import _lab
from sluice.layers import generate, ops

Example = dict[str, Any]


def read() -> dict[str, list[Example]]:
    """The examples of each op; those that are short to write come first."""
    found: dict[str, list[Example]] = {}
    for line in _lab._builtin_examples():
        one = json.loads(line)
        found.setdefault(one["op"], []).append(one)
    for examples in found.values():
        examples.sort(key=_rank)
    return found


def _rank(one: Example) -> tuple[Any, ...]:
    shapes = [shape for _, _, shape, *_ in one["inputs"]]
    usual = all(shape and 1 < math.prod(shape) < 300 for shape in shapes)
    floats = "float32" in one.get("dtypes", ["float32"])
    return not usual, not floats, len(str(one.get("attributes", "")))


def _array(dtype: str, shape: list[int], low: float, high: float) -> str:
    cast = f'.astype("{dtype}")'
    if dtype == "bool" or "int" in dtype:
        return f"rng.integers({int(low)}, {int(high) + 1}, {tuple(shape)}){cast}"
    return f"rng.uniform({low:g}, {high:g}, {tuple(shape)}){cast}"


def code(schema: dict[str, Any], one: Example) -> str:
    """The program of an example."""
    lines, feed = ["import numpy as np", "import sluice as sl", ""], []
    if one["inputs"]:
        lines.append("rng = np.random.default_rng(0)")
    usual = [*one.get("dtypes", ()), *next(iter(schema["type_vars"].values()), ())]
    usual = "float32" if "float32" in usual or not usual else usual[0]
    used: dict[str, list[str]] = {}
    for argument, dtype, shape, low, high in one["inputs"]:
        dtype = usual if dtype == "T" else dtype
        names = used.setdefault(argument, [])
        names.append(generate.snake_case(argument) + f"_{len(names)}" * bool(names))
        kind = f', "{dtype}"' * (dtype != "float32")
        lines.append(f'{names[-1]} = sl.data("{names[-1]}", {shape}{kind})')
        feed.append(f'    "{names[-1]}": {_array(dtype, shape, low, high)},')
    function, call = generate._Function(schema), []
    for argument in sorted(schema["inputs"], key=lambda a: a["optional"]):
        names = used.get(argument["name"], [])
        text = f"[{', '.join(names)}]" if argument["variadic"] else "".join(names)
        key = f"{function.inputs[argument['name']]}=" * argument["optional"]
        call += [key + text] * bool(names)
    defaults = {a["name"]: a.get("default") for a in schema["attributes"]}
    for key, value in one.get("attributes", {}).items():
        if isinstance(value, dict):
            value = usual if value["dtype"] == "T" else value["dtype"]
        if key in defaults and value != defaults[key]:
            call.append(f"{function.attributes[key]}={value!r}")
    name = "ops." * (schema["name"] in sluice.layers.__all__) + schema["name"]
    text = f"result = sl.layers.{name}({', '.join(call)})"
    if len(text) > 75:
        text = f"result = sl.layers.{name}(\n    " + ",\n    ".join(call) + ")"
    results = len(generate.required_outputs(schema)) > 1
    results |= any(one["variadic"] for one in schema["outputs"])
    lines += [text, "exe = sl.Executor(sl.CPUPlace())", "feed = {", *feed, "}"]
    lines += [f"for value in exe.run(feed=feed, fetch_list=[{'*' * results}result]):"]
    return "\n".join([*lines, "    print(value.dtype, value.shape)"])


def run(text: str) -> str:
    """Runs a program that changes nothing of others; what it prints."""
    said: list[str] = []
    space = {"print": lambda *words: said.append(" ".join(map(str, words)))}
    programs = sluice.program_guard(sluice.Program(), sluice.Program())
    with programs, sluice.scope_guard(sluice.Scope()):
        exec(compile(text, "<example>", "exec"), space)
    return "\n".join(said)


def shown(schema: dict[str, Any], examples: Sequence[Example]) -> list[str]:
    """The first example that runs, as Markdown; nothing if none does."""
    if schema["name"] in ops.names():
        for one in examples[:8]:
            try:
                text = code(schema, one)
                said = run(text)
            except (sluice.SluiceError, TypeError):  # or NumPy lacks the dtype
                continue
            return ["## Example", "", "```python", text, "```", "", "It prints:", "",
                    "```text", said, "```", ""]  # fmt: skip
    return []
