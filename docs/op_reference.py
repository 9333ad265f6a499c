"""The reference of all ops, from their schemas and kernels, as Markdown."""

from __future__ import annotations

import collections
import inspect
import json
import re
import textwrap
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sluice
from sluice import _core
from sluice.display import kernel_name

import op_examples
import op_sources

Schema = dict[str, Any]
TABLES = tomllib.loads(Path(__file__).with_name("reference.toml").read_text(encoding="utf-8"))
OPS = TABLES["ops"]
ONNX = "https://onnx.ai/onnx/operators/onnx__{}.html"


def text(words: str) -> str:
    """Plain text as Markdown that shows it as it is."""
    # What is between backticks is code in schemas, too.
    parts = re.split(r"(`[^`]+`)", words)
    return "".join(
        part if part.startswith("`") else re.sub(r"([\\*_\[\]<>|~$#{}])", r"\\\1", part)
        for part in parts
    )


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table; its cells are Markdown already."""
    if not rows:
        return ["None.", ""]
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
        notes = ["optional"] * one["optional"] + ["any number"] * one["variadic"]
        notes += [f"updates {one['updates']}"] * bool(one["updates"])
        notes += [f"gives attribute {one['attribute']}"] * bool(one["attribute"])
        name = f"`{one['name']}`" + "".join(f", {text(note)}" for note in notes)
        rows.append([name, dtypes(one, schema), text(one["doc"])])
    return table(["name", "dtype", "meaning"], rows)


def attributes(schema: Schema) -> list[str]:
    """The attributes, with defaults and limits."""
    rows = []
    for one in schema["attributes"]:
        limits = []
        if one["choices"]:
            limits.append("one of " + ", ".join(one["choices"]))
        for limit, words in (("minimum", "at least"), ("maximum", "at most")):
            if one[limit] is not None:
                limits.append(f"{words} {one[limit]:g}")
        default = "required" if one["required"] else f"`{one['default']!r}`"
        cells = [f"`{one['name']}`", one["type"], default]
        rows.append([*cells, text("; ".join(limits)), text(one["doc"])])
    return table(["name", "type", "default", "allowed", "meaning"], rows)


def kernels(name: str) -> list[str]:
    """The kernels, those that differ in their dtype only in one row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for one in _core._kernels(name):
        key = tuple(one[part] for part in ("place", "library", "variant"))
        rows.setdefault(key, []).append(one["dtype"])
    cells = []
    for (place, library, variant), found in rows.items():
        # None for a row of a table.
        file = op_sources.files().get((name, place.split(":")[0], library, variant))
        # The site's search finds no words of HTML.
        link = f", {op_sources.link(file, 'source')}" if file else ""
        cells.append([place, library, text(variant) + link, ", ".join(found)])
    return table(["place", "library", "variant", "dtypes"], cells)


def wrapped(head: str, parameters: list[str], tail: str) -> str:
    """A signature, in one line if it is short."""
    line = f"{head}({', '.join(parameters)}){tail}"
    if len(line) <= 75:
        return line
    # Python allows a comma after the last one, C++ does not.
    comma = "" if tail == ";" else ","
    return f"{head}(\n    " + ",\n    ".join(parameters) + f"{comma}\n){tail}"


def cpp_call(name: str, header: str) -> str:
    """The signature and the options of an op, from the text of ops.h."""
    camel = "".join(part.capitalize() for part in name.split("_"))
    # Where the caller is finds itself.
    found = re.search(
        rf"inline (\S+) {camel}\((.*?),\s*::sluice::SourceLocation location", header, re.S
    )
    if found is None:
        return ""
    parameters = re.split(r",\s+(?=const |::sluice|[\w:<>]+ \w+(?:,|$))", found[2].strip())
    lines = [wrapped(f"{found[1]} {camel}", parameters, ";")]
    for struct in re.findall(rf"(?ms)^struct {camel}(?:Options|Outputs) {{\n.*?^}};", header):
        lines += ["", re.sub(r"(?m)^ *//.*\n", "", struct)]
    return "\n".join(lines).replace("::sluice::", "sluice::")


def calls(name: str, header: str) -> list[str]:
    """How C++ and Python add the op to a program, and the layer of its name."""
    owners = [sluice.layers.ops] * (name in sluice.layers.__all__) + [sluice.layers]
    lines = []
    for owner in owners:
        function = getattr(owner, name, None)
        if function is None:
            continue
        # Annotations are text, which the signature shows in quotes.
        signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(function)))
        given, _, result = signature.rpartition(")")
        # Commas in brackets are not between parameters.
        parameters = re.split(r", (?![^\[(]*[\])])", given[1:])
        lines += ["```python", wrapped(f"{owner.__name__}.{name}", parameters, result), "```"]
    cpp = cpp_call(name, header)
    if cpp:
        lines += ["```cpp", "// namespace sluice::ops", cpp, "```"]
    return [*lines, ""]


def gradients(name: str, ops: dict[str, Schema]) -> list[str]:
    """Which ops compute the gradient."""
    found = [one for one in ops if forward_op(one, ops) == name]
    links = ", ".join(f"[`{one}`]({one}.md)" for one in found)
    if not ops[name]["differentiable"]:
        return ["None is defined.", ""]
    return [f"It is computed by {links}." if found else "It is made of other ops.", ""]


def onnx_link(operator: str) -> str:
    """An operator of ONNX, as a link to its specification."""
    return f"[`{operator}`]({ONNX.format(operator)})"


