"""Programs as Fluid has them: blocks of ops and variables by name.

A program keeps Fluid's ops, which files are written of and copies are made of,
and beside them a program of Sluice, into which each op is translated as soon as
it is appended, so that a mistake is raised at its line.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import unique_name
from ..defaults import DefaultPrograms
from ..display import Shown
from ..errors import NotFoundError
from ..framework import Program as SluiceProgram
from ..framework import Variable as SluiceVariable
from ..framework import created
from ..framework import program_guard as sluice_guard
from .edits import BlockEdits, OperatorEdits, ProgramEdits, needed
from .errors import wrong
from .translate import DTYPES, ROWS, Translation
from .variables import Parameter, Variable, code_of

__all__ = [
    "Block", "Operator", "Parameter", "Program", "Variable",
    "default_main_program", "default_startup_program", "name_scope",
    "program_guard",
]  # fmt: skip

MOST_SHAPES = 16  # copies of a program for feeds of other shapes
_KEPT = ("is_test",)  # attributes that clone(for_test=True) sets


class Operator(OperatorEdits):
    """An op, by Fluid's names.

    Attributes:
        type: its type.
        inputs: names of variables by slot.
        outputs: likewise.
        attrs: its attributes.
        role: ``"forward"``, or ``"optimize"`` for what is not part of a test.
        idx: its number in its block.
    """

    idx = 0

    def __init__(
        self,
        type: str,
        inputs: dict[str, list[str]],
        outputs: dict[str, list[str]],
        attrs: dict[str, Any],
        role: str,
    ) -> None:
        self.type, self.inputs, self.outputs = type, inputs, outputs
        self.attrs, self.role = attrs, role
        self.name_scope = _name_scopes[-1][0]

    is_loop = False

    def in_test_mode(self) -> Operator:
        """A copy in test mode, with is_test if the op has that."""
        made, known = copy.copy(self), ROWS[self.type].attributes
        made.attrs = self.attrs | {k: True for k in _KEPT if k in known}
        return made

    def translate(self, program: Program) -> None:
        """Append its translation to a program."""
        program.translation.append(
            self.type, self.inputs, self.outputs, self.attrs
        )

    def input(self, slot: str) -> list[str]:
        """The names of an input."""
        return self.inputs.get(slot, [])

    def output(self, slot: str) -> list[str]:
        """The names of an output."""
        return self.outputs.get(slot, [])

    def attr(self, name: str) -> Any:
        """An attribute."""
        return self.all_attrs().get(name)

    def has_attr(self, name: str) -> bool:
        """Whether it has an attribute of that name."""
        return name in self.all_attrs()

    def all_attrs(self) -> dict[str, Any]:
        """Its attributes, and the :func:`name_scope` that it was made in."""
        return {**self.attrs, "op_namescope": self.name_scope}

    @property
    def input_names(self) -> list[str]:
        """The slots of what it reads."""
        return list(self.inputs)

    @property
    def output_names(self) -> list[str]:
        """The slots of what it writes."""
        return list(self.outputs)

    @property
    def attr_names(self) -> list[str]:
        """The names of its attributes."""
        return list(self.all_attrs())

    @property
    def input_arg_names(self) -> list[str]:
        """All names that it reads."""
        return [name for names in self.inputs.values() for name in names]

    @property
    def output_arg_names(self) -> list[str]:
        """All names that it writes."""
        return [name for names in self.outputs.values() for name in names]

    def __repr__(self) -> str:
        return f"{self.outputs} = {self.type}({self.inputs}, {self.attrs})"


# The names of the scopes around, and how often each name was used in them.
_name_scopes: list[tuple[str, dict[str, int]]] = [("/", {})]


@contextlib.contextmanager
def name_scope(prefix: str) -> Iterator[None]:
    """Let ops of the block have the attribute ``op_namescope``: the names of
    the scopes around them, ``/encoder/attention_1/``.
    """
    outer, used = _name_scopes[-1]
    count = used[prefix] = used.get(prefix, -1) + 1
    name = f"{prefix}_{count}" if count else prefix
    _name_scopes.append((f"{outer}{name}/", {}))
    try:
        yield
    finally:
        _name_scopes.pop()


def _names(slots: Mapping[str, Any] | None) -> dict[str, list[str]]:
    named = {}
    for slot, value in (slots or {}).items():
        if value is None:
            continue
        values = value if isinstance(value, (list, tuple)) else [value]
        named[slot] = [getattr(each, "name", each) for each in values]
    return named


def _plain(value: Any) -> Any:
    """An attribute without NumPy's types."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


