"""DataLoader: order, workers, resuming, and what goes wrong in workers."""

import gc
import json
import os
import signal
import textwrap
import threading
import time

import numpy as np
import pytest
from datasets import Failing, Numbers, Stream, flat, indices
from processes import python

import sluice as sl

DataLoader = sl.io.DataLoader


def children():
    """Processes that this one has started and that live."""
    path = f"/proc/self/task/{threading.get_native_id()}/children"
    with open(path) as file:
        return file.read().split()


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_come_in_order(workers):
    loader = DataLoader(Numbers(10), 4, num_workers=workers)
    assert indices(loader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert len(loader) == 3
    loader = DataLoader(Numbers(10), 4, num_workers=workers, drop_last=True)
    assert len(indices(loader)) == len(loader) == 2


def test_any_number_of_workers_gives_the_same_bits():
    def run(workers, persistent):
        loader = DataLoader(
            Numbers(37), 5, shuffle=True, num_workers=workers, seed=3,
            persistent_workers=persistent,
        )
        found = [flat(loader) for _ in range(3)]
        loader.close()
        return found

    wanted = run(0, False)
    assert wanted[0] != wanted[1] != wanted[2]
    for workers in (1, 2, 3):
        assert run(workers, workers == 2) == wanted


def test_an_epoch_has_every_sample_once_in_another_order():
    loader = DataLoader(Numbers(1000), 7, shuffle=True)
    first, second = (np.concatenate([b[0] for b in loader]) for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(1000))
    assert (first != second).any() and (first != np.arange(1000)).any()
    # The same in each version of NumPy.
    assert first[:5].tolist() == [652, 293, 617, 707, 693]


def test_the_users_random_numbers_are_not_touched():
    np.random.seed(5)
    wanted = np.random.rand()
    np.random.seed(5)
    list(DataLoader(Numbers(9), 2))
    assert np.random.rand() == wanted


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_state_continues_in_the_middle_of_an_epoch(workers):
    def new():
        return DataLoader(
            Numbers(23), 4, shuffle=True, num_workers=workers, seed=1
        )

    whole = new()
    wanted = [flat(whole) for _ in range(2)]
    for stop in range(7):
        first = new()
        list(first)
        batches = iter(first)
        seen = flat(next(batches) for _ in range(stop))
        state = json.loads(json.dumps(first.state_dict()))
        batches.close()
        second = new()
        second.load_state_dict(state)
        # Before any batch the state is that of the end of the epoch before.
        assert seen + flat(second) == wanted[1]
        assert second.epoch == 2


def test_resuming_reads_nothing_twice():
    class Counting(Numbers):
        reads = 0

        def __getitem__(self, index):
            Counting.reads += 1
            return super().__getitem__(index)

    loader = DataLoader(Counting(100_000), 10, shuffle=True)
    state = {**loader.state_dict(), "given": [9_999]}
    loader.load_state_dict(state)
    assert len(list(loader)) == 1
    assert Counting.reads == 10


def test_a_state_after_the_last_batch_gives_no_more_of_the_epoch():
    loader = DataLoader(Numbers(8), 4)
    for batch in loader:
        state = loader.state_dict()
    assert (state["epoch"], state["given"]) == (0, [2])
    loader.load_state_dict(state)
    assert list(loader) == []
    assert loader.epoch == 1


def test_a_loop_that_breaks_off_ends_its_epoch():
    loader = DataLoader(Numbers(8), 2, shuffle=True)
    for batch in loader:
        break
    assert len(list(loader)) == 4
    assert loader.epoch == 2


@pytest.mark.parametrize(
    "changed, text",
    [
        (dict(batch_size=3), "batch_size = 3 here, 2 in the state"),
        (dict(seed=1), "seed = 1 here, 0 in the state"),
        (dict(dataset=Numbers(9)), "samples = 9 here, 8 in the state"),
        (dict(world_size=2), "world_size = 2 here, 1 in the state"),
        (dict(shuffle=True), "shuffle = True here, False in the state"),
    ],
)
def test_the_state_of_another_loader_is_refused(changed, text):
    arguments = dict(dataset=Numbers(8), batch_size=2)
    state = DataLoader(**arguments).state_dict()
    loader = DataLoader(**{**arguments, **changed})
    with pytest.raises(sl.InvalidArgumentError, match=text) as error:
        loader.load_state_dict(state)
    assert error.value.check_id == "loader.other_state"


@pytest.mark.parametrize(
    "state", [None, {}, {"given": 3}, {"given": [-1], "epoch": 0}]
)
def test_something_else_than_a_state_is_refused(state):
    with pytest.raises(sl.DataLossError, match="expected the state") as error:
        DataLoader(Numbers(8)).load_state_dict(state)
    assert error.value.check_id == "loader.no_state"


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stream_gives_every_sample_once_and_resumes(workers):
    def new():
        return DataLoader(Stream(23), 3, num_workers=workers)

    whole = list(new())
    assert sorted(sum(indices(whole), [])) == list(range(23))
    loader = new()
    for given, batch in enumerate(loader, 1):
        other = new()
        other.load_state_dict(loader.state_dict())
        assert flat(other) == flat(whole[given:])


def test_a_stream_opens_its_own_shard():
    class Files(Stream):
        def shard(self, number, count):
            yield from (10 * number + i for i in range(count))

    loader = DataLoader(Files(0), 1, num_workers=2, rank=1, world_size=2)
    found = [batch.item() for batch in loader]
    assert found == [20, 30, 21, 31, 22, 32, 23, 33]


def test_a_stream_has_no_length_and_no_sampler():
    with pytest.raises(TypeError, match="no number of batches"):
        len(DataLoader(Stream(3)))
    with pytest.raises(sl.InvalidArgumentError, match="sets its order") as e:
        DataLoader(Stream(3), shuffle=True)
    assert e.value.check_id == "loader.order"


@pytest.mark.parametrize("drop_last", [False, True])
def test_ranks_share_an_epoch_in_equally_many_batches(drop_last):
    shares = [
        indices(
            DataLoader(
                Numbers(11), 2, shuffle=True, rank=rank, world_size=3,
                drop_last=drop_last,
            )
        )
        for rank in range(3)
    ]
    assert len({len(share) for share in shares}) == 1
    seen = [index for share in shares for batch in share for index in batch]
    if drop_last:
        assert len(seen) == len(set(seen)) == 6
    else:
        assert len(seen) == 12 and set(seen) == set(range(11))


def test_ranks_draw_other_numbers():
    one, two = (
        list(DataLoader(Numbers(4), 2, rank=rank, world_size=2))[0][1]
        for rank in range(2)
    )
    assert not (one == two).any()


def test_samplers_set_the_order():
    class Backwards:
        epoch = 0

        def set_epoch(self, epoch):
            self.epoch = epoch

        def __len__(self):
            return 5

        def __iter__(self):
            return iter([4 - i + 10 * self.epoch for i in range(5)])

    loader = DataLoader(Numbers(99), 2, sampler=Backwards())
    assert len(loader) == 3
    assert indices(loader) == [[4, 3], [2, 1], [0]]
    assert indices(loader) == [[14, 13], [12, 11], [10]]
    loader.load_state_dict({**loader.state_dict(), "epoch": 1, "given": [2]})
    assert indices(loader) == [[10]]
    halves = [
        DataLoader(Numbers(9), 2, sampler=range(5), rank=r, world_size=2)
        for r in range(2)
    ]
    assert [indices(half) for half in halves] == [[[0, 2]], [[1, 3]]]
    assert len(halves[0]) == 1
    loader = DataLoader(Numbers(9), batch_sampler=[[1, 2], [8]])
    assert indices(loader) == [[1, 2], [8]] and len(loader) == 2


def test_collate_fn_and_worker_init_fn_run_in_the_workers():
    def init(number):
        os.environ["WORKER"] = str(number)

    def collate(samples):
        info = sl.io.get_worker_info()
        texts = [os.environ["WORKER"], info.id, info.num_workers]
        return {"texts": texts, "pid": os.getpid(), "n": len(samples)}

    loader = DataLoader(
        Numbers(4), 1, num_workers=2, collate_fn=collate, worker_init_fn=init
    )
    found = list(loader)
    assert [b["texts"] for b in found] == [["0", 0, 2], ["1", 1, 2]] * 2
    assert len({b["pid"] for b in found} | {os.getpid()}) == 3
    assert sl.io.get_worker_info() is None


def test_batches_that_are_kept_keep_their_values():
    loader = DataLoader(Numbers(64), 2, num_workers=2)
    wanted = flat(DataLoader(Numbers(64), 2))
    assert flat(list(loader)) == wanted


def test_batches_of_any_form_pass_the_border():
    strange = [
        {"b": np.zeros((0, 3)), "a": [np.arange(3)[::2], "text"], "c": None},
        (np.float16(1), np.array(["x", "yy"]), np.asfortranarray(np.eye(3))),
    ]
    loader = DataLoader(
        [0, 1], num_workers=1, collate_fn=lambda s: strange[s[0]]
    )
    first, second = loader
    assert first["b"].shape == (0, 3) and first["a"][1] == "text"
    assert first["a"][0].tolist() == [0, 2] and first["c"] is None
    assert second[1].tolist() == ["x", "yy"] and (second[2] == np.eye(3)).all()


def test_samples_without_values_pass_the_border():
    class Boxes(sl.io.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return np.zeros((2 * (index > 1), 2), "f4")

    loader = DataLoader(Boxes(), 2, num_workers=1)
    assert [batch.shape for batch in loader] == [(2, 0, 2), (2, 2, 2)]


def test_batches_may_grow():
    loader = DataLoader(
        [1, 1000, 5, 100_000], num_workers=1,
        collate_fn=lambda s: np.full(s[0], s[0]),
    )
    for batch, size in zip(loader, [1, 1000, 5, 100_000]):
        assert batch.tolist() == [size] * size


def test_arrays_of_a_batch_are_not_copied():
    memory = []
    loader = DataLoader(Numbers(64), 2, num_workers=1)
    for batch in loader:
        memory.append(batch[1].__array_interface__["data"][0])
    assert len(set(memory)) <= 8  # the slots of one worker, each mapped twice


@pytest.mark.parametrize("workers", [0, 2])
def test_a_dataset_that_raises_is_named_with_its_traceback(workers):
    loader = DataLoader(Failing(20, 13, "raise"), 4, num_workers=workers)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    with pytest.raises(sl.InvalidArgumentError) as error:
        next(batches)
    assert error.value.check_id == "loader.raised"
    text = str(error.value)
    assert "batch 3" in text and "dataset[13] raised OSError" in text
    assert 'raise OSError("no such picture")' in text
    assert ("worker 1" in text) == (workers == 2)
    assert children() == []


@pytest.mark.parametrize(
    "how, text",
    [
        ("die", "was killed by SIGKILL, perhaps for want of memory"),
        ("exit", "ended with status 3"),
    ],
)
@pytest.mark.parametrize("persistent", [False, True])
def test_a_worker_that_dies_is_named(how, text, persistent):
    loader = DataLoader(
        Failing(20, 9, how), 2, num_workers=2, persistent_workers=persistent
    )
    with pytest.raises(sl.FailedPreconditionError, match=text) as error:
        list(loader)
    assert error.value.check_id == "loader.worker_died"
    assert "worker 0" in str(error.value)
    assert "before it gave batch 4 of epoch 0" in str(error.value)
    assert children() == []


def test_a_worker_killed_from_outside_is_named_and_the_next_loop_works():
    loader = DataLoader(Numbers(400), 2, num_workers=2, persistent_workers=True)
    with pytest.raises(sl.FailedPreconditionError, match="SIGKILL"):
        for batch in loader:
            os.kill(int(children()[1]), signal.SIGKILL)
    assert len(list(loader)) == 200
    loader.close()
    assert children() == []


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize(
    "how, text",
    [
        ("shape", r"sample 5 has 2|sample 5 has shape \[3, 2\]"),
        ("dtype", r"dtype float64, the first of the batch \[3\] and float32"),
    ],
)
def test_a_sample_of_another_form_is_named(workers, how, text):
    loader = DataLoader(Failing(8, 5, how), 4, num_workers=workers)
    with pytest.raises(sl.InvalidArgumentError, match=text):
        list(loader)


def test_other_ways_to_fail_are_named():
    def bad(*_):
        raise ValueError("bad")

    loader = DataLoader(Numbers(8), num_workers=1, worker_init_fn=bad)
    with pytest.raises(sl.InvalidArgumentError, match=r"worker_init_fn\(0\)"):
        list(loader)
    for workers in (0, 1):
        loader = DataLoader(Numbers(8), 2, num_workers=workers, collate_fn=bad)
        with pytest.raises(sl.InvalidArgumentError, match=r"samples \[0, 1\]"):
            list(loader)
        loader = DataLoader([1.0, "x"], 2, num_workers=workers)
        with pytest.raises(sl.InvalidArgumentError, match="default_collate of"):
            list(loader)
    loader = DataLoader([0], num_workers=1, collate_fn=lambda s: lambda: 1)
    with pytest.raises(sl.InvalidArgumentError, match="handing the batch over"):
        list(loader)

    class Broken(Stream):
        def __iter__(self):
            yield 1
            raise OSError("cut off")

    loader = DataLoader(Broken(3), 2, num_workers=1)
    with pytest.raises(sl.InvalidArgumentError, match="shard 0 of 1 .*OSError"):
        list(loader)


def test_an_interrupt_is_the_trainers_alone():
    loader = DataLoader(Numbers(40), 2, num_workers=2)
    for batch in loader:
        for pid in children():
            os.kill(int(pid), signal.SIGINT)
    assert loader.epoch == 1


def test_ops_in_a_worker_are_refused_and_do_not_hang(exe):
    exe.run(fetch_list=[sl.layers.fill_constant([300, 300], "float32", 1.0)])

    class Computing(Numbers):
        def __getitem__(self, index):
            return sl.run_op("relu", {"X": np.ones(3, "f4")})["Out"]

    loader = DataLoader(Computing(4), num_workers=1, timeout=60)
    with pytest.raises(sl.InvalidArgumentError, match="that was forked"):
        list(loader)
    assert len(list(DataLoader(Computing(4)))) == 4


def test_a_worker_that_takes_too_long_is_named():
    loader = DataLoader(
        Failing(8, 2, "hang"), 2, num_workers=1, timeout=0.3
    )
    begin = time.monotonic()
    with pytest.raises(sl.FailedPreconditionError, match="batch 1") as error:
        list(loader)
    assert error.value.check_id == "loader.timeout"
    assert time.monotonic() - begin < 10
    assert children() == []


def test_a_long_traceback_is_cut():
    def collate(samples):
        raise ValueError("x" * 1_000_000)

    loader = DataLoader(Numbers(4), num_workers=1, collate_fn=collate)
    with pytest.raises(sl.InvalidArgumentError) as error:
        list(loader)
    assert len(str(error.value)) < 9000


@pytest.mark.parametrize("workers", [0, 2])
def test_two_loops_over_one_loader_are_refused(workers):
    loader = DataLoader(Numbers(80), 2, num_workers=workers)
    first = iter(loader)
    next(first)
    second = iter(loader)
    assert next(second)[0].tolist() == [0, 1]
    with pytest.raises(sl.FailedPreconditionError) as error:
        next(first)
    assert error.value.check_id == "loader.two_loops"
    # The second one goes on.
    assert len(list(second)) == 39 and children() == []
    third = iter(loader)
    next(third)
    loader.close()
    with pytest.raises(sl.FailedPreconditionError, match="was closed"):
        next(third)


def test_an_error_of_the_feed_ends_the_workers():
    y = sl.data("y", [None, 3])
    loader = DataLoader([1.0] * 8, num_workers=2, feed_list=[y])
    with pytest.raises(sl.InvalidArgumentError) as error:
        list(loader)
    assert error.value.check_id == "feeder.shape" and children() == []


def test_workers_end_with_their_loop_or_their_loader():
    for batch in DataLoader(Numbers(8), num_workers=2):
        pass
    for batch in DataLoader(Numbers(80), num_workers=2):
        break
    gc.collect()
    assert children() == []
    loader = DataLoader(Numbers(8), num_workers=2, persistent_workers=True)
    pids = []
    for _ in range(2):
        for batch in loader:
            pids.append(tuple(children()))
        for batch in loader:
            break
    assert len(set(pids)) == 1 and len(pids[0]) == 2
    del loader
    gc.collect()
    assert children() == []


def test_workers_do_not_outlive_a_trainer_that_is_killed(tmp_path):
    script = """
        import os, sys, time
        import sluice as sl
        a = sl.io.DataLoader(range(100), num_workers=2, persistent_workers=True)
        b = sl.io.DataLoader(range(100), num_workers=2)
        next(iter(a)); kept = iter(b); next(kept)
        for worker in a._workers + b._workers:
            print(worker.process.pid)
        sys.stdout.flush()
        os.kill(os.getpid(), 9)
        """
    pids = python("-c", textwrap.dedent(script), timeout=60).stdout.split()
    assert len(pids) == 4
    deadline = time.monotonic() + 10
    while alive := [p for p in pids if is_running(p)]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.05)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    "arguments, check",
    [
        (dict(batch_size=0), "python.positive"),
        (dict(batch_size=True), "python.positive"),
        (dict(num_workers=-1), "loader.natural"),
        (dict(prefetch_factor=0), "python.positive"),
        (dict(seed=1.5), "loader.natural"),
        (dict(rank=2, world_size=2), "loader.rank"),
        (dict(timeout="soon"), "python.number"),
        (dict(timeout=-1), "loader.order"),
        (dict(dataset=iter([1])), "loader.dataset"),
        (dict(shuffle=True, sampler=[1]), "loader.sampler"),
        (dict(batch_sampler=[[1]], batch_size=2), "loader.order"),
    ],
)
def test_wrong_arguments_are_refused(arguments, check):
    with pytest.raises(sl.InvalidArgumentError) as error:
        DataLoader(**{"dataset": Numbers(8), **arguments})
    assert error.value.check_id == check


