"""Places of Fluid: a CUDA device is a real one, or the CPU."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from .. import CPUPlace, _core, device_count
from .. import CUDAPlace as SluiceCUDAPlace
from ..display import Shown


class CUDAPlace(Shown):
    """A CUDA device. Where there is none, executors run on the CPU instead, and
    say so once; the emulation has its own name, ``sluice.CUDAPlace``.
    """

    def __init__(self, device_id: int = 0) -> None:
        self.device_id = device_id


def is_compiled_with_cuda() -> bool:
    """Whether there is a CUDA device that is not emulated."""
    return device_count("cuda") > 0 and _core._config()["cuda"] != "EMULATE"


def place_of(place: Any) -> Any:
    """The place of Sluice that a place of Fluid means here."""
    if not isinstance(place, CUDAPlace):
        return place
    if is_compiled_with_cuda():
        return SluiceCUDAPlace(place.device_id)
    _say_cpu()
    return CPUPlace()


@functools.cache
def _say_cpu() -> None:
    warnings.warn(
        "there is no CUDA device: fluid.CUDAPlace means the CPU here",
        stacklevel=4,
    )
