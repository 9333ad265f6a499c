"""A simulation of ranks that replay the schedule of a plan with collectives.

Per rank and collective there is an array element for the time at which it is
through a round, so that a round of a thousand ranks is a few operations of
NumPy: a library for events would take two million of them for a ring.

A rank computes its instructions one after another. It starts its collectives
where the plan does, and waits for them where the plan does. An all-reduce is a
sequence of rounds, in each of which a rank receives a message from another one
and adds it. Collectives follow one another: a rank begins the next one when it
is through the one before. Times are in seconds.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np

# As platform/mpi/open_mpi.cc chooses between ring, Rabenseifner's algorithm and
# recursive doubling.
RING_BYTES_A_RANK = 4096
RABENSEIFNER_BYTES = 32768
AGREEMENT_BYTES = 16  # at the beginning of each run
# Calls of MPI that a message beyond the eager limit needs: the receiver sees
# the request, the sender the answer, the receiver the data.
RENDEZVOUS_CALLS = 3

OPEN_MPI, RING = "open_mpi", "ring"
DOUBLING, RABENSEIFNER = "recursive_doubling", "rabenseifner"
# Who drives a collective on: calls of MPI after each instruction and in waits
# (as Sluice does), or someone else, at any time and at no cost.
CALLS, FREE = "calls", "free"


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One of a plan. `starts` is the index of a collective, or -1; `waits`
    has those which must be through before it ends."""

    op: str
    seconds: float = 0.0
    starts: int = -1
    waits: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class Schedule:
    """What each rank runs in a step; `collectives` has the bytes of each."""

    instructions: tuple[Instruction, ...]
    collectives: tuple[int, ...]

    @property
    def compute(self) -> float:
        return sum(each.seconds for each in self.instructions)

    def scaled(self, seconds: float) -> Schedule:
        """The same with a computing time of so much in all."""
        factor = seconds / self.compute
        return dataclasses.replace(
            self,
            instructions=tuple(
                dataclasses.replace(each, seconds=each.seconds * factor)
                for each in self.instructions
            ),
        )


@dataclasses.dataclass(frozen=True)
class Network:
    """What a message costs: the wire takes latency + bytes / bandwidth, and
    the receiver's own processor the work after it. In place of either there may
    be a table of (bytes, seconds), between which is interpolated.
    """

    name: str
    latency: float = 0.0
    bandwidth: float = math.inf
    work_message: float = 0.0
    work_byte: float = 0.0
    eager_bytes: float = math.inf
    wire_table: tuple[tuple[float, float], ...] = ()
    work_table: tuple[tuple[float, float], ...] = ()

    def wire(self, size: float) -> float:
        if self.wire_table:
            return _interpolated(self.wire_table, size)
        return self.latency + size / self.bandwidth

    def work(self, size: float) -> float:
        if self.work_table:
            return _interpolated(self.work_table, size)
        return self.work_message + size * self.work_byte

    def calls(self, size: float) -> int:
        """In how many calls of MPI a message arrives."""
        return 1 if size <= self.eager_bytes else RENDEZVOUS_CALLS

    def round(self, size: float) -> float:
        """One round of an all-reduce whose ranks do nothing else."""
        handshake = (self.calls(size) - 1) * self.latency
        return handshake + self.wire(size) + self.work(size)


def _interpolated(
    table: tuple[tuple[float, float], ...], size: float
) -> float:
    sizes, seconds = zip(*table, strict=True)
    if size > sizes[-1]:
        return seconds[-1] * size / sizes[-1]
    return float(np.interp(size, sizes, seconds))


def algorithm_for(size: float, ranks: int, algorithm: str = OPEN_MPI) -> str:
    """What an all-reduce of so many bytes is done by."""
    if algorithm != OPEN_MPI:
        return algorithm
    if size >= RING_BYTES_A_RANK * ranks:
        return RING
    return RABENSEIFNER if size >= RABENSEIFNER_BYTES else DOUBLING


