"""Runs programs of Fluid."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import CPUPlace, _core
from .. import executor as sluice_executor
from ..display import Shown
from ..ragged import Ragged
from . import profiler
from .errors import unknown, wrong
from .framework import Program, default_main_program
from .places import CUDAPlace, place_of
from .translate import Array

__all__ = [
    "BuildStrategy", "CompiledProgram", "ExecutionStrategy", "Executor",
    "LoDTensor", "ParallelExecutor", "create_lod_tensor",
]  # fmt: skip


class LoDTensor:
    """An array whose rows may be sequences.

    Args:
        array: the rows.
        lod: the offsets of each level.
    """

    def __init__(self, array: Any = None, lod: Any = ()) -> None:
        self._array = None if array is None else np.asarray(array)
        self._lod = [list(level) for level in lod]

    def set(self, array: Any, place: Any = None) -> None:
        """Take the rows."""
        self._array = np.asarray(array)

    def set_lod(self, lod: Sequence[Sequence[int]]) -> None:
        """Take the offsets of each level."""
        self._lod = [list(level) for level in lod]

    def lod(self) -> list[list[int]]:
        """The offsets of each level."""
        return self._lod

    def set_recursive_sequence_lengths(self, lengths: Any) -> None:
        """Take the lengths of each level."""
        self._lod = [[0, *np.cumsum(level).tolist()] for level in lengths]

    def recursive_sequence_lengths(self) -> list[list[int]]:
        """The lengths of each level."""
        return [np.diff(level).tolist() for level in self._lod]

    def shape(self) -> list[int]:
        """The sizes."""
        return list(np.shape(self._array))

    _get_dims = shape

    def _dtype(self) -> Any:
        """The element type, as variables have it."""
        return getattr(_core, np.asarray(self._array).dtype.name)

    def _is_initialized(self) -> bool:
        """Whether it has a value."""
        return self._array is not None

    def __repr__(self) -> str:
        lod = f", lod {self._lod}" if self._lod else ""
        return f"<LoDTensor: {self.shape()}{lod}>"

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray([] if self._array is None else self._array, dtype)


def create_lod_tensor(
    data: Any, recursive_seq_lens: Any, place: Any = None
) -> LoDTensor:
    """A tensor of rows, or of a list of sequences, and lengths.

    Raises:
        InvalidArgumentError: the lengths are not those of the sequences, or do
            not add up to the rows.
    """
    lengths = list(recursive_seq_lens[-1])
    if isinstance(data, list):
        found = [len(each) for each in data]
        if found != lengths:
            wrong(
                f"create_lod_tensor: sequences of {found} rows have the lengths"
                f" {lengths}",
                "fluid.lod_lengths",
            )
        data = np.concatenate([np.asarray(each) for each in data])
        data = data.reshape(len(data), -1)
    levels = [*([len(each), sum(each)] for each in recursive_seq_lens)]
    counts = [count for count, _ in levels[1:]] + [len(data)]
    for (_, total), count in zip(levels, counts, strict=True):
        if total != count:
            wrong(
                f"create_lod_tensor: lengths that add up to {total} are for "
                f"{count} rows or sequences, in {recursive_seq_lens}",
                "fluid.lod_lengths",
            )
    tensor = LoDTensor(data)
    tensor.set_recursive_sequence_lengths(recursive_seq_lens)
    return tensor


class _Number(np.ndarray):
    """An array [1], which old scripts turn into a number, as NumPy 2.4 does
    not.
    """

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)


def _dense(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, LoDTensor) else value


def as_numpy(tensor: Any) -> Any:
    """The array of a tensor, or a list of them."""
    if isinstance(tensor, (list, tuple)):
        return [as_numpy(each) for each in tensor]
    array = _dense(tensor)
    one = type(array) is np.ndarray and array.shape == (1,)
    return array.view(_Number) if one else array


class ExecutionStrategy(Shown):
    """Takes any attribute and does nothing: Sluice has its own pool."""


class BuildStrategy(Shown):
    """Takes any attribute and does nothing: programs are always optimised."""

    ReduceStrategy = enum.Enum("ReduceStrategy", "AllReduce Reduce")
    GradientScaleStrategy = enum.Enum(
        "GradientScaleStrategy", "CoeffNumDevice One Customized"
    )


class CompiledProgram(Shown):
    """The program unchanged: Sluice compiles a program when it first runs."""

    def __init__(self, program: Any, build_strategy: Any = None) -> None:
        self.program = program

    def with_data_parallel(self, *_: Any, **__: Any) -> CompiledProgram:
        """Return itself: the threads of one process share each op."""
        return self


def _same(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two shapes are equal but for sizes of 1."""
    return [n for n in shape if n != 1] == [n for n in other if n != 1]


