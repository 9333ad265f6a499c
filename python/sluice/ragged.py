"""Feeds and results of ragged variables: packed rows and their offsets."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from .errors import InvalidArgumentError
from .feed_values import as_dtype

__all__ = ["Ragged"]


class Ragged(np.ndarray):
    """An array whose rows are sequences, one after the other.

    It is what runs return for ragged variables, and may be fed. Arrays that are
    computed from it are plain ones.

    >>> r = Ragged([[1.0], [2.0], [3.0]], [[0, 1, 3]])
    >>> [s.ravel().tolist() for s in r.sequences()]
    [[1.0], [2.0, 3.0]]

    Attributes:
        lod: offsets for each level, the outermost first: sequence b is
            ``rows[lod[-1][b] : lod[-1][b + 1]]``.
    """

    lod: list[list[int]]

    def __new__(cls, rows: Any, lod: Iterable[Iterable[int]]) -> Ragged:
        """Make one from rows and offsets.

        Raises:
            InvalidArgumentError: ``lod`` is no list of levels, offsets fall,
                start above 0, or end elsewhere than the level below or the
                rows.
        """
        self = np.asarray(rows).view(cls)
        try:
            levels = [list(level) for level in lod]
        except TypeError:
            raise InvalidArgumentError(
                "Ragged: lod is a list of levels, each a list of offsets, as "
                f"in [[0, 1, 3]]; got {_core._shown(lod)}",
                "python.lod_levels",
            ) from None
        self.lod = _checked_lod("Ragged", self, levels)
        return self

    def __array_finalize__(self, source: Any) -> None:
        self.lod = []

    def __array_wrap__(self, array: Any, *_: Any) -> Any:
        return np.asarray(array)[()]

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]

    def __reduce__(self) -> tuple:
        return Ragged, (np.asarray(self), self.lod)

    def __repr__(self) -> str:
        rows = np.array2string(
            np.asarray(self), threshold=200, separator=", ", prefix="Ragged("
        )
        levels = ", ".join(
            f"[{', '.join(map(str, level[:12]))}{', ...' * (len(level) > 12)}]"
            for level in self.lod
        )
        return f"Ragged({rows}, lod=[{levels}], dtype={self.dtype})"

    def recursive_sequence_lengths(self) -> list[list[int]]:
        """The lengths of the sequences, for each level."""
        return [np.diff(level).tolist() for level in self.lod]

    def sequences(self, level: int = -1) -> list[Any]:
        """The rows of each sequence; for an outer level, lists of these."""
        parts: list[Any] = list(np.asarray(self))
        below = len(self.lod) - 1 if level == -1 else level
        for offsets in reversed(self.lod[below:]):
            parts = [parts[a:b] for a, b in itertools.pairwise(offsets)]
        if below == len(self.lod) - 1:
            rows, offsets = np.asarray(self), self.lod[-1]
            return [rows[a:b] for a, b in itertools.pairwise(offsets)]
        return parts


def _refuse(name: str, problem: str, check: str) -> None:
    raise InvalidArgumentError(f"feed {name}: {problem}", f"python.{check}")


def _checked_lengths(
    name: str, rows: Any, levels: list[Any]
) -> list[list[int]]:
    """The offsets of lengths, the outermost level first."""
    ends = [len(level) for level in levels[1:]] + [len(rows)]
    for level, end in zip(levels, ends, strict=True):
        if min(level, default=0) < 0:
            _refuse(name, f"a length is negative: {level}", "lod_falls")
        if sum(level) != end:
            below = "rows" if level is levels[-1] else "sequences below"
            _refuse(
                name,
                f"lengths {_core._shown(level)} add up to {sum(level)}; there "
                f"are {end} {below}",
                "lod_lengths",
            )
    return [_offsets(level) for level in levels]


def _checked_lod(name: str, rows: Any, lod: list[list[int]]) -> list[list[int]]:
    """Check offsets, the outermost level first, against the rows."""
    ends = [len(level) - 1 for level in lod[1:]] + [len(rows)]
    for level, end in zip(lod, ends, strict=True):
        if len(level) == 0 or level[0] != 0:
            _refuse(name, f"offsets must start at 0, got {level}", "lod_start")
        for at, (a, b) in enumerate(itertools.pairwise(level)):
            if b < a:
                _refuse(
                    name,
                    f"offsets must not fall: offsets[{at}] = {a}, "
                    f"offsets[{at + 1}] = {b}",
                    "lod_falls",
                )
        if level[-1] != end:
            _refuse(
                name,
                f"offsets end at {level[-1]}; expected {end}, the number of "
                "rows or sequences below",
                "lod_end",
            )
    return [[int(each) for each in level] for level in lod]


def _offsets(lengths: Iterable[int]) -> list[int]:
    return [0, *itertools.accumulate(lengths)]


class _Spec:
    """The name, dtype, row shape and levels of a ragged data variable."""

    def __init__(self, name: str, dtype: Any, shape: Any, levels: int) -> None:
        self.name, self.dtype, self.levels = name, dtype, levels
        self.row = None if shape is None else list(shape[1:])

    def rows_of(self, sequence: Any) -> np.ndarray:
        """One sequence as an array of rows."""
        array = sequence
        if not hasattr(sequence, "dtype"):
            empty = isinstance(sequence, (list, tuple)) and len(sequence) == 0
            array = (
                np.empty((0, *self.empty_row()), self.dtype)
                if empty
                else as_dtype(self.name, sequence, self.dtype)
            )
        array = np.asarray(array)
        if array.ndim == 1 and self.row == [1]:
            array = array[:, None]  # numbers as rows of one number
        known = [] if self.row is None else self.row
        if array.ndim == 0 or (
            self.row is not None
            and (
                array.ndim - 1 != len(known)
                or any(
                    k not in (None, s)
                    for k, s in zip(known, array.shape[1:], strict=True)
                )
            )
        ):
            _refuse(
                self.name,
                f"expected sequences of shape {[None, *known]}, got "
                f"{list(array.shape)}",
                "sequence_shape",
            )
        return array

    def empty_row(self) -> list[int]:
        return [0 if size is None else size for size in self.row or []]


def _pack_list(spec: _Spec, value: Any) -> tuple[np.ndarray, list[list[int]]]:
    lod = []
    for _ in range(spec.levels - 1):  # nested lists
        for group in value:
            if not isinstance(group, (list, tuple)):
                _refuse(
                    spec.name,
                    f"expected lists of sequences, nested {spec.levels} deep, "
                    f"got {_core._shown(group)}",
                    "sequence_nesting",
                )
        lod.append(_offsets(len(group) for group in value))
        value = [each for group in value for each in group]
    sequences = [spec.rows_of(sequence) for sequence in value]
    lod.append(_offsets(len(sequence) for sequence in sequences))
    if not sequences:
        return np.empty((0, *spec.empty_row()), spec.dtype), lod
    return np.concatenate(sequences), lod


def _pack(spec: _Spec, value: Any) -> tuple[np.ndarray, list[list[int]]]:
    """Return the rows and offsets of a value that was fed."""
    if isinstance(value, Ragged) and value.lod:
        return np.asarray(value), value.lod
    if isinstance(value, list):
        return _pack_list(spec, value)
    if isinstance(value, tuple) and len(value) == 2:
        rows = spec.rows_of(value[0])
        lod = value[1].tolist() if hasattr(value[1], "tolist") else value[1]
        lod = list(lod)
        nested = bool(lod) and isinstance(lod[0], (list, tuple, np.ndarray))
        # Fluid's lengths for each level; else offsets.
        lod = _checked_lengths(spec.name, rows, lod) if nested else [lod]
        return rows, _checked_lod(spec.name, rows, lod)
    _refuse(
        spec.name,
        "it is ragged: expected a list of sequences, (rows, offsets) or "
        f"(rows, [lengths]), got {_core._shown(value)}",
        "ragged_feed",
    )
    raise AssertionError


def _padded(rows: np.ndarray) -> np.ndarray:
    """The rows up to their capacity, the last one repeated."""
    capacity = _core._row_capacity(len(rows))
    if capacity == len(rows):
        return np.ascontiguousarray(rows)
    padded = np.empty((capacity, *rows.shape[1:]), rows.dtype)
    padded[: len(rows)] = rows
    padded[len(rows) :] = rows[-1]
    return padded


def pack_feed(
    feed: Mapping[Any, Any],
    offsets: Mapping[str, str],
    specs: Mapping[str, tuple],
) -> dict[Any, Any]:
    """Replace ragged values by rows and offsets at their capacities.

    Args:
        feed: values by variable or name.
        offsets: the offsets of each ragged data variable, by name.
        specs: their dtypes and shapes.
    """
    named = {getattr(key, "name", key): value for key, value in feed.items()}
    inner = set(offsets.values())
    packed: dict[Any, Any] = {}
    for name, value in named.items():
        if name not in offsets or name in inner:
            if name not in inner:
                packed[name] = value
            continue
        chain = []
        at = name
        while at in offsets:
            at = offsets[at]
            chain.append(at)
        spec = _Spec(name, *specs[name], len(chain))
        if all(each in named for each in chain):
            lod = [np.asarray(named[each]).tolist() for each in chain[::-1]]
            rows = spec.rows_of(value)
            lod = _checked_lod(name, rows, lod)
        else:
            rows, lod = _pack(spec, value)
        if len(lod) != len(chain):
            _refuse(
                name,
                f"expected {len(chain)} levels of sequences, got {len(lod)}",
                "lod_levels",
            )
        packed[name] = _padded(rows)
        for offsets_name, level in zip(chain, lod[::-1], strict=True):
            array = np.array(level, np.int64)
            if offsets_name != chain[-1]:
                array = np.append(0, _padded(array[1:]))
            packed[offsets_name] = array
    for name in inner & named.keys() - packed.keys():
        packed[name] = named[name]
    return packed


def offsets_of(program: Any, name: str) -> list[str]:
    """The offsets of a variable, the innermost level first."""
    chain = []
    while name and program._has_var(name):
        name = program._var(name)["offsets"]
        if name:
            chain.append(name)
    return chain


class Fetched:
    """The fetches of a run, with the offsets of those that are ragged."""

    def __init__(self, program: Any, fetch_list: Any) -> None:
        self.all = fetch_list
        self.names: list[Any] = []
        self.chains: dict[str, list[str]] = {}
        if not getattr(program, "_ragged", False) or not isinstance(
            fetch_list, (list, tuple)
        ):
            return  # what is wrong is found later
        program._check_own("fetch_list", fetch_list)
        self.names = [getattr(each, "name", each) for each in fetch_list]
        self.chains = {
            name: offsets_of(program, name)
            for name in self.names
            if isinstance(name, str)
        }
        needed = [name for chain in self.chains.values() for name in chain]
        extra = dict.fromkeys(needed)
        self.all = list(fetch_list) + [
            name for name in extra if name not in self.names
        ]

    def true_rows(self, results: Sequence[Any]) -> list[Any]:
        """The results that were asked for, without padding."""
        if not self.names:
            return list(results)
        names = self.names + self.all[len(self.names) :]
        values = dict(zip(names, results, strict=True))
        return [
            self._true(values[name], self.chains.get(name), values)
            for name in self.names
        ]

    @staticmethod
    def _true(value: Any, chain: Any, values: Mapping[str, Any]) -> Any:
        if not chain:
            return value
        lod: list[list[int]] = []
        for name in reversed(chain):
            level = np.asarray(values[name]).tolist()
            lod.append(level[: lod[-1][-1] + 1] if lod else level)
        rows = np.asarray(value)[: lod[-1][-1]]
        if isinstance(value, _core.Tensor):
            return _core.Tensor(rows)
        return Ragged(rows, lod)


def name_sizes(error: Exception, program: Any, feed: Any) -> None:
    """Name sequences and rows where the core names rows with padding."""
    text, _, last = str(error.args[0]).rpartition("\n")
    if not re.fullmatch(r"feed .* has \d+ rows, feed .* has \d+", last):
        return
    named = {getattr(key, "name", key): value for key, value in feed.items()}
    for name, value in named.items():
        var, chain = program._var(name), offsets_of(program, name)
        if chain and chain[0] not in named:
            spec = _Spec(name, var["dtype"].dtype, var["shape"], len(chain))
            rows, lod = _pack(spec, value)
            count = f"{len(lod[-1]) - 1} sequences of {len(rows)}"
        else:
            count = f"{(*np.shape(value), 0)[0]}"
        text += f"\nfeed {name} has {count} rows"
    error.args = (text,)