def elsewhere(schema: Schema, used: Collection[str]) -> list[str]:
    """The op's counterparts, and where its source is."""
    found = []
    if schema["onnx"]:
        found.append(f"- ONNX: {onnx_link(schema['onnx'])}")
    if schema["torch"]:
        found.append(f"- PyTorch: `{schema['torch']}`")
    others = ", ".join(map(onnx_link, sorted(set(used) - {schema["onnx"]})))
    if others:
        found.append(f"- used, alone or with other ops, for ONNX's {others}")
    file = op_sources.op_file(schema["name"])
    if file:
        found.append(f"- source: {op_sources.link(file, file)}")
    return ["## Elsewhere", "", *found, ""] if found else []


def page(
    name: str,
    ops: dict[str, Schema],
    used: Collection[str] = (),
    header: str = "",
    examples: Sequence[op_examples.Example] = (),
) -> str:
    """The page of an op, that operators `used` of ONNX are read as; `header` is
    the text of ops.h."""
    schema = ops[name]
    # In no table of contents: a tree of hundreds of ops on every page is slow to
    # build, and to read.
    lines = ["---", "orphan: true", "---", ""]
    lines += [f"# {text(name)}", "", text(schema["doc"]), ""]
    family = schema["family"] or "other"
    lines += [f"[{title(family)}](index.md#ops-{family}) · [all ops](index.md)", ""]
    forward = forward_op(name, ops)
    if forward is not None:
        lines += [f"It is a gradient of [`{forward}`]({forward}.md).", ""]
    else:
        lines += calls(name, header)
        lines += op_examples.shown(schema, examples)
    lines += ["## Inputs", "", *arguments(schema, "inputs")]
    lines += ["## Outputs", "", *arguments(schema, "outputs")]
    lines += ["## Attributes", "", *attributes(schema)]
    if forward is None:
        lines += ["## Gradient", "", *gradients(name, ops)]
    lines += ["## Kernels", "", *kernels(name)]
    return "\n".join([*lines, *elsewhere(schema, used)])


def by_family(ops: Mapping[str, Schema]) -> dict[str, list[str]]:
    """The names of each family's ops, in the order in which they are shown."""
    families: dict[str, list[str]] = {family: [] for family in OPS["families"]}
    for name, schema in ops.items():
        families.setdefault(schema["family"] or "other", []).append(name)
    return {family: names for family, names in families.items() if names}


def title(family: str) -> str:
    return OPS["families"].get(family, family)


def index(ops: dict[str, Schema], alone: Mapping[str, Collection[str]] = {}) -> str:
    """The list of all ops but gradients, with the operators that each is `alone`."""
    forward = {name: one for name, one in ops.items() if forward_op(name, ops) is None}
    lines = ["# Ops", "", OPS["index"].format(count=len(forward)), ""]
    for family, names in by_family(forward).items():
        rows = []
        for name in names:
            one = ops[name]
            first = re.split(r"(?<=[.:;])\s", one["doc"], maxsplit=1)[0].rstrip(".:;")
            first = text(textwrap.shorten(first, 60, placeholder=" ..."))
            same = [one["onnx"]] if one["onnx"] else sorted(alone.get(name, ()))
            same = ", ".join(map(onnx_link, same))
            rows.append([f"[`{name}`]({name}.md)", first, "yes" * one["differentiable"], same])
        lines += [f"(ops-{family})=", f"## [{title(family)}](kernels_{family}.md)", ""]
        lines += table(["op", "what it is", "gradient", "ONNX"], rows)
    return "\n".join(lines)


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
        parts = _core._kernel_parts(kernel)
        name = kernel_name(parts["library"], parts["variant"])
        wins.setdefault(parts["op"], collections.Counter())[name] += 1
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


def kernel_table(ops: Iterable[str], measured: Mapping[str, str], head: str = "Kernels") -> str:
    """The kernels of ops: a column for each place and library. `measured` is
    what `fastest` returns."""
    cells: dict[tuple[str, str], dict[str, list[str]]] = {}
    for name in ops:
        for one in _core._kernels(name):
            column = cells.setdefault((one["place"], one["library"]), {})
            names = column.setdefault(name, [])
            if short(one["dtype"]) not in names:
                names.append(short(one["dtype"]))
    columns = sorted(cells, key=lambda one: (one[0], one[1] != "PLAIN", one[1]))
    rows = [
        [f"[`{name}`]({name}.md)"]
        + [" ".join(cells[column].get(name, [])) for column in columns]
        + [measured.get(name, "")]
        for name in ops
    ]
    names = ["op", *(f"{place} {library}" for place, library in columns), "fastest"]
    lines = ["---", "orphan: true", "---", "", f"# {head}", "", OPS["kernels"], ""]
    return "\n".join([*lines, *table(names, rows)])


def write(
    folder: Path,
    uses: Mapping[str, Collection[str]],
    records: Sequence[Path] = (),
    header: str = "",
    alone: Mapping[str, Collection[str]] = {},
) -> int:
    """Write a page an op, the index and tables of kernels; how many ops there
    are. `uses` has the operators of ONNX that an op is used for, `records` are
    files of measurements, `header` is the text of ops.h, `alone` has the
    operators of ONNX that become this op and no other."""
    folder.mkdir(parents=True, exist_ok=True)
    ops, examples = schemas(), op_examples.read()
    pages = {
        name: page(name, ops, uses.get(name, ()), header, examples.get(name, ())) for name in ops
    }
    pages["index"] = index(ops, alone)
    measured = fastest(records)
    for family, names in by_family(ops).items():
        words = kernel_table(names, measured, f"Kernels: {title(family)}")
        pages[f"kernels_{family}"] = words
    for name, words in pages.items():
        (folder / f"{name}.md").write_text(words, encoding="utf-8")
    return len(ops)
