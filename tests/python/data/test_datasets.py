"""The data sets that come with the package."""

import numpy as np
import pytest

import sluice as sl
from sluice import datasets


def test_digits():
    images, labels = sl.datasets.digits()
    assert (images.shape, images.dtype) == ((1797, 1, 8, 8), np.float32)
    assert (labels.shape, labels.dtype) == ((1797, 1), np.int64)
    assert (images.min(), images.max()) == (0, 1)
    # Ink is where a 0 has none inside.
    mean = images[labels[:, 0] == 0].mean(0)[0]
    assert mean[3, 1] + mean[3, 5] > 6 * mean[3, 3]
    assert np.bincount(labels[:, 0]).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_every_call_gives_arrays_of_its_own():
    images, labels = sl.datasets.digits()
    images[:], labels[:] = 2, 20
    again, classes = sl.datasets.digits()
    assert again.max() == 1 and classes.max() == 9


def test_missing_files_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "_folder", lambda: tmp_path)
    with pytest.raises(sl.errors.NotFoundError, match=r"(?s)no .*digits_images.npy.*--force-reinstall"):
        sl.datasets.digits()
