"""The reference of all ops, from their schemas and kernels, as Markdown."""

from __future__ import annotations

import collections
import inspect
import json
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import sluice
from sluice import _core

Schema = dict[str, Any]


def text(words: str) -> str:
    """Plain text as Markdown that shows it as it is."""
    # What is between backticks is code in schemas, too.
    parts = re.split(r"(`[^`]+`)", words)
    return "".join(
        part
        if part.startswith("`")
        else re.sub(r"([\\*_\[\]<>|~$#{}])", r"\\\1", part)
        for part in parts
    )


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table; its cells are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines] + [""]


def schemas() -> dict[str, Schema]:
    """The schemas of all ops that users may name."""
    found = {name: _core._schema(name) for name in _core._op_names()}
    return {name: one for name, one in found.items() if not one["internal"]}


def forward_op(name: str, ops: dict[str, Schema]) -> str | None:
    """The op that this one is a gradient of, None for others."""
    found = re.fullmatch(r"(.+)_grad(_\w+)?", name)
    return found[1] if found and found[1] in ops else None


def dtypes(argument: dict[str, Any], schema: Schema) -> str:
    """The dtypes of an argument: a name, or those of its type variable."""
    allowed = schema["type_vars"].get(argument["dtype"])
    if allowed is None:
        return argument["dtype"]
    return f"{argument['dtype']}: {', '.join(allowed)}"


def arguments(schema: Schema, side: str) -> list[str]:
    """The inputs or outputs."""
    rows = []
    for one in schema[side]:
        notes = [
            note
            for note, holds in (
                ("optional", one["optional"]),
                ("any number", one["variadic"]),
                (f"updates {one['updates']}", one["updates"]),
                (f"gives attribute {one['attribute']}", one["attribute"]),
            )
            if holds
        ]
        name = f"`{one['name']}`" + "".join(f", {text(note)}" for note in notes)
        rows.append([name, dtypes(one, schema), text(one["doc"])])
    if not rows:
        return ["None.", ""]
    return table(["name", "dtype", "meaning"], rows)


def attributes(schema: Schema) -> list[str]:
    """The attributes, with defaults and limits."""
    rows = []
    for one in schema["attributes"]:
        limits = []
        if one["choices"]:
            limits.append("one of " + ", ".join(one["choices"]))
        if one["minimum"] is not None:
            limits.append(f"at least {one['minimum']:g}")
        if one["maximum"] is not None:
            limits.append(f"at most {one['maximum']:g}")
        default = "required" if one["required"] else f"`{one['default']!r}`"
        rows.append(
            [
                f"`{one['name']}`",
                one["type"],
                default,
                text("; ".join(limits)),
                text(one["doc"]),
            ]
        )
    if not rows:
        return ["None.", ""]
    return table(["name", "type", "default", "allowed", "meaning"], rows)


