"""The digits that the examples learn from; see data/README.md."""

from __future__ import annotations

import numpy as np

import sluice as sl

TRAIN = 1000  # the other 797 are for tests


def load() -> tuple[np.ndarray, np.ndarray]:
    """Images [1797, 1, 8, 8] in [0, 1] and labels int64 [1797, 1]."""
    return sl.datasets.digits()
