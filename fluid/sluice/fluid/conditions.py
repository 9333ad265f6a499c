"""Blocks that run if, or as long as, a variable is true; and arrays."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import unique_name
from ..display import Shown
from .control_flow import Region, recorded
from .errors import too_early, wrong
from .framework import Operator, Program, Variable, default_main_program
from .nested import flatten, pack_sequence_as
from .op_layers import LAYERS
from .op_layers.composed import assign
from .translate import BLOCK_OPS, CODES, DTYPES
from .translate.blocks import CAPACITY, append_cond, declare

__all__ = [
    "IfElse", "Switch", "While", "array_write", "case", "cond", "create_array",
    "switch_case", "while_loop",
]


def _written(program: Program, ops: Sequence[Operator]) -> list[str]:
    """What the ops of a block write and was there before."""
    names = dict.fromkeys(n for op in ops for n in op.output_arg_names)
    find = program.translation.find
    return [name for name in names if find(name) is not None]


class BlockOp(Region):
    """An op with one block, which files have, too."""

    def __init__(
        self, type: str, inputs: Any, outputs: Any = None, attrs: Any = None
    ) -> None:
        super().__init__(type, None)
        self.inputs, self.outputs = inputs, outputs or {}
        self.attrs = attrs or {}
        self.forms: dict[str, Any] = {}  # of what a script's block writes

    @classmethod
    def on(cls, type: str, slot: str, cond: Variable, **attrs: Any) -> BlockOp:
        """An op that runs if, or while, a variable is true."""
        if not isinstance(cond, Variable) or str(cond.dtype) != "bool":
            wrong(
                f"{type}: the condition must be a bool variable of one "
                f"element, got {cond!r}",
                "fluid.condition",
            )
        return cls(type, {slot: [cond.name]}, None, attrs)

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """The ops of the block; then append it. It writes what the block writes
        and was there before.
        """
        program = default_main_program()
        with recorded(self.ops, self.forms):
            yield
        self.outputs["Out"] = _written(program, self.ops)
        program.global_block().append_region(self)

    def declare(self, program: Program) -> bool:
        """See :meth:`Region.declare`."""
        names = self.outputs["Out"]
        if self.type == "while" and self.inputs["Condition"][0] not in names:
            return False
        return declare(program.translation, {n: self.forms[n] for n in names})

    @property
    def input_arg_names(self) -> list[str]:
        """What is read around the block, and what it writes there."""
        made: set[str] = set()
        names = [*super().input_arg_names, *self.outputs["Out"]]
        for op in self.ops:
            names += [n for n in op.input_arg_names if n not in made]
            made.update({*op.output_arg_names} - {*self.outputs["Out"]})
        return [*dict.fromkeys(names)]

    def translate(self, program: Program) -> None:
        """Append the op to a program, which may be a copy."""

        def body() -> None:
            for op in self.ops:
                op.translate(program)

        translation = program.translation
        translation.expect(self.outputs["Out"], self.forms)
        BLOCK_OPS[self.type](
            translation, self.inputs, self.attrs, body, self.outputs
        )


class While(Shown):
    """Repeats its block while a bool variable [1] is true.

    What the block writes and is there before it is carried on. The gradient of
    such a loop is not known: train with StaticRNN or DynamicRNN.

    Args:
        cond: the variable, which the block must write.
        is_test, name: have no effect.
    """

    def __init__(
        self, cond: Variable, is_test: bool = False, name: str | None = None
    ) -> None:
        self.block = BlockOp.on("while", "Condition", cond).block


class Switch(Shown):
    """Runs the block of the first case whose condition is true.

    Cases write variables that are there before.
    """

    def __init__(self, name: str | None = None) -> None:
        self._before: Variable | None = None  # whether an earlier case ran

    def __enter__(self) -> Switch:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def case(self, condition: Variable) -> Any:
        """``with switch.case(condition):`` the ops of a case."""
        append = default_main_program().global_block().append
        runs, before = condition, self._before
        if before is None:
            self._before = condition
        else:
            no = append("logical_not", {"X": before})
            runs = append("logical_and", {"X": condition, "Y": no})
            self._before = append("logical_or", {"X": before, "Y": condition})
        return self._block(runs)

    def default(self) -> Any:
        """``with switch.default():`` the ops if no case ran."""
        if self._before is None:
            too_early(
                "Switch: default comes after a case",
                "fluid.switch_default",
            )
        append = default_main_program().global_block().append
        return self._block(append("logical_not", {"X": self._before}))

    @staticmethod
    def _block(runs: Variable) -> Any:
        attrs = {"is_scalar_condition": True}
        return BlockOp.on("conditional_block", "Cond", runs, **attrs).block()


class IfElse(Shown):
    """Rows for which a bool [N, 1] is true take one way, the rest another.

    ``input`` gives the block its rows of a variable, ``output`` takes what it
    makes of them, and the call puts the rows of both blocks in order again.
    """

    def __init__(self, cond: Variable, name: str | None = None) -> None:
        self._cond = cond
        self._way: bool | None = None
        self._parts: dict[str, Any] = {}  # by the name of a variable
        self._outputs: dict[bool, Sequence[Variable]] = {}

    @contextlib.contextmanager
    def _block(self, way: bool) -> Iterator[None]:
        self._way = way
        try:
            yield
        finally:
            self._way = None

    def true_block(self) -> Any:
        """The ops for the rows where it is true."""
        return self._block(True)

    def false_block(self) -> Any:
        """The ops for the others."""
        return self._block(False)

    def _inside(self, what: str) -> bool:
        if self._way is None:
            too_early(
                f"IfElse: {what} belongs into a true_block or false_block",
                "fluid.if_else",
            )
        return self._way

    def input(self, x: Variable) -> Variable:
        """The block's rows."""
        way = self._inside("input")
        if x.name not in self._parts:
            self._parts[x.name] = x.block.append(
                "split_lod_tensor",
                {"X": x, "Mask": self._cond},
                out="OutTrue",
                more=["OutFalse"],
            )
        return self._parts[x.name][0 if way else 1]

    def output(self, *outputs: Variable) -> None:
        """What the block makes of its rows."""
        self._outputs[self._inside("output")] = outputs

    def __call__(self) -> list[Variable]:
        """The rows of both blocks, in their first order."""
        counts = [len(self._outputs.get(way, ())) for way in (True, False)]
        if counts[0] != counts[1] or not counts[0]:
            wrong(
                f"IfElse: the true_block has {counts[0]} outputs, the "
                f"false_block {counts[1]}; expected as many",
                "fluid.if_else_outputs",
            )
        return [
            yes.block.append(
                "merge_lod_tensor",
                {
                    "X": self._cond, "Mask": self._cond,
                    "InTrue": yes, "InFalse": no,
                },
            )
            for yes, no in zip(
                self._outputs[True], self._outputs[False], strict=True
            )
        ]  # fmt: skip