def kernels(name: str) -> list[str]:
    """The kernels, those that differ in their dtype only in one row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for one in _core._kernels(name):
        key = tuple(
            one[part] for part in ("place", "library", "variant")
        )
        rows.setdefault(key, []).append(one["dtype"])
    if not rows:
        return ["None on this machine.", ""]
    return table(
        ["place", "library", "variant", "dtypes"],
        [[*map(text, key), ", ".join(found)] for key, found in rows.items()],
    )


def calls(name: str) -> list[str]:
    """How C++ and Python add the op to a program."""
    camel = "".join(part.capitalize() for part in name.split("_"))
    function = getattr(sluice.layers, name, None)
    lines = ["```cpp", f"sluice::ops::{camel}(...)", "```"]
    if function is not None:
        # Annotations are text, which the signature shows in quotes.
        signature = str(inspect.signature(function)).replace("'", "")
        lines += ["```python", f"sluice.layers.{name}{signature}", "```"]
    return [*lines, ""]


def gradients(name: str, ops: dict[str, Schema]) -> list[str]:
    """Which ops compute the gradient."""
    found = [one for one in ops if forward_op(one, ops) == name]
    links = ", ".join(f"[`{one}`]({one}.md)" for one in found)
    if not ops[name]["differentiable"]:
        return ["None is defined.", ""]
    if found:
        return [f"It is computed by {links}.", ""]
    return ["It is made of other ops.", ""]


def page(name: str, ops: dict[str, Schema], used: Collection[str] = ()) -> str:
    """The page of an op, that operators `used` of ONNX are read as."""
    schema = ops[name]
    # In no table of contents: a tree of hundreds of ops on every page is slow to
    # build, and to read.
    lines = ["---", "orphan: true", "---", ""]
    lines += [f"# {text(name)}", "", text(schema["doc"]), ""]
    forward = forward_op(name, ops)
    if forward is not None:
        lines += [f"It is a gradient of [`{forward}`]({forward}.md).", ""]
    else:
        lines += calls(name)
    lines += ["## Inputs", "", *arguments(schema, "inputs")]
    lines += ["## Outputs", "", *arguments(schema, "outputs")]
    lines += ["## Attributes", "", *attributes(schema)]
    if forward is None:
        lines += ["## Gradient", "", *gradients(name, ops)]
    lines += ["## Kernels", "", *kernels(name)]
    same = [
        f"{what}: `{schema[key]}`"
        for key, what in (("onnx", "ONNX"), ("torch", "PyTorch"))
        if schema[key]
    ]
    others = ", ".join(
        f"`{one}`" for one in sorted(set(used) - {schema["onnx"]})
    )
    if others:
        same.append(f"used, alone or with other ops, for ONNX's {others}")
    if same:
        lines += ["## Elsewhere", "", *[f"- {one}" for one in same], ""]
    return "\n".join(lines)


def first_sentence(words: str) -> str:
    """What an op is, for the list of all."""
    return re.split(r"(?<=[.:;])\s", words, maxsplit=1)[0].rstrip(".:;")


def index(ops: dict[str, Schema]) -> str:
    """The list of all ops, and of their gradients."""
    forward = [name for name in ops if forward_op(name, ops) is None]
    rows = [
        [
            f"[`{name}`]({name}.md)",
            text(first_sentence(ops[name]["doc"])),
            "yes" if ops[name]["differentiable"] else "",
            ops[name]["onnx"],
        ]
        for name in forward
    ]
    return "\n".join(
        [
            "# Ops",
            "",
            f"The {len(forward)} ops that programs may have, from the schemas that the "
            "runtime checks them by, and the kernels of the build that this site comes "
            "from. An operator of ONNX is named where it is the same; others have a "
            "[page](../onnx_operators.md). [One table](kernels.md) has the kernels of all.",
            "",
            *table(["op", "what it is", "gradient", "ONNX"], rows),
        ]
    )


def fastest(records: Iterable[Path]) -> dict[str, str]:
    """For each op how often which kernel was the fastest, in files of records."""
    best: dict[tuple[str, int], tuple[float, str]] = {}
    for path in records:
        for line in path.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            if one.get("kind") == "record" and one["verdict"] == "ok":
                key = (one["signature"], one["threads"])
                found = (one["median"], one["kernel"])
                best[key] = min(best.get(key, found), found)
    wins: dict[str, collections.Counter[str]] = {}
    for _, kernel in best.values():
        # As in "matmul/gemm (cpu float32 OPENBLAS)".
        op, variant, library = re.fullmatch(
            r"(\w+)/(\w+) \(.* (\w+)\)", kernel
        ).groups()
        name = variant if library == "PLAIN" else f"{library.lower()}/{variant}"
        wins.setdefault(op, collections.Counter())[name] += 1
    return {
        op: ", ".join(f"{text(name)} {n}" for name, n in count.most_common(3))
        for op, count in wins.items()
    }


def short(dtype: str) -> str:
    """The name of a dtype, short enough for a cell of a wide table."""
    return re.sub(
        "^(float|bfloat|uint|int|complex)",
        lambda kind: {"bfloat": "bf", "uint": "u"}.get(kind[1], kind[1][0]),
        dtype,
    )


def kernel_table(ops: dict[str, Schema], records: Iterable[Path]) -> str:
    """The kernels of all ops: a column for each place and library."""
    cells: dict[tuple[str, str], dict[str, list[str]]] = {}
    for name in ops:
        for one in _core._kernels(name):
            column = cells.setdefault((one["place"], one["library"]), {})
            names = column.setdefault(name, [])
            if short(one["dtype"]) not in names:
                names.append(short(one["dtype"]))
    columns = sorted(cells, key=lambda one: (one[0], one[1] != "PLAIN", one[1]))
    measured = fastest(records)
    rows = [
        [f"[`{name}`]({name}.md)"]
        + [" ".join(cells[column].get(name, [])) for column in columns]
        + [measured.get(name, "")]
        for name in ops
    ]
    return "\n".join(
        [
            "# Kernels",
            "",
            "Which ops have kernels for which place, library and dtype, in the build that "
            "this site comes from. f32 is float32, bf16 bfloat16, i64 int64, u8 uint8, c64 "
            "complex64. Libraries other than PLAIN may be missing in another build. The last "
            "column says how often which kernel was the fastest of its op in the measurements "
            "that come with Sluice; they are of signatures for which estimates alone choose a "
            "slower one.",
            "",
            *table(
                ["op", *(f"{place} {library}" for place, library in columns), "fastest"],
                rows,
            ),
        ]
    )


def write(
    folder: Path,
    uses: Mapping[str, Collection[str]],
    records: Iterable[Path] = (),
) -> int:
    """Write a page an op, the index and the table of kernels; how many ops there
    are. `uses` has the operators of ONNX that an op is used for, `records` are
    files of measurements."""
    folder.mkdir(parents=True, exist_ok=True)
    ops = schemas()
    for name in ops:
        (folder / f"{name}.md").write_text(
            page(name, ops, uses.get(name, ())), encoding="utf-8"
        )
    (folder / "index.md").write_text(index(ops), encoding="utf-8")
    (folder / "kernels.md").write_text(
        kernel_table(ops, records), encoding="utf-8"
    )
    return len(ops)
