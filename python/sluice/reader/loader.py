"""DataLoader: the batches of a dataset, made ahead, from any position."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..elsewhere import checked
from ..errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
)
from ..feed_values import number
from ..framework import Variable, positive
from .batches import Failure, IterableDataset, Maker
from .feeder import Feed
from .samplers import BatchSampler, natural

if TYPE_CHECKING:
    from .workers import Worker

__all__ = ["DataLoader"]


@checked
class DataLoader:
    """Iterates over the batches of a dataset, an epoch at a time.

    Order and random numbers depend on seed, epoch and position alone:
    ``random`` and ``numpy.random`` are seeded for each batch while it is made.
    So every number of workers gives the same batches, and
    :meth:`load_state_dict` continues anywhere without reading what came before.
    (An :class:`IterableDataset` is read again, and each of its workers fills
    batches of its own.) Generators that a dataset keeps for itself are not
    seeded.

    Workers are forked when an iteration begins and hand batches over in shared
    memory. A loop that breaks off ends its epoch; one loop runs at a time.

    Args:
        dataset: has ``len`` and ``[]``, or is an :class:`IterableDataset`.
        batch_size: samples of a batch, of this rank.
        shuffle: whether each epoch has another order.
        sampler: iterable over indices, instead of the order by ``shuffle``.
        batch_sampler: iterable over lists of indices, instead of the four
            arguments before and ``drop_last``. If either has a method
            ``set_epoch``, it is called before each epoch.
        num_workers: processes that make batches; 0 makes them here.
        collate_fn: makes a batch of a list of samples;
            :func:`default_collate` if None.
        drop_last: whether a last batch that is smaller is left out.
        timeout: seconds to wait for a batch of a worker; 0 for no limit.
        worker_init_fn: called in each worker with its number when it begins.
        prefetch_factor: batches that each worker is ahead.
        persistent_workers: whether the workers live for many epochs.
        seed: of the order and of random numbers; the same on all ranks.
        rank: the number of this rank, e.g. ``sl.distributed.rank()``.
        world_size: the number of ranks, which share each epoch.
        feed_list: data variables or their names: batches are dicts to feed,
            and checked. Names need a program, the default main one.

    Raises:
        InvalidArgumentError: an argument is not of its range, or contradicts
            another one.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[Sequence[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list], Any] | None = None,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        prefetch_factor: int = 2,
        persistent_workers: bool = False,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        feed_list: Sequence[Variable | str] | None = None,
    ) -> None:
        self.num_workers = natural("DataLoader: num_workers", num_workers)
        self.timeout = number("DataLoader: timeout", timeout)
        self.epoch = 0
        self._ahead = positive("DataLoader: prefetch_factor", prefetch_factor)
        self._persistent = bool(persistent_workers)
        self._init = worker_init_fn
        self._feed = None if feed_list is None else Feed(feed_list)
        self._streams = isinstance(dataset, IterableDataset)
        orders = BatchSampler(
            0 if self._streams or batch_sampler is not None else dataset,
            batch_size, shuffle, drop_last, sampler, seed, rank, world_size,
        )  # fmt: skip
        self._orders: Any = orders if batch_sampler is None else batch_sampler
        self._rank, self._world = orders.rank, orders.world_size
        self._refuse(
            batch_sampler is not None
            and (batch_size != 1 or shuffle or drop_last or sampler is not None),
            "batch_sampler makes the batches: expected neither batch_size, "
            "shuffle, sampler nor drop_last with it",
        )
        self._refuse(
            self._streams
            and (shuffle or sampler is not None or batch_sampler is not None),
            "an IterableDataset sets its order itself: expected neither "
            "shuffle nor a sampler",
        )
        self._maker = Maker(
            dataset, collate_fn, orders.batch_size, orders.drop_last, orders.seed
        )
        # What a state must agree with.
        self._form = {
            "batch_size": orders.batch_size,
            "drop_last": orders.drop_last,
            "seed": orders.seed,
            "shuffle": orders.shuffle,
            "samples": None if self._streams else len(dataset),
            "world_size": self._world,
        }
        self._workers: list[Worker] = []
        weakref.finalize(self, _close, self._workers)
        self._begun = False  # whether this epoch is more than a position
        self._loop = 0
        # Batches given of this epoch: of each worker where each has its own.
        self._given = [0] * (max(1, num_workers) if self._streams else 1)

    @staticmethod
    def _refuse(wrong: Any, text: str) -> None:
        if wrong:
            raise InvalidArgumentError(f"DataLoader: {text}", "loader.order")

    def __len__(self) -> int:
        """The number of batches of an epoch."""
        if self._streams:
            raise TypeError("an IterableDataset has no number of batches")
        return len(self._orders)

    def set_epoch(self, epoch: int) -> None:
        """Go to the beginning of an epoch; the next loop starts there."""
        self.epoch = natural("set_epoch: epoch", epoch)
        self._given = [0] * len(self._given)
        self._begun = False

    def state_dict(self) -> dict[str, Any]:
        """Say where the loop is, as numbers for JSON.

        Call it where the last batch has been used: the state continues with
        the next one. After a loop it is the beginning of the next epoch.
        """
        return {"epoch": self.epoch, "given": list(self._given), **self._form}

    def check_state(self, state: Any) -> None:
        """Raise what :meth:`load_state_dict` raises, and change nothing."""
        given = state.get("given") if isinstance(state, Mapping) else None
        if not isinstance(given, list) or not all(
            type(n) is int and n >= 0 for n in [*given, state.get("epoch")]
        ):
            raise DataLossError(
                "DataLoader: expected the state of a loader, got "
                f"{_core._shown(state)}",
                "loader.no_state",
            )
        own = {**self._form, "workers": len(given)}
        saved = {**state, "workers": len(self._given)}
        if not self._streams:
            own["workers"] = saved["workers"] = 1
        wrong = [
            f"{key} = {own[key]!r} here, {saved.get(key)!r} in the state"
            for key in own
            if own[key] != saved.get(key)
        ]
        if wrong:
            raise InvalidArgumentError(
                f"DataLoader: the state is of another loader: {'; '.join(wrong)}",
                "loader.other_state",
            )

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another loader was: the next loop starts there.

        It needs no reading of the batches before, except those of an
        IterableDataset. The number of workers may differ, except there.

        Raises:
            DataLossError: it is no state of a loader.
            InvalidArgumentError: it is that of another dataset, batch size,
                seed or number of ranks; names each.
        """
        self.check_state(state)
        self.set_epoch(state["epoch"])
        self._given = list(state["given"])

    def close(self) -> None:
        """End persistent workers; the next loop starts new ones."""
        _close(self._workers)

    def __iter__(self) -> Iterator[Any]:
        """Give the batches of the next epoch, or of the rest of this one."""
        self._loop += 1
        return self._batches(self._loop)

    def _batches(self, loop: int) -> Iterator[Any]:
        if self._begun:
            self.set_epoch(self.epoch + 1)
        self._begun = True
        where = self._positions()
        made = self._make_ahead(where) if self.num_workers else self._make(where)
        for worker, batch in made:
            if loop != self._loop:
                raise FailedPreconditionError(
                    "DataLoader: another loop over it has begun; expected one "
                    "at a time",
                    "loader.two_loops",
                )
            if self._feed is not None:
                batch = self._feed.of_batch(batch)
            self._given[worker] += 1
            yield batch
        self.set_epoch(self.epoch + 1)

    def _positions(self) -> Iterator[tuple[int, Any]]:
        """Number and indices of each batch that is left."""
        if self._streams:
            return iter(())
        begin = self._given[0]
        if hasattr(self._orders, "batches"):
            left = self._orders.batches(self.epoch, begin)
        else:
            if hasattr(self._orders, "set_epoch"):
                self._orders.set_epoch(self.epoch)
            left = itertools.islice(self._orders, begin, None)
        return (
            (at, indices.tolist() if hasattr(indices, "tolist") else indices)
            for at, indices in enumerate(left, begin)
        )

    def _make(self, where: Iterator[tuple[int, Any]]) -> Iterator[Any]:
        skip = self._given[0]
        self._maker.start(self.epoch, self._rank, self._world, skip)
        if self._streams:
            where = zip(itertools.count(skip), itertools.repeat(None))
        for at, indices in where:
            try:
                batch = self._maker.make(at, indices, np.empty)
            except Failure as error:
                raise self._error(error, at) from error.__cause__
            if batch is None:
                return
            yield 0, batch

    def _make_ahead(self, where: Iterator[tuple[int, Any]]) -> Iterator[Any]:
        if not self._workers:
            self._start_workers()
        order = list(self._workers)
        nexts = dict.fromkeys(order, where)
        if self._streams:
            # A worker that has given fewer batches is next; if that is because
            # it has no more, it says so.
            order.sort(key=lambda worker: self._given[worker.number])
            for worker in order:
                counted = itertools.count(self._given[worker.number])
                nexts[worker] = zip(counted, itertools.repeat(None))
        keep = False
        asked: list[Worker] = []

        def ask(worker: Worker) -> None:
            for at, indices in itertools.islice(nexts[worker], 1):
                worker.ask(at, indices)
                asked.append(worker)

        try:
            for worker in order:
                worker.start(*self._epoch_of(worker.number))
            for worker in order * self._ahead:
                ask(worker)
            while asked:
                worker = asked.pop(0)
                at, batch, wrong = worker.answer(self.timeout, self._name)
                if wrong is not None:
                    raise self._error(wrong, at, worker)
                if batch is not None:
                    ask(worker)
                    yield worker.number if self._streams else 0, batch
            keep = True
        except GeneratorExit:
            keep = True
            raise
        finally:
            if not (keep and self._persistent):
                self.close()

    def _epoch_of(self, number: int) -> tuple[int, int, int, int]:
        """What Maker.start gets in a worker."""
        if not self._streams:
            return self.epoch, self._rank, self._world, 0
        shard = self._rank * self.num_workers + number
        shards = self._world * self.num_workers
        return self.epoch, shard, shards, self._given[number]

    def _start_workers(self) -> None:
        from .workers import Worker, WorkerInfo

        for number in range(self.num_workers):
            info = WorkerInfo(number, self.num_workers, self._maker.seed)
            self._workers.append(
                Worker(info, self._maker, self._init, self._ahead, self._workers)
            )

    def _name(self, at: int) -> str:
        return f"batch {at} of epoch {self.epoch}"

    def _error(
        self, wrong: Any, at: int, worker: Worker | None = None
    ) -> InvalidArgumentError:
        by = f", worker {worker.number}" if worker else ""
        return InvalidArgumentError(
            f"DataLoader: {self._name(at)}{by}: {wrong}", "loader.raised"
        )


def _close(workers: list[Worker]) -> None:
    if workers:
        from .workers import close

        close(workers)