class _Cond(Region):
    """Two blocks, of which one runs, and what they result in."""

    def __init__(self, pred: Variable) -> None:
        super().__init__("cond", None)
        self.inputs = {"Cond": [pred.name]}
        self.ways: list[tuple[list[Operator], list[str]]] = []

    def in_test_mode(self) -> Operator:
        """A copy whose ops are in test mode."""
        made = copy.copy(self)
        made.ways = [
            ([op.in_test_mode() for op in ops], names)
            for ops, names in self.ways
        ]
        return made

    def translate(self, program: Program) -> None:
        """Append both to a program, which may be a copy."""

        def body(ops: list[Operator]) -> Callable[[], None]:
            def append() -> None:
                for op in ops:
                    op.translate(program)

            return append

        (pred,) = self.inputs["Cond"]
        bodies = [(body(ops), names) for ops, names in self.ways]
        names = self.outputs["Out"]
        append_cond(program.translation, pred, bodies, names)


def _common(name: str, dtypes: Sequence[str]) -> str:
    """The element type that holds all values of both."""
    try:
        made = np.result_type(*dtypes).name
        wide = "float" in made and {"int64", "uint64"} & {*dtypes}
    except TypeError:  # NumPy does not have bfloat16
        wide = True
    if wide and dtypes[0] != dtypes[1]:
        wrong(
            f"cond: {name} is {dtypes[0]} where the condition holds, and "
            f"{dtypes[1]} where not; no element type has all values of both: "
            "cast one of them",
            "fluid.cond_dtypes",
        )
    return made if dtypes[0] != dtypes[1] else dtypes[0]


def _same_dtypes(region: _Cond, dtypes: Sequence[Sequence[str]]) -> None:
    """Cast the results of both blocks to the types that hold both. In Fluid a
    result has the type of the block that ran.
    """
    for at, pair in enumerate(zip(*dtypes, strict=True)):
        wanted = _common(f"result {at}", pair)
        for (ops, names), dtype in zip(region.ways, pair, strict=True):
            if dtype == wanted:
                continue
            attrs = {"in_dtype": CODES[dtype], "out_dtype": CODES[wanted]}
            name = unique_name.generate(f"{names[at]}.cast")
            inputs, outputs = {"X": [names[at]]}, {"Out": [name]}
            ops.append(Operator("cast", inputs, outputs, attrs, "forward"))
            names[at] = name


