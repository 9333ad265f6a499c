"""Datasets, and how their samples become batches."""

from __future__ import annotations

import contextlib
import itertools
import random
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..display import Shown
from ..errors import InvalidArgumentError
from ..feed_values import unmasked

is_worker = False
Empty = Callable[[Sequence[int], Any], np.ndarray]


class Dataset(Shown):
    """Samples by index. Any object with these two methods will do.

    A sample is an array, a number, a text, or a tuple or dict of these.
    """

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError


class IterableDataset(Shown):
    """Samples in a row, e.g. of a stream, without ``len``."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    def shard(self, number: int, count: int) -> Iterator[Any]:
        """The samples of one of ``count`` workers, of all ranks together.

        This one reads all and takes every ``count``-th. Override it where a
        worker can open its own files.
        """
        return itertools.islice(iter(self), number, None, count)


class TensorDataset(Dataset):
    """Rows of arrays of the same length; a sample is a tuple.

    Raises:
        InvalidArgumentError: there is no array, or their lengths differ.
    """

    def __init__(self, *arrays: Any) -> None:
        self.arrays = tuple(unmasked(array) for array in arrays)
        shapes = [array.shape for array in self.arrays]
        if len({shape[:1] for shape in shapes}) != 1 or () in shapes:
            raise InvalidArgumentError(
                "TensorDataset: expected arrays with the same number of rows, "
                f"got shapes {', '.join(map(str, shapes)) or 'of no array'}",
                "loader.rows",
            )

    def __getitem__(self, index: int) -> tuple[np.ndarray, ...]:
        return tuple(array[index] for array in self.arrays)

    def __len__(self) -> int:
        return len(self.arrays[0])

    def __repr__(self) -> str:
        rows = (f"{a.dtype} {list(a.shape[1:])}" for a in self.arrays)
        return f"<TensorDataset: {len(self)} samples of {', '.join(rows)}>"


class Unequal(Exception):
    """A sample that does not fit the first one."""

    def __init__(self, position: int, what: str) -> None:
        super().__init__(position, what)


def default_collate(samples: Sequence[Any]) -> Any:
    """Return a batch of samples, with a new first axis.

    Arrays are stacked. Integers become int64, Python's floats float32. Tuples
    and dicts become those of batches, texts a list.

    Raises:
        InvalidArgumentError: a sample has another shape, dtype or form than the
            first; names it.
    """
    try:
        return collate(samples, np.empty)
    except Unequal as error:
        position, what = error.args
        raise InvalidArgumentError(
            f"default_collate: sample {position} {what}", "loader.unequal"
        ) from None


def collate(samples: Sequence[Any], empty: Empty) -> Any:
    """``default_collate`` into arrays that ``empty`` makes."""
    first = samples[0]
    if isinstance(first, Mapping):
        _require_equal(samples, lambda s: sorted(s, key=str), "keys")
        return {
            key: collate([sample[key] for sample in samples], empty)
            for key in first
        }
    if isinstance(first, (tuple, list)):
        _require_equal(samples, len, "fields")
        columns = zip(*samples, strict=True)
        return tuple(collate(column, empty) for column in columns)
    if isinstance(first, (str, bytes)):
        return list(samples)
    if isinstance(first, float) and not isinstance(first, np.generic):
        return np.asarray(samples, np.float32)
    rows = [unmasked(sample) for sample in samples]
    shape, dtype = rows[0].shape, rows[0].dtype
    if dtype.hasobject:
        raise Unequal(0, f"is {_core._shown(first)}, which has no dtype")
    batch = empty((len(rows), *shape), dtype)
    for position, row in enumerate(rows):
        if row.shape != shape or row.dtype != dtype:
            raise Unequal(
                position,
                f"has shape {list(row.shape)} and dtype {row.dtype}, the first "
                f"of the batch {list(shape)} and {dtype}",
            )
        batch[position] = row
    return batch


def _require_equal(
    samples: Sequence[Any], form: Callable[[Any], Any], what: str
) -> None:
    wanted, kind = form(samples[0]), type(samples[0])
    for position, sample in enumerate(samples):
        if type(sample) is not kind:
            raise Unequal(
                position,
                f"is a {type(sample).__name__}, the first of the batch a "
                f"{kind.__name__}",
            )
        if form(sample) != wanted:
            raise Unequal(
                position,
                f"has {form(sample)} {what}, the first of the batch {wanted}",
            )


@contextlib.contextmanager
def seeded(*key: int) -> Iterator[None]:
    """Seed ``random`` and ``numpy.random`` by the key inside the block.

    Workers do nothing else, so that there the seeds stay.
    """
    kept = None
    if not is_worker:
        kept = random.getstate(), np.random.get_state()
    words = np.random.SeedSequence(key).generate_state(4)
    random.seed(int.from_bytes(words.tobytes(), "little"))
    np.random.seed(words)
    try:
        yield
    finally:
        if kept is not None:
            random.setstate(kept[0])
            np.random.set_state(kept[1])


class Failure(Exception):
    """An exception of a user's function while a batch was made."""


