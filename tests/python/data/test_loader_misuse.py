"""DataLoader: what is called at the wrong time, forks, and full pipes."""

import textwrap

import pytest
from processes import python
from datasets import Numbers

import sluice as sl

DataLoader = sl.io.DataLoader


@pytest.mark.parametrize("workers", [0, 1])
def test_a_position_cannot_be_set_in_the_middle_of_a_loop(workers):
    loader = DataLoader(Numbers(8), 2, num_workers=workers)
    state = loader.state_dict()
    batches = iter(loader)
    next(batches)
    for call in (loader.set_epoch, loader.load_state_dict):
        with pytest.raises(sl.FailedPreconditionError) as error:
            call(3 if call == loader.set_epoch else state)
        assert error.value.check_id == "loader.in_loop"
        assert "expected it before the loop" in str(error.value)
    assert (loader.epoch, loader.state_dict()["given"]) == (0, [1])
    assert len(list(batches)) == 3
    loader.set_epoch(3)
    batches = iter(loader)
    next(batches)
    loader.close()
    loader.load_state_dict(state)
    assert len(list(loader)) == 4 and loader.epoch == 1


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_a_collate_fn_without_a_batch_is_named(workers):
    loader = DataLoader(
        range(12), 2, num_workers=workers,
        collate_fn=lambda samples: None if 2 in samples else samples,
    )
    batches = iter(loader)
    assert next(batches) == [0, 1]
    text = r"collate_fn of samples \[2, 3\] returned None; expected a batch"
    with pytest.raises(sl.InvalidArgumentError, match=text):
        next(batches)


def run(script, status=0):
    """What a script prints, which ends with a status and no complaint."""
    script = "import sluice as sl\n" + textwrap.dedent(script)
    done = python("-c", script, timeout=60)
    assert done.returncode == status, done.stderr
    assert status or not done.stderr
    return done.stdout + done.stderr


def test_a_child_leaves_the_workers_to_its_parent():
    script = """
        import os, sys
        loader = sl.io.DataLoader(
            range(60), 3, num_workers=2, persistent_workers=PERSISTENT)
        batches = iter(loader)
        found = [next(batches).tolist()]
        child = os.fork()
        if not child:
            try:
                next(batches), next(batches)
            except sl.FailedPreconditionError as error:
                assert error.check_id == "loader.forked"
                assert "expected a loop of its own" in str(error)
                assert len(list(loader)) == 20
                sys.exit(7)
        assert os.waitpid(child, 0)[1] == 7 << 8
        found += [batch.tolist() for batch in batches]
        print(len(sum(found, [])))
        """
    for persistent in ("True", "False"):
        assert run(script.replace("PERSISTENT", persistent)) == "60\n"


def test_large_tasks_and_answers_do_not_wait_for_each_other():
    script = """
        class Broken(sl.io.Dataset):
            def __len__(self):
                return 1_000_000
            def __getitem__(self, index):
                raise ValueError("x" * 9000)
        loader = sl.io.DataLoader(
            Broken(), 4000, num_workers=1, prefetch_factor=100)
        next(iter(loader))
        """
    assert "dataset[0] raised ValueError" in run(script, 1)
    loader = DataLoader(range(400), num_workers=1, prefetch_factor=150)
    assert [batch.item() for batch in loader] == list(range(400))
