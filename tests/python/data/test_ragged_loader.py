"""DataLoader: samples of other lengths become the feeds of ragged variables."""


import numpy as np
import pytest

import sluice as sl


class Sentences(sl.io.Dataset):
    """Sample i has i words, and the label i."""

    def __init__(self, form):
        self.form = form

    def __len__(self):
        return 5

    def __getitem__(self, index):
        words = list(range(index)) if index % 2 else np.arange(index)
        label = np.array([index])
        if self.form == "tuple":
            return words, label
        return {"label": label, "words": words}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("form", ["tuple", "dict", "array"])
def test_sentences_become_ragged_feeds(exe, form, workers):
    words = sl.data("words", [None, 1], "int64", lod_level=1)
    label = sl.data("label", [None, 1], "int64")
    dataset, feeds = Sentences(form), [words, label]
    if form == "array":
        dataset, feeds = [np.arange(i) for i in range(5)], [words]
    loader = sl.io.DataLoader(
        dataset, 2, num_workers=workers, feed_list=feeds, drop_last=True
    )
    got = [exe.run(feed=feed, fetch_list=feeds) for feed in loader]
    assert [g[0].recursive_sequence_lengths() for g in got] == [[[0, 1]], [[2, 3]]]
    assert got[1][0].ravel().tolist() == [0, 1, 0, 1, 2]
    assert form == "array" or [g[1].tolist() for g in got] == [[[0], [1]], [[2], [3]]]


def test_rows_of_other_lengths_are_samples_of_a_tensor_dataset(exe):
    words = sl.data("words", [None, 1], "int64", lod_level=1)
    rows = np.empty(2, object)
    rows[:] = [[1, 2], [3]]
    (feed,) = sl.io.DataLoader(sl.io.TensorDataset(rows), 2, feed_list=[words])
    (got,) = exe.run(feed=feed, fetch_list=[words])
    assert got.lod == [[0, 2, 3]]
