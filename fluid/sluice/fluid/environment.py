"""Places, versions, and names of ``fluid`` that have no effect here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import CPUPlace
from ..errors import FailedPreconditionError
from .executor import LoDTensor, create_lod_tensor
from .places import CUDAPlace

__all__ = [
    "cpu_places", "create_random_int_lodtensor", "cuda_pinned_places",
    "cuda_places", "device_guard", "get_flags", "in_dygraph_mode",
    "is_compiled_with_xpu", "memory_optimize", "release_memory",
    "require_version", "set_flags",
]  # fmt: skip

VERSION = "1.8.5"


def cpu_places(device_count: int | None = None) -> list[CPUPlace]:
    """The CPU, once: the threads of one process share each op."""
    return [CPUPlace()] * (device_count or 1)


cuda_pinned_places = cpu_places


def cuda_places(device_ids: Sequence[int] | None = None) -> list[CUDAPlace]:
    """These CUDA devices, or the first one: a process runs at one place."""
    return [CUDAPlace(each) for each in device_ids or [0]]


def in_dygraph_mode() -> bool:
    """Whether layers are computed at once, see :mod:`fluid.dygraph`."""
    from . import dygraph

    return dygraph.enabled()


def is_compiled_with_xpu() -> bool:
    """False."""
    return False


def memory_optimize(*_: Any, **__: Any) -> None:
    """Nothing, as in Fluid 1.8: plans always share memory."""


release_memory = memory_optimize


@contextlib.contextmanager
def device_guard(device: str | None = None) -> Iterator[None]:
    """Nothing: kernels choose where an op runs."""
    yield


_flags: dict[str, Any] = {}


def set_flags(flags: dict[str, Any]) -> None:
    """Remember flags of PaddlePaddle, which have no effect here."""
    _flags.update(flags)


def get_flags(flags: Any) -> dict[str, Any]:
    """The flags of these names, or of one; None for one that was not set."""
    names = [flags] if isinstance(flags, str) else flags
    return {name: _flags.get(name) for name in names}


def require_version(min_version: str, max_version: str | None = None) -> None:
    """Raise FailedPreconditionError unless Fluid 1.8.5 is in these limits."""

    def number(text: str) -> list[int]:
        parts = [int(each) for each in text.split(".")]
        return parts + [0] * (4 - len(parts))

    here = number(VERSION)
    if here < number(min_version) or (
        max_version is not None and here > number(max_version)
    ):
        raise FailedPreconditionError(
            f"require_version: this is Fluid {VERSION} on Sluice, not "
            f"{min_version} to {max_version or 'later'}",
            "fluid.version",
        )


def create_random_int_lodtensor(
    recursive_seq_lens: Any, base_shape: Any, place: Any, low: int, high: int
) -> LoDTensor:
    """Integers from low to high as rows of sequences of these lengths."""
    shape = [sum(recursive_seq_lens[-1]), *base_shape]
    rows = np.random.randint(low, high + 1, shape).astype("int64")
    return create_lod_tensor(rows, recursive_seq_lens, place)