def _fed(
    value: Any, sizes: Sequence[int | None], levels: int
) -> tuple[Any, int] | None:
    """The shape and the levels of a value that are not the declared ones."""
    if levels:
        many = type(value) is tuple and len(value[1]) and np.ndim(value[1][0])
        count = len(value[1]) if many else levels
        return (tuple(sizes), count) if count != levels else None
    shape = getattr(value, "shape", sizes)
    same = len(shape) == len(sizes) and all(
        wanted in (None, size)
        for size, wanted in zip(shape, sizes, strict=True)
    )
    return None if same else (shape, 0)


def _values_fed(program: Program, feed: Any) -> dict[str, Any]:
    """The feed by name; without one, the next batch of its readers."""
    if isinstance(feed, (list, tuple)):
        feed = _joined(feed)
    if not feed:
        feed = {
            name: value
            for reader in program.readers
            for name, value in reader.next_feed().items()
        }
    values = {getattr(name, "name", name): feed[name] for name in feed}
    block = program.block0
    for name, value in values.items():
        block.feedable(name, getattr(_dense(value), "shape", None))
    return {
        name: feed_value(value, block.var(name))
        for name, value in values.items()
        if block.has_var(name)
    }


def _joined(feeds: Sequence[Any]) -> Any:
    """The feeds of several devices as that of one."""
    if len(feeds) < 2:
        return feeds[0] if feeds else {}
    if any(isinstance(value, LoDTensor) for value in feeds[0].values()):
        wrong(
            f"run: {len(feeds)} feeds with LoD for one device; join them first",
            "fluid.several_feeds",
        )
    return {
        name: np.concatenate([np.asarray(feed[name]) for feed in feeds])
        for name in feeds[0]
    }


def feed_value(value: Any, var: Any) -> Any:
    """The value for Sluice: as in Fluid, dense inputs ignore levels, and may
    have sizes of 1 after those that were declared, or between them.
    """
    if isinstance(value, LoDTensor):
        lengths = value.recursive_sequence_lengths()
        value = np.asarray(value)
        if lengths and var.lod_level:
            return value, lengths
    if np.isscalar(value) and var.shape == (1,):
        return np.array([value], var.dtype.name)
    shape = np.shape(value) if isinstance(value, np.ndarray) else ()
    sizes = tuple(var.shape[1:])
    known = sizes and not {None, -1} & {*sizes}
    if known and len(shape) > len(var.shape) and _same(shape[1:], sizes):
        return value.reshape(shape[:1] + sizes)
    if set(shape[len(var.shape) :]) != {1}:
        return value
    return value.reshape(shape[: len(var.shape)])


def _elements(array: Array, values: Sequence[Any]) -> list[Any]:
    """The elements of an array, from the values of its parts."""
    if len(array._stacks) > 1:
        unknown(
            f"run: fetch_list has {array!r} of sequences; fetch what "
            "layers.array_read returns",
            "fluid.fetch_array",
        )
    length, *rows, elements = values if array._stacks else (*values, [])
    count = int(length.item())
    ends = rows[0] if rows else [None] * count
    return [elements[k][: ends[k]] if rows else elements[k]
            for k in range(count)]  # fmt: skip


