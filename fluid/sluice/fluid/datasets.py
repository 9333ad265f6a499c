"""``paddle.dataset``: readers of files that lie in a folder of the user's.

Nothing is downloaded. Another file of the same format will do.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import DataLossError, NotFoundError
from ..framework import created

DATA_HOME = os.path.expanduser("~/.cache/paddle/dataset")
Reader = Callable[[], Iterator[Any]]
_FEATURES = 13  # of a house


def download(
    url: str, module_name: str, md5sum: str, save_name: str | None = None
) -> str:
    """The path of the file that Fluid would load to there, which must be there
    already. Raises NotFoundError, with its place.
    """
    name = save_name or url.split("/")[-1]
    path = os.path.join(DATA_HOME, module_name, name)
    if not os.path.exists(path):
        raise NotFoundError(
            f"paddle.dataset.{module_name}: there is no file {path}; Sluice "
            f"downloads nothing: put there what PaddlePaddle took from {url}"
            f"{created()}",
            "fluid.dataset_missing",
        )
    return path


def _houses(test: bool) -> Callable[[], Reader]:
    def creator() -> Reader:
        """The reader of (13 features, scaled; price) in float64."""
        path = download(_HOUSING, "uci_housing", "")
        data = np.fromfile(path, sep=" ")
        if not data.size or data.size % (_FEATURES + 1):
            raise DataLossError(
                f"{path}: {data.size} numbers; expected rows of "
                f"{_FEATURES + 1}",
                "fluid.housing_rows",
            )
        data = data.reshape(-1, _FEATURES + 1)
        x = data[:, :-1]
        data[:, :-1] = (x - x.mean(0)) / (x.max(0) - x.min(0))
        first = int(len(data) * 0.8)
        chosen = data[first:] if test else data[:first]
        return lambda: ((row[:-1], row[-1:]) for row in chosen)

    return creator


def _digits(part: str) -> Callable[[], Reader]:
    def creator() -> Reader:
        """The reader of (pixels from -1 to 1, digit)."""
        paths = [
            download(f"{_MNIST}{part}-{kind}.gz", "mnist", "")
            for kind in ("images-idx3-ubyte", "labels-idx1-ubyte")
        ]

        def reader() -> Iterator[Any]:
            images, labels = (_idx(path) for path in paths)
            pixels = images.reshape(len(labels), -1).astype("float32")
            return zip(pixels / 255.0 * 2.0 - 1.0, labels.tolist(), strict=True)

        return reader

    return creator


def _idx(path: str) -> np.ndarray:
    """The bytes of a file in MNIST's format: a magic number whose last byte is
    the rank, the sizes, the elements.
    """
    with gzip.open(path) as file:
        data = file.read()
    sizes = np.frombuffer(data, ">u4", data[3] if len(data) > 3 else 0, 4)
    first = 4 + 4 * len(sizes)
    if not len(sizes) or len(data) - first != np.prod(sizes):
        raise DataLossError(
            f"{path}: {len(data)} bytes; expected the sizes of an array of "
            "bytes, and as many",
            "fluid.idx_file",
        )
    return np.frombuffer(data, "u1", offset=first).reshape(sizes)


_HOUSING = "http://paddlemodels.bj.bcebos.com/uci_housing/housing.data"
_MNIST = "https://dataset.bj.bcebos.com/mnist/"
# What is in modules of paddle.dataset; its module common is this one.
MODULES: dict[str, dict[str, Any]] = {
    "mnist": {"train": _digits("train"), "test": _digits("t10k")},
    "uci_housing": {"train": _houses(False), "test": _houses(True)},
}
