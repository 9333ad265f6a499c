"""Variables of programs."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from . import _core
from .display import cut, printable, shape_text
from .elsewhere import help_with_attributes
from .errors import argument_error
from .indexing import item
from .math_ops import VariableMath
from .param_attr import ErrorClip, ParamAttr

if TYPE_CHECKING:
    from .program import Program


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
