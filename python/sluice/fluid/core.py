"""``paddle.fluid.core``: what scripts take from there."""

from __future__ import annotations

from .. import CPUPlace, CUDAPlace, Scope, _core, device_count
from .executor import LoDTensor
from .predictor import AnalysisConfig, PaddleTensor, Predictor, create_predictor
from .readers import EOFException

__all__ = [
    "AnalysisConfig",
    "CPUPlace",
    "CUDAPlace",
    "EOFException",
    "LoDTensor",
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
