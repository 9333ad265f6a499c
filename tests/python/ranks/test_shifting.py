"""Ranks that run the same programs, but not at the same time or from the same
values; and state that ranks do not share."""

import re
import time

import pytest

from ranks import finished, needs_mpi, start

pytestmark = needs_mpi
DIFFER = "the ranks do not run the same:\n"


@pytest.mark.parametrize(
    ("what", "messages"),
    [
        ("branches", ["rank 0: this is run 1 of ", "rank 1: this is run 2 of "]),
        ("run_traced", ["rank 1: this is run 3 of .* run 2 failed before it "
                        "began: feed x must have shape"]),
        ("profile", ["rank 1: this is run 3 of .* run 2 failed before it "
                     "began: feed x must have shape"]),
        ("run_checked", ["rank 1: this is run 3 of .* run 2 failed before it "
                         "began: feed x must have shape"]),
        ("second", [r"rank 1: frozen1 \(float32 \[2, 2\]\) starts with"]),
        ("second deterministic", ["rank 1: frozen1 "]),
        ("channels", [r"rank 0: op 0 \(sync_batch_norm\) exchanges sums .*\[3\]",
                      r"rank 1: op 0 \(sync_batch_norm\) exchanges sums .*\[5\]"]),
        ("swallowed", [r"rank 1: op 0 \(c_allreduce_sum\) exchanges "]),
    ],
)
def test_what_does_not_belong_together_is_named(what, messages):
    run = start(2, "shifting.py", what)
    assert run.returncode != 0
    assert DIFFER in run.stderr
    for message in messages:
        assert re.search(message, run.stderr), run.stderr


def test_programs_do_not_run_before_ranks_are_joined():
    run = finished(2, "shifting.py", "late")
    assert run.stdout.count("refused: world.not_joined") == 2
    for rank in range(2):
        assert f"rank {rank}: [2.0, 4.0]" in run.stdout


def test_each_rank_drops_other_values_also_beside_blocks():
    run = finished(2, "shifting.py", "masks")
    masks = re.findall("rank .: ([x.]{64})", run.stdout)
    assert len(masks) == 2
    assert masks[0] != masks[1]


def test_a_forked_process_is_no_rank():
    run = finished(2, "shifting.py", "fork")
    assert "rank 1: child: world.other_process" in run.stdout
    for rank in range(2):
        assert f"rank {rank}: [2.0, 2.0]" in run.stdout


def test_steps_in_parts_leave_no_memory_behind():
    run = finished(2, "shifting.py", "memory")
    grown = [int(x) for x in re.findall(r"rank .: (-?\d+)", run.stdout)]
    assert len(grown) == 2
    assert max(grown) < 40


@pytest.mark.parametrize("abort", ["0", "1"])
def test_a_rank_that_waited_before_is_not_taken_to_wait(abort):
    begin = time.monotonic()
    run = start(2, "shifting.py", "stops", ends=8,
                SLUICE_STALL_SECONDS="2", SLUICE_STALL_ABORT=abort)
    assert re.search(
        r"rank 1 has waited for \d\.\d s in .*\n  rank 0 has not come to it",
        run.stderr,
    ), run.stderr
    if abort == "1":
        assert run.returncode != 0
        assert time.monotonic() - begin < 10


@pytest.mark.parametrize(
    ("name", "value"),
    [("SECONDS", "abc"), ("SECONDS", "0"), ("SECONDS", "inf"),
     ("SECONDS", "nan"), ("SECONDS", "1e7"), ("ABORT", "yes")],
)
def test_settings_are_checked(name, value):
    run = start(1, "shifting.py", "swallowed", **{f"SLUICE_STALL_{name}": value})
    assert run.returncode != 0
    assert f'InvalidArgumentError: SLUICE_STALL_{name}="{value}"' in run.stderr
