"""What names of Fluid, PyTorch and Keras are called here, for messages."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from .errors import NotFoundError
from .tracebacks import answer

F = TypeVar("F", bound=Callable[..., Any])


class LayerCall:
    """A call of a function of :mod:`sluice.layers`, whose ops are one layer."""

    def __init__(self, name: str) -> None:
        self.name = name


# The outermost one that is running.
LAYER: ContextVar[LayerCall | None] = ContextVar("layer", default=None)


def _entries(part: str) -> dict[str, str]:
    """The entries "NAME, ...: TEXT" of a part of ``elsewhere.txt``."""
    text = Path(__file__).with_name("elsewhere.txt").read_text("utf-8")
    lines = text.partition(f"[{part}]\n")[2].partition("\n\n")[0].splitlines()
    pairs = [line.split(": ", 1) for line in lines if line[0] != "#"]
    return {name: said for names, said in pairs for name in names.split(", ")}


_ARGUMENTS = _entries("arguments")
_LAYERS = _entries("layers")
_ATTRIBUTES = _entries("attributes")


def argument_help(name: str, known: Iterable[str]) -> str:
    """What to write instead of an argument that a function does not have."""
    known = list(known)
    names, _, sentence = _ARGUMENTS.get(name, "").partition(";")
    for here in names.split():
        if here in known:
            return f" (here {here})"
    near = get_close_matches(name, known, 2, cutoff=0.75)
    if near and not sentence:
        sentence = f"did you mean {' or '.join(near)}?"
    return f" ({sentence.strip()})" if sentence else ""


def checked(
    function: F, error: type[Exception] = TypeError, variables: bool = False
) -> F:
    """The function or class, with help for arguments that it does not have.

    With ``variables`` arguments that are annotated as Variable must be some.
    """
    if isinstance(function, type):
        function.__init__ = checked(function.__init__)  # type: ignore[misc]
        return function
    code = function.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    shown = known[1:] if known[:1] == ("self",) else known
    takes_more = code.co_flags & inspect.CO_VARARGS
    most = sys.maxsize if takes_more else code.co_argcount
    types = function.__annotations__ if variables else {}
    wanted = [
        (i, name, types[name] == "Variable")
        for i, name in enumerate(known)
        if types.get(name) in ("Variable", "Variable | None")
    ]

    @functools.wraps(function)
    def with_help(*args: Any, **kwargs: Any) -> Any:
        wrong = [name for name in kwargs if name not in known]
        if wrong:
            what = function.__name__
            what = type(args[0]).__name__ if what == "__init__" else what
            raise answer(_unknown(what, wrong, shown, error))
        if len(args) > most:
            names = ", ".join(known[code.co_argcount :])
            text = f"{function.__name__}: needs by name: {names}"
            raise answer(_argument_error(text, error))
        for i, name, needed in wanted:
            if i < len(args) or name in kwargs:
                value = args[i] if i < len(args) else kwargs[name]
                if needed or value is not None:
                    _require_variable(f"{function.__name__}: {name}", value)
        if not variables or LAYER.get() is not None:
            return function(*args, **kwargs)
        token = LAYER.set(LayerCall(function.__name__))
        try:
            return function(*args, **kwargs)
        finally:
            LAYER.reset(token)

    return with_help  # type: ignore[return-value]


def _require_variable(what: str, value: Any) -> None:
    from .framework import require_variable

    require_variable(what, value)


def _unknown(
    what: str, wrong: list[str], known: Iterable[str], error: type[Exception]
) -> Exception:
    known = list(known)
    named = ", ".join(name + argument_help(name, known) for name in wrong)
    text = f"{what}: there is no argument {named}; it has {', '.join(known)}"
    return _argument_error(text, error)


def _argument_error(text: str, error: type[Exception]) -> Exception:
    from .framework import created

    if issubclass(error, NotFoundError):
        return error(text + created(), "python.unknown_argument")
    return error(text + created())


def attribute_help(module: str, name: str, known: Iterable[str]) -> str:
    """What to write instead of a name that a module does not have."""
    import sluice

    if name[:1] == "_":
        return ""
    here = _ATTRIBUTES.get(f"{module}.{name}") or _ATTRIBUTES.get(name)
    layer = _LAYERS.get(name.lower(), name.lower())
    stem = re.sub("(?<=.)(Optimizer|Initializer|Regularizer)$", "", name)
    for part in ("", ".io", ".optimizer", ".initializer", ".regularizer"):
        inside = vars(sluice)[part[1:]] if part else sluice
        if here is None and stem in inside.__all__:
            here = f"sl{part}.{stem}"
    for prefix in ("", "elementwise_", "reduce_"):
        found = prefix + layer.partition("(")[0] in sluice.layers.__dir__()
        if here is None and found:
            here = f"sl.layers.{prefix}{layer}"
    if here is None and name in sluice.fluid.layers.__all__:
        here = f"sluice.fluid.layers.{name}"
    public = [each for each in known if each[:1] != "_"]
    near = get_close_matches(name, dict.fromkeys(public), 2, cutoff=0.75)
    if here is not None:
        return f"; use {here}"
    return f"; did you mean {' or '.join(near)}?" if near else ""


def help_with_names(module: dict[str, Any]) -> None:
    """Make a module, given its names, say what is meant by those it lacks."""
    module["__getattr__"] = lambda name: missing(
        module["__name__"], name, module["__all__"]
    )


def missing(
    module: str, name: str, known: Iterable[str], text: str = "", more: str = ""
) -> NoReturn:
    """Raise for a name that a module lacks, with help or else with ``more``."""
    short = module.partition(".")[2]
    help = attribute_help(short, name, known)
    text = text or f"module {module!r} has no attribute {name!r}"
    if not help:
        raise answer(AttributeError(text + more))
    # With `obj` Python adds no suggestion of its own.
    raise answer(AttributeError(text + help, obj=None))


def help_with_attributes(cls: Any) -> None:
    """Do so for objects; the table has entries "Class.name"."""
    cls.__getattr__ = lambda self, name: missing(
        f"sluice.{cls.__name__}", name, dir(cls),
        f"{type(self).__name__!r} object has no attribute {name!r}",
    )  # fmt: skip
