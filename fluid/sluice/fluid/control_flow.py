"""Blocks that run for each step of sequences: StaticRNN and DynamicRNN.

The ops of a block are recorded while the script writes it, and translated into
a block of Sluice that is dropped again, so that shapes are known and mistakes
are raised at their line. Then they are translated in their place, as a loop's
step.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import layers as sluice_layers
from .. import unique_name
from ..display import Shown
from .errors import too_early, wrong
from .framework import Operator, Program, Variable, default_main_program
from .translate import CODES, DTYPES
from .translate.blocks import form_of, scratch_block

__all__ = ["DynamicRNN", "StaticRNN"]


class Region(Operator):
    """A block as an op.

    Attributes:
        ops: what is in it.
        loop: gets what runs the ops on variables of Sluice, by Fluid's names,
            and returns what the block's outputs are.
    """

    is_loop = True

    def __init__(self, type: str, loop: Callable[..., list[Any]]) -> None:
        super().__init__(type, {}, {}, {}, "forward")
        self.ops: list[Operator] = []
        self.loop = loop

    def in_test_mode(self) -> Operator:
        """A copy whose ops are in test mode."""
        made = copy.copy(self)
        made.ops = [op.in_test_mode() for op in self.ops]
        return made

    def declare(self, program: Program) -> bool:
        """Declare what it writes, while a block around it is written, whose ops
        are translated again. Returns whether that is known; otherwise it is
        translated.
        """
        return False

    def translate(self, program: Program) -> None:
        """Append the loop to a program, which may be a copy."""
        translation = program.translation
        before = dict(translation.values)

        def step(given: dict[str, Any], wanted: Sequence[str]) -> list[Any]:
            translation.values.update(given)
            with translation.inside():
                for op in self.ops:
                    op.translate(program)
            return [translation.value(name) for name in wanted]

        made = self.loop(translation.value, step)
        translation.values.clear()
        translation.values.update(before)
        names = self.output_arg_names
        translation.values.update(zip(names, made, strict=True))


@contextlib.contextmanager
def recorded(
    ops: list[Operator], forms: dict[str, Any] | None = None
) -> Iterator[Program]:
    """Record the ops that the block appends, which are translated into a block
    that is dropped; ``forms`` get those of what they write.
    """
    program = default_main_program()
    outer, program.recorded = program.recorded, ops
    find = program.translation.find
    try:
        with scratch_block(program.translation):
            yield program
            if forms is not None:
                names = (n for op in ops for n in op.output_arg_names)
                forms.update((name, form_of(find(name))) for name in names)
    finally:
        program.recorded = outer


class _Loop(Shown):
    """The base of StaticRNN and DynamicRNN."""

    _type = ""

    def __init__(self, name: str | None = None) -> None:
        self.name = name or unique_name.generate(self._type)
        self._region = Region(self._type, self._loop)
        self._program: Program | None = None
        self._done = False
        self._made: list[Variable] = []
        self._steps: dict[str, str] = {}  # a step's name: the sequence's
        self._starts: dict[str, Callable[[], Variable]] = {}  # of memories
        self._updates: dict[str, str] = {}
        self._outputs: list[str] = []

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """The ops of a step."""
        with recorded(self._region.ops) as self._program:
            yield
        self._done = True
        program, self._program = self._program, None
        for memory in self._starts:
            if memory not in self._updates:
                wrong(
                    f"{self._type}: memory {memory} has no update_memory",
                    "fluid.memory",
                )
        if not self._outputs:
            return
        stem = f"{self.name}.out"
        names = [unique_name.generate(stem) for _ in self._outputs]
        self._region.outputs["Out"] = names
        self._first = [start().name for start in self._starts.values()]
        block = program.global_block()
        self._made = block.append_region(self._region)

    def _inside(self, what: str) -> Program:
        if self._program is None:
            too_early(
                f"{self._type}: {what} belongs into `with rnn.block():`",
                "fluid.rnn_block",
            )
        return self._program

    def _data(self, stem: str, shape: Any, dtype: Any) -> Variable:
        """A variable of the block that is dropped."""
        program = self._inside(stem)
        name = unique_name.generate(f"{self.name}.{stem}")
        value = program.sluice.data(f"block.{name}", shape, dtype)
        value.stop_gradient = False
        program.translation.values[name] = value
        block = program.global_block()
        return block._declare(Variable(block, name))

    def _memory(
        self, shape: Any, dtype: Any, start: Callable[[], Variable]
    ) -> Variable:
        made = self._data("memory", shape, dtype)
        self._starts[made.name] = start
        return made

    def _full(
        self, like: Variable, shape: list[int], value: float, **dims: Any
    ) -> Variable:
        """A memory full of a number, with a size of another variable."""
        attrs = {
            "shape": [1 if size == -1 else size for size in shape],
            "value": value,
            **dims,
        }
        block = self._inside("memory").global_block()
        op = "fill_constant_batch_size_like"
        sizes = [None if size == -1 else size for size in shape]
        return self._memory(
            sizes,
            DTYPES[attrs["dtype"]],
            lambda: block.append(op, {"Input": like}, attrs),
        )

    def update_memory(self, mem: Variable, var: Variable) -> None:
        """Let the memory be ``var`` in the next step."""
        self._inside("update_memory")
        if mem.name not in self._starts:
            wrong(
                f"{self._type}: {mem.name} is no memory",
                "fluid.update_memory",
            )
        self._updates[mem.name] = var.name

    def output(self, *outputs: Variable) -> None:
        """Add outputs of each step."""
        self._inside("output")
        self._outputs += [each.name for each in outputs]

    def __call__(self) -> Any:
        """The outputs of all steps: a variable, or a list of them."""
        if not self._made:
            what = "the block has no output" if self._done else "write it first"
            too_early(
                f"{self._type}: `with rnn.block():`: {what}",
                "fluid.rnn_call",
            )
        return self._made[0] if len(self._made) == 1 else self._made

    def _loop(self, value: Callable[[str], Any], step: Any) -> list[Any]:
        def fn(carried: list[Any], rows: list[Any]) -> tuple[list, list]:
            given = dict(zip(self._starts, carried, strict=True))
            given.update(zip(self._steps, rows, strict=True))
            updates = [self._updates[name] for name in self._starts]
            made = step(given, [*updates, *self._outputs])
            return made[: len(updates)], made[len(updates) :]

        first = [value(name) for name in self._first]
        sequences = [value(name) for name in self._steps.values()]
        return self._scan(fn, first, sequences)[1]

    _scan: Any = None


class StaticRNN(_Loop):
    """A step for each element of sequences of one length, along dim 0."""

    _type = "static_rnn"
    _scan = staticmethod(sluice_layers.scan)

    step = _Loop.block

    def step_input(self, x: Variable) -> Variable:
        """The step's element of a sequence [steps, batch, ...]."""
        made = self._data("step", list(x.value.shape)[1:], x.dtype)
        self._steps[made.name] = x.name
        return made

    def memory(
        self,
        init: Variable | None = None,
        shape: Sequence[int] | None = None,
        batch_ref: Variable | None = None,
        init_value: float = 0.0,
        init_batch_dim_idx: int = 0,
        ref_batch_dim_idx: int = 1,
    ) -> Variable:
        """A variable that steps carry on: at first ``init``, or of this shape
        with as many rows as the reference has, full of ``init_value``.
        """
        if init is None:
            if shape is None or batch_ref is None:
                wrong(
                    "static_rnn: memory needs init, or shape and batch_ref",
                    "fluid.memory_start",
                )
            block = self._inside("memory").global_block()
            name = self._steps.get(batch_ref.name)
            return self._full(
                block.var(name) if name else batch_ref,
                list(shape),
                init_value,
                dtype=CODES[batch_ref.dtype.name],
                input_dim_idx=ref_batch_dim_idx,
                output_dim_idx=init_batch_dim_idx,
            )
        return self._memory(init.value.shape, init.dtype, lambda: init)

    step_output = _Loop.output


