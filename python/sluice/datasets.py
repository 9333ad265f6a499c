"""Data sets that come with the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .errors import NotFoundError

__all__ = ["digits"]


def _folder() -> Path:
    """The data of an installation, or those of the checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "sluice_data"
    if installed.is_dir():
        return installed
    return package.parents[1] / "examples" / "data"


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Handwritten digits, from the UCI repository (CC BY 4.0).

    Fluid and PyTorch download MNIST, 60,000 images of 28 by 28 pixels; these
    are fewer and smaller, and need no network.

    Returns:
        The images, float32 [1797, 1, 8, 8] from 0 (paper) to 1 (ink), and their
        labels, int64 [1797, 1] from 0 to 9. By custom the first 1000 train, and
        the other 797, by other hands, test.

    Raises:
        NotFoundError: if the files are missing.
    """
    folder = _folder()
    files = folder / "digits_images.npy", folder / "digits_labels.npy"
    for file in files:
        if not file.exists():
            raise NotFoundError(
                f"digits: there is no {file}, which comes with Sluice: install "
                "it again, by pip install --force-reinstall, or use "
                "PYTHONPATH=build/release/python in its checkout"
            )
    images, labels = (np.load(file) for file in files)
    return (
        images.reshape(-1, 1, 8, 8).astype(np.float32) / 16,
        labels.reshape(-1, 1).astype(np.int64),
    )
