"""The digits that the examples learn from; see data/README.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np

TRAIN = 1000  # the other 797 are for tests


def load() -> tuple[np.ndarray, np.ndarray]:
    """Images [1797, 1, 8, 8] in [0, 1] and labels int64 [1797, 1]."""
    folder = Path(__file__).parent / "data"
    images = np.load(folder / "digits_images.npy").astype(np.float32) / 16
    labels = np.load(folder / "digits_labels.npy").astype(np.int64)
    return images.reshape(-1, 1, 8, 8), labels.reshape(-1, 1)
