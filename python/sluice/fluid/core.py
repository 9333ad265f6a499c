"""``paddle.fluid.core``: what scripts take from there."""

from __future__ import annotations

from .. import CPUPlace, CUDAPlace, _core, device_count
from .executor import LoDTensor
from .left_out import refusing
from .predictor import (
    AnalysisConfig,
    PaddleBuf,
    PaddleDType,
    PaddleTensor,
    Predictor,
    create_predictor,
)
from .readers import EOFException
from .scopes import Scope

__all__ = [
    "AnalysisConfig",
    "CPUPlace",
    "CUDAPlace",
    "EOFException",
    "LoDTensor",
    "PaddleBuf",
    "PaddleDType",
    "PaddleTensor",
    "Predictor",
    "Scope",
    "create_paddle_predictor",
    "get_cuda_device_count",
    "is_compiled_with_cuda",
]

create_paddle_predictor = create_predictor


def get_cuda_device_count() -> int:
    """The number of CUDA devices."""
    return device_count("cuda")


def is_compiled_with_cuda() -> bool:
    """Whether there is a CUDA device that is not emulated."""
    return device_count("cuda") > 0 and _core._config()["cuda"] != "EMULATE"


__getattr__ = refusing(
    "fluid.core",
    {"NativeConfig": "AnalysisConfig(folder) says which model to run"},
)
