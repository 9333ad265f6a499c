"""Programs, their variables and their ops."""

from __future__ import annotations

import contextlib
import html
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from .display import cut, printable, shape_text
from .elsewhere import LAYER, LayerCall, help_with_attributes
from .errors import InvalidArgumentError, argument_error
from .feed_values import positive
from .indexing import item
from .math_ops import VariableMath
from .param_attr import ErrorClip, ParamAttr
from .saved_settings import Settings, settings_of, with_settings
from .tracebacks import caller_location

if TYPE_CHECKING:
    from . import show

Arguments = Mapping[str, Any]


def by_name(op: Any, kind: str, value: Any) -> Mapping[str, Any]:
    """Return ``value``, of the arguments or attributes of an op, if it is a
    dict; {} for None.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise argument_error(
            f"{op}: {kind} must be a dict by name, got {_core._shown(value)}",
            "python.mapping",
        )
    return value


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
        text = f"Operator({self.type}: {self.inputs} -> {self.outputs})"
        return printable(text)


class Variable(VariableMath):
    """A variable of a program: a name, with dtype and shape as far as known.

    It has no value of its own: ``exe.run(fetch_list=[variable])`` fetches it.
    ``+ - * / // % ** @``, ``& | ^ ~`` (of booleans: and, or, xor, not), unary
    ``-``, ``abs`` and the comparisons, also ``==`` and ``!=``, append ops.
    ``x is y`` compares identity, by which dicts and sets also distinguish keys.
    ``x[1, :, 2:5]`` indexes as NumPy does, see :func:`sluice.indexing.item`.
    """

    __slots__ = ("name", "program")

    def __init__(self, program: Program, name: str) -> None:
        self.program = program
        self.name = name

    def _desc(self) -> dict[str, Any]:
        return self.program._var(self.name)

    def _attr(self) -> Any:
        """The ParamAttr that it was created with, or the default one."""
        return self.program._param_attrs.get(self.name) or ParamAttr()

    @property
    def error_clip(self) -> Any:
        """The limits of its gradient, a :class:`sluice.clip.ErrorClipByValue`,
        or None; may be set before the gradients are appended.
        """
        return self.program._error_clips.get(self.name)

    @error_clip.setter
    def error_clip(self, clip: Any) -> None:
        clips = self.program._error_clips
        if clip is None:
            clips.pop(self.name, None)
            return
        if not isinstance(clip, ErrorClip):
            raise argument_error(
                f"{self.name}: error_clip must be a "
                "sluice.clip.ErrorClipByValue or None, got "
                f"{_core._shown(clip)}",
                "python.error_clip",
            )
        if not self.dtype.is_floating:
            raise argument_error(
                f"{self.name}: error_clip limits a gradient, which only floats "
                f"have; the variable is {self.dtype}",
                "python.error_clip_dtype",
            )
        clips[self.name] = clip

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """The sizes, None for unknown ones; None for an unknown rank."""
        return self._desc()["shape"]

    @property
    def ndim(self) -> int:
        """The rank. Raises TypeError if it is unknown."""
        return len(self.shape)  # type: ignore[arg-type]

    @property
    def dtype(self) -> _core.DType:
        """The element type."""
        return self._desc()["dtype"]

    @property
    def offsets(self) -> Variable | None:
        """The variable of the offsets that cut its rows into sequences."""
        return self._related("offsets")

    @property
    def rows(self) -> Variable | None:
        """The rows of the parameter to which those of a sparse gradient belong.

        They are int64, -1 for none, and several may be equal: their rows of the
        gradient are added up. None for other variables.
        """
        return self._related("rows")

    def _related(self, what: str) -> Variable | None:
        name = self._desc()[what]
        return Variable(self.program, name) if name else None

    @property
    def lod(self) -> list[Variable]:
        """The offsets of each level of sequences, the outermost first."""
        inner = self.offsets
        return [] if inner is None else [*inner.lod, inner]

    @property
    def lod_level(self) -> int:
        """The number of levels of sequences; 0 if rows are just rows."""
        return len(self.lod)

    @property
    def persistable(self) -> bool:
        """Whether it lives in the scope and outlives a run."""
        return self._desc()["persistable"]

    @property
    def stop_gradient(self) -> bool:
        """Whether gradients stop here; may be set."""
        return self._desc()["stop_gradient"]

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        self.program._set_stop_gradient(self.name, stop)

    def __repr__(self) -> str:
        desc = self._desc()
        kept = desc["stop_gradient"] or not desc["dtype"].is_floating
        kinds = {
            "is_data": ", fed",
            "persistable": ", kept in the scope" if kept else ", parameter",
        }
        kind = next((text for key, text in kinds.items() if desc[key]), "")
        file, line = self.program._made_at(self.name)
        cell = file.startswith("cell ")
        at = f"in {file}, line" if cell else f"at {file.rpartition('/')[2]}:"
        place = f", made {at}{' ' * cell}{line}" if file else ""
        return printable(
            f"<Variable {cut(self.name, 100)}: {desc['dtype']} "
            f"{shape_text(desc['shape'])}{kind}{place}>"
        )

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"

    __getitem__ = item

    def __array__(self, *_: Any, **__: Any) -> None:
        raise TypeError(f"{self!r} has no value: fetch it with Executor.run")

    __float__ = __int__ = __array__

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self!r} has no value while the program is written: use "
            "sl.layers.cond or while_loop for `if` and `while`; `==` and "
            "`in` compare elements, `is` compares variables"
        )


help_with_attributes(Variable)


def require_variable(what: str, value: Any) -> Variable:
    """Return ``value``, or raise InvalidArgumentError, naming ``what``."""
    if isinstance(value, Variable):
        return value
    raise argument_error(
        f"{what}: expected a variable, got "
        f"{_core._shown(value)}{instead_of_variable(value)}",
        "python.variable",
    )


def instead_of_variable(value: Any) -> str:
    """Advice for a value that is no variable; "" if none."""
    if isinstance(value, str):
        return "; program.var(name) is the variable of that name"
    if isinstance(value, (list, tuple)) and any(
        isinstance(each, Variable) for each in value
    ):
        return "; several are made one by sl.layers.concat or sl.layers.sum"
    if isinstance(value, (list, tuple)) or hasattr(value, "__array__"):
        return "; arrays are fed: declare sl.data(name, shape, dtype)"
    return ""


# Those that still exist.
PROGRAMS: weakref.WeakSet[Program] = weakref.WeakSet()


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
    # Gets what append_op gets, in place of _append_as_given, which it calls.
    _appender: Callable[..., dict[str, Any]] | None = None

    def __init__(self) -> None:
        super().__init__()
        PROGRAMS.add(self)
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
            raise argument_error(
                f"{what}: {names} belong{'s' * (len(other) == 1)} to another "
                f"program than the one that runs: {each.name} is made at "
                f"{file}:{line}. Run the program that has it, or give the name "
                "for the variable of this one",
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
        try:
            if lod_level:
                levels = positive("data: lod_level", lod_level)
                self._ragged_data(name, dtype, shape, levels, caller_location())
            else:
                self._data(name, dtype, shape, caller_location())
        except InvalidArgumentError as error:
            if error.check_id != "program.var_twice" or not self.has_var(name):
                raise
            file, line = self._made_at(name)
            raise argument_error(
                f"the program has a variable {name} already"
                f"{f', made at {file}:{line}' if file else ''}: take another "
                "name, or begin a new program with "
                "sl.program_guard(sl.Program())",
                "program.var_twice",
            ) from None
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
        append = self._appender or self._append_as_given
        return append(type, inputs, outputs, attrs, hint)

    def _append_as_given(
        self, type: str, inputs: Any, outputs: Any, attrs: Any, hint: str
    ) -> dict[str, Any]:
        values = dict(by_name(type, "attrs", attrs))
        if self.random_seed and values.get("seed") == 0:
            values["seed"] = self.random_seed
        variables = self._append_op(
            type,
            self._names(type, "inputs", inputs),
            values,
            self._names(type, "outputs", outputs),
            caller_location(), hint or "",
        )
        if (call := LAYER.get()) is not None:
            self._layers |= {ns[0]: call for ns in variables.values() if ns}
        return {
            argument: Variable(self, names[0])
            if len(names) == 1
            else [Variable(self, name) for name in names]
            for argument, names in variables.items()
        }

    def _names(
        self, op: str, kind: str, arguments: Arguments | None
    ) -> list[tuple[str, list[str]]]:
        named = []
        for argument, value in by_name(op, kind, arguments).items():
            several = value if isinstance(value, (list, tuple)) else [value]
            what = f"{op}: argument {argument}"
            if value is not None:
                named.append((argument, [self._name(what, v) for v in several]))
        return named

    def _name(self, what: str, value: Any) -> str:
        if isinstance(value, str):
            return value
        if not isinstance(value, Variable):
            raise argument_error(
                f"{what}: expected a variable or its name, got "
                f"{_core._shown(value)}{instead_of_variable(value)}",
                "python.argument",
            )
        if value.program is not self:
            raise argument_error(
                f"{what}: {value!r} belongs to another program",
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
        return self._serialize(self._settings())

    @classmethod
    def parse(cls, data: bytes, origin: str = "a string") -> Program:
        """Return the program that :meth:`serialize` wrote.

        Raises DataLossError for damaged bytes and UnimplementedError for a
        newer format.
        """
        program = cls()
        program._take_settings(program._parse(data, origin), origin)
        return program

    def _settings(self) -> Settings:
        """The properties of variables that a file has beside the program."""
        return settings_of(self._param_attrs, self._error_clips)

    def _take_settings(self, settings: Settings, origin: str) -> None:
        """Set what :meth:`_settings` returned. Raises DataLossError."""
        attrs, clips = with_settings(
            settings, origin, lambda name: not self.var(name).stop_gradient
        )
        self._param_attrs |= attrs
        self._error_clips |= clips

    def __reduce__(self) -> tuple:
        return type(self).parse, (self.serialize(),)

    if TYPE_CHECKING:  # sluice.show adds them
        draw = show.draw_program
        explain = show.explanation.explain_program
        summary = show.summarize_program


def require_list(what: str, value: Any, check: str) -> None:
    """Raise with the id ``check`` unless it is a list of variables or names."""
    if isinstance(value, (str, Variable)) or not isinstance(value, Iterable):
        raise argument_error(
            f"{what} must be a list of variables or names, got "
            f"{_core._shown(value)}",
            check,
        )


def fetch_names(
    what: str, variables: Any, program: Program | None = None
) -> list[str]:
    """Names of variables, of the program if it is given; they may belong to a
    clone, as in Executor.run."""
    require_list(what, variables, "python.fetch_list")
    items = list(variables)
    for variable in items:
        if not isinstance(variable, (str, Variable)):
            raise argument_error(
                f"{what}: expected a variable or its name, got "
                f"{_core._shown(variable)}",
                "python.fetch",
            )
    if program is not None:
        program._check_own(what, items)
    return [getattr(variable, "name", variable) for variable in items]


def unread(program: Program) -> list[str]:
    """The outputs that no op reads and that are not persistable."""
    ops = program.ops
    read = {n for op in ops for names in op.inputs.values() for n in names}
    written = [n for op in ops for names in op.outputs.values() for n in names]
    return [
        name
        for name in dict.fromkeys(written)
        if name not in read and not program._var(name)["persistable"]
    ]