def test_what_is_shown():
    loader = DataLoader(Numbers(8), 2, num_workers=1)
    assert repr(loader) == (
        "<DataLoader: dataset <Numbers: count 8>, batch_size 2, num_workers 1, "
        "timeout 0.0, epoch 0>"
    )
    rows = sl.io.TensorDataset(np.zeros((3, 2), "f4"))
    assert repr(rows) == "<TensorDataset: 3 samples of float32 [2]>"
    sl.data("x", [None])
    assert repr(sl.DataFeeder(["x"])) == "<DataFeeder: feed_names ['x']>"


def test_names_of_others_are_answered():
    with pytest.raises(TypeError, match="pin_memory"):
        DataLoader(Numbers(8), pin_memory=True)


def test_tensor_datasets_and_collating():
    data = sl.io.TensorDataset(np.eye(4, dtype="f4"), np.arange(4))
    assert len(data) == 4
    (x, y), (x2, y2) = DataLoader(data, 3)
    assert (x == np.eye(4)[:3]).all() and y2.tolist() == [3]
    with pytest.raises(sl.InvalidArgumentError, match="same number of rows"):
        sl.io.TensorDataset(np.eye(4), np.eye(3))
    batch = sl.io.default_collate(
        [{"a": 1, "b": (2.0, "x")}, {"a": 2, "b": (3.0, "y")}]
    )
    assert batch["a"].dtype == np.int64 and batch["b"][0].dtype == np.float32
    assert batch["b"][1] == ["x", "y"]
    for samples, text in [
        ([(1, 2), (1,)], "sample 1 has 1 fields"),
        ([{"a": 1}, {"b": 1}], r"has \['b'\] keys"),
        ([(1,), [1]], "is a list, the first of the batch a tuple"),
        ([np.eye(2), np.eye(3)], r"sample 1 has shape \[3, 3\]"),
        ([None], "which has no dtype"),
    ]:
        with pytest.raises(sl.InvalidArgumentError, match=text) as error:
            sl.io.default_collate(samples)
        assert error.value.check_id == "loader.unequal"
