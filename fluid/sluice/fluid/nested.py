"""``fluid.layers.utils``: lists, tuples and dicts of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .errors import wrong

__all__ = ["convert_to_list", "flatten", "map_structure", "pack_sequence_as"]


def convert_to_list(value: Any, n: int, name: str, dtype: Any = int) -> list:
    """A number as a list of ``n``, or a list of as many. Raises
    InvalidArgumentError, with ``name``.
    """
    values = [value] * n if isinstance(value, dtype) else list(value)
    if len(values) != n or not all(isinstance(one, dtype) for one in values):
        wrong(
            f"{name}: expected {dtype.__name__}, or {n} of them, got {value!r}",
            "fluid.convert_to_list",
        )
    return values


def _is_nested(value: Any) -> bool:
    return isinstance(value, (list, tuple, Mapping))


def flatten(nest: Any) -> list[Any]:
    """The values of a structure in order; dicts by their sorted keys."""
    if not _is_nested(nest):
        return [nest]
    parts = (
        [nest[key] for key in sorted(nest)]
        if isinstance(nest, Mapping)
        else nest
    )
    return [value for part in parts for value in flatten(part)]


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """The structure with other values, in the order of :func:`flatten`."""
    values = list(flat_sequence)
    wanted = len(flatten(structure))
    if len(values) != wanted:
        wrong(
            f"pack_sequence_as: {len(values)} values for a structure of "
            f"{wanted}",
            "fluid.pack_sequence_as",
        )
    return _packed(structure, iter(values))


def _packed(structure: Any, values: Iterator[Any]) -> Any:
    if not _is_nested(structure):
        return next(values)
    if isinstance(structure, Mapping):
        made = {k: _packed(structure[k], values) for k in sorted(structure)}
        return type(structure)((key, made[key]) for key in structure)  # type: ignore[call-arg]
    parts = [_packed(each, values) for each in structure]
    if hasattr(structure, "_fields"):
        return type(structure)(*parts)
    return type(structure)(parts)


def map_structure(func: Callable[..., Any], *structure: Any) -> Any:
    """The structure with ``func`` of the values of all structures."""
    columns = zip(*map(flatten, structure), strict=True)
    return pack_sequence_as(structure[0], [func(*each) for each in columns])
