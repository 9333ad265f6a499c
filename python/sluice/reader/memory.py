"""Memory that two processes share: one writes a batch, the other reads it."""

from __future__ import annotations

import mmap
import os
import pickle
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

_ALIGNMENT = 64


class Packed(NamedTuple):
    """Where a batch is in its slot, in bytes."""

    head: tuple[int, int]
    """Its pickle without the arrays: begin and end."""
    arrays: list[tuple[int, int]]
    """Begin and end of each array."""


class Slot:
    """Anonymous memory for one batch, inherited by processes that are forked.

    It has no name, so the kernel frees it with its last process, whatever ended
    that. Each process has a mapping of its own, which grows with the batches.
    """

    def __init__(self) -> None:
        self.file = os.memfd_create("sluice batch")
        self.memory: Any = b""
        self.used = 0

    def close(self) -> None:
        """Ends it here; arrays that were read from it stay."""
        os.close(self.file)
        self.memory = b""

    def empty(self, shape: Sequence[int], dtype: Any) -> np.ndarray:
        """A new array, in the slot if it has room; without values."""
        dtype, before = np.dtype(dtype), self.used
        begin = self._begin(int(np.prod(shape)) * dtype.itemsize)
        if dtype.hasobject or not 0 < self.used <= len(self.memory):
            self.used = before
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, self.memory, begin)

    def write(self, batch: Any) -> Packed:
        """Write a batch; arrays of :meth:`empty` are there already."""
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(batch, 5, buffer_callback=buffers.append)
        start = _address(self.memory)
        spans, to_copy = [], []
        for buffer in buffers:
            values = np.asarray(buffer.raw())
            begin = _address(values) - start
            if not 0 <= begin <= len(self.memory) - values.nbytes:
                begin = self._begin(values.nbytes)
                to_copy.append((begin, values))
            spans.append((begin, begin + values.nbytes))
        begin = self._begin(len(head))
        self._map(self.used)
        for at, values in [*to_copy, (begin, np.frombuffer(head, np.uint8))]:
            self.memory[at : at + values.nbytes] = values.data
        self.used = 0
        return Packed((begin, begin + len(head)), spans)

    def read(self, at: Packed, free: Callable[[], None] | None) -> Any:
        """Return the batch.

        Its arrays use the slot, and ``free`` is called when all have ended; or
        they are copies, if it is None.
        """
        self._map(max(end for _, end in [at.head, *at.arrays]))
        whole = np.frombuffer(self.memory, np.uint8)
        parts = [whole[begin:end] for begin, end in at.arrays]
        if free is None:
            parts = [part.copy() for part in parts]
        else:
            weakref.finalize(whole, free).atexit = False
        return pickle.loads(whole[slice(*at.head)].data, buffers=parts)

    def _begin(self, size: int) -> int:
        begin = -(-self.used // _ALIGNMENT) * _ALIGNMENT
        self.used = begin + size
        return begin

    def _map(self, size: int) -> None:
        if size <= len(self.memory):
            return
        if os.fstat(self.file).st_size < size:
            size += size // 8
            # Unlike ftruncate it fails here if memory is short, not later.
            os.posix_fallocate(self.file, 0, size)
        self.memory = mmap.mmap(self.file, os.fstat(self.file).st_size)


def _address(memory: Any) -> int:
    if len(memory) == 0:
        return 0
    return np.frombuffer(memory, np.uint8).__array_interface__["data"][0]