class Executor(Shown):
    """Runs programs at a place; see :class:`sluice.Executor`.

    Attributes:
        sluice: the executor of Sluice, for ``explain`` and ``profile``.
    """

    def __init__(self, place: Any = None) -> None:
        self.place = place
        self.sluice = sluice_executor.Executor(place_of(place))

    def run(
        self,
        program: Any = None,
        feed: Any = None,
        fetch_list: Sequence[Any] | None = None,
        feed_var_name: str = "feed",
        fetch_var_name: str = "fetch",
        scope: Any = None,
        return_numpy: bool = True,
        use_program_cache: bool = False,
        return_merged: bool = True,
        use_prune: bool = False,
    ) -> list[Any]:
        """Run a program and return the fetched values.

        Args:
            program: the default main program if None.
            feed: arrays or tensors by name; or a list of such dicts, whose
                arrays become one batch. Without it the program's readers give
                their next batches.
            fetch_list: variables or names, or one; an array gives a list.
            scope: where parameters live; the global scope if None.
            return_numpy: whether to return arrays; else :class:`LoDTensor`.
            return_merged: if False, a result is a list of one: that of the only
                device.

        The other arguments have no effect: plans are always kept, and ops that
        no fetch needs never run.
        """
        if isinstance(program, CompiledProgram):
            program = program.program
        program = default_main_program() if program is None else program
        if not isinstance(program, Program):
            wrong(
                f"run: expected a fluid.Program, got {program!r}",
                "fluid.run_program",
            )
        values = _values_fed(program, feed)
        shapes = {
            name: _fed(values[name], sizes, levels)
            for name, sizes, _, levels in program.feeds
            if name in values
        }
        shapes = {name: fed for name, fed in shapes.items() if fed}
        if shapes:
            program = program.fed_as(shapes)
        scope = getattr(scope, "sluice", scope) or sluice_executor._scope
        for name in [*values]:
            if program.translation.is_stored(name):
                scope[name] = np.asarray(values.pop(name))
        if not isinstance(fetch_list, (list, tuple, type(None))):
            fetch_list = [fetch_list]
        fetches = [
            program.translation.value(getattr(each, "name", each))
            for each in fetch_list or []
        ]
        parts = [
            part
            for each in fetches
            for part in (each._parts() if isinstance(each, Array) else [each])
        ]
        arguments = program.sluice, values, parts, scope
        made = iter(profiler.traced(self.sluice, *arguments))
        results = [
            _elements(each, [next(made) for _ in each._parts()])
            if isinstance(each, Array)
            else next(made)
            for each in fetches
        ]
        results = [
            as_numpy(each)
            if return_numpy
            else LoDTensor(each, each.lod if isinstance(each, Ragged) else [])
            for each in results
        ]
        return results if return_merged else [[each] for each in results]

    def close(self) -> None:
        """Nothing."""


class ParallelExecutor(Shown):
    """Runs one program: the threads of one process share each op.

    Args:
        use_cuda: whether at the first CUDA device.
        main_program: the default main program if None.
        scope: where parameters live; the global scope if None.

    The other arguments have no effect.
    """

    def __init__(self, use_cuda: bool, loss_name: str | None = None,
                 main_program: Program | None = None,
                 share_vars_from: Any = None, exec_strategy: Any = None,
                 build_strategy: Any = None, num_trainers: int = 1,
                 trainer_id: int = 0, scope: Any = None) -> None:  # fmt: skip
        self.program = main_program or default_main_program()
        self._scope = scope
        self._executor = Executor(CUDAPlace(0) if use_cuda else CPUPlace())

    device_count = 1

    def drop_local_exe_scopes(self) -> None:
        """Nothing: runs keep no scopes."""

    def run(self, fetch_list: Any, feed: Any = None, feed_dict: Any = None,
            return_numpy: bool = True) -> list[Any]:  # fmt: skip
        """Run, see :meth:`Executor.run`."""
        return self._executor.run(
            self.program, feed or feed_dict, fetch_list, scope=self._scope,
            return_numpy=return_numpy,
        )  # fmt: skip
