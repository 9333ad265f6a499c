"""Processes that make batches ahead of the trainer.

A worker has a pipe, which carries tasks and short answers in their order, and
slots, which carry the batches.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import pickle
import select
import signal
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import FailedPreconditionError
from . import batches
from .batches import Failure, Maker, failure
from .memory import Packed, Slot

# The most tasks in the pipe to a worker. They fit into its buffer, so that the
# trainer never blocks while it sends one.
_TASKS = 64


class WorkerInfo(NamedTuple):
    """Which worker a dataset is in."""

    id: int
    """From 0."""
    num_workers: int
    """The number of workers of this rank."""
    seed: int
    """The seed of the loader."""


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Say which worker this process is; None if it is none."""
    return _info


def serve(
    info: WorkerInfo,
    maker: Maker,
    worker_init_fn: Callable[[int], Any] | None,
    slots: list[Slot],
    pipe: Any,
    foreign: list[Any],
) -> None:
    """Answer tasks until the trainer ends.

    A task is (number of the batch, its pickled indices in the slot, slot), or
    without a slot the arguments of Maker.start; None says there are no more.
    """
    global _info
    _info, batches.is_worker = info, True
    for other in foreign:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the trainer ends workers
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    # Waking up must not take the processor from the trainer that asks.
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    broken = None
    try:
        if worker_init_fn is not None:
            worker_init_fn(info.id)
    except Exception as error:
        broken = str(failure(f"worker_init_fn({info.id})", error))
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while task := pickle.loads(pipe.recv_bytes()):
            number, place, slot = task
            if slot is None:
                maker.start(*place)
                continue
            answer = None, broken
            if broken is None:
                indices = pickle.loads(slots[slot].read(place, None))
                answer = _answer(maker, number, indices, slots[slot])
            pipe.send_bytes(pickle.dumps(answer, 5))


def _answer(
    maker: Maker, number: int, indices: Any, slot: Slot
) -> tuple[Any, str | None]:
    """A packed batch or an error; neither at the end of a stream."""
    try:
        batch = maker.make(number, indices, slot.empty)
        if batch is None:
            return None, None
        try:
            return tuple(slot.write(batch)), None
        except Exception as error:
            raise failure("handing the batch over", error) from error
    except Failure as error:
        # Short enough for the pipe, so that no worker waits for a reader.
        text = str(error)
        if len(text) > 8000:
            text = f"{text[:2000]}\n...\n{text[-6000:]}"
        return None, text


class Worker:
    """The trainer's end of a worker.

    At most ``ahead`` batches are made or wait; two more slots are for arrays
    that the trainer still uses. If it keeps more, it gets copies.
    """

    def __init__(
        self,
        info: WorkerInfo,
        maker: Maker,
        worker_init_fn: Callable[[int], Any] | None,
        ahead: int,
        others: list[Worker],
    ) -> None:
        self.number, self._trainer = info.id, os.getpid()
        self.slots = [Slot() for _ in range(ahead + 2)]
        self.free = list(range(len(self.slots)))
        self.tasks: list[tuple[int, Packed, int]] = []
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        foreign = [self.pipe, *(worker.pipe for worker in others)]
        self.process = context.Process(
            target=serve,
            args=(info, maker, worker_init_fn, self.slots, theirs, foreign),
            name=f"sluice worker {info.id}",
            daemon=True,
        )
        # Until the worker ignores it, an interrupt waits.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        # Otherwise a process forked from this one ends the worker at its exit.
        multiprocessing.process._children.discard(self.process)  # type: ignore
        theirs.close()
        self.poller = select.poll()
        self.poller.register(self.pipe.fileno(), select.POLLIN)
        self.poller.register(self.process.sentinel, select.POLLIN)

    @property
    def ours(self) -> bool:
        """Whether this process started it, and not the one before a fork."""
        return self._trainer == os.getpid()

    def start(self, *epoch: int) -> None:
        """Forget what was asked, and begin an epoch: see Maker.start."""
        while self.tasks:
            self.answer(0, str)
        self._send((0, epoch, None))

    def ask(self, number: int, indices: Any) -> None:
        """Ask for a batch."""
        slot, pickled = self.free.pop(), pickle.dumps(indices, 5)
        self.tasks.append((number, self.slots[slot].write(pickled), slot))
        if len(self.tasks) <= _TASKS:
            self._send(self.tasks[-1])

    def answer(
        self, timeout: float, where: Callable[[int], str]
    ) -> tuple[int, Any, str | None]:
        """Wait for the oldest batch: its number, and it or what went wrong.

        ``where`` says for messages which batch has a number.
        """
        number, _, place = self.tasks[0]
        if not self.ours:
            raise FailedPreconditionError(
                f"DataLoader: process {os.getpid()} goes on with the loop of "
                f"process {self._trainer}; expected a loop of its own",
                "loader.forked",
            )
        events = dict(self.poller.poll(timeout * 1000 if timeout else None))
        who = f"DataLoader: worker {self.number} (process {self.process.pid})"
        if not events:
            raise FailedPreconditionError(
                f"{who} has not given {where(number)} within {timeout} s",
                "loader.timeout",
            )
        try:
            if self.pipe.fileno() not in events:
                raise EOFError
            packed, wrong = pickle.loads(self.pipe.recv_bytes())
        except (EOFError, OSError):
            raise FailedPreconditionError(
                f"{who} {self._end()} before it gave {where(number)}",
                "loader.worker_died",
            ) from None
        self.tasks.pop(0)
        if len(self.tasks) >= _TASKS:
            self._send(self.tasks[_TASKS - 1])
        release = functools.partial(self.free.append, place)
        batch, lend = None, packed is not None and bool(self.free)
        if packed is not None:
            at = Packed(*packed)
            batch = self.slots[place].read(at, release if lend else None)
        if not lend:
            release()
        return number, batch, wrong

    def _send(self, task: Any) -> None:
        with contextlib.suppress(OSError):  # the next answer says that it died
            self.pipe.send_bytes(pickle.dumps(task, 5))

    def _end(self) -> str:
        """How the process ended."""
        self.process.join(5)
        code = self.process.exitcode
        if code is None or code >= 0:
            return f"ended with status {code}"
        memory = ", perhaps for want of memory" * (code == -signal.SIGKILL)
        return f"was killed by {signal.Signals(-code).name}{memory}"

    def stop(self) -> None:
        """Ask it to end."""
        if self.ours:
            self._send(None)
        self.pipe.close()

    def close(self) -> None:
        """Wait for its end, and kill it if that takes seconds."""
        if self.ours:
            self.process.join(2)
            self.process.kill()
            self.process.join()
            self.process.close()
        for slot in self.slots:
            slot.close()


def close(workers: list[Worker]) -> None:
    """End the workers, if they are ours; arrays that they gave stay."""
    for worker in workers:
        worker.stop()
    for worker in workers:
        worker.close()
    workers.clear()