def message_sizes(size: float, ranks: int, algorithm: str) -> list[float]:
    """The bytes that a rank receives in each round."""
    if ranks == 1:
        return []
    if algorithm == RING:
        return [size / ranks] * (2 * (ranks - 1))
    doublings = ranks.bit_length() - 1
    if algorithm == RABENSEIFNER:
        halves = [size / 2 ** (i + 1) for i in range(doublings)]
        sizes = halves + halves[::-1]
    else:
        sizes = [size] * doublings
    # Ranks beyond a power of two hand theirs to a neighbour, and get the sum.
    return sizes if ranks == 1 << doublings else [size, *sizes, size]


def rounds(
    size: float, ranks: int, algorithm: str
) -> Iterator[tuple[np.ndarray, float]]:
    """For each round the rank that each one receives from (itself, where it
    receives nothing), and the bytes."""
    sizes = message_sizes(size, ranks, algorithm)
    own = np.arange(ranks)
    if algorithm == RING:
        for each in sizes:
            yield (own - 1) % ranks, each
        return
    doublings = ranks.bit_length() - 1
    left_over = ranks - (1 << doublings)
    pairs = own[: 2 * left_over]
    # Of each such pair the odd one takes part.
    taking_part = np.concatenate([pairs[1::2], own[2 * left_over :]])
    steps = [1 << i for i in range(doublings)]
    if algorithm == RABENSEIFNER:
        steps += steps[::-1]
    if left_over:
        source = own.copy()
        source[pairs[1::2]] = pairs[::2]
        yield source, size
        sizes = sizes[1:-1]
    for step, each in zip(steps, sizes, strict=True):
        source = own.copy()
        source[taking_part] = taking_part[np.arange(len(taking_part)) ^ step]
        yield source, each
    if left_over:
        source = own.copy()
        source[pairs[::2]] = pairs[1::2]
        yield source, size


class _Ranks:
    """Where the ranks of one step are."""

    def __init__(
        self, network: Network, progress: str, begin: np.ndarray
    ) -> None:
        self.network, self.progress = network, progress
        self.now = begin
        # Since when and until when each rank calls MPI, in turn.
        self.since = [begin]
        self.until = [begin]
        self.free_from = begin  # that it may begin a collective
        self.work = np.zeros(len(begin))  # begun while it computed

    def compute(self, seconds: np.ndarray) -> None:
        self.now = self.now + seconds
        self.since.append(self.now)
        self.until.append(self.now)

    def call(self, when: np.ndarray) -> np.ndarray:
        """When each rank next calls MPI."""
        if self.progress == FREE:
            return when
        index = self.index
        own = np.arange(len(when))
        while (late := self.all_until[index, own] < when).any():
            index += late
        while (
            early := (index > 0)
            & (self.all_until[np.maximum(index - 1, 0), own] >= when)
        ).any():
            index -= early
        return np.maximum(when, self.all_since[index, own])

    def all_reduce(
        self, size: float, started: np.ndarray, algorithm: str
    ) -> np.ndarray:
        """When each rank is through, if all wait from now on."""
        # From now on a rank calls all the time.
        self.all_since = np.array([*self.since, self.now])
        self.all_until = np.array([*self.until, np.full(len(self.now), np.inf)])
        self.index = np.zeros(len(self.now), dtype=int)
        time = self.call(np.maximum(started, self.free_from))
        wait = self.now
        own = np.arange(len(time))
        for source, each in rounds(size, len(time), algorithm):
            sent = time[source]
            if self.network.calls(each) > 1:
                asked = self.call(
                    np.maximum(time, sent + self.network.latency)
                )
                answered = np.empty_like(asked)
                answered[source] = asked + self.network.latency
                answered = self.call(np.maximum(answered, time))
                sent = answered[source]
            arrived = np.maximum(time, sent + self.network.wire(each))
            work = self.network.work(each)
            through = self.call(arrived) + work
            receives = source != own
            time = np.where(receives, through, time)
            if self.progress == CALLS:
                # The ops behind it come later by as much.
                beside = receives & (time - work < wait)
                self.work += np.where(beside, work, 0.0)
        self.free_from = time
        return time

    def wait(self, until: np.ndarray) -> None:
        begin = self.now
        self.now = np.maximum(self.now + self.work, until)
        self.work = np.zeros(len(self.now))
        self.since.append(begin)
        self.until.append(self.now)


