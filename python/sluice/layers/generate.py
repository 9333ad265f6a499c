"""Writes the function of an op from its schema.

The text is compiled when a function is first used. Without bodies it is the
stub ``ops.pyi`` for editors and type checkers.
"""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core
from .rows import Row

Schema = dict[str, Any]

_DTYPES = {d.name for d in vars(_core).values() if isinstance(d, _core.DType)}
_TYPES = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "string": "str",
    "ints": "Sequence[int]",
    "floats": "Sequence[float]",
    "strings": "Sequence[str]",
    "dtype": "Any",
}

# Ops whose attributes have another order in Paddle, and the same types.
_BY_NAME = ("slice",)


def snake_case(name: str) -> str:
    """Turn ``ParamOut`` into ``param_out``, and add ``_`` to keywords."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    name = re.sub(r"\W", "_", name)
    return f"{name}_" if keyword.iskeyword(name) else name


def camel_case(name: str) -> str:
    """Turn ``top_k`` into ``TopK``."""
    return "".join(part.capitalize() for part in name.split("_"))


def required_outputs(schema: Schema) -> list[str]:
    """The outputs that every op of this schema has."""
    return [out["name"] for out in schema["outputs"] if not out["optional"]]


def _literal(value: Any) -> str:
    if isinstance(value, list):
        inside = ", ".join(map(_literal, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, float) and value - value != 0:
        return f'float("{value}")'
    if isinstance(value, (bool, int, float, str)):
        return repr(value)
    return f'"{value}"'  # a dtype


class _Function:
    """The parameters of one function, in order."""

    def __init__(self, schema: Schema, row: Row | None = None) -> None:
        self.row = row
        if row is not None:
            of = row.inputs.values()
            inputs = [a for a in schema["inputs"] if a["name"] in of]
            schema = {**schema, "inputs": inputs}
        self.schema = schema
        attributes = {a["name"] for a in schema["attributes"]}
        taken = {"name", "hint"}  # as every function has

        def new(name: str) -> str:
            name = f"_{name}" if name[:1].isdigit() else name
            while name in taken:
                name += "_"
            taken.add(name)
            return name

        self.attributes = {
            a["name"]: new(snake_case(a["name"])) for a in schema["attributes"]
        }
        self.inputs = {}
        for argument in schema["inputs"]:
            name = snake_case(argument["name"])
            name += "_var" * (name in attributes)
            self.inputs[argument["name"]] = new(name)
        if row is not None:
            self.inputs = {of: name for name, of in row.inputs.items()}

    def parameters(self) -> list[str]:
        required, optional = [], []
        operands = {a["attribute"] for a in self.schema["inputs"]}
        for argument in self.schema["inputs"]:
            name = self.inputs[argument["name"]]
            type = "Sequence[Variable]" if argument["variadic"] else "Variable"
            if argument["optional"]:
                optional.append(f"{name}: {type} | None = None")
            else:
                required.append(f"{name}: {type}")
        inputs = list(required)
        defaults, given_by_input = [], False
        for attribute in self.schema["attributes"]:
            name = self.attributes[attribute["name"]]
            type = _TYPES[attribute["type"]]
            given_by_input |= attribute["name"] in operands
            if attribute["required"] and given_by_input:
                # Also those after it, because Python has no default before
                # a parameter without one. The op refuses what is missing.
                required.append(f"{name}: {type} | None = None")
            elif attribute["required"]:
                required.append(f"{name}: {type}")
            else:
                default = _literal(attribute["default"])
                defaults.append(f"{name}: {type} = {default}")
        if self.schema["name"] in _BY_NAME:
            named, defaults = defaults, []
            named = [p for p in required if p not in inputs] + named
            required = inputs
            optional = [*named, *optional]
        last = ["*", *optional, "name: str | None = None", 'hint: str = ""']
        if self.row is not None:
            last = last[-2:-1] * bool(self.inputs)
            last[:0] = [self.row.unused] * bool(self.row.unused)
        return required + defaults + last

    def result(self) -> str:
        names = required_outputs(self.schema)
        if self.row is not None:
            return "Variable"
        if len(names) == 1:
            variadic = any(o["variadic"] for o in self.schema["outputs"])
            return "list[Variable]" if variadic else "Variable"
        return camel_case(self.schema["name"]) + "Outputs"

    def docstring(self) -> str:
        schema = self.schema
        lines = [schema["doc"] or schema["name"], "", "Args:"]
        for argument in schema["inputs"]:
            lines.append(self._entry(self.inputs[argument["name"]], argument))
        for attribute in schema["attributes"]:
            entry = f"    {self.attributes[attribute['name']]}: "
            lines.append(entry + attribute["doc"] + self._limits(attribute))
        row = self.row
        if row is not None and row.unused:
            lines.append(f"    {row.unused.partition(':')[0]}: has no effect.")
        if row is None or row.inputs:
            lines.append("    name: what the output is called.")
        if row is None:
            lines.append("    hint: which kernel to prefer or require.")
        lines += ["", "Returns:"]
        outputs = [out for out in schema["outputs"] if not out["optional"]]
        for output in outputs if row is None else outputs[:1]:
            lines.append(self._entry(snake_case(output["name"]), output))
        if row is not None and row.raises:
            lines += ["", "Raises:", f"    {row.raises}"]
        if row is not None:
            lines[0] = f"{lines[0]} {row.about}".rstrip()
            for name, of in row.inputs.items():
                lines = [re.sub(rf"\b{of}\b", name, line) for line in lines]
        wrapped = []
        for line in lines:
            indent = " " * (len(line) - len(line.lstrip()))
            wrapped += textwrap.wrap(
                line, 76, subsequent_indent=indent * 2 if indent else ""
            ) or [""]
        return "\n".join(wrapped)

    def _entry(self, name: str, argument: dict[str, Any]) -> str:
        allowed = self.schema["type_vars"].get(argument["dtype"])
        dtype = " or ".join(allowed) if allowed else argument["dtype"]
        if allowed and _DTYPES.issubset(allowed):
            dtype = "any dtype"
        return f"    {name} ({dtype}): {argument['doc']}"

    @staticmethod
    def _limits(attribute: dict[str, Any]) -> str:
        text = ""
        if attribute["choices"]:
            text += f" One of {', '.join(attribute['choices'])}."
        if attribute["minimum"] is not None:
            text += f" At least {attribute['minimum']:g}."
        if attribute["maximum"] is not None:
            text += f" At most {attribute['maximum']:g}."
        return text


def outputs_source(schema: Schema) -> str:
    """The named tuple that a function with several outputs returns."""
    names = required_outputs(schema)
    if len(names) == 1:
        return ""
    fields = "".join(f"    {snake_case(name)}: Variable\n" for name in names)
    return (
        f"class {camel_case(schema['name'])}Outputs(NamedTuple):\n"
        f'    """What {schema["name"]} returns."""\n\n{fields}\n\n'
    )


def function_source(
    schema: Schema, stub: bool = False, row: Row | None = None
) -> str:
    """The source text of the function of an op, or of a layer of one op."""
    function = _Function(schema, row)
    parameters = ",\n    ".join(function.parameters())
    doc = textwrap.indent(function.docstring(), "    ").strip()
    doc = doc.replace("\\", "\\\\").replace('"""', "'''")
    head = (
        f"def {snake_case(schema['name'])}(\n    {parameters},\n"
        f') -> {function.result()}:\n    """{doc}\n    """\n'
    )
    if stub:
        return head + "    ...\n"
    inputs = ", ".join(f'"{a}": {p}' for a, p in function.inputs.items())
    attributes = ", ".join(
        f'"{a}": {p}' for a, p in function.attributes.items()
    )
    last = "name, hint"
    if row is not None:
        last = "name" if row.inputs else "None"
    return (
        f'{head}    return _append("{schema["name"]}", {{{inputs}}}, '
        f"{{{attributes}}}, {last})\n"
    )