def cond(
    pred: Variable,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """What ``true_fn`` returns if ``pred`` is true, else ``false_fn``'s.

    The functions return as many variables, in the same lists. Both are called
    while the program is written; what they append runs only if it is chosen.
    Of two element types a result has the one that holds the values of both.
    """
    if not isinstance(pred, Variable):
        wrong(
            f"cond: pred must be a bool variable, got {pred!r}",
            "fluid.condition",
        )
    program, region = default_main_program(), _Cond(pred)
    given, dtypes = [], []
    for function in (true_fn, false_fn):
        ops: list[Operator] = []
        with recorded(ops):
            given.append(function() if function else None)
            flat = [] if given[-1] is None else flatten(given[-1])
            dtypes.append([str(getattr(v, "dtype", "")) for v in flat])
        if not all(isinstance(each, Variable) for each in flat):
            wrong(
                "cond: the functions return variables, lists of them, or "
                f"None, got {given[-1]!r}",
                "fluid.cond_results",
            )
        names = [variable.name for variable in flat]
        region.ways.append((ops, names))
    yes, no = (names for _, names in region.ways)
    if len(yes) != len(no):
        wrong(
            f"cond: true_fn returns {len(yes)} variables, false_fn {len(no)}; "
            "expected as many",
            "fluid.cond_results",
        )
    outs = [*yes]
    _same_dtypes(region, dtypes)
    # As in Fluid, the blocks write what was there before.
    written = _written(program, [op for ops, _ in region.ways for op in ops])
    for _, names in region.ways:
        names += written
    if not outs and not written:
        return None
    stem = name or unique_name.generate("cond")
    outs = [unique_name.generate(f"{stem}.out") for _ in outs]
    outs = region.outputs["Out"] = outs + written
    made = program.global_block().append_region(region)
    if given[0] is None:
        return None
    return pack_sequence_as(given[0], made[: len(outs) - len(written)])


def case(
    pred_fn_pairs: Sequence[tuple[Variable, Callable[[], Any]]],
    default: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """What the function of the first true condition returns, else
    ``default``'s, or else that of the last one.
    """
    pairs = list(pred_fn_pairs)
    if not pairs:
        wrong("case: pred_fn_pairs is empty", "fluid.case_empty")
    other = default
    if other is None:
        _, other = pairs.pop()
    for pred, function in reversed(pairs):
        other = _choice(pred, function, other)
    return other()


def _choice(pred: Variable, yes: Any, no: Any) -> Callable[[], Any]:
    return lambda: cond(pred, yes, no)


def switch_case(
    branch_index: Variable,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """What the function of this number returns; else ``default``'s, or else
    that of the largest number.

    Args:
        branch_index: an integer [1].
        branch_fns: functions, pairs of number and function, or a dict of them.
        default: for other numbers.
        name: has no effect.
    """
    pairs = branch_fns.items() if isinstance(branch_fns, dict) else branch_fns
    numbered = [
        each if isinstance(each, tuple) else (number, each)
        for number, each in enumerate(pairs)
    ]
    if len({number for number, _ in numbered}) < len(numbered):
        numbers = [number for number, _ in numbered]
        wrong(
            f"switch_case: a number is there twice in {numbers}",
            "fluid.switch_case",
        )
    append = branch_index.block.append
    dtype = str(branch_index.dtype)
    chosen = []
    for number, function in sorted(numbered, key=lambda pair: pair[0]):
        y = LAYERS["fill_constant"]([1], dtype, number)
        equal = append("equal", {"X": branch_index, "Y": y})
        chosen.append((equal, function))
    return case(chosen, default)


def while_loop(
    cond: Callable[..., Variable],
    body: Callable[..., Any],
    loop_vars: Sequence[Variable],
    is_test: bool = False,
    name: str | None = None,
) -> Sequence[Variable]:
    """Repeat ``loop_vars = body(*loop_vars)`` while ``cond(*loop_vars)``."""
    goes_on = cond(*loop_vars)
    with While(goes_on, is_test, name).block():
        made = body(*loop_vars)
        several = made if isinstance(made, (list, tuple)) else [made]
        if len(several) != len(loop_vars):
            wrong(
                f"while_loop: body returns {len(several)} variables for "
                f"{len(loop_vars)} loop_vars",
                "fluid.while_loop",
            )
        # An array that the body writes is the same variable.
        pairs = [
            (variable, value)
            for variable, value in zip(loop_vars, several, strict=True)
            if value.name != variable.name
        ]
        copies = [assign(value) for _, value in pairs]
        for (variable, _), value in zip(pairs, copies, strict=True):
            assign(value, variable)
        assign(cond(*loop_vars), goes_on)
    return loop_vars


def create_array(dtype: Any, capacity: int = CAPACITY) -> Variable:
    """An array of variables, for ``array_write``.

    Args:
        dtype: of the elements.
        capacity: how many elements it has room for; Fluid has no such limit.
    """
    program = default_main_program()
    made = program.global_block().create_var()
    dtype = DTYPES.get(dtype, dtype)
    program.translation.new_array(made.name, dtype, capacity)
    return made


def array_write(
    x: Variable, i: Variable, array: Variable | None = None
) -> Variable:
    """Write element number ``i`` of an array; a new one if None."""
    array = create_array(str(x.dtype)) if array is None else array
    inputs = {"X": x, "I": i}
    x.block.append_op("write_to_array", inputs, {"Out": array})
    return array
