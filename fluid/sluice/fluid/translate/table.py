"""The table of Fluid's ops: a row, a function, for each.

A row's arguments are the op, its slots as variables, and, keyword-only, its
attributes with Fluid's defaults, so that its signature says what it takes. It
appends ops of Sluice to the program and returns its outputs: a variable for the
first slot of ``outputs``, or a dict of them. What it does not return, such as
``XShape``, is not made, and an op that reads it is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from ... import layers, unique_name
from ...display import Shown
from ...errors import NotFoundError
from ...framework import Program, Variable, created
from ..errors import unknown, wrong
from .folding import Folding

Many = Any  # the annotation of slots that take several variables

# Element types by VarType.
DTYPES = {
    0: "bool", 1: "int16", 2: "int32", 3: "int64", 4: "float16", 5: "float32",
    6: "float64", 19: "uint64", 20: "uint8", 21: "int8", 22: "bfloat16",
}  # fmt: skip
CODES = {name: code for code, name in DTYPES.items()}


def words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


# Attributes that say how PaddlePaddle computes, not what.
INTERNAL = frozenset(
    words(
        """
    use_mkldnn use_cudnn use_quantizer mkldnn_data_type workspace_size_MB
    exhaustive_search use_addto op_role op_role_var op_namescope
    op_callstack op_device with_quant_attr is_sparse is_distributed
    remote_prefetch force_cpu place_type numeric_stable_mode entry
    trainer_id epmap table_names height_sections grad_inplace
    force_fp32_output x_data_format y_data_format infer_flags is_test
    trainable_statistics use_global_stats fix_seed seed fuse_brelu_threshold
    fuse_bias use_seq
    enable_cache min_row_size_to_use_multithread lazy_mode use_calc_stream
        """
    )
)


@dataclass(frozen=True)
class Row:
    """An op of Fluid: what it takes and gives, and its translation."""

    function: Callable[..., Any]
    slots: dict[str, tuple[bool, bool]]  # whether required, whether a list
    attributes: dict[str, Any]  # with Fluid's defaults; REQUIRED
    outputs: tuple[str, ...]

    def takes(self, attribute: str) -> bool:
        """Whether the op has this attribute."""
        return attribute in self.attributes or attribute in INTERNAL


REQUIRED = inspect.Parameter.empty
ROWS: dict[str, Row] = {}


def row(*types: str, outputs: str = "Out", **words: Any) -> Callable[..., Any]:
    """Make a function the row of these ops.

    ``words`` are attributes whose names are keywords of Python, with their
    defaults; the function takes them as ``**attrs``.
    """

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        slots, attributes = {}, dict(words)
        _, *arguments = inspect.signature(function).parameters.values()
        for each in arguments:
            if each.kind is each.KEYWORD_ONLY:
                attributes[each.name] = each.default
            elif each.kind is not each.VAR_KEYWORD:
                many = each.annotation == "Many"
                slots[each.name] = (each.default is REQUIRED, many)
        made = Row(function, slots, attributes, tuple(outputs.split()))
        for type in types:
            assert type not in ROWS, type
            ROWS[type] = made
        return function

    return add


class Op(Shown):
    """An op of Fluid that is being translated.

    Attributes:
        type: Fluid's name of it.
        inputs: the names of Fluid's variables, by slot.
        outputs: likewise.
        given: Fluid's attributes.
        program, folding, values, numbers: the translation's.
    """

    def __init__(
        self,
        type: str,
        translation: Any,
        inputs: Mapping[str, Sequence[str]],
        outputs: Mapping[str, Sequence[str]],
        given: Mapping[str, Any],
    ) -> None:
        self.type, self.inputs, self.outputs = type, inputs, outputs
        self.given = given
        self.program: Program = translation.program
        self.folding: Folding | None = translation.folded()
        self.values: dict[str, Any] = translation.values
        self.numbers: dict[str, list[Any]] = translation.numbers

    def append(self, type: str, inputs: Any = None, **attrs: Any) -> Variable:
        """Append an op of Sluice; return its output Out, or its only one.

        Where an op, one of ``fill_...`` or ``pad``, puts a large integer
        ``value``, it is the sum of two that float64 has.
        """
        value = attrs.get("value")
        if isinstance(value, Integral):
            low = 0 if abs(value) <= 2**53 else int(value) % 2**32
            attrs["value"] = float(int(value) - low)
            if low:
                most = self.append(type, inputs, **attrs)
                attrs["value"] = low
                if type == "pad":  # the data are in the first only
                    x = inputs["X"]
                    inputs = {**inputs, "X": self.constant_like(x, 0.0)}
                return most + self.append(type, inputs, **attrs)
        made = self.append_all(type, inputs, **attrs)
        return made["Out"] if "Out" in made else next(iter(made.values()))

    def __getattr__(self, type: str) -> Callable[..., Variable]:
        """Append the op of Sluice of this name: to X and Y, then inputs, which
        have a capital letter, and attributes by name.
        """
        if type.startswith("_"):
            raise AttributeError(type)

        def append(*values: Any, **named: Any) -> Variable:
            inputs = dict(zip("XY", values, strict=False))
            for slot in [name for name in named if name[0].isupper()]:
                inputs[slot] = named.pop(slot)
            return self.append(type, inputs, **named)

        return append

    def append_all(
        self, type: str, inputs: Any = None, into: Any = None, **attrs: Any
    ) -> dict[str, Any]:
        """Append an op of Sluice; return its outputs by argument."""
        given = {k: v for k, v in (inputs or {}).items() if v is not None}
        if self.folding is not None and not into:
            folded = self.folding.folded(self.program, type, given, attrs)
            if folded is not None:
                return folded
        return self.program.append_op(type, inputs or {}, into or {}, attrs)

    def constant(
        self, value: Any, dtype: Any = "float32", shape: Any = ()
    ) -> Variable:
        """A variable full of one number."""
        return self.append(
            "fill_constant", shape=list(shape), dtype=dtype, value=value
        )

    def constant_like(self, x: Variable, value: Any) -> Variable:
        """A variable of the shape and type of another, full of one number."""
        return self.append(
            "fill_any_like", {"X": x}, value=value, dtype=x.dtype
        )

    def reshape(self, x: Variable, *shape: int) -> Variable:
        """Reshape; 0 keeps a size and -1 is the rest."""
        return self.append("reshape", {"X": x}, shape=list(shape))

    def one(self, x: Variable) -> Variable:
        """Fluid has no tensors of rank 0: they are [1]."""
        return self.reshape(x, 1) if x.shape == () else x

    def slice(self, x: Variable, axis: int, start: int, end: int) -> Variable:
        """The part of a dim from ``start`` to ``end - 1``."""
        attrs = {"axes": [axis], "starts": [start], "ends": [end]}
        return self.append("slice", {"X": x}, **attrs)

    def cast(self, x: Variable, dtype: Any) -> Variable:
        """Convert unless it has the type."""
        if x.dtype == dtype:
            return x
        return self.append("cast", {"X": x}, dtype=dtype)

    def name(self, stem: str) -> str:
        """A new name for an output that is made only if it is named."""
        return unique_name.generate(f"{self.type}.{stem}")

    def wants(self, slot: str) -> bool:
        """Whether the op has this output."""
        return bool(self.outputs.get(slot))

    def refuse(self, text: str) -> None:
        """Raise: Sluice does not have what the op asks for."""
        unknown(f"{self.type}: {text}", "fluid.unimplemented")

    def wrong(self, text: str) -> None:
        """Raise: the op cannot be meant so."""
        wrong(f"{self.type}: {text}", "fluid.argument")

    def only(self, **attributes: tuple[Any, Any]) -> None:
        """Refuse attributes, given with their values and the only ones that
        have a meaning here.
        """
        for name, (value, known) in attributes.items():
            if value not in (known if isinstance(known, tuple) else (known,)):
                self.refuse(
                    f"attribute {name} is {value!r}; expected {known!r}"
                )

    def shape(self, x: Variable) -> tuple[int | None, ...]:
        """Its shape; refused if the rank is unknown."""
        if x.shape is None:
            self.refuse(f"the rank of {x.name} is unknown")
        return x.shape  # type: ignore[return-value]

    def dense(self, x: Variable) -> tuple[Variable, Variable]:
        """Ragged rows as [sequences, longest, ...], zeros at the ends, and the
        lengths; a last 1 is dropped.
        """
        zero = self.constant(0.0, x.dtype, [1])
        out, length = layers.sequence_pad(x, zero)
        if self.shape(x)[1:] == (1,):
            out = self.append("squeeze", {"X": out}, axes=[2])
        return out, length

    def ragged(self, x: Variable, slot: str = "X") -> Variable:
        """It; refused if it has no LoD."""
        if not x.lod_level:
            self.wrong(f"input {slot}, {x.name}, has no LoD")
        return x

    def cut_alike(self, *variables: Variable) -> list[Variable]:
        """Variables whose rows the first ragged one cuts into sequences, as
        in Fluid.
        """
        first = next((x for x in variables if x.lod_level), None)
        return [
            layers.lod_reset(x, first)
            if x.lod_level and x.offsets.name != first.offsets.name
            else x
            for x in variables
        ]

    def rank(self, x: Variable) -> int:
        """Its rank; refused if it is unknown."""
        return len(self.shape(x))

    def size(self, x: Variable, axis: int) -> int:
        """A size that must be known."""
        size = self.shape(x)[axis]
        if size is None:
            self.refuse(f"size {axis} of {x!r} is unknown")
        return size  # type: ignore[return-value]


@dataclass(frozen=True)
class Dim:
    """A size that is known in the run only."""

    variable: str
    axis: int


def arguments_of(op: Op, row: Row, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a row's function, checked against its signature."""
    arguments: dict[str, Any] = {}
    for slot, (required, many) in row.slots.items():
        values = inputs.get(slot) or []
        if required and not values:
            op.wrong(f"input {slot} is missing")
        if values:
            arguments[slot] = list(values) if many else values[0]
            if not many and len(values) > 1:
                op.wrong(f"input {slot} has {len(values)} variables, not one")
    for slot, values in inputs.items():
        if values and slot not in row.slots:
            op.wrong(
                f"input {slot} is unknown; known are {', '.join(row.slots)}"
            )
    for name, value in op.given.items():
        if name in row.attributes:
            arguments[name] = value
        elif not _idle(name, value):
            known = ", ".join(row.attributes) or "none"
            op.wrong(f"attribute {name} is unknown; known are {known}")
    for name, default in row.attributes.items():
        if arguments.get(name) is None:
            if default is REQUIRED:
                op.wrong(f"attribute {name} is missing")
            arguments[name] = default
        code = arguments[name] if name.endswith("dtype") else -1
        if isinstance(code, int) and code >= 0:
            if code not in DTYPES:
                op.refuse(f"dtype {code} is none of {DTYPES}")
            arguments[name] = DTYPES[code]
    return arguments


def _idle(name: str, value: Any) -> bool:
    """Whether an attribute changes nothing that is computed."""
    return (
        name in INTERNAL
        or value is None
        or (name.startswith(("fuse_", "fused_")) and not value)
        or (name.lower().startswith("scale_") and value in (1.0, [1.0]))
        or str(value).lower() == "anylayout"
        or (name == "dtype" and value == -1)
    )


def find(type: str) -> Row:
    """The row of an op. Raises NotFoundError and lists similar names."""
    found = ROWS.get(type)
    if found is None:
        from difflib import get_close_matches

        near = get_close_matches(type, ROWS, 3)
        also = f"; similar are {', '.join(near)}" if near else ""
        raise NotFoundError(
            f"op {type} of Fluid has no translation{also}{created()}",
            "fluid.unknown_op",
        )
    return found