def failure(what: str, error: BaseException) -> Failure:
    """A Failure with the traceback as text, without the frame of this file."""
    trace = error.__traceback__ and error.__traceback__.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    return Failure(f"{what} raised {type(error).__name__}:\n{text.rstrip()}")


class Maker:
    """Makes the batches of a dataset, in a worker or in the trainer itself.

    All that is random is seeded by seed, epoch, shard and number of the batch.
    """

    def __init__(
        self,
        dataset: Any,
        collate_fn: Callable[[list], Any] | None,
        batch_size: int,
        drop_last: bool,
        seed: int,
    ) -> None:
        self.dataset, self.collate_fn, self.seed = dataset, collate_fn, seed
        self.batch_size, self.drop_last = batch_size, drop_last

    def start(self, epoch: int, shard: int, shards: int, skip: int) -> None:
        """Begin an epoch. ``skip`` batches are read again if they must be."""
        self.epoch, self.shard, self.shards = epoch, shard, shards
        self.stream: Iterator[Any] | None = None
        self.skip = skip

    def make(self, number: int, indices: Any, empty: Empty) -> Any:
        """A batch; without indices the next one of the shard, None at its end.

        Raises Failure for an error of the dataset or of ``collate_fn``.
        """
        if indices is not None:
            if type(self.dataset) is TensorDataset and not self.collate_fn:
                return self.dataset[indices]
            with seeded(self.seed, self.epoch, self.shard, number):
                return self._collate(self._take(indices), indices, empty)
        for skipped in range(self.skip):
            with seeded(self.seed, self.epoch, self.shard, skipped):
                self._next()
        self.skip = 0
        with seeded(self.seed, self.epoch, self.shard, number):
            samples = self._next()
            if not samples or (
                len(samples) < self.batch_size and self.drop_last
            ):
                return None
            first = number * self.batch_size
            names = range(first, first + len(samples))
            return self._collate(samples, names, empty)

    def _take(self, indices: Sequence[int]) -> list:
        samples, index = [], None
        try:
            for index in indices:
                samples.append(self.dataset[index])
        except Exception as error:
            raise failure(f"dataset[{index}]", error) from error
        return samples

    def _next(self) -> list:
        samples: list = []
        try:
            if self.stream is None:
                self.stream = self._open()
            samples.extend(itertools.islice(self.stream, self.batch_size))
        except Exception as error:
            what = f"shard {self.shard} of {self.shards} of the dataset"
            raise failure(what, error) from error
        return samples

    def _open(self) -> Iterator[Any]:
        if hasattr(self.dataset, "shard"):
            return iter(self.dataset.shard(self.shard, self.shards))
        rows = iter(self.dataset)
        return itertools.islice(rows, self.shard, None, self.shards)

    def _collate(
        self, samples: list, names: Sequence[Any], empty: Empty
    ) -> Any:
        try:
            if self.collate_fn is None:
                return collate(samples, empty)
            batch = self.collate_fn(samples)
        except Unequal as error:
            position, what = error.args
            raise Failure(f"sample {names[position]} {what}") from None
        except Exception as error:
            called = "collate_fn" if self.collate_fn else "default_collate"
            what = f"{called} of samples {list(names)}"
            raise failure(what, error) from error
        if batch is None:
            what = f"collate_fn of samples {list(names)} returned None"
            raise Failure(f"{what}; expected a batch, e.g. an empty one")
        return batch
