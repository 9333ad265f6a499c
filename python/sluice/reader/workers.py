"""Processes that make batches ahead of the trainer.

A worker has a pipe, which carries tasks and short answers, and slots, which
carry the batches. Tasks are answered in their order.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import select
import signal
from collections.abc import Callable
from multiprocessing import connection
from typing import Any, NamedTuple

from ..errors import FailedPreconditionError
from . import batches
from .batches import Failure, Maker, failure
from .memory import Packed, Slot

__all__ = ["WorkerInfo", "get_worker_info"]


class WorkerInfo(NamedTuple):
    """Which worker a dataset is in."""

    id: int
    """From 0."""
    num_workers: int
    """Of this rank."""
    seed: int
    """That of the loader."""


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Say which worker this process is; None if it is none."""
    return _info


class Task(NamedTuple):
    """A batch to make; without a slot, an epoch to begin."""

    number: int
    indices: Any
    slot: int | None = None


def serve(
    info: WorkerInfo,
    maker: Maker,
    worker_init_fn: Callable[[int], Any] | None,
    slots: list[Slot],
    pipe: Any,
    foreign: list[Any],
) -> None:
    """Answer tasks until the trainer closes the pipe or ends."""
    global _info
    _info, batches.is_worker = info, True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the trainer ends workers
    for other in foreign:
        other.close()
    # Waking up must not take the processor from the trainer that asks.
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    trainer = multiprocessing.parent_process()
    assert trainer is not None
    broken = None
    try:
        if worker_init_fn is not None:
            worker_init_fn(info.id)
    except Exception as error:
        broken = str(failure(f"worker_init_fn({info.id})", error))
    try:
        while pipe in connection.wait([pipe, trainer.sentinel]):
            task = pickle.loads(pipe.recv_bytes())
            if task is None:
                return
            task = Task(*task)
            if task.slot is None:
                maker.start(*task.indices)
            else:
                answer = _answer(task, maker, slots, broken)
                pipe.send_bytes(pickle.dumps(answer, 5))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass


def _answer(
    task: Task, maker: Maker, slots: list[Slot], broken: str | None
) -> tuple[Any, str | None]:
    """What was packed, or what went wrong; neither at the end of a stream."""
    if broken is not None:
        return None, broken
    slot = slots[task.slot]
    try:
        batch = maker.make(task.number, task.indices, slot.empty)
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
        self.number = info.id
        self.slots = [Slot() for _ in range(ahead + 2)]
        self.free = list(range(len(self.slots)))
        self.asked: list[Task] = []
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe()
        foreign = [self.pipe, *(worker.pipe for worker in others)]
        self.process = context.Process(
            target=serve,
            args=(info, maker, worker_init_fn, self.slots, theirs, foreign),
            name=f"sluice worker {info.id}",
            daemon=True,
        )
        self.process.start()
        theirs.close()
        self.poller = select.poll()
        self.poller.register(self.pipe.fileno(), select.POLLIN)
        self.poller.register(self.process.sentinel, select.POLLIN)

    def start(self, *epoch: int) -> None:
        """Forget what was asked, and begin an epoch: see Maker.start."""
        while self.asked:
            self.answer(0, lambda task: "")
        self._send(Task(0, epoch))

    def ask(self, task: Task) -> None:
        """Ask for a batch; the slot is chosen here."""
        task = task._replace(slot=self.free.pop())
        self.asked.append(task)
        self._send(task)

    def answer(
        self, timeout: float, where: Callable[[Task], str]
    ) -> tuple[Task, Any, str | None]:
        """Wait for the oldest task: its batch, or else what went wrong.

        ``where`` says for messages which batch a task is.
        """
        task = self.asked[0]
        events = self.poller.poll(timeout * 1000 if timeout else None)
        if not events:
            raise FailedPreconditionError(
                f"DataLoader: worker {self.number} (process "
                f"{self.process.pid}) has not given {where(task)} within "
                f"{timeout} s",
                "loader.timeout",
            )
        try:
            if self.pipe.fileno() not in dict(events):
                raise EOFError
            packed, wrong = pickle.loads(self.pipe.recv_bytes())
        except (EOFError, OSError):
            self._raise_death(where(task))
        self.asked.pop(0)
        slot = self.slots[task.slot]
        if packed is None:
            self.free.append(task.slot)
            return task, None, wrong
        release = functools.partial(self.free.append, task.slot)
        if self.free:
            return task, slot.read(Packed(*packed), release), None
        batch = slot.read(Packed(*packed), None)
        release()
        return task, batch, None

    def _send(self, task: Task | None) -> None:
        try:
            # Pickling a tuple takes a fifth of pickling an object.
            self.pipe.send_bytes(pickle.dumps(task and tuple(task), 5))
        except OSError:
            pass  # it has died, which the next answer says

    def stop(self) -> None:
        """Ask it to end."""
        self._send(None)
        self.pipe.close()

    def _raise_death(self, what: str) -> None:
        self.process.join(5)
        code = self.process.exitcode
        how = f"ended with status {code}"
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
            if code == -signal.SIGKILL:
                how += ", perhaps for want of memory"
        raise FailedPreconditionError(
            f"DataLoader: worker {self.number} (process {self.process.pid}) "
            f"{how} before it gave {what}",
            "loader.worker_died",
        )


def close(workers: list[Worker]) -> None:
    """End the workers; arrays that they gave stay."""
    for worker in workers:
        worker.stop()
    for worker in workers:
        worker.process.join(2)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.process.close()
        for slot in worker.slots:
            slot.close()
    workers.clear()
