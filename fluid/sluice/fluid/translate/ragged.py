"""Ragged rows beside ops that know no sequences.

Fluid's rows have no padding, and most of its ops pay no heed to LoD. Sluice's
ragged variables end with padding. So each op of Sluice that a row of Fluid
appends is asked first how it takes ragged rows. One that would mix padding in
gets the rows alone, and so does what follows in the row.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ... import layers
from ...framework import Program, Variable
from ...tracebacks import caller_location
from .table import Op

_END = 2**31 - 1  # of a dim, whatever its size
# Ops whose result has the LoD of X also where Sluice's op gets the rows alone.
_KEEPING = {"batch_norm": "Y", "sync_batch_norm": "Y", "data_norm": "Y"}
# Ops that read rows of several inputs side by side.
_ROW_BY_ROW = {
    "bilinear_tensor_product", "bpr_loss", "center_loss", "concat", "cos_sim",
    "cross_entropy", "cross_entropy2", "equal", "greater_equal", "greater_than",
    "gru_unit", "hierarchical_sigmoid", "hinge_loss", "huber_loss",
    "kldiv_loss", "less_equal", "less_than", "lod_reset", "log_loss",
    "logical_and", "logical_or", "logical_xor", "lstm_unit",
    "margin_rank_loss", "nce", "not_equal", "rank_loss",
    "sigmoid_cross_entropy_with_logits",
    "smooth_l1_loss", "softmax_with_cross_entropy", "sum",
    "teacher_student_sigmoid_loss", "where",
}  # fmt: skip


class RowsAlone:
    """The ops of one row of Fluid, of which some get the rows alone."""

    def __init__(self, program: Program) -> None:
        self._program = program
        # By block and name the rows alone; names of what is computed of them.
        self._dense: dict[tuple[int, str], Variable] = {}
        self._without_lod: set[str] = set()

    @contextlib.contextmanager
    def appending(self) -> Iterator[None]:
        """Let the program append the ops of the block by this."""
        self._program._appender = self._append_op
        try:
            yield
        finally:
            self._program._appender = None

    def _append_op(
        self, type: str, inputs: Any, outputs: Any, attrs: Any, hint: str
    ) -> dict[str, Any]:
        append = self._program._append_as_given
        alone = None
        if self._program._ragged:
            alone = self._rows_alone(type, inputs, outputs, attrs)
        if alone is None:
            return append(type, inputs, outputs, attrs, hint)
        made = append(type, alone, outputs, attrs, hint)
        for variable in flat(made):
            if not variable.lod_level:
                self._without_lod.add(variable.name)
        return made

    def _rows_alone(
        self, type: str, inputs: Any, outputs: Any, attrs: Any
    ) -> dict[str, Any] | None:
        """The inputs with the rows alone of ragged ones, as far as the op does
        not take their offsets; None if it keeps the rows of all.
        """
        program = self._program
        named = program._names(type, "inputs", inputs)
        names = {name for _, several in named for name in several}
        follows = not names.isdisjoint(self._without_lod)
        if not any(program._var(name)["offsets"] for name in names):
            return {**inputs} if follows else None
        uses = program._ragged_inputs(
            type,
            named,
            dict(attrs or {}),
            program._names(type, "outputs", outputs),
            caller_location(),
        )
        if not follows and all(use != "mixed" for _, use in uses):
            return None
        taken = {name for name, use in uses if use != "given"}
        return {
            slot: [self._alone(name, taken) for name in several]
            for slot, several in named
        }

    def _alone(self, name: str, taken: set[str]) -> Variable | str:
        if name not in taken:
            return name
        key = self._program._current_block(), name
        if key not in self._dense:
            append = self._program._append_as_given
            offsets = {"X": self._program.var(name).offsets}
            at = {"axes": [0], "starts": [-1], "ends": [_END]}
            last = append("slice", offsets, None, at, "")["Out"]
            given = {"X": name, "Rows": last}
            made = append("sequence_rows", given, None, None, "")
            self._dense[key] = made["Out"]
            self._without_lod.add(self._dense[key].name)
        return self._dense[key]

    def with_lod(self, op: Op, made: dict[str, Any], values: Any) -> None:
        """Give outputs of an op the LoD that they have in Fluid, if the op got
        the rows alone.
        """
        first = values.get("X", [])
        ragged = [x for x in first if isinstance(x, Variable) and x.lod_level]
        slot = _KEEPING.get(op.type, "Out" if op.type == "concat" else "")
        out = made.get(slot)
        if not ragged or getattr(out, "name", "") not in self._without_lod:
            return
        if op.type != "concat":
            made[slot] = _with_lod_of(op, out, ragged[0])
        elif len(ragged) == len(first):
            made[slot] = layers.lod_reset(out, _joined(op, ragged))


def flat(made: Mapping[str, Any]) -> Iterator[Variable]:
    """The variables of outputs by name, each a variable or a list."""
    for value in made.values():
        yield from value if isinstance(value, list) else [value]


def side_by_side(op: Op, values: dict[str, Any]) -> dict[str, Any]:
    """The inputs of an op; rows without LoD beside others that have one get
    it, if the op reads them row by row.
    """
    if op.type not in _ROW_BY_ROW and not op.type.startswith("elementwise_"):
        return values
    every = [v for given in values.values() for v in given]
    every = [v for v in every if isinstance(v, Variable)]
    like = next((v for v in every if v.lod_level), None)
    if like is None or all(v.lod_level for v in every):
        return values

    def cut(value: Any) -> Any:
        shape = getattr(value, "shape", None) or ()
        rows = len(shape) == len(like.shape or ()) and shape[0] is None
        alone = isinstance(value, Variable) and not value.lod_level
        return _with_lod_of(op, value, like) if rows and alone else value

    return {slot: [*map(cut, given)] for slot, given in values.items()}


def _with_lod_of(op: Op, value: Variable, like: Variable) -> Variable:
    """Dense rows with the LoD of ``like``, padded to as many rows."""
    count = op.append("shape", {"X": value}, start=0, end=1)
    each = op.range(End=count + 1, dtype="int64")
    rows = op.sequence_expand_as(value, like, Offsets=each)
    return layers.lod_reset(rows, like)


def _joined(op: Op, ragged: Sequence[Variable]) -> Variable:
    """The offsets of the sequences of all, one variable after the other."""
    made = ragged[0].offsets
    for each in ragged[1:]:
        end = op.slice(made, 0, -1, _END)
        more = op.slice(each.offsets, 0, 1, _END)
        made = op.concat([made, more + end], axis=0)
    return made