def compiled(
    schema: Schema, module: str, space: dict[str, Any], row: Row | None = None
) -> Any:
    """The function of an op, or of a layer of one op, which sees ``space``."""
    source = "from __future__ import annotations\n"
    if row is None:
        source += outputs_source(schema)
    source += function_source(schema, row=row)
    name = schema["name"]
    exec(compile(source, f"<sluice.layers.{name}>", "exec"), space)
    function = space[snake_case(name)]
    function.__module__ = module
    return function


def stub_source(
    schemas: list[Schema],
    rows: Mapping[str, Row] | None = None,
    layers: Sequence[str] = (),
) -> str:
    """The stub file for the functions of all these ops, or of rows.

    A star import gets no op that has the name of one of the ``layers``.
    """
    head = (
        '"""Functions for single ops, written from their schemas."""\n\n'
        "from collections.abc import Sequence\n"
        "from typing import Any, NamedTuple\n\n"
        "from ..framework import Variable\n\n"
    )
    if rows is not None:
        parts = [function_source(s, True, rows[s["name"]]) for s in schemas]
        return head + "\n".join(parts)
    shown = [s["name"] for s in schemas if s["name"] not in layers]
    head += f"__all__ = {[snake_case(name) for name in shown]}\n\n"
    parts = [outputs_source(s) + function_source(s, stub=True) for s in schemas]
    return head + "\n".join(parts)
