"""Readers: what turns samples into the feeds of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..display import Shown
from ..errors import InvalidArgumentError
from ..framework import created
from ..reader import batch
from .errors import too_early, wrong
from .executor import LoDTensor
from .framework import Program, Variable, default_main_program

__all__ = ["DataFeeder", "DataLoader", "EOFException", "PyReader"]


class EOFException(Exception):
    """A started reader has no batch left."""


class DataFeeder(Shown):
    """Makes feeds of lists of samples, each a tuple with a value an input.

    Args:
        feed_list: the inputs.
        place: has no effect.
        program: of inputs that are names.
    """

    def __init__(
        self,
        feed_list: Sequence[Variable | str],
        place: Any = None,
        program: Program | None = None,
    ) -> None:
        block = (program or default_main_program()).global_block()
        self._inputs = [
            block.var(each) if isinstance(each, str) else each
            for each in feed_list
        ]

    def feed(self, iterable: Any) -> dict[str, Any]:
        """The feed of a batch."""
        samples = list(iterable)
        names = [var.name for var in self._inputs]
        for i, sample in enumerate(samples):
            if len(sample) != len(names):
                wrong(
                    f"DataFeeder: sample {i} has {len(sample)} values for "
                    f"{len(names)} inputs, {', '.join(names)}",
                    "fluid.feeder_columns",
                )
        columns = list(zip(*samples, strict=True)) or [()] * len(names)
        return {
            var.name: self._column(var, values)
            for var, values in zip(self._inputs, columns, strict=True)
        }

    @staticmethod
    def _column(var: Variable, values: Sequence[Any]) -> Any:
        dtype = np.dtype(var.dtype.name)
        sizes = [size for size in var.shape[1:]]
        if not var.lod_level:
            try:
                batch = np.array(values, dtype)
                if sizes.count(-1) > 1 and batch.ndim == 1 + len(sizes):
                    return batch
                return batch.reshape([len(values), *sizes])
            except ValueError as error:
                raise InvalidArgumentError(
                    f"DataFeeder: {var.name} is {var.dtype.name} {sizes} in "
                    f"each sample: {error}{created()}",
                    "fluid.feeder_shape",
                ) from error
        lengths: list[list[int]] = [[] for _ in range(var.lod_level)]
        for level in lengths[:-1]:
            level += [len(each) for each in values]
            values = [part for each in values for part in each]
        rows = [
            np.asarray(each, dtype).reshape([-1, *sizes]) for each in values
        ]
        lengths[-1] += [len(each) for each in rows]
        tensor = LoDTensor(np.concatenate(rows))
        tensor.set_recursive_sequence_lengths(lengths)
        return tensor


class PyReader(Shown):
    """Feeds of a generator of batches.

    Without ``iterable`` runs of the program without a feed take a batch each
    after ``start()``, until ``core.EOFException`` is raised; then ``reset()``.

    Args:
        feed_list: the inputs.
        iterable: whether to iterate over the reader and feed what it gives.
        return_list: whether batches are lists instead of dicts.

    The other arguments have no effect: batches are made when they are asked
    for, for one device.
    """

    _to_variable: Callable[[Any], Variable]  # dygraph's, which sets it

    def __init__(
        self,
        feed_list: Sequence[Variable] | None = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
        use_multiprocess: bool = False,
        drop_last: bool = True,
    ) -> None:
        self.iterable = iterable
        self._eager = hasattr(default_main_program(), "given")
        if not feed_list and not self._eager:
            wrong("PyReader: feed_list has no inputs", "fluid.py_reader")
        self.inputs = list(feed_list or ())
        self._feeder = DataFeeder(self.inputs)
        self._return_list = return_list
        self._batches: Callable[[], Any] | None = None
        self._running: Iterator[Any] | None = None
        if not iterable:
            feed_list[0].block.program.readers.append(self)

    def decorate_sample_generator(
        self, sample_generator: Any, batch_size: int, drop_last: bool = True,
        places: Any = None,
    ) -> PyReader:  # fmt: skip
        """Take a function that gives a generator of samples; return this."""

        def tuples() -> Iterator[Any]:
            for each in sample_generator():
                yield each if isinstance(each, (tuple, list)) else (each,)

        return self.decorate_sample_list_generator(
            batch(tuples, batch_size, drop_last), places
        )

    def decorate_sample_list_generator(
        self, reader: Any, places: Any = None
    ) -> PyReader:
        """Take a function that gives a generator of lists of samples."""
        if self._eager and not self.inputs:
            self._batches = lambda: (
                dict(enumerate(map(np.array, zip(*batch, strict=True))))
                for batch in reader()
            )
        else:
            self._batches = lambda: map(self._feeder.feed, reader())
        return self

    def decorate_batch_generator(self, reader: Any, places: Any = None) -> Any:
        """Take a function that gives a generator of tuples of arrays."""
        names = [var.name for var in self.inputs]
        self._batches = lambda: (
            dict(zip(names, batch, strict=True))
            if names
            else dict(enumerate(batch))
            for batch in reader()
        )
        return self

    decorate_paddle_reader = set_sample_list_generator = (
        decorate_sample_list_generator
    )
    decorate_tensor_provider = set_batch_generator = decorate_batch_generator
    set_sample_generator = decorate_sample_generator

    def _made(self) -> Iterator[Any]:
        if self._batches is None:
            too_early(
                "PyReader: decorate_sample_list_generator gives it its data",
                "fluid.py_reader_empty",
            )
        return iter(self._batches())

    def __iter__(self) -> Iterator[Any]:
        for feed in self._made():
            values = list(feed.values())
            if self._eager and not self.inputs:
                values = [self._to_variable(each) for each in values]
            yield values if self._return_list else [feed]

    __call__ = __iter__

    def start(self) -> None:
        """Begin with the first batch."""
        self._running = self._made()

    def reset(self) -> None:
        """End before the last batch, or after it."""
        self._running = None

    @property
    def queue(self) -> PyReader:
        """Itself: old scripts call its ``size()``, which is 0."""
        return self

    def size(self) -> int:
        """0: batches are made when they are asked for."""
        return 0

    def next_feed(self) -> dict[str, Any]:
        """The feed of the next run. Raises EOFException after the last one."""
        if self._running is None:
            too_early(
                f"{self.inputs[0].name}: feed it, or start() its reader",
                "fluid.reader_start",
            )
        for feed in self._running:
            return feed
        raise EOFException("there is no batch left: call reset()")


class DataLoader(Shown):
    """Makes a :class:`PyReader`, by the name of later scripts."""

    from_generator = PyReader
