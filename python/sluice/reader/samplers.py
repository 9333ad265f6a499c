"""Which samples come in which batch, as a function of seed and epoch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .. import _core
from ..display import Shown
from ..errors import InvalidArgumentError
from ..feed_values import natural, positive


def permutation(count: int, seed: int, epoch: int) -> np.ndarray:
    """The numbers below ``count`` in an order that all versions of NumPy give.

    The raw numbers of a bit generator are the same in all of them, and no two
    are equal, as good as surely.
    """
    bits = np.random.Philox(np.random.SeedSequence([seed, epoch]))
    return np.argsort(bits.random_raw(count))


class BatchSampler(Shown):
    """Arrays of indices, one for each batch of an epoch.

    The order depends on the seed and the epoch alone, so that any batch of any
    epoch is found without those before it. With several ranks, each takes
    every ``world_size``-th sample of the same order, and all have equally many
    batches: the order is continued from its beginning for this, or with
    ``drop_last`` cut.

    ``source`` is a dataset or a number of samples; the other arguments are
    those of :class:`DataLoader`.

    Raises:
        InvalidArgumentError: a number is not of its range.
    """

    def __init__(
        self,
        source: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        sampler: Iterable[int] | None = None,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        count = source
        if hasattr(source, "__len__") and hasattr(source, "__getitem__"):
            count = len(source)
        elif not isinstance(source, int):
            raise InvalidArgumentError(
                "expected a dataset with len and [], or an IterableDataset, "
                f"got {_core._shown(source)}",
                "loader.dataset",
            )
        self.count = natural("BatchSampler: source", count)
        self.batch_size = positive("BatchSampler: batch_size", batch_size)
        self.world_size = positive("BatchSampler: world_size", world_size)
        self.rank = natural("BatchSampler: rank", rank)
        self.seed = natural("BatchSampler: seed", seed)
        self.shuffle, self.drop_last = bool(shuffle), bool(drop_last)
        self.sampler = sampler
        self.epoch = 0
        if self.rank >= self.world_size:
            raise InvalidArgumentError(
                f"BatchSampler: rank is {rank}; expected less than "
                f"world_size = {world_size}",
                "loader.rank",
            )
        if self.shuffle and sampler is not None:
            raise InvalidArgumentError(
                "BatchSampler: a sampler sets the order, so that shuffle "
                "cannot; expected one of them",
                "loader.sampler",
            )

    def __len__(self) -> int:
        if self.sampler is not None:
            self.count = len(self.sampler)  # type: ignore[arg-type]
        share, rest = divmod(self.count, self.world_size)
        share += bool(rest and not self.drop_last and self.sampler is None)
        whole, rest = divmod(share, self.batch_size)
        return whole + bool(rest and not self.drop_last)

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that the next iteration gives."""
        self.epoch = natural("set_epoch: epoch", epoch)

    def __iter__(self) -> Iterator[np.ndarray]:
        return self.batches(self.epoch)

    def batches(self, epoch: int, skip: int = 0) -> Iterator[np.ndarray]:
        """The batches of an epoch, without the first ``skip``."""
        if self.sampler is not None:
            yield from self._sampled(epoch, skip)
            return
        if self.shuffle:
            order = permutation(self.count, self.seed, epoch)
        else:
            order = np.arange(self.count)
        rest = self.count % self.world_size
        if rest and self.drop_last:
            order = order[: self.count - rest]
        elif rest:
            order = np.resize(order, self.count + self.world_size - rest)
        order = order[self.rank :: self.world_size]
        for number in range(skip, len(self)):
            begin = number * self.batch_size
            yield order[begin : begin + self.batch_size]

    def _sampled(self, epoch: int, skip: int) -> Iterator[np.ndarray]:
        assert self.sampler is not None
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)
        indices: Iterator[int] = iter(self.sampler)
        # Each rank takes one of every group of `world_size`; groups that are
        # not complete are left out, so that all ranks have as many batches.
        groups = zip(*[indices] * self.world_size, strict=False)
        mine = (group[self.rank] for group in groups)
        mine = itertools.islice(mine, skip * self.batch_size, None)
        while batch := list(itertools.islice(mine, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield np.asarray(batch)
