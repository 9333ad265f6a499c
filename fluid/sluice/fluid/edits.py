"""What scripts change of programs that are written already.

A change is noted, and the ops are translated again when the program is used.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..defaults import PROGRAMS
from ..framework import Program as SluiceProgram
from .errors import unknown
from .translate import Translation
from .variables import Parameter, Variable


def needed(ops: Sequence[Any], targets: Sequence[str]) -> list[Any]:
    """The forward ops that the targets depend on."""
    wanted, kept = set(targets), []
    for op in reversed(ops):
        if op.role == "forward" and wanted & {*op.output_arg_names}:
            kept.append(op)
            wanted.update(op.input_arg_names)
    return kept[::-1]


class _Described:
    @property
    def desc(self) -> Any:
        """Itself: what PaddlePaddle keeps apart is one here."""
        return self


class OperatorEdits(_Described):
    """Changes of an op."""

    block: Any
    inputs: dict[str, list[str]]
    outputs: dict[str, list[str]]
    attrs: dict[str, Any]

    def _edited(self) -> None:
        self.block.program.edited = True

    def _set_attr(self, name: str, val: Any) -> None:
        """Give an attribute another value."""
        self.attrs = {**self.attrs, name: val}
        self._edited()

    def _rename_input(self, old_name: str, new_name: str) -> None:
        """Read another variable."""
        self.inputs = _renamed(self.inputs, old_name, new_name)
        self._edited()

    def _rename_output(self, old_name: str, new_name: str) -> None:
        """Write another variable."""
        self.outputs = _renamed(self.outputs, old_name, new_name)
        self._edited()

    def infer_shape(self, block: Any) -> None:
        """Let variables have the shapes that follow from changed ones."""
        self.block.program.settle()


def _renamed(slots: dict[str, list[str]], old: str, new: str) -> Any:
    return {
        slot: [new if name == old else name for name in names]
        for slot, names in slots.items()
    }


class BlockEdits(_Described):
    """Changes of a block, and variables without ops."""

    program: Any
    ops: list[Any]
    vars: dict[str, Variable]

    def _find_var_recursive(self, name: str) -> Variable | None:
        """The variable of a name, or None."""
        return self.vars.get(name)

    def create_parameter(
        self, name: str, shape: Sequence[int], dtype: Any,
        trainable: bool = True, initializer: Any = None,
        optimize_attr: Any = None, regularizer: Any = None, **_: Any,
    ) -> Parameter:  # fmt: skip
        """A parameter, which another program gives its first value."""
        if initializer is not None:
            unknown(
                f"create_parameter: {name} with an initializer; "
                "LayerHelper.create_parameter takes one",
                "fluid.create_parameter",
            )
        made = self.persistable(name, shape, dtype, trainable)  # type: ignore[attr-defined]
        rate = (optimize_attr or {}).get("learning_rate", 1.0)
        made._set_attr(learning_rate=rate, regularizer=regularizer)
        return made

    def _clone_variable(
        self, var: Variable, force_persistable: bool = True
    ) -> Variable:
        """A variable like that of another program."""
        return self.create_var(  # type: ignore[attr-defined]
            var.name, var.shape, var.dtype, var.lod_level, var.is_data,
            force_persistable or var.persistable,
        )  # fmt: skip

    def _remove_op(self, index: int) -> None:
        """Drop an op, by its number."""
        del self.ops[index]
        for at, op in enumerate(self.ops):
            op.idx = at
        self.program.edited = True

    def _remove_var(self, name: str) -> None:
        """Drop a variable, which no op has."""
        del self.vars[name]
        self.program.forget(name)

    def _rename_var(self, name: str, new_name: str) -> Variable:
        """Call a variable otherwise, and where ops have it."""
        var = self.vars.pop(name)
        self.program.rename(name, new_name)
        for op in self.ops:
            op._rename_input(name, new_name)
            op._rename_output(name, new_name)
        var.name, self.vars[new_name] = new_name, var
        return var


class ProgramEdits(_Described):
    """Changes of a program, and its ops as bytes."""

    edited = False  # since the ops were translated
    block0: Any
    feeds: list[tuple[str, Any, int, int]]
    stored: dict[str, tuple[list[int], int, bool | None]]
    _sluice: SluiceProgram
    _translation: Translation
    _fed: dict[Any, Any]

    @property
    def sluice(self) -> SluiceProgram:
        """The program of Sluice."""
        self.settle()
        return self._sluice

    @property
    def translation(self) -> Translation:
        """The translation: Sluice's values by Fluid's names."""
        self.settle()
        return self._translation

    def settle(self) -> None:
        """Translate all ops again, if any was changed."""
        if not self.edited:
            return
        self.edited = False
        try:
            made = self._copied(self.block0.ops, False)  # type: ignore[attr-defined]
        except Exception:
            self.edited = True
            raise
        for name in vars(PROGRAMS):  # inside of a guard
            if getattr(PROGRAMS, name) is self._sluice:
                setattr(PROGRAMS, name, made.sluice)
        self._sluice, self._translation = made.sluice, made.translation
        self._fed.clear()

    def forget(self, name: str) -> None:
        """Drop what is declared of a name."""
        self.feeds = [each for each in self.feeds if each[0] != name]
        self.stored.pop(name, None)
        self.edited = True

    def rename(self, old: str, new: str) -> None:
        """Declare a name in the place of another."""
        self.feeds = [
            (new if name == old else name, *rest) for name, *rest in self.feeds
        ]
        if old in self.stored:
            self.stored[new] = self.stored.pop(old)
        attrs, values = self._sluice._param_attrs, self._translation.values
        if old in attrs:
            attrs[new] = dataclasses.replace(attrs.pop(old), name=new)
        found = self._translation.find(old)
        if found is not None:  # it says whether gradients stop
            values[new] = found
        self.edited = True

    def flush(self) -> None:
        """Nothing: the ops are what is there."""

    _sync_with_cpp = flush
