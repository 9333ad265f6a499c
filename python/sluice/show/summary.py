"""A program as a table: a line a layer, with its parameters."""

from __future__ import annotations

import functools
import math
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _core, errors
from ..display import (
    Text,
    counted,
    cut,
    flag,
    grouped,
    of_bytes,
    shape_text,
    whole_feeds,
)
from .tables import text_table

if TYPE_CHECKING:
    from ..elsewhere import LayerCall
    from ..program import Program

Op = dict[str, Any]
_ROWS = 60  # more are folded, unless all are asked for
MOST_OPS = 3  # of a layer that is shown by its ops, not by its name
_PHASES = ("forward", "backward", "optimize")
_schema = functools.cache(_core._schema)


def family(op: str) -> str:
    """The family of an op, such as "activation"; "" if it is not loaded."""
    try:
        return _schema(op)["family"]
    except errors.NotFoundError:
        return ""


def _by(sizes: Any) -> str:
    """Such as "3x3"."""
    return "x".join(map(str, sizes if isinstance(sizes, list) else [sizes]))


def _filters(op: Op, shapes: dict[str, list]) -> str:
    filters, stride = shapes["Filter"], op["attributes"].get("strides", [1])
    stride = stride[:1] if len(set(stride)) == 1 else stride
    step = "" if stride == [1] else f"/{_by(stride)}"
    return f"{_by(filters[2:])}{step}, {filters[0]} filters"


def _matrix(op: Op, shapes: dict[str, list]) -> str:
    return " -> ".join(shapes["Y"])


def _pool(op: Op, shapes: dict[str, list]) -> str:
    attrs = op["attributes"]
    size = "all" if attrs.get("global_pooling") else _by(attrs["ksize"])
    return f"{attrs['pooling_type']} {size}"


# What a layer is, besides the name of its op.
_FACTS: dict[str, Callable[[Op, dict[str, list]], str]] = {
    "conv2d": _filters,
    "conv3d": _filters,
    "mul": _matrix,
    "pool2d": _pool,
    "pool3d": _pool,
    "lookup_table": lambda op, shapes: _by(shapes["W"]),
    "dropout": lambda op, shapes: f"{op['attributes']['dropout_prob']:g}",
}


class _Row(NamedTuple):
    """A layer: an op, with the bias and the activation that follow it."""

    index: int
    layer: str
    op: str
    facts: str
    output: str
    persistables: list[str]


def _names(arguments: dict[str, list[str]]) -> list[str]:
    return [name for names in arguments.values() for name in names]