def simulate(
    schedule: Schedule,
    ranks: int,
    network: Network,
    factors: np.ndarray | None = None,
    algorithm: str = OPEN_MPI,
    progress: str = CALLS,
) -> np.ndarray:
    """The times that steps take, until the last rank is done with each.

    Args:
        factors: of the computing time, by step and rank; None: one step, 1.
    """
    if factors is None:
        factors = np.ones((1, ranks))
    ends = [0.0]
    begin = np.zeros(ranks)
    for factor in factors:
        state = _Ranks(network, progress, begin)
        # All agree on what they run before any data moves.
        queue: list[tuple[int, float, np.ndarray]] = []
        if ranks > 1 and schedule.collectives:
            queue.append((-1, AGREEMENT_BYTES, begin))
        for each in schedule.instructions:
            if each.seconds:
                state.compute(each.seconds * factor)
            if ranks == 1:
                continue
            if each.starts >= 0:
                size = schedule.collectives[each.starts]
                queue.append((each.starts, size, state.now))
            waited = [number for number, _, _ in queue]
            last = max(
                (waited.index(w) for w in each.waits if w in waited), default=-1
            )
            for number, size, started in queue[: last + 1]:
                chosen = OPEN_MPI if number < 0 else algorithm
                name = algorithm_for(size, ranks, chosen)
                through = state.all_reduce(size, started, name)
            if last >= 0:
                state.wait(through)
                del queue[: last + 1]
        begin = state.now
        ends.append(float(begin.max()))
    return np.diff(ends)


def communication(
    schedule: Schedule, ranks: int, network: Network, algorithm: str = OPEN_MPI
) -> float:
    """What the collectives of a step take where nothing runs beside."""
    if ranks == 1 or not schedule.collectives:
        return 0.0
    chosen = [(AGREEMENT_BYTES, OPEN_MPI)]
    chosen += [(size, algorithm) for size in schedule.collectives]
    return sum(
        network.round(each)
        for size, name in chosen
        for each in message_sizes(size, ranks, algorithm_for(size, ranks, name))
    )


def expected_slowest(samples: Sequence[float], ranks: int) -> float:
    """The expectation of the largest of so many draws from samples."""
    ordered = np.sort(np.asarray(samples, dtype=float))
    share = np.arange(len(ordered) + 1) / len(ordered)
    return float(np.sum(ordered * np.diff(share**ranks)))


def closed_form(
    schedule: Schedule,
    ranks: int,
    network: Network,
    slowest: float = 1.0,
    algorithm: str = OPEN_MPI,
    progress: str = CALLS,
) -> float:
    """The step as computing * slowest + max(0, what cannot be hidden).

    Collectives follow each other from the place where the first one starts.
    Until the first wait a round is hidden where time is left for it; with CALLS
    it takes as long as there is between two instructions, at the least. Rounds
    behind the first wait are not hidden.
    """
    compute = schedule.compute * slowest
    if ranks == 1 or not schedule.collectives:
        return compute
    now, starts, points, wait = 0.0, {}, 0, compute
    for each in schedule.instructions:
        now += each.seconds * slowest
        points += bool(starts) and each.seconds > 0
        if each.starts >= 0:
            starts[each.starts] = now
        if starts and each.waits:
            wait = now
            break
    first = min(starts.values(), default=wait)
    between = (wait - first) / points if points else math.inf
    # The agreement is made long before.
    end, visible = first, 0.0
    for number, size in enumerate(schedule.collectives):
        name = algorithm_for(size, ranks, algorithm)
        end = max(end, starts.get(number, wait))
        for each in message_sizes(size, ranks, name):
            alone = network.round(each)
            beside = alone
            if progress == CALLS:
                beside = max(alone, between * network.calls(each))
            if end + beside <= wait:
                end += beside
                visible += network.work(each) if progress == CALLS else 0.0
            else:
                # A part of it, where nobody needs to call.
                hidden = max(wait - end, 0.0) if progress == FREE else 0.0
                end = max(end, wait)
                visible += max(alone - hidden, 0.0)
    return compute + visible
