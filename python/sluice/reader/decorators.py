"""Fluid's readers: functions that return an iterator over samples."""

from __future__ import annotations

import contextlib
import itertools
import queue
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ..feed_values import positive

__all__ = ["batch", "buffered", "shuffle", "xmap_readers"]

Reader = Callable[[], Iterator[Any]]


def batch(reader: Reader, batch_size: int, drop_last: bool = False) -> Reader:
    """Return a reader of lists of ``batch_size`` samples.

    A reader is a function that returns an iterator over samples. With
    ``drop_last`` a last list that is smaller is left out.
    """
    if isinstance(batch_size, float) and batch_size.is_integer():
        batch_size = int(batch_size)  # such as 8 / 1
    size = positive("batch: batch_size", batch_size)

    def batches() -> Iterator[list]:
        samples = iter(reader())
        while chosen := list(itertools.islice(samples, size)):
            if len(chosen) == size or not drop_last:
                yield chosen

    return batches


def shuffle(reader: Reader, buf_size: int, seed: int | None = None) -> Reader:
    """Return a reader that shuffles each ``buf_size`` samples in a row.

    With a seed, each call of the reader gives the same order; without, the
    order is by the module ``random``.
    """
    size = positive("shuffle: buf_size", buf_size)

    def shuffled() -> Iterator[Any]:
        draw = random if seed is None else random.Random(seed)
        samples = iter(reader())
        while chosen := list(itertools.islice(samples, size)):
            draw.shuffle(chosen)
            yield from chosen

    return shuffled


def buffered(reader: Reader, size: int) -> Reader:
    """Return a reader that a thread reads ahead, up to ``size`` samples.

    An error of the reader is raised where its sample would come.
    """
    positive("buffered: size", size)

    def ahead() -> Iterator[Any]:
        samples: queue.Queue = queue.Queue(size)
        left = threading.Event()

        def put(*item: Any) -> None:
            while not left.is_set():
                with contextlib.suppress(queue.Full):
                    return samples.put(item, timeout=0.1)

        def read() -> None:
            try:
                for sample in reader():
                    put(sample, False, None)
                    if left.is_set():
                        return
                put(None, True, None)
            except BaseException as error:
                put(None, True, error)

        threading.Thread(target=read, daemon=True).start()
        try:
            while True:
                sample, ended, error = samples.get()
                if error is not None:
                    raise error
                if ended:
                    return
                yield sample
        finally:
            left.set()

    return ahead


def xmap_readers(
    mapper: Callable[[Any], Any],
    reader: Reader,
    process_num: int,
    buffer_size: int,
    order: bool = False,
) -> Reader:
    """Return a reader of ``mapper(sample)``, computed ahead by threads.

    Args:
        mapper: is called by several threads.
        reader: a function that returns an iterator over samples.
        process_num: how many threads.
        buffer_size: how many samples they are ahead.
        order: whether results keep the order of the samples.
    """
    positive("xmap_readers: process_num", process_num)
    positive("xmap_readers: buffer_size", buffer_size)

    def mapped() -> Iterator[Any]:
        from concurrent import futures

        pool = futures.ThreadPoolExecutor(process_num)
        samples = iter(reader())
        pending: list[futures.Future] = []
        try:
            while True:
                room = buffer_size - len(pending)
                for sample in itertools.islice(samples, room):
                    pending.append(pool.submit(mapper, sample))
                if not pending:
                    return
                if not order:
                    futures.wait(pending, None, futures.FIRST_COMPLETED)
                    pending.sort(key=lambda one: not one.done())
                yield pending.pop(0).result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    return mapped
