"""The simulation behind design/distribution.md keeps to simple limits."""

import pathlib
import sys

import numpy as np
import pytest

BENCHMARKS = pathlib.Path(__file__).parents[3] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import rank_simulation as simulation  # noqa: E402
from rank_simulation import (  # noqa: E402
    CALLS, FREE, Instruction, Network, Schedule,
)

MIB = 1 << 20
INFINITE = Network("infinite")
ETHERNET = Network("10 GbE", 20e-6, 1.2e9, 5e-6, 2e-10, 65536)
NO_WORK = Network("no work", 20e-6, 1.2e9)
ALGORITHMS = [simulation.RING, simulation.DOUBLING, simulation.RABENSEIFNER]


def plan(ops=40, seconds=0.05, sizes=(2 * MIB, MIB // 8)):
    """Ops of equal length; collectives start in the second half, and are
    waited for before the last tenth."""
    each = seconds / ops
    found = []
    starts = np.linspace(ops // 2, ops * 9 // 10 - 1, len(sizes)).astype(int)
    for i in range(ops):
        if i == ops * 9 // 10:
            found += [
                Instruction("wait", waits=(k,)) for k in range(len(sizes))
            ]
        found.append(Instruction("op", each))
        for k in np.flatnonzero(starts == i):
            found.append(Instruction("sum", starts=int(k)))
    return Schedule(tuple(found), tuple(sizes))


@pytest.mark.parametrize("progress", [CALLS, FREE])
def test_one_rank_does_not_communicate(progress):
    schedule = plan()
    step = simulation.simulate(schedule, 1, ETHERNET, progress=progress)
    assert step == pytest.approx([schedule.compute])
    assert simulation.communication(schedule, 1, ETHERNET) == 0
    assert simulation.closed_form(schedule, 1, ETHERNET) == schedule.compute


@pytest.mark.parametrize("ranks", [2, 5, 64])
def test_a_network_without_costs_has_efficiency_one(ranks):
    # What needs calls of MPI needs many of them: here somebody else drives.
    schedule = plan()
    for algorithm in ALGORITHMS:
        step = simulation.simulate(
            schedule, ranks, INFINITE, None, algorithm, FREE
        )
        assert step == pytest.approx([schedule.compute])
        waiting = simulation.simulate(schedule, ranks, INFINITE, None, algorithm)
        assert waiting == pytest.approx([schedule.compute])


@pytest.mark.parametrize("ranks", [2, 3, 8, 13])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_rank_hears_of_every_other(ranks, algorithm):
    """Who is late delays all, and nobody else delays more."""
    heard = np.eye(ranks, dtype=bool)
    count = 0
    for source, _ in simulation.rounds(MIB, ranks, algorithm):
        heard = heard | heard[source]
        count += 1
    assert heard.all()
    sizes = simulation.message_sizes(MIB, ranks, algorithm)
    assert count == len(sizes)
    if algorithm == simulation.RING:
        assert count == 2 * (ranks - 1)
        assert sum(sizes) == pytest.approx(2 * (ranks - 1) / ranks * MIB)


def test_the_algorithm_is_that_of_open_mpi_cc():
    text = (BENCHMARKS.parent / "platform/mpi/open_mpi.cc").read_text()
    assert f"kRingBytesARank = {simulation.RING_BYTES_A_RANK};" in text
    assert f"kRabenseifnerBytes = {simulation.RABENSEIFNER_BYTES};" in text
    assert simulation.algorithm_for(MIB, 256) == simulation.RING
    assert simulation.algorithm_for(MIB, 257) == simulation.RABENSEIFNER
    assert simulation.algorithm_for(32767, 257) == simulation.DOUBLING
    assert simulation.algorithm_for(8192, 2) == simulation.RING
    assert simulation.algorithm_for(8191, 2) == simulation.DOUBLING


@pytest.mark.parametrize("ranks", [2, 8, 64, 1000])
@pytest.mark.parametrize("progress", [CALLS, FREE])
def test_the_closed_form_is_near_without_jitter(ranks, progress):
    schedule = plan()
    for network in [ETHERNET, NO_WORK, Network("slow", 50e-6, 1.2e8)]:
        arguments = schedule, ranks, network
        step = simulation.simulate(*arguments, progress=progress)[0]
        formula = simulation.closed_form(*arguments, progress=progress)
        assert formula == pytest.approx(step, rel=0.08), network.name


def test_a_collective_that_starts_last_is_not_hidden():
    op = Instruction("op", 0.01)
    last = Schedule(
        (op, Instruction("sum", starts=0), Instruction("wait", waits=(0,)), op),
        (4 * MIB,),
    )
    for ranks in [2, 8, 1000]:
        step = simulation.simulate(last, ranks, NO_WORK)[0]
        alone = simulation.communication(last, ranks, NO_WORK)
        agreement = simulation.communication(
            Schedule(last.instructions, (0,)), ranks, NO_WORK
        )
        assert step - last.compute <= alone
        assert step - last.compute >= alone - agreement


def test_calls_hide_no_more_rounds_than_there_are_ops():
    """64 ranks: 126 rounds of a ring, 20 ops beside them."""
    schedule = plan(sizes=(MIB,))
    ring = simulation.RING
    cheap = Network("cheap", 50e-6)
    step = simulation.simulate(schedule, 64, cheap, None, ring)[0]
    rounds = 2 * 63
    assert step - schedule.compute >= (rounds - 20) * 50e-6
    free = simulation.simulate(schedule, 64, cheap, None, ring, FREE)[0]
    assert free == pytest.approx(schedule.compute)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_is_left_over_at_the_wait_is_all_that_shows(algorithm):
    """With a thread that drives them: computing + max(0, sums - room)."""
    for sizes in [(MIB,), (16 * MIB,), (128 * MIB,), (64 * MIB, 64 * MIB)]:
        schedule = plan(sizes=sizes)
        arguments = schedule, 8, NO_WORK
        begin = np.flatnonzero([i.starts == 0 for i in schedule.instructions])
        end = [bool(i.waits) for i in schedule.instructions].index(True)
        room = sum(i.seconds for i in schedule.instructions[begin[0] : end])
        alone = simulation.communication(*arguments, algorithm)
        agreement = 3 * NO_WORK.round(simulation.AGREEMENT_BYTES)
        expected = schedule.compute + max(0.0, alone - agreement - room)
        step = simulation.simulate(*arguments, None, algorithm, FREE)[0]
        formula = simulation.closed_form(*arguments, 1.0, algorithm, FREE)
        assert step == pytest.approx(expected, rel=1e-6)
        assert formula == pytest.approx(expected, rel=1e-6)


def test_work_of_the_processor_is_never_hidden():
    schedule = plan()
    for seconds in [1e-4, 1e-3, 1e-2]:
        busy = Network("busy", work_message=seconds)
        alone = simulation.communication(schedule, 2, busy)
        step = simulation.simulate(schedule, 2, busy)[0]
        assert step == pytest.approx(schedule.compute + alone, rel=1e-6)


@pytest.mark.parametrize("network", [ETHERNET, NO_WORK])
def test_more_ranks_never_make_a_step_faster(network):
    schedule = plan()
    for algorithm in [simulation.RING, simulation.DOUBLING]:
        steps = [
            simulation.simulate(schedule, 1 << i, network, None, algorithm)[0]
            for i in range(9)
        ]
        # A little: smaller messages may fit better between ops.
        assert all(
            b >= a * 0.995 for a, b in zip(steps, steps[1:], strict=False)
        ), steps
    draws = np.random.default_rng(0).normal(1, 0.05, (10, 256))
    steps = [
        simulation.simulate(schedule, 1 << i, INFINITE, draws[:, : 1 << i]).mean()
        for i in range(9)
    ]
    assert steps == sorted(steps)


def test_the_slowest_rank_decides():
    schedule = plan()
    factors = np.ones((3, 8))
    factors[1, 5] = 2
    steps = simulation.simulate(schedule, 8, INFINITE, factors)
    assert steps == pytest.approx(schedule.compute * np.array([1, 2, 1]))
    draws = np.random.default_rng(0).normal(1, 0.1, 2000)
    many = np.random.default_rng(1).choice(draws, (4000, 50)).max(axis=1)
    assert simulation.expected_slowest(draws, 50) == pytest.approx(
        many.mean(), rel=0.01
    )