class Layers:
    """The layers of a program, and what they keep in the scope."""

    def __init__(self, program: Program) -> None:
        self.calls = program._layers
        self.blocks = program._blocks()
        self.ops: list[Op] = self.blocks[0]["ops"]
        inside = [op for block in self.blocks for op in block["ops"]]
        for op in inside:
            op |= {key: dict(op[key]) for key in ("inputs", "outputs")}
        self.vars = {var["name"]: var for var in self.blocks[0]["vars"]}
        forward = [op for op in self.ops if op["purpose"] == "forward"]
        self.sizes = Counter(map(self._call, forward))
        self.readers = Counter(
            name for op in forward for name in _names(op["inputs"])
        )
        steps = [op for op in self.ops if op["purpose"] == "optimize"]
        stepped = {n for op in steps for n in _names(op["inputs"])}
        used = {
            name
            for op in inside
            if op["purpose"] == "forward"
            for name in [*_names(op["inputs"]), *_names(op["outputs"])]
        }
        kept = [n for n, var in self.vars.items() if var["persistable"]]
        self.parameters = [name for name in kept if name in used]
        self.state = [n for n in kept if n in stepped and n not in used]
        self.optimizers = {o["type"] for o in steps if "Param" in o["inputs"]}

    def _call(self, op: Op) -> LayerCall | None:
        """The layer that made an op, if it is known."""
        outputs = _names(op["outputs"])
        return self.calls.get(outputs[0]) if outputs else None

    def parameters_text(self) -> str:
        """Such as "448 parameters, 16 of them not trained"."""
        if not (size := self.numbers(self.parameters)):
            return ""
        fixed = self.numbers(self.not_trained())
        more = f", {grouped(fixed)} of them not trained" * bool(fixed)
        return counted(size, "parameter") + more

    def not_trained(self) -> list[str]:
        """The parameters that get no gradient, such as moving averages."""
        return [n for n in self.parameters if self.vars[n]["stop_gradient"]]

    def numbers(self, names: Iterable[str]) -> int:
        """How many numbers these variables have."""
        return sum(math.prod(self.vars[name]["shape"]) for name in names)

    def bytes(self, names: Iterable[str]) -> int:
        """The bytes of these variables."""
        return sum(
            self.numbers([n]) * self.vars[n]["dtype"].itemsize for n in names
        )

    def rows(self, purpose: str) -> list[_Row]:
        """The layers of a phase; what is kept counts where it is first used."""
        rows: list[_Row] = []
        seen = set() if purpose == "forward" else set(self.parameters)
        last, unit = "", None
        for index, op in enumerate(self.ops):
            if op["purpose"] != purpose:
                continue
            inputs = _names(op["inputs"])
            own = [n for n in inputs if self._kept(n)]
            new = list(dict.fromkeys(n for n in own if n not in seen))
            seen.update(own)
            layer = own[0].rpartition(".")[0] or own[0] if own else ""
            output = self._output(op)
            call = self._call(op) if purpose == "forward" else None
            if call is not None and self.sizes[call] > MOST_OPS:
                if call is not unit:
                    facts = counted(self.sizes[call], "op")
                    rows.append(_Row(index, "", call.name, facts, "", []))
                row = rows[-1]
                rows[-1] = row._replace(
                    layer=row.layer or layer,
                    output=shape_text(self._shape(output)),
                    persistables=row.persistables + new,
                )
            elif rows and self._continues(op, layer, rows[-1], last, inputs):
                row = rows[-1]
                rows[-1] = row._replace(
                    op=f"{row.op}+{_schema(op['type'])['short_name']}",
                    output=shape_text(self._shape(output)),
                    persistables=row.persistables + new,
                )
            else:
                shape = shape_text(self._shape(output)) if output else ""
                facts = self._facts(op)
                rows.append(_Row(index, layer, op["type"], facts, shape, new))
            last, unit = output, call
        return rows

    def _kept(self, name: str) -> bool:
        return name in self.vars and self.vars[name]["persistable"]

    def _shape(self, name: str) -> Any:
        return self.vars[name]["shape"] if name in self.vars else None

    @staticmethod
    def _output(op: Op) -> str:
        outputs = op["outputs"]
        first = outputs.get("Out") or outputs.get("Output") or _names(outputs)
        return first[0] if first else ""

    def _continues(
        self, op: Op, layer: str, row: _Row, last: str, inputs: list[str]
    ) -> bool:
        """Whether an op is the bias or the activation of the row's layer."""
        if not row.layer or last not in inputs or self.readers[last] != 1:
            return False
        bias = op["type"] == "elementwise_add" and layer == row.layer
        return bias or (family(op["type"]) == "activation" and not layer)

    def _facts(self, op: Op) -> str:
        shapes = {
            argument: [grouped(n) for n in self._shape(names[0]) or ()]
            for argument, names in op["inputs"].items()
            if names
        }
        if op["type"] in _FACTS:
            return _FACTS[op["type"]](op, shapes)
        blocks = [
            f"block {value}: {counted(len(self.blocks[value]['ops']), 'op')}"
            for name, value in op["attributes"].items()
            if name == "block" or name.endswith("_block")
        ]
        return ", ".join(sorted(blocks))

    def fed(self) -> str:
        """The variables to feed; float32 is not named."""
        fed = [name for name, var in self.vars.items() if var["is_data"]]
        parts = []
        for name in whole_feeds(fed):
            dtype, shape = self.vars[name]["dtype"], self._shape(name)
            text = f"{dtype} {shape_text(shape)}".removeprefix("float32 ")
            ragged = "ragged " * (f"{name}@LOD" in fed)
            parts.append(f"{cut(name, 30)} {ragged}{text}")
        return ", ".join(parts)

    def totals(self) -> list[list[str]]:
        """Rows of a name, numbers, bytes and a note."""
        kinds = [("parameters", self.parameters, "")]
        if fixed := self.not_trained():
            kinds.append(("of them not trained", fixed, ""))
        if self.state:
            note = f"({', '.join(sorted(self.optimizers))})"
            kinds.append(("optimizer state", self.state, note))
            kinds.append(("all", self.parameters + self.state, ""))
        return [
            [kind, grouped(self.numbers(n)), of_bytes(self.bytes(n)), note]
            for kind, n, note in kinds
        ]


def count_by_phase(ops: Iterable[Op], form: str = ": {}") -> str:
    """Such as "46 ops: 18 forward, 20 backward, 8 optimizer"."""
    phases = Counter(op["purpose"] for op in ops)
    text = counted(phases.total(), "op")
    if not phases.keys() - {"forward"}:
        return text
    parts = [f"{grouped(phases[p])} {_title(p)}" for p in _PHASES if phases[p]]
    return text + form.format(", ".join(parts))


def _title(purpose: str) -> str:
    return "optimizer" if purpose == "optimize" else purpose


def summary(program: Program, all: bool) -> Text:
    """See :meth:`sluice.Program.summary`."""
    all = flag("summary: all", all)
    layers = Layers(program)
    width = min(80, shutil.get_terminal_size((80, 24)).columns)
    head = [count_by_phase(layers.ops)]
    if fed := layers.fed():
        head.append(f"fed: {fed}")
    rows = [["#", "layer", "op", "output", "parameters"]]
    for purpose in _PHASES if all else _PHASES[:1]:
        found = layers.rows(purpose)
        if purpose != "forward" and found:
            rows.append(["", "", f"{_title(purpose)}:", "", ""])
        middle = 0 if all or len(found) <= _ROWS else len(found) - _ROWS + 1
        for place, row in enumerate(found):
            if not middle or not 40 <= place < 40 + middle:
                size = layers.numbers(row.persistables)
                op = f"{row.op} {row.facts}".rstrip()
                cells = [str(row.index), row.layer, op, row.output]
                rows.append([*cells, grouped(size) if size else ""])
            elif place == 40:
                folded = found[40 : 40 + middle]
                size = layers.numbers(n for r in folded for n in r.persistables)
                more = f"... {grouped(middle)} more: summary(all=True)"
                rows.append(["", "", more, "", grouped(size) if size else ""])
    foot = layers.totals()
    if not all and any(op["purpose"] != "forward" for op in layers.ops):
        foot[-1][-1] += "backward and optimizer: summary(all=True)"
    return text_table(head, rows, foot, width)
