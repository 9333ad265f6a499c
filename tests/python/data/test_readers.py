"""DataFeeder and Fluid's readers."""

import threading
import time

import numpy as np
import pytest

import sluice as sl


def test_a_feeder_makes_batches_that_run(exe):
    image = sl.data("image", [None, 1, 2, 2])
    label = sl.data("label", [None, 1], "int64")
    feeder = sl.DataFeeder([image, "label"], sl.CPUPlace())
    feed = feeder.feed([([1, 2, 3, 4], 7), (np.arange(4.0), 8)])
    assert feed["image"].shape == (2, 1, 2, 2)
    assert feed["image"].dtype == np.float32
    assert feed["label"].tolist() == [[7], [8]]
    sums = sl.layers.reduce_sum(image, dim=[1, 2, 3])
    (found,) = exe.run(feed=feed, fetch_list=[sums])
    assert found.tolist() == [10, 6]
    on_gpu = sl.DataFeeder([label], sl.CUDAPlace(0)).feed([(1,)])
    assert on_gpu["label"].place == sl.CUDAPlace(0)


@pytest.mark.parametrize(
    "samples, check, text",
    [
        ([([1] * 4, 1), ([1] * 4,)], "feeder.fields", "sample 1 has 1 fields"),
        ([([1] * 4, 1), ([1] * 3, 1)], "feeder.sample", r"sample 1 .*\[3\]"),
        ([([1] * 5, 1)], "feeder.shape", r"\[-1, 1, 2, 2\], got \[1, 5\]"),
        ([([1] * 4, 1.5)], "python.feed_value", "feed label: .*1.5"),
        ([([1e300] * 4, 1)], "python.feed_value", "feed image"),
        ([(["a"] * 4, 1)], "python.feed_value", "feed image"),
    ],
)
def test_a_feeder_refuses_what_does_not_fit(samples, check, text):
    image = sl.data("image", [None, 1, 2, 2])
    label = sl.data("label", [None, 1], "int64")
    with pytest.raises(sl.InvalidArgumentError, match=text) as error:
        sl.DataFeeder([image, label]).feed(samples)
    assert error.value.check_id == check


@pytest.mark.skipif(
    not hasattr(sl.Variable, "lod_level"), reason="no ragged variables"
)
def test_a_feeder_keeps_sequences_of_any_length(exe):
    words = sl.data("words", [None, 2], lod_level=1)
    sums = sl.layers.sequence_pool(words, "sum")
    samples = [([[1, 2], [3, 4]],), ([[5, 6]],)]
    feed = sl.DataFeeder([words]).feed(samples)
    assert exe.run(feed=feed, fetch_list=[sums])[0].tolist() == [[4, 6], [5, 6]]
    loader = sl.io.DataLoader(
        samples, 2, feed_list=[words], collate_fn=lambda s: tuple(map(list, zip(*s)))
    )
    (feed,) = loader
    assert exe.run(feed=feed, fetch_list=[sums])[0].tolist() == [[4, 6], [5, 6]]


def test_a_feeder_wants_variables():
    with pytest.raises(sl.InvalidArgumentError) as error:
        sl.DataFeeder([])
    assert error.value.check_id == "feeder.names"
    with pytest.raises(sl.NotFoundError, match="nothing"):
        sl.DataFeeder(["nothing"])


def test_a_loader_with_a_feed_list_gives_dicts_to_feed():
    x = sl.data("x", [None, 3])
    y = sl.data("y", [None, 1], "int64")
    rows = sl.io.TensorDataset(np.ones((4, 3), "f4"), np.arange(4))
    for feed in sl.io.DataLoader(rows, 2, feed_list=[x, y]):
        assert feed["x"].shape == (2, 3) and feed["y"].shape == (2, 1)
    dicts = [{"y": 1, "x": np.ones(3, "f4"), "name": "a"}] * 2
    (feed,) = sl.io.DataLoader(dicts, 2, feed_list=["x", "y"])
    assert list(feed) == ["x", "y"] and feed["y"].tolist() == [[1], [1]]
    for wrong, check in [
        ([{"x": 1.0}], "feeder.lacks"),
        ([(1.0, 2, 3)], "feeder.fields"),
        ([(np.ones(4, "f4"), 1)], "feeder.shape"),
    ]:
        with pytest.raises(sl.InvalidArgumentError) as error:
            list(sl.io.DataLoader(wrong, feed_list=[x, y]))
        assert error.value.check_id == check


def numbers(count=10):
    return lambda: iter(range(count))


def test_batch_and_shuffle():
    assert list(sl.io.batch(numbers(5), 2)()) == [[0, 1], [2, 3], [4]]
    assert list(sl.io.batch(numbers(5), 2, drop_last=True)()) == [[0, 1], [2, 3]]
    reader = sl.io.shuffle(numbers(), 5, seed=1)
    first = list(reader())
    assert first == list(reader()) != list(range(10))
    assert sorted(first[:5]) == list(range(5)) and sorted(first) == list(range(10))
    assert sorted(sl.io.shuffle(numbers(), 3)()) == list(range(10))
    with pytest.raises(sl.InvalidArgumentError, match="batch_size"):
        sl.io.batch(numbers(), 0)


def failing():
    yield 1
    raise OSError("cut off")


def test_buffered_reads_ahead_and_raises_in_its_place():
    read = []

    def noted():
        for number in range(10):
            read.append(number)
            yield number

    samples = sl.io.buffered(noted, 4)()
    assert next(samples) == 0
    deadline = time.monotonic() + 10
    while len(read) < 5 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert 5 <= len(read) <= 6
    assert list(samples) == list(range(1, 10))
    assert list(sl.io.buffered(lambda: iter([None, None]), 1)()) == [None] * 2
    samples = sl.io.buffered(failing, 4)()
    assert next(samples) == 1
    with pytest.raises(OSError, match="cut off"):
        next(samples)


def test_a_buffer_that_is_left_ends_its_thread():
    before = threading.active_count()
    samples = sl.io.buffered(numbers(10**9), 4)()
    next(samples)
    samples.close()
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


@pytest.mark.parametrize("order", [False, True])
def test_xmap_readers_maps_by_threads(order):
    def slow(number):
        time.sleep(0.05 * (number == 0))
        return number * number

    reader = sl.io.xmap_readers(slow, numbers(), 3, 4, order)
    found = list(reader())
    wanted = [number * number for number in range(10)]
    assert found == wanted if order else sorted(found) == wanted
    assert order or found != wanted
    with pytest.raises(OSError, match="cut off"):
        list(sl.io.xmap_readers(slow, failing, 2, 4, order)())
    with pytest.raises(ZeroDivisionError):
        list(sl.io.xmap_readers(lambda n: 1 // n, numbers(), 2, 4, order)())
