"""Arrays that the laboratory creates."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from sluice import _core
from sluice.errors import InvalidArgumentError, ResourceExhaustedError


def numpy_dtype(name: str, what: str) -> np.dtype:
    """The NumPy dtype of a Sluice dtype, including bfloat16.

    Raises InvalidArgumentError, naming ``what``, if it needs a missing package.
    """
    try:
        return _core.DType(name).dtype
    except ImportError:
        raise InvalidArgumentError(
            f"{what}: NumPy has no {name} by itself: pip install ml_dtypes",
            "lab.ml_dtypes",
        ) from None


def check_size(what: str, shape: Sequence[int], dtype: Any) -> None:
    """Raise ResourceExhaustedError for an array larger than the memory."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if size > memory:
        raise ResourceExhaustedError(
            f"{what}: {list(shape)} of {np.dtype(dtype).name} takes "
            f"{size / 2**30:.3g} GiB, and this machine has "
            f"{memory / 2**30:.3g} GiB of memory",
            "lab.memory",
        )
