"""Programs, their variables and ops, and the default programs."""

from __future__ import annotations

import contextlib
import operator
import os
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core, unique_name
from .elsewhere import LAYER, LayerCall, checked
from .errors import InvalidArgumentError
from .tracebacks import caller_location, created
from .variable import Variable

if TYPE_CHECKING:
    from .display import Text
    from .explanation import Explanation

__all__ = [
    "Operator", "Program", "Variable", "append_backward", "data",
    "default_main_program", "default_startup_program", "name_scope",
    "program_guard",
]

Arguments = Mapping[str, Any]


def _mapping(op: Any, kind: str, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidArgumentError(
            f"{op}: {kind} must be a dict by name, got "
            f"{_core._shown(value)}{created()}",
            "python.mapping",
        )
    return value


def name_scope(name: str) -> contextlib.AbstractContextManager[None]:
    """Prefix the names that the block creates with ``name/``."""
    return unique_name.scope(name)


def positive(what: str, value: Any) -> int:
    """Return ``value`` if it is a positive integer, else raise."""
    try:
        number = 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = 0
    if number <= 0:
        raise InvalidArgumentError(
            f"{what}: expected an integer above 0, got "
            f"{_core._shown(value)}{created()}",
            "python.positive",
        )
    return number


def require_variable(what: str, value: Any) -> Variable:
    """Return ``value``, or raise InvalidArgumentError, naming ``what``."""
    if isinstance(value, Variable):
        return value
    raise InvalidArgumentError(
        f"{what}: expected a variable, got {_core._shown(value)}"
        f"{_instead(value)}{created()}",
        "python.variable",
    )


def _instead(value: Any) -> str:
    """What to write instead of a value that is not a variable."""
    if isinstance(value, str):
        return "; program.var(name) is the variable of that name"
    if isinstance(value, (list, tuple)) and any(
        isinstance(each, Variable) for each in value
    ):
        return "; several are made one by sl.layers.concat or sl.layers.sum"
    if isinstance(value, (list, tuple)) or hasattr(value, "__array__"):
        return "; arrays are fed: declare sl.data(name, shape, dtype)"
    return ""


class Operator:
    """One op of a program, as appended."""

    __slots__ = (
        "attrs", "hint", "inputs", "line", "outputs", "purpose", "type",
    )  # fmt: skip

    def __init__(self, desc: dict[str, Any]) -> None:
        self.type: str = desc["type"]
        self.inputs: dict[str, list[str]] = dict(desc["inputs"])
        self.outputs: dict[str, list[str]] = dict(desc["outputs"])
        self.attrs: dict[str, Any] = desc["attributes"]
        self.hint: str = desc["hint"]
        self.purpose: str = desc["purpose"]
        self.line: tuple[str, int] = (desc["file"], desc["line"])

    def __repr__(self) -> str:
        from .display import printable

        text = f"Operator({self.type}: {self.inputs} -> {self.outputs})"
        return printable(text)


_programs: weakref.WeakSet[Program] = weakref.WeakSet()


class Program(_core.Program):
    """A graph of ops in the order of their creation; can be printed.

    Ops are checked when they are appended, so that an error is raised at the
    user's line.

    Attributes:
        random_seed: the seed of random ops that are appended with a seed of 0.
            The same seed draws the same numbers in every process.
    """

    random_seed: int = 0
    _purpose: str = "forward"  # of ops that are appended

    def __init__(self) -> None:
        super().__init__()
        _programs.add(self)
        self._param_attrs: dict[str, Any] = {}  # ParamAttr by name
        self._error_clips: dict[str, Any] = {}  # ErrorClipByValue by name
        self._layers: dict[str, LayerCall] = {}  # by an op's first output

    def _copied(self, become: str, *arguments: Any) -> Program:
        """A copy that the method ``become`` fills, with what was said about
        variables of this program.
        """
        copy = type(self)()
        copy._param_attrs = dict(self._param_attrs)
        copy._error_clips = dict(self._error_clips)
        copy._layers = dict(self._layers)
        getattr(copy, become)(self, *arguments)
        return copy

    def _check_own(self, what: str, variables: Iterable[Any]) -> None:
        """Refuse variables of programs that are not related by copying: those
        of the same name here are others.
        """
        other = [
            each
            for each in variables
            if isinstance(each, Variable)
            and self._owner_of(each.name) != each.program._owner_of(each.name)
        ]
        if other:
            each = other[0]
            file, line = each.program._made_at(each.name)
            names = ", ".join(map(repr, other))
            raise InvalidArgumentError(
                f"{what}: {names} belong{'s' * (len(other) == 1)} to another "
                f"program than the one that runs: {each.name} is made at "
                f"{file}:{line}. Run the program that has it, or give the name "
                f"for the variable of this one{created()}",
                "python.other_program",
            )

    @contextlib.contextmanager
    def _appending(self, purpose: str) -> Iterator[None]:
        """Give the ops that are appended inside the block a purpose."""
        outer, self._purpose = self._purpose, purpose
        self._set_purpose(purpose)
        try:
            yield
        finally:
            self._purpose = outer
            self._set_purpose(outer)

    def data(
        self,
        name: str,
        shape: Sequence[int | None],
        dtype: Any = "float32",
        lod_level: int = 0,
    ) -> Variable:
        """Declare a variable to feed; None means a variable size.

        With ``lod_level`` its rows are sequences (docs/ragged.md). Raises
        InvalidArgumentError when the name is taken.
        """
        if lod_level:
            levels = positive("data: lod_level", lod_level)
            self._ragged_data(name, dtype, shape, levels, caller_location())
        else:
            self._data(name, dtype, shape, caller_location())
        return Variable(self, name)

    def persistable(
        self, name: str, shape: Sequence[int], dtype: Any = "float32"
    ) -> Variable:
        """Declare a variable that is stored in the scope, or return it."""
        if not self.has_var(name):
            self._persistable(name, dtype, shape)
        return Variable(self, name)

    def append_op(
        self,
        type: str,
        inputs: Arguments | None = None,
        outputs: Arguments | None = None,
        attrs: Mapping[str, Any] | None = None,
        hint: str = "",
    ) -> dict[str, Any]:
        """Append an op; omitted outputs get new variables.

        Arguments are variables, names or lists of them by argument name; None
        omits an argument or attribute. Returns the outputs by argument name: a
        variable, or a list for several.
        Raises NotFoundError or InvalidArgumentError for everything that the
        op's schema or shape function rejects, and leaves the program unchanged.
        """
        values = dict(_mapping(type, "attrs", attrs))
        if self.random_seed and values.get("seed") == 0:
            values["seed"] = self.random_seed
        made = self._append_op(
            type,
            self._names(type, "inputs", inputs),
            values,
            self._names(type, "outputs", outputs),
            caller_location(), hint or "",
        )
        if (call := LAYER.get()) is not None:
            self._layers |= {ns[0]: call for ns in made.values() if ns}
        return {
            argument: Variable(self, names[0])
            if len(names) == 1
            else [Variable(self, name) for name in names]
            for argument, names in made.items()
        }

    def _names(
        self, op: str, kind: str, arguments: Arguments | None
    ) -> list[tuple[str, list[str]]]:
        result = []
        for argument, value in _mapping(op, kind, arguments).items():
            if value is None:
                continue
            many = isinstance(value, (list, tuple))
            names = [
                self._name(f"{op}: argument {argument}", v)
                for v in (value if many else [value])
            ]
            result.append((argument, names))
        return result

    def _name(self, what: str, value: Any) -> str:
        if isinstance(value, str):
            return value
        if not isinstance(value, Variable):
            raise InvalidArgumentError(
                f"{what}: expected a variable or its name, got "
                f"{_core._shown(value)}{_instead(value)}{created()}",
                "python.argument",
            )
        if value.program is not self:
            raise InvalidArgumentError(
                f"{what}: {value!r} belongs to another program{created()}",
                "python.other_program",
            )
        return value.name

    def var(self, name: str) -> Variable:
        """Return the variable; raises NotFoundError and lists similar names."""
        return Variable(self, self._var(name)["name"])

    def has_var(self, name: str) -> bool:
        """Whether there is a variable of that name."""
        return self._has_var(name)

    def list_vars(self) -> list[Variable]:
        """All variables, in order of creation."""
        return [Variable(self, v["name"]) for v in self._blocks()[0]["vars"]]

    def all_parameters(self) -> list[Variable]:
        """The persistable float variables that gradients reach."""
        return [
            Variable(self, var["name"])
            for var in self._blocks()[0]["vars"]
            if var["persistable"]
            and not var["stop_gradient"]
            and var["dtype"].is_floating
        ]

    @property
    def ops(self) -> list[Operator]:
        """The ops in order."""
        return [Operator(desc) for desc in self._blocks()[0]["ops"]]

    def global_block(self) -> Program:
        """Return the program itself, which acts as its first block."""
        return self

    def clone(self, for_test: bool = False) -> Program:
        """Copy the program; for testing, its forward ops with ``is_test``."""
        become = "_become_test_clone_of" if for_test else "_become_copy_of"
        return self._copied(become)

    def prune(self, fetch_list: Iterable[Any]) -> Program:
        """Copy the ops that ``fetch_list``, variables or names, depends on.

        Ops that only change parameters are left out. Raises NotFoundError for
        an unknown variable.
        """
        names = fetch_names("prune: fetch_list", fetch_list, self)
        return self._copied("_become_pruned", names)

    def serialize(self) -> bytes:
        """The program as bytes; see :meth:`parse`."""
        from .saved_settings import settings_of

        return self._serialize(settings_of(self))

    @classmethod
    def parse(cls, data: bytes, origin: str = "a string") -> Program:
        """Return the program that :meth:`serialize` wrote.

        Raises DataLossError for damaged bytes and UnimplementedError for a
        newer format.
        """
        from .saved_settings import take_settings

        program = cls()
        take_settings(program, program._parse(data, origin), origin)
        return program

    def __reduce__(self) -> tuple:
        return type(self).parse, (self.serialize(),)

    def explain(
        self,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Iterable[Any] | None = None,
        place: Any = None,
        op: int | None = None,
        all: bool = False,
        fold: bool = True,
    ) -> Explanation:
        """Say which kernel would run each op at ``place``, and why.

        Data variables that are not in ``feed`` are zeros, with 1 for unknown
        sizes, which the first line shows. By default ``fetch_list`` is all
        outputs that no op reads. For ``op``, ``all`` and ``fold`` see
        :meth:`Executor.explain`.
        """
        from .display import explain

        return explain(self, feed, fetch_list, place, op, all, fold)

    def summary(self, all: bool = False) -> Text:
        """A line a layer: its op, output and parameters; then the totals.

        Args:
            all: whether to list the backward and the optimizer's ops, too, and
                each of more than 60 layers.

        Returns:
            Text of at most 80 columns, which a notebook shows as a table.
        """
        from .summary import summary

        return summary(self, all)

    def draw(
        self,
        path: str | os.PathLike[str] | None = None,
        all: bool = False,
        columns: int = 1,
    ) -> str:
        """Draw the graph as SVG, for light and dark pages.

        Args:
            path: a file to write it to, too.
            all: also draw the ops of the backward pass, of the optimizer and of
                repeated blocks and large layers, which are one box each
                otherwise.
            columns: 2 puts the lower half beside the upper one.
        """
        from .draw import draw

        return draw(self, path, all, columns)

    def _repr_html_(self) -> str:
        from .display import program_html

        return program_html(self)


_main = Program()
_startup = Program()


def default_main_program() -> Program:
    """The program that layers append to."""
    return _main


def default_startup_program() -> Program:
    """The program that initialises parameters; run it once."""
    return _startup


@contextlib.contextmanager
def program_guard(
    main_program: Program, startup_program: Program | None = None
) -> Iterator[None]:
    """Make these the default programs inside the block."""
    global _main, _startup
    outer = _main, _startup
    _main, _startup = main_program, startup_program or _startup
    try:
        yield
    finally:
        _main, _startup = outer


@checked
def data(
    name: str,
    shape: Sequence[int | None],
    dtype: Any = "float32",
    lod_level: int = 0,
) -> Variable:
    """Declare a variable of the default main program to feed.

    Args:
        name: its name in ``feed``.
        shape: the sizes; None for those that differ between feeds.
        dtype: the element type.
        lod_level: 1 if rows are sequences, one after the other: a list of
            sequences is fed, and ``name@LOD`` has their offsets; 2 if these are
            again sequences, and so on.

    Raises:
        InvalidArgumentError: the name is taken, or a size is negative.
    """
    return _main.data(name, shape, dtype, lod_level)


def append_backward(
    loss: Variable,
    parameter_list: Iterable[Variable | str] | None = None,
    no_grad_set: Iterable[Variable | str] | None = None,
) -> list[tuple[Variable, Variable]]:
    """Append the ops that compute the gradients of ``loss``.

    Args:
        loss: a float variable of one element.
        parameter_list: variables to get gradients; all parameters if None.
        no_grad_set: variables where gradients stop.

    Returns:
        (parameter, gradient) pairs.

    Raises:
        InvalidArgumentError: the loss is not a scalar, or an op on the path has
            no gradient.
    """
    arguments = backward_arguments(loss, parameter_list, no_grad_set)
    pairs = loss.program._append_backward(*arguments, caller_location())
    return [
        (Variable(loss.program, p), Variable(loss.program, g)) for p, g in pairs
    ]


def backward_arguments(
    loss: Variable, parameter_list: Any, no_grad_set: Any
) -> tuple[str, list[str], list[str], dict[str, Any]]:
    """Check the arguments of functions that append gradients, and add the ops
    that clip these, by variable.
    """
    from .clip import _error_clip_ops

    require_variable("append_backward: loss", loss)
    return (
        loss.name,
        _name_list(loss.program, "parameter_list", parameter_list),
        _name_list(loss.program, "no_grad_set", no_grad_set),
        _error_clip_ops(loss.program),
    )


def _require_list(what: str, given: Any, check: str) -> None:
    if isinstance(given, (str, Variable)) or not isinstance(given, Iterable):
        raise InvalidArgumentError(
            f"{what} must be a list of variables or names, got "
            f"{_core._shown(given)}{created()}",
            check,
        )


def fetch_names(
    what: str, variables: Any, program: Program | None = None
) -> list[str]:
    """Names of variables, of the program if it is given; they may belong to a
    clone, as in Executor.run."""
    _require_list(what, variables, "python.fetch_list")
    given = list(variables)
    for variable in given:
        if not isinstance(variable, (str, Variable)):
            raise InvalidArgumentError(
                f"{what}: expected a variable or its name, got "
                f"{_core._shown(variable)}{created()}",
                "python.fetch",
            )
    if program is not None:
        program._check_own(what, given)
    return [getattr(variable, "name", variable) for variable in given]


def _name_list(program: Program, what: str, variables: Any) -> list[str]:
    what = f"append_backward: {what}"
    if variables is None:
        return []
    _require_list(what, variables, "python.variable_list")
    return [program._name(what, variable) for variable in variables]
