"""DataLoader: the batches of a dataset, made ahead, from any position."""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..display import Shown
from ..elsewhere import checked
from ..errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
)
from ..feed_values import finite, natural, positive
from ..program import Variable
from .batches import Failure, IterableDataset, Maker
from .feeder import DataFeeder, Feed
from .samplers import BatchSampler

if TYPE_CHECKING:
    from .workers import Worker


@checked
class DataLoader(Shown):
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
            and checked. Names need a program, the default main one. If one is
            ragged, samples have its sequences, and are batched as by
            :class:`DataFeeder`.

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
        self.dataset, self.batch_size = dataset, batch_size
        self.num_workers = natural("DataLoader: num_workers", num_workers)
        self.timeout = finite("DataLoader: timeout", timeout)
        self.epoch = 0
        self._ahead = positive("DataLoader: prefetch_factor", prefetch_factor)
        self._persistent = bool(persistent_workers)
        self._init = worker_init_fn
        self._feed = None if feed_list is None else Feed(feed_list, None)
        if collate_fn is None and self._feed and self._feed.ragged:
            collate_fn = DataFeeder(list(feed_list or ())).feed
        self._streams = isinstance(dataset, IterableDataset)
        has_batches = batch_sampler is not None
        self._form = form = BatchSampler(
            0 if self._streams or has_batches else dataset,
            batch_size, shuffle, drop_last, sampler, seed, rank, world_size,
        )  # fmt: skip
        self._orders: Any = batch_sampler if has_batches else form
        ordered = bool(shuffle or sampler is not None)
        self._refuse(
            has_batches and (batch_size != 1 or drop_last or ordered),
            "batch_sampler makes the batches: expected neither batch_size, "
            "shuffle, sampler nor drop_last with it",
        )
        self._refuse(
            self._streams and (has_batches or ordered),
            "an IterableDataset sets its order itself: expected neither "
            "shuffle nor a sampler",
        )
        self._refuse(self.timeout < 0, f"timeout is {timeout}; expected 0 on")
        self._maker = Maker(
            dataset, collate_fn, form.batch_size, form.drop_last, form.seed
        )
        self._workers: list[Worker] = []
        weakref.finalize(self, _close, self._workers)
        self._begun = False  # whether this epoch is more than a position
        self._loop = self._running = 0
        # Batches given of this epoch: of each worker where each has its own.
        self._counts = [0] * (max(1, num_workers) if self._streams else 1)

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
        """Go, between loops, to the epoch with which the next one begins."""
        self._require_no_loop("set_epoch")
        self._go_to(natural("set_epoch: epoch", epoch))

    def _go_to(self, epoch: int) -> None:
        self.epoch = epoch
        self._counts = [0] * len(self._counts)
        self._begun = False

    def state_dict(self) -> dict[str, Any]:
        """Say where the loop is, as numbers for JSON.

        Call it where the last batch has been used: the state continues with
        the next one. After a loop it is the beginning of the next epoch.
        """
        must_agree = "batch_size", "drop_last", "seed", "shuffle", "world_size"
        return {
            "epoch": self.epoch,
            "given": list(self._counts),
            "samples": None if self._streams else len(self.dataset),
            "workers": len(self._counts),
            **{key: getattr(self._form, key) for key in must_agree},
        }

    def check_state(self, state: Any) -> None:
        """Raise what :meth:`load_state_dict` raises, and change nothing."""
        self._require_no_loop("load_state_dict")
        counts = state.get("given") if isinstance(state, Mapping) else None
        if not isinstance(counts, list) or not all(
            type(n) is int and n >= 0 for n in [*counts, state.get("epoch")]
        ):
            raise DataLossError(
                "DataLoader: expected the state of a loader, got "
                f"{_core._shown(state)}",
                "loader.no_state",
            )
        wrong = [
            f"{key} = {own!r} here, {state.get(key)!r} in the state"
            for key, own in self.state_dict().items()
            if key not in ("epoch", "given") and own != state.get(key)
        ]
        if wrong:
            raise InvalidArgumentError(
                "DataLoader: the state is of another loader: "
                + "; ".join(wrong),
                "loader.other_state",
            )

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another loader was: the next loop starts there.

        It needs no reading of the batches before, except those of an
        IterableDataset. The number of workers may differ, except there.

        Raises:
            FailedPreconditionError: a loop over this one is not at its end.
            DataLossError: it is no state of a loader.
            InvalidArgumentError: it is that of another dataset, batch size,
                seed or number of ranks; names each.
        """
        self.check_state(state)
        self._go_to(state["epoch"])
        self._counts = list(state["given"])

    def close(self) -> None:
        """End the workers and the loop; the next one starts new workers."""
        self._loop += 1
        _close(self._workers)

    def __iter__(self) -> Iterator[Any]:
        """Give the batches of the next epoch, or of the rest of this one."""
        self._loop += 1
        return self._batches(self._loop)

    def _batches(self, loop: int) -> Iterator[Any]:
        self._require_latest(loop)
        if self._begun:
            self._go_to(self.epoch + 1)
        self._begun, self._running = True, loop
        make = self._make_ahead if self.num_workers else self._make
        try:
            with contextlib.closing(make(loop)) as batches:
                for worker, batch in batches:
                    if self._feed is not None:
                        batch = self._feed.of_batch(batch)
                    self._counts[worker] += 1
                    yield batch
                    self._require_latest(loop)
            self._go_to(self.epoch + 1)
        finally:
            if self._running == loop:
                self._running = 0

    def _require_latest(self, loop: int) -> None:
        if loop != self._loop:
            raise FailedPreconditionError(
                "DataLoader: another loop over it has begun, or it was closed; "
                "expected one loop at a time",
                "loader.two_loops",
            )

    def _require_no_loop(self, called: str) -> None:
        if self._running and self._running == self._loop:
            raise FailedPreconditionError(
                f"DataLoader: {called} in the middle of a loop over it; "
                "expected it before the loop, or after close(), which ends it",
                "loader.in_loop",
            )

    def _positions(self) -> Iterator[tuple[int, Any]]:
        """Number and indices of each batch that is left."""
        if self._streams:
            return iter(())
        begin = self._counts[0]
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

    def _make(self, loop: int) -> Generator[Any, None, None]:
        self._maker.start(*self._epoch_of(0))
        where = self._positions()
        if self._streams:
            numbers = itertools.count(self._counts[0])
            where = zip(numbers, itertools.repeat(None))
        for at, indices in where:
            try:
                batch = self._maker.make(at, indices, np.empty)
            except Failure as error:
                raise self._error(error, at) from error.__cause__
            if batch is None:
                return
            yield 0, batch

    def _make_ahead(self, loop: int) -> Generator[Any, None, None]:
        if not (self._workers and self._workers[0].ours):
            self._start_workers()
        order = list(self._workers)
        nexts = dict.fromkeys(order, self._positions())
        if self._streams:
            # A worker that has given fewer batches is next; if that is because
            # it has no more, it says so.
            order.sort(key=lambda worker: self._counts[worker.number])
            for worker in order:
                counted = itertools.count(self._counts[worker.number])
                nexts[worker] = zip(counted, itertools.repeat(None))
        keep = False
        waiting: list[Worker] = []

        def ask(worker: Worker) -> None:
            for at, indices in itertools.islice(nexts[worker], 1):
                worker.ask(at, indices)
                waiting.append(worker)

        try:
            for worker in order:
                worker.start(*self._epoch_of(worker.number))
            for worker in order * self._ahead:
                ask(worker)
            while waiting:
                worker = waiting.pop(0)
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
            # A loop that is left may end when the next one has begun.
            if loop == self._loop and not (keep and self._persistent):
                _close(self._workers)

    def _epoch_of(self, worker: int) -> tuple[int, int, int, int]:
        """The arguments of Maker.start in a worker."""
        rank, world = self._form.rank, self._form.world_size
        if not self._streams:
            return self.epoch, rank, world, 0
        count = len(self._counts)
        shard = rank * count + worker
        return self.epoch, shard, world * count, self._counts[worker]

    def _start_workers(self) -> None:
        from .workers import Worker, WorkerInfo

        workers, maker = self._workers, self._maker
        _close(workers)  # of the process before a fork
        for each in range(self.num_workers):
            info = WorkerInfo(each, self.num_workers, maker.seed)
            worker = Worker(info, maker, self._init, self._ahead, workers)
            workers.append(worker)

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