class DynamicRNN(_Loop):
    """A step for each row of ragged sequences; those that have ended rest."""

    _type = "dynamic_rnn"
    _scan = staticmethod(sluice_layers.sequence_scan)

    def step_input(self, x: Variable, level: int = 0) -> Variable:
        """The rows of the step, one of each sequence."""
        if level != 0 or x.lod_level != 1:
            wrong(
                "dynamic_rnn: step_input takes one level of sequences, got "
                f"{x!r} with {x.lod_level}, level = {level}",
                "fluid.step_level",
            )
        made = self._data("step", [None, *list(x.value.shape)[1:]], x.dtype)
        self._steps[made.name] = x.name
        return made

    def static_input(self, x: Variable) -> Variable:
        """Return ``x``, which is the same in each step."""
        self._inside("static_input")
        return x

    def update_memory(self, ex_mem: Variable, new_mem: Variable) -> None:
        """Let the memory be ``new_mem`` in the next step."""
        super().update_memory(ex_mem, new_mem)

    def memory(
        self,
        init: Variable | None = None,
        shape: Sequence[int] | None = None,
        value: float = 0.0,
        need_reorder: bool = False,
        dtype: Any = "float32",
    ) -> Variable:
        """A variable that steps carry on, a row for each sequence: at first
        ``init``, or rows of this shape full of ``value``.
        """
        if init is None:
            if shape is None or not self._steps:
                wrong(
                    "dynamic_rnn: memory needs init, or a shape after a "
                    "step_input",
                    "fluid.memory_start",
                )
            block = self._inside("memory").global_block()
            rows = block.var(next(iter(self._steps.values())))
            code = CODES[str(dtype)]
            return self._full(rows, [-1, *shape], value, dtype=code)
        return self._memory(init.value.shape, init.dtype, lambda: init)