class Block(BlockEdits, Shown):
    """The ops and variables of a program.

    Attributes:
        program: the program.
        idx: 0.
        ops: the ops in order.
        vars: the variables by name.
    """

    idx, parent_idx = 0, -1

    def __init__(self, program: Program) -> None:
        self.program = program
        self.ops: list[Operator] = []
        self.vars: dict[str, Variable] = {}

    def var(self, name: str) -> Variable:
        """The variable of a name. Raises NotFoundError."""
        if name not in self.vars:
            raise NotFoundError(
                f"the program has no variable {name!r}{created()}", "fluid.var"
            )
        return self.vars[name]

    def has_var(self, name: str) -> bool:
        """Whether there is a variable of that name."""
        return name in self.vars

    def all_parameters(self) -> list[Parameter]:
        """The parameters, those that are not trained, too."""
        return [v for v in self.vars.values() if isinstance(v, Parameter)]

    def iter_parameters(self) -> Iterator[Parameter]:
        """:meth:`all_parameters`."""
        return iter(self.all_parameters())

    def data(
        self, name: str, shape: Sequence[int | None], dtype: Any, lod_level: int
    ) -> Variable:
        """Declare a variable to feed, or return the one of that name. The rows
        of sequences are of any number.

        Raises:
            InvalidArgumentError: that one is another.
        """
        if lod_level:
            shape = [None, *shape[1:]]
        sizes = [None if size is None or size < 0 else size for size in shape]
        code = code_of(dtype)
        feed = name, sizes, code, lod_level
        if feed in self.program.feeds:
            return self.vars[name]
        value = self.program.sluice.data(name, sizes, DTYPES[code], lod_level)
        value.stop_gradient = True
        self.program.feeds.append(feed)
        return self._declare(Variable(self, name))

    def create_var(
        self,
        name: str | None = None,
        shape: Sequence[int] | None = None,
        dtype: Any = None,
        lod_level: int = 0,
        is_data: bool = False,
        persistable: bool = False,
        **_: Any,
    ) -> Variable:
        """A variable that an op will write, which gives it shape and dtype;
        ``py_func``, and a feed, take those that are given here. Or, if
        ``is_data``, one to feed, or, if ``persistable``, one in the scope.
        """
        if name and is_data:
            return self.data(name, shape or (), dtype, lod_level)
        if name and persistable and shape and min(shape) > 0 and dtype:
            return self.persistable(name, shape, dtype)
        made = Variable(self, name or unique_name.generate("tmp"))
        made.declared = shape, dtype
        return self._declare(made)

    def feedable(self, name: str, shape: Any = None) -> None:
        """Declare a variable that no op has written as one to feed, if its
        shape is known by :meth:`create_var` or from here.
        """
        find = self.program.translation.find
        if name not in self.vars or find(name) is not None:
            return
        declared, dtype = self.vars[name].declared
        shape = shape if declared is None else declared
        if shape is not None and dtype is not None:
            self.data(name, shape, dtype, 0)

    def persistable(
        self,
        name: str,
        shape: Sequence[int],
        dtype: Any,
        trained: bool | None = None,
    ) -> Variable:
        """Declare a variable that lives in the scope, or return it.

        It is a parameter unless ``trained`` is None.
        """
        if name in self.vars:
            return self.vars[name]
        known = self.program.sluice.has_var(name)
        value = self.program.sluice.persistable(
            name, list(shape), DTYPES[code_of(dtype)]
        )
        if not known:
            value.stop_gradient = not trained
        kind = Variable if trained is None else Parameter
        self.program.stored[name] = (list(shape), code_of(dtype), trained)
        return self._declare(kind(self, name))

    def adopt(self, value: SluiceVariable) -> Variable:
        """A variable of Sluice under its own name."""
        self.program.translation.values[value.name] = value
        return self._declare(Variable(self, value.name))

    def _declare(self, variable: Variable) -> Variable:
        return self.vars.setdefault(variable.name, variable)

    def append_op(
        self,
        type: str,
        inputs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Operator:
        """Append an op of Fluid; its outputs are variables or their names.

        Raises what the translation does not know or have, see
        :class:`sluice.fluid.translate.Translation`.
        """
        given = {k: _plain(v) for k, v in (attrs or {}).items()}
        role = self.program.role
        op = Operator(type, _names(inputs), _names(outputs), given, role)
        for name in op.input_arg_names:
            self.feedable(name)
        op.translate(self.program)
        for var in map(self.vars.get, op.output_arg_names):
            if var is not None and var.stops is not None:
                var.stop_gradient, var.stops = var.stops, None
        self._record(op)
        return op

    def _record(self, op: Any) -> list[Variable]:
        """Add an op that is translated; return the variables that it writes."""
        recorded = self.program.recorded
        ops = self.ops if recorded is None else recorded
        op.idx, op.block = len(ops), self
        ops.append(op)
        names = op.output_arg_names
        return [self._declare(Variable(self, name)) for name in names]

    def append_region(self, region: Any) -> list[Variable]:
        """Append a loop, see :mod:`sluice.fluid.control_flow`."""
        if self.program.recorded is None or not region.declare(self.program):
            region.translate(self.program)
        return self._record(region)

    def append(
        self,
        type: str,
        inputs: Mapping[str, Any],
        attrs: Mapping[str, Any] | None = None,
        out: str = "Out",
        more: Sequence[str] = (),
        name: str | None = None,
        dtype: Any = None,
    ) -> Any:
        """Append an op; return the variable of output ``out``, with ``more``
        outputs a tuple.
        """
        stem = name or unique_name.generate(type)
        names = [unique_name.generate(f"{stem}.tmp") for _ in (out, *more)]
        outputs = {
            slot: [made] for slot, made in zip((out, *more), names, strict=True)
        }
        self.append_op(type, inputs, outputs, attrs)
        made = [self.vars[each] for each in names]
        return tuple(made) if more else made[0]


class Program(ProgramEdits):
    """A program of Fluid.

    Attributes:
        sluice: the program of Sluice, for ``explain``, ``draw`` and the like.
        translation: what Fluid's names stand for in it.
    """

    def __init__(self) -> None:
        self._sluice = SluiceProgram()
        self._translation = Translation(self._sluice)
        self.role = "forward"
        # What appends gradients and updates, which are no ops of Fluid: the
        # number of ops before it, which names were counted, and a function.
        self.steps: list[tuple[int, Any, Callable[[Program], Any]]] = []
        # Where ops of a block go that is being written; None outside of any.
        self.recorded: list[Operator] | None = None
        self.feeds: list[tuple[str, Any, int, int]] = []
        # Shape, code of the dtype, and what Block.persistable says.
        self.stored: dict[str, tuple[list[int], int, bool | None]] = {}
        # What Variable.desc.set_shape says.
        self.declared_shapes: dict[str, tuple[int, ...]] = {}
        self.readers: list[Any] = []  # that runs without a feed read from
        self._fed: dict[Any, Program] = {}  # by other shapes, see fed_as
        self.block0 = Block(self)

    @property
    def random_seed(self) -> int:
        """The seed of random ops that are appended with a seed of 0. The same
        seed, and 0, draws the same numbers in every process.
        """
        return self.sluice.random_seed

    @random_seed.setter
    def random_seed(self, seed: int) -> None:
        self.sluice.random_seed = seed

    def global_seed(self, seed: int = 0) -> None:
        """Set :attr:`random_seed`."""
        self.random_seed = seed

    def global_block(self) -> Block:
        """The only block."""
        return self.block0

    current_block = global_block

    @property
    def blocks(self) -> list[Block]:
        """The only block, in a list."""
        return [self.block0]

    num_blocks = 1

    def block(self, index: int) -> Block:
        """The block of a number."""
        return self.blocks[index]

    def list_vars(self) -> list[Variable]:
        """All variables, the states of optimizers, too."""
        known = self.block0.vars
        states = [
            Variable(self.block0, v.name)
            for v in self.sluice.list_vars()
            if v.persistable and v.name not in known
        ]
        return [*known.values(), *states]

    def all_parameters(self) -> list[Parameter]:
        """Its parameters, those that are not trained, too."""
        return self.block0.all_parameters()

    @contextlib.contextmanager
    def optimizing(self) -> Iterator[None]:
        """The ops of the block are not part of tests."""
        outer, self.role = self.role, "optimize"
        try:
            yield
        finally:
            self.role = outer

    _lr_schedule_guard = optimizing

    @contextlib.contextmanager
    def training(self, again: Callable[[Program], Any]) -> Iterator[None]:
        """The block appends gradients or updates, as ``again`` does to a
        copy, there under the same names.
        """
        names = copy.deepcopy(unique_name.generator)
        with self.optimizing():
            yield
        self.steps.append((len(self.block0.ops), names, again))

    def _train(self, other: Program, names: Any, again: Any) -> None:
        """Repeat a step of another program, of which this is a copy so far."""
        for name, variable in self.block0.vars.items():
            theirs = other._translation.find(name)
            if theirs is not None and self._translation.find(name) is not None:
                variable.stop_gradient = theirs.stop_gradient
        with unique_name.guard(copy.deepcopy(names)):
            again(self)

    def _optimized_guard(self, param_and_grads: Any) -> Any:
        """:meth:`optimizing`, by Fluid's name for updates of parameters."""
        return self.optimizing()

    def clone(self, for_test: bool = False) -> Program:
        """A copy; for tests of the ops before the optimizer's, with is_test."""
        return self._copied(self.block0.ops, for_test)

    def _prune(self, targets: Any) -> Program:
        """A copy with the ops that the targets depend on."""
        names = [*_names({"": targets})[""]]
        return self._copied(needed(self.block0.ops, names), False)

    def fed_as(self, shapes: Mapping[str, tuple[Any, int]]) -> Program:
        """A copy whose inputs have other shapes and levels: Fluid takes what is
        fed.
        """
        ops = self.block0.ops
        key = (*sorted(shapes.items()), len(ops), len(self.steps))
        if key not in self._fed:
            if len(self._fed) == MOST_SHAPES:
                self._fed.clear()
            self._fed[key] = self._copied(ops, False, shapes)
        return self._fed[key]

    def _copied(
        self, ops: Sequence[Operator], for_test: bool, shapes: Any = None
    ) -> Program:
        """The variables of this program, and the ops, in a new one."""
        made = Program()
        block = made.block0
        made.random_seed = self.random_seed
        for name, sizes, code, levels in self.feeds:
            sizes, levels = (shapes or {}).get(name, (sizes, levels))
            block.data(name, sizes, code, levels)
        for name, given in self.stored.items():
            block.persistable(name, *given)
        made.readers = list(self.readers)
        made._sluice._param_attrs.update(self._sluice._param_attrs)
        whole = ops is self.block0.ops and not for_test
        steps = list(self.steps) if whole else []
        with sluice_guard(made.sluice):
            for name, given in self._translation.arrays.items():
                made._translation.new_array(name, *given)
            for at in range(len(ops) + 1):
                while steps and steps[0][0] == at:
                    made._train(self, *steps.pop(0)[1:])
                if at == len(ops) or (ops[at].role != "forward" and for_test):
                    continue
                made.role = ops[at].role
                op = ops[at].in_test_mode() if for_test else ops[at]
                if op.is_loop:
                    block.append_region(op)
                else:
                    block.append_op(op.type, op.inputs, op.outputs, op.attrs)
                made.role = "forward"
        return made

    def __repr__(self) -> str:
        ops = len(self.block0.ops)
        return f"<fluid.Program: {ops} ops of Fluid, {self.sluice!r}>"

    def to_string(
        self, throw_on_error: bool = True, with_details: bool = False
    ) -> str:
        """The ops, a line each."""
        return "\n".join(repr(op) for op in self.block0.ops)

    __str__ = to_string


_defaults = DefaultPrograms(Program)


def default_main_program() -> Program:
    """The program that layers append to."""
    return _defaults.main


def default_startup_program() -> Program:
    """The program that gives parameters their first values."""
    return _defaults.startup


@contextlib.contextmanager
def program_guard(
    main_program: Program, startup_program: Program | None = None
) -> Iterator[None]:
    """Make these the default programs inside the block."""
    if not isinstance(main_program, Program):
        wrong(
            f"program_guard: expected a fluid.Program, got {main_program!r}",
            "fluid.program",
        )
    with (
        _defaults.guard(main_program, startup_program),
        sluice_guard(main_program.sluice, _defaults.startup.sluice),
    ):
        yield


def _get_var(name: str, program: Program | None = None) -> Variable:
    """The variable of a name, in the default main program if None."""
    program = default_main_program() if program is None else program
    return program.global_block().var(name)


def switch_main_program(program: Program) -> Program:
    """Make a program the default main program; return the one before."""
    before, _defaults.main = _defaults.main, program
    return before
