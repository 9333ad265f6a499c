"""A program's ParamAttrs and error clips, as its files keep them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _core, clip, regularizer
from .errors import DataLossError, InvalidArgumentError
from .param_attr import ErrorClip, ParamAttr

if TYPE_CHECKING:
    from .program import Program

# The files have the names of the classes and of their arguments, which are also
# their attributes.
_CLASSES = {
    name: getattr(module, name)
    for module in (clip, regularizer)
    for name in module.__all__
}
_PARTS = ("regularizer", "gradient_clip", "error_clip")
_PLAIN = ("learning_rate", "do_model_average")

Settings = dict[str, dict[str, Any]]


def settings_of(program: Program) -> Settings:
    """By variable, what differs from a ParamAttr without arguments.

    An object is the name of its class, and its arguments as ``part.argument``.
    """
    settings: Settings = {}
    default = ParamAttr()
    for name, attr in program._param_attrs.items():
        values = {what: getattr(attr, what) for what in _PLAIN}
        settings[name] = {
            what: value
            for what, value in values.items()
            if value != getattr(default, what)
        }
        for part in ("regularizer", "gradient_clip"):
            settings[name] |= _flat(name, part, getattr(attr, part))
    for name, limits in program._error_clips.items():
        settings.setdefault(name, {}).update(_flat(name, "error_clip", limits))
    return {name: values for name, values in settings.items() if values}


def _flat(name: str, part: str, value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    kind = type(value).__name__
    if _CLASSES.get(kind) is not type(value):
        raise InvalidArgumentError(
            f"a file cannot keep the {part} of variable {name}, "
            f"{_core._shown(value)}; expected one of sluice.clip or "
            "sluice.regularizer",
            "python.saved_part",
        )
    values = {f"{part}.{argument}": v for argument, v in vars(value).items()}
    return {part: kind, **values}


def take_settings(
    program: Program, settings: Mapping[str, Mapping[str, Any]], origin: str
) -> None:
    """Give a program what :func:`settings_of` said.

    Raises:
        DataLossError: a name or value that this version does not know.
    """
    for name, values in settings.items():
        try:
            _take(program, name, dict(values))
        except (InvalidArgumentError, TypeError) as error:
            raise DataLossError(
                f"variable {name}: {error}\nin the program of {origin}",
                "python.loaded_settings",
            ) from None


def _take(program: Program, name: str, values: dict[str, Any]) -> None:
    parts = {}
    for part in _PARTS:
        if part not in values:
            continue
        kind, prefix = values.pop(part), f"{part}."
        if kind not in _CLASSES:
            raise TypeError(f"{part}: this version has no class {kind}")
        arguments = {
            key.removeprefix(prefix): values.pop(key)
            for key in list(values)
            if key.startswith(prefix)
        }
        parts[part] = _CLASSES[kind](**arguments)
    if unknown := sorted(set(values) - set(_PLAIN)):
        raise TypeError(f"this version has no setting {', '.join(unknown)}")
    limits = parts.pop("error_clip", None)
    if isinstance(limits, ErrorClip):
        program._error_clips[name] = limits
    elif limits is not None:
        raise TypeError(f"error_clip cannot be {limits}")
    if parts or values:
        trainable = not program.var(name).stop_gradient
        attr = ParamAttr(name, **parts, **values, trainable=trainable)
        program._param_attrs[name] = attr
