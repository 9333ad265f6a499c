"""Ops of Fluid that are one op or layer of Sluice: their rows, from data."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ... import layers
from ...defaults import program_guard
from ...errors import NotFoundError
from .layouts import channels_last, channels_second, is_last
from .numbers import integers
from .table import CODES, Op, Row

Names = Mapping[str, str | None]
_NONE: dict[str, Any] = {}
# The columns by what their words, or the keys of their dicts, are.
_OF = {
    "slot": ("slots", "shapes", "cast", "dense", "numbers", "ragged"),
    "attribute": ("names", "values", "only", "unset", "channels"),
}
_ENTRIES: dict[str, Any] = {"values": dict, "shapes": list}  # others are names
_schema = functools.cache(layers.ops.schema)


class SluiceOp(NamedTuple):
    """An op of Sluice that an op of Fluid is.

    Attributes:
        op: its name, which is Fluid's if empty.
        layer: in its place, a layer that takes the inputs in Fluid's order, and
            by name the attributes, and the inputs that ``slots`` has.
        slots, names: what Sluice calls a slot or an attribute, if not as Fluid
            does; None for one that changes nothing. An attribute may be two of
            Sluice, and two may be one: the last that is not Fluid's default.
        values: for an attribute, what Sluice calls its values.
        only: for an attribute, which Sluice does not have, its only value.
        unset: attributes that Sluice does not get where they are the default.
        fixed: more attributes.
        shapes: for a slot, sizes to which it is reshaped from higher ranks.
        cast: for a slot, the element type to which it is converted.
        dense: for a slot whose ragged rows become dense, the slot of lengths.
        numbers: for a slot whose element must be known, the attribute it is.
        channels: an attribute that says whether the channels of the first slot
            are its last dim; Sluice gets them as dim 1.
        ragged: a slot that must have a LoD.
        one: whether the result is [1], not [].
        ops: the ops of Fluid, if it is not one of the declaration's name.
        outputs: their outputs. One that is optional in Sluice is made if the
            program names it.
    """

    op: str = ""
    layer: str = ""
    slots: Names = _NONE
    names: Names = _NONE
    values: Mapping[str, Mapping[Any, Any]] = _NONE
    only: Mapping[str, Any] = _NONE
    unset: str = ""
    fixed: Mapping[str, Any] = _NONE
    shapes: Mapping[str, list[int]] = _NONE
    cast: Names = _NONE
    dense: Names = _NONE
    numbers: Names = _NONE
    channels: str = ""
    ragged: str = ""
    one: bool = False
    ops: str = ""
    outputs: str = "Out"

    def __call__(self, function: Any) -> Any:
        """The function: a stub has no other."""
        return function

    def row(self, type: str, *parts: Any) -> Row:
        """The row of Fluid's op ``type``.

        Args:
            parts: the slots, attributes and outputs of the row.

        Raises:
            ValueError: a column does not fit them, or Sluice's op or layer.
        """
        row = Row(lambda op, **given: self._made(op, row, given), *parts)
        for problem in self._misfits(self.op or type, row):
            raise ValueError(problem)
        return row

    def mistypes(self) -> Iterator[str]:
        """What is of another type than its column."""
        for column, default in self._field_defaults.items():
            value = getattr(self, column)
            if type(value) is not type(default):
                yield f"{column} is {value!r}, no {type(default).__name__}"
        for column in (*_OF["slot"][:-1], "names", "values"):
            kind = _ENTRIES.get(column, str | None)
            for key, entry in getattr(self, column).items():
                if not isinstance(entry, kind):
                    yield f"{column} of {key} cannot be {entry!r}"

    def _inputs(self, row: Row) -> dict[str, str]:
        """What Sluice calls the slots that become inputs."""
        names = {slot: self.slots.get(slot, slot) for slot in row.slots}
        return {s: n for s, n in names.items() if n and s not in self.numbers}

    def _names(self, attribute: str) -> list[str]:
        """What Sluice calls an attribute."""
        if attribute == self.channels or attribute in self.only:
            return []
        return (self.names.get(attribute, attribute) or "").split()

    def _made(self, op: Op, row: Row, given: dict[str, Any]) -> Any:
        """The output of Fluid's op, or several by name."""
        values = {slot: given.get(slot) for slot in row.slots}
        op.only(**{k: (given[k], v) for k, v in self.only.items()})
        attrs = self._attributes(row, given)
        self._convert(op, values, attrs)
        last = bool(self.channels) and is_last(op, given[self.channels])
        if last:
            first = next(iter(values))
            values[first] = channels_second(op, values[first])
        inputs = {n: values[s] for s, n in self._inputs(row).items()}
        if self.layer:
            named = {n: inputs.pop(n) for n in self.slots.values() if n}
            layer = getattr(layers, self.layer)
            with program_guard(op.program):  # a layer may have no inputs
                made = layer(*inputs.values(), **named, **attrs, **self.fixed)
            if len(row.outputs) > 1:
                made = dict(zip(row.outputs, made, strict=True))
        else:
            made = self._append(op, row, inputs, {**attrs, **self.fixed})
        if last:
            out = row.outputs[0]
            made = made if isinstance(made, dict) else {out: made}
            made[out] = channels_last(op, made[out])
        return op.one(made) if self.one else made

    def _attributes(self, row: Row, given: dict[str, Any]) -> dict[str, Any]:
        """The attributes as Sluice has them."""
        unset, attrs = self.unset.split(), dict[str, Any]()
        for attribute, default in row.attributes.items():
            value = given[attribute]
            value = list(value) if isinstance(value, tuple) else value
            if attribute in unset and value == default:
                continue
            if attribute in self.values:
                value = self.values[attribute].get(value, value)
            for name in self._names(attribute):
                if name not in attrs or given[attribute] != default:
                    attrs[name] = value
        return attrs

    def _convert(
        self, op: Op, values: dict[str, Any], attrs: dict[str, Any]
    ) -> None:
        """Convert the variables of slots."""
        if self.ragged:
            op.ragged(values[self.ragged], self.ragged)
        for slot, of in self.dense.items():
            if values[slot].lod_level:
                values[slot], values[of] = op.dense(values[slot])
        for slot, name in self.numbers.items():
            if values[slot] is not None:
                (attrs[name],) = integers(op, slot, values[slot])
        for slot, sizes in self.shapes.items():
            x = values[slot]
            if x is None or (x.shape and len(x.shape) <= len(sizes)):
                continue
            values[slot] = op.reshape(x, *sizes)
        for slot, dtype in self.cast.items():
            if values[slot] is not None:
                values[slot] = op.cast(values[slot], dtype)

    def _append(
        self, op: Op, row: Row, inputs: dict[str, Any], attrs: dict[str, Any]
    ) -> Any:
        """What Sluice's op makes."""
        schema = _schema(self.op or op.type)
        for each in schema["inputs"]:
            if inputs.get(each["name"]) is not None:  # in place of an attribute
                attrs.pop(each["attribute"], None)
        if len(row.outputs) == 1:
            return op.append(schema["name"], inputs, **attrs)
        optional = [o["name"] for o in schema["outputs"] if o["optional"]]
        into = {name: (op.outputs.get(name) or [None])[0] for name in optional}
        return op.append_all(schema["name"], inputs, into, **attrs)

    def _misfits(self, op: str, row: Row) -> Iterator[str]:
        """What does not fit the row, or Sluice's op or layer."""
        known = {"slot": {*row.slots}, "attribute": {*row.attributes}}
        for kind, columns in _OF.items():
            for column in columns:
                value = getattr(self, column)
                for key in value.split() if isinstance(value, str) else value:
                    if key not in known[kind]:
                        yield f"{column}: there is no {kind} {key}"
        for column, entries in (("dense", row.slots), ("cast", CODES)):
            for entry in getattr(self, column).values():
                if entry not in entries:
                    yield f"{column}: there is no {entry}"
        inputs = self._inputs(row)
        used = [name for each in row.attributes for name in self._names(each)]
        used += [*self.fixed, *self.numbers.values()]
        if not self.layer:
            yield from self._misfits_of_op(op, row, inputs, used)
            return
        layer = getattr(layers, self.layer, None)
        if layer is None:
            yield f"Sluice has no layer {self.layer}"
        listed = [slot for slot in inputs if slot not in self.slots]
        used += [inputs[slot] for slot in self.slots if slot in inputs]
        try:
            inspect.signature(layer).bind(*listed, **dict.fromkeys(used))
        except TypeError as error:
            yield f"layer {self.layer} of Sluice: {error}"

    @staticmethod
    def _misfits_of_op(
        op: str, row: Row, inputs: dict[str, str], used: list[str]
    ) -> Iterator[str]:
        try:
            schema = _schema(op)
        except NotFoundError:
            yield f"Sluice has no op {op}"
        for kind, names in (
            ("inputs", inputs.values()),
            ("attributes", used),
            ("outputs", row.outputs if len(row.outputs) > 1 else ()),
        ):
            known = {each["name"] for each in schema[kind]}
            for name in names:
                if name not in known:
                    yield f"op {op} of Sluice has no {kind[:-1]} {name}"
        lists = {e["name"] for e in schema["inputs"] if e["variadic"]}
        for slot, name in inputs.items():
            if row.slots[slot][1] != (name in lists):
                takes = "a list" if name in lists else "one variable"
                yield f"input {name} of op {op} of Sluice takes {takes}"
