"""Fluid's ops as ops of Sluice: one table for programs that are written, for
files and for Fluid's own tests.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...display import Shown
from ...errors import (
    InvalidArgumentError,
    NotFoundError,
    SluiceError,
)
from ...framework import Program, Variable, created
from . import (  # noqa: F401
    blocks,
    composed,
    contraction,
    creation,
    elementwise,
    fusions,
    losses,
    movement,
    norms,
    quantized,
    reductions,
    resizing,
    search,
    sequences,
    updates,
    windows,
)
from .blocks import BLOCK_OPS, Array
from .folding import Folding
from .ragged import RowsAlone, side_by_side
from .table import CODES, DTYPES, ROWS, Dim, Op, Row, arguments_of, find

__all__ = [
    "BLOCK_OPS", "CODES", "DTYPES", "ROWS", "Dim", "Folding", "Op", "Row",
    "Translation",
]  # fmt: skip

EMPTY = "@EMPTY@"
# What a row raises for attributes of other types or lengths than it expects.
_MISFITS = (
    ArithmeticError, AttributeError, LookupError, TypeError, ValueError
)  # fmt: skip


class Translation(Shown):
    """Ops of Fluid, appended to a program of Sluice.

    Fluid's names are those of memory that ops write, several times if they
    like. So a name has a variable of Sluice, another one after each write.

    Attributes:
        program: of Sluice.
        folding: for inference, the values of the parameters.
        values: what each of Fluid's names stands for now.
        numbers: what is known of small integer variables: a list of numbers,
            dims of variables (:class:`Dim`), and None, by Sluice's name.
    """

    def __init__(
        self, program: Program, folding: Folding | None = None
    ) -> None:
        self.program, self.folding = program, folding
        self.values: dict[str, Variable] = {}
        self.numbers: dict[str, list[Any]] = {}
        self._not_made: dict[str, str] = {}  # by name: the op
        self._depth = 0  # of blocks
        self._forms: dict[int, tuple[Any, dict[str, Any]]] = {}
        # By name: dtype and capacity of arrays that no op makes.
        self.arrays: dict[str, tuple[Any, int]] = {}

    def find(self, name: str) -> Variable | Array | None:
        """The variable or array that the name means now, if any."""
        if name in self.values:
            return self.values[name]
        known = self.program.has_var(name)
        return self.program.var(name) if known else None

    def new_array(self, name: str, dtype: Any, capacity: int) -> None:
        """Let a name mean an array without elements."""
        self.arrays[name] = dtype, capacity
        self.values[name] = blocks.new_array(self.program, dtype, capacity)

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """The ops are of a block: they write no variable in the scope."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def forms_of(self, written: Sequence[str]) -> dict[str, Any]:
        """What is known of a loop, by the list of what its block writes: the
        forms of what it makes, where they are not those before it.
        """
        return self._forms.setdefault(id(written), (written, {}))[1]

    def expect(self, written: Sequence[str], forms: Mapping[str, Any]) -> None:
        """Say what a loop makes, unless something is known of it."""
        if written and not self.forms_of(written):
            known = {name: form for name, form in forms.items() if form}
            self.forms_of(written).update(known)

    def folded(self) -> Folding | None:
        """What computes ops on parameters; not in blocks, which are dropped."""
        return None if self._depth else self.folding

    def value(self, name: str) -> Any:
        """What :meth:`find` finds. Raises NotFoundError."""
        if name in self.values:
            return self.values[name]
        if name in self._not_made:
            raise NotFoundError(
                f"variable {name} is read, but {self._not_made[name]} makes it "
                f"only for its gradient in Fluid{created()}",
                "fluid.not_made",
            )
        return self.program.var(name)

    def append(
        self,
        type: str,
        inputs: Mapping[str, Sequence[str]],
        outputs: Mapping[str, Sequence[str]],
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        """Append an op of Fluid.

        Args:
            type: its type.
            inputs: names of variables by slot.
            outputs: names of those that it writes.
            attrs: its attributes; those that are missing have Fluid's defaults.

        Raises:
            NotFoundError: Sluice knows no such op, or a variable is unknown.
            InvalidArgumentError: a slot or an attribute is unknown.
            UnimplementedError: an attribute has a value that Sluice does not
                have.
        """
        row = find(type)
        op = Op(type, self, inputs, outputs, dict(attrs or {}))
        values = {
            slot: [self.value(name) for name in names if name != EMPTY]
            for slot, names in inputs.items()
        }
        values = side_by_side(op, values)
        arguments = arguments_of(op, row, values)
        first = self.program._op_count()
        rows = RowsAlone(self.program)
        try:
            with rows.appending():
                made = row.function(op, **arguments)
        except SluiceError:
            raise
        except _MISFITS as error:
            raise InvalidArgumentError(
                f"{type}: its inputs and attributes do not fit each other: "
                f"{error} (attributes {op.given}){created()}",
                "fluid.misfit",
            ) from error
        if not isinstance(made, Mapping):
            made = {row.outputs[0]: made}
        rows.with_lod(op, made, values)
        for slot, names in outputs.items():
            given = made.get(slot)
            if given is None:
                self._not_made.update(dict.fromkeys(names, type))
                for name in names:
                    self.values.pop(name, None)
                continue
            several = given if isinstance(given, list) else [given]
            if len(several) != len(names):
                op.wrong(
                    f"output {slot} is {len(several)} variables, the program "
                    f"names {len(names)}"
                )
            for name, variable in zip(names, several, strict=True):
                self._name(variable, name, first)
                self.write(name, variable)

    def _name(self, value: Any, name: str, first: int) -> None:
        """Call a variable as Fluid does, if op number ``first`` or a later one
        makes it and the name is free, for those who look at the program.
        """
        old = getattr(value, "name", None)
        if self._depth or old is None or self.program.has_var(name):
            return
        try:
            renamed = self.program._rename(old, name, first)
        except InvalidArgumentError:  # such as a name that is not UTF-8
            return
        if renamed:
            value.name = name
            if old in self.numbers:
                self.numbers[name] = self.numbers.pop(old)

    def write(self, name: str, value: Any) -> None:
        """Let a name mean another variable. If the name is stored, the scope
        gets the value, too; what follows still reads the variable, because a
        block reads the scope as it was before the run.
        """
        if isinstance(value, Variable):
            if name == EMPTY or value.name == name:
                return
            if self.is_stored(name) and not self._depth:
                same = self.program.var(name).shape == value.shape
                # What is reshaped in place is stored as it was.
                if same or None in (value.shape or (None,)):
                    out = {"Out": name}
                    self.program.append_op("assign", {"X": value}, out)
        self.values[name] = value

    def is_stored(self, name: str) -> bool:
        """Whether the name is that of a variable in the scope."""
        return self.program.has_var(name) and self.program.var(name).persistable
