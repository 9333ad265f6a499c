"""Ranks with different programs, values or numbers of runs."""

import re

import pytest

import sluice as sl
from ranks import finished, needs_mpi, start


@needs_mpi
@pytest.mark.parametrize(
    ("what", "messages"),
    [
        ("names", [r"ranks 0 and 2: op 0: \S+ = scale\(X=pair, .*scale=1\), "
                   r"created at \S+disagreeing.py:\d+",
                   r"rank 1: op 0: \S+ = scale\(X=pair, .*scale=2\)"]),
        ("attribute", [r"ranks 0 and 2: op 2: .*scale=6\)",
                       r"rank 1: op 2: .*scale=7\)"]),
        ("long", [r"ranks 0 and 2: op 3: .*scale=4\)",
                  r"rank 1: op 3: .*scale=5\)"]),
        ("start", [r"ranks 0 and 2: fc_0.w_0 \(float32 \[2, 1\]\) starts with "
                   r"values of checksum \w{16}\n  rank 1: ",
                   r"hint: .*broadcast_parameters\(\)"]),
        ("skip", [r"hint: all ranks run the same programs equally often",
                  r"ranks 0 and 2: this is run 4 of programs with collective ops\n",
                  r"rank 1: this is run 5 of .*, run 4 failed before it began: "
                  r"feed x"]),
        ("no value", [r"rank 1: .*, run 4 failed before it began: parameter "
                      r"fc_0.w_0 .* is not initialised"]),
    ],
)
def test_what_differs_is_named(what, messages):
    run = start(3, "disagreeing.py", what)
    assert run.returncode != 0
    assert "the ranks do not run the same:\n" in run.stderr
    for message in messages:
        assert re.search(message, run.stderr), run.stderr


@needs_mpi
@pytest.mark.parametrize("what", ["same", "skip all", "broadcast", "norm"])
def test_ranks_that_do_not_differ(what):
    run = finished(3, "disagreeing.py", what)
    values = run.stdout.split("\n")[:-1]
    assert len(values) == 3
    assert len(set(values)) == 1


@needs_mpi
def test_collectives_belong_to_one_thread():
    run = finished(2, "disagreeing.py", "thread")
    assert run.stdout.count("['world.other_thread']") == 2


@needs_mpi
def test_ranks_are_joined_before_they_are_used():
    run = finished(2, "disagreeing.py", "late")
    assert run.stdout.count("refused") == 18


def test_an_optimizer_of_one_rank_is_taken():
    inner = sl.distributed.DataParallel(sl.optimizer.SGD(0.1))
    with pytest.raises(sl.InvalidArgumentError, match="DataParallel"):
        sl.distributed.DataParallel(inner)


def test_a_clone_for_testing_normalizes_alone():
    x = sl.data("x", [None, 2, 1, 1])
    sl.layers.batch_norm(x, sync=True)
    program = sl.default_main_program()
    assert "sync_batch_norm(" in str(program)
    assert "sync_batch_norm(" not in str(program.clone(for_test=True))
    assert "= batch_norm(" in str(program.clone(for_test=True))


def test_a_fetch_of_what_a_clone_does_not_compute(exe):
    x = sl.data("x", [1, 2])
    loss = sl.layers.mean(sl.layers.fc(x, 1))
    [(_, gradient), *_] = sl.append_backward(loss)
    test = sl.default_main_program().clone(for_test=True)
    exe.run(sl.default_startup_program())
    with pytest.raises(
        sl.NotFoundError, match="no op of this program computes it"
    ) as raised:
        exe.run(test, feed={"x": [[1, 2]]}, fetch_list=[gradient])
    assert "hint" not in str(raised.value)
    with pytest.raises(sl.NotFoundError, match="hint: pass it in feed={...}"):
        exe.run(test, fetch_list=[loss])
