"""ParamAttrs and error clips of variables, as files of programs have them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from . import _core
from .errors import DataLossError, InvalidArgumentError
from .param_attr import ErrorClip, ParamAttr

C = TypeVar("C", bound=type)

_CLASSES: dict[str, type] = {}
_PARTS = ("regularizer", "gradient_clip", "error_clip")
_PLAIN = ("learning_rate", "do_model_average")

Settings = dict[str, dict[str, Any]]


def saved(kind: C) -> C:
    """Let files have objects of a class, by its name and by those of its
    arguments, which are also its attributes.
    """
    _CLASSES[kind.__name__] = kind
    return kind


def settings_of(
    attrs: Mapping[str, ParamAttr], clips: Mapping[str, ErrorClip]
) -> Settings:
    """By variable, what differs from a ParamAttr without arguments.

    An object is the name of its class, and its arguments as ``part.argument``.
    """
    settings: Settings = {}
    default = ParamAttr()
    for name, attr in attrs.items():
        values = {what: getattr(attr, what) for what in _PLAIN}
        settings[name] = {
            what: value
            for what, value in values.items()
            if value != getattr(default, what)
        }
        for part in ("regularizer", "gradient_clip"):
            settings[name] |= _flat(name, part, getattr(attr, part))
    for name, limits in clips.items():
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


def with_settings(
    settings: Settings, origin: str, is_trainable: Callable[[str], bool]
) -> tuple[dict[str, ParamAttr], dict[str, ErrorClip]]:
    """The ParamAttrs and error clips that :func:`settings_of` was called with.

    Raises:
        DataLossError: a name or value that this version does not know.
    """
    attrs, clips = {}, {}
    for name, values in settings.items():
        try:
            parts, plain = _parts(dict(values))
            if "error_clip" in parts:
                clips[name] = _error_clip(parts.pop("error_clip"))
            if parts or plain:
                trainable = is_trainable(name)
                plain |= parts
                attrs[name] = ParamAttr(name, **plain, trainable=trainable)
        except (InvalidArgumentError, TypeError) as error:
            raise DataLossError(
                f"variable {name}: {error}\nin the program of {origin}",
                "python.loaded_settings",
            ) from None
    return attrs, clips


def _parts(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The objects of a variable's settings, and the other settings."""
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
    return parts, values


def _error_clip(limits: Any) -> ErrorClip:
    if not isinstance(limits, ErrorClip):
        raise TypeError(f"error_clip cannot be {limits}")
    return limits
