"""``paddle.fluid.core``: what scripts take from there."""

from __future__ import annotations

from .. import CPUPlace, _core, device_count
from ..display import Shown
from ..errors import SluiceError
from .executor import LoDTensor
from .left_out import refusing
from .places import CUDAPlace, is_compiled_with_cuda
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
    "AnalysisConfig", "CPUPlace", "CUDAPlace", "EOFException", "EnforceNotMet",
    "LoDTensor", "LoDTensorArray", "PaddleBuf", "PaddleDType", "PaddleTensor",
    "Predictor", "Scope", "VarDesc", "create_paddle_predictor",
    "get_cuda_device_count", "is_compiled_with_cuda",
]  # fmt: skip

create_paddle_predictor, LoDTensorArray = create_predictor, list
EnforceNotMet = SluiceError


class VarDesc(Shown):
    """The kinds of variables."""

    class VarType(Shown):
        """Element types, equal to those of variables, and kinds by number."""

        BOOL, INT8, UINT8 = _core.bool, _core.int8, _core.uint8
        INT16, INT32, INT64 = _core.int16, _core.int32, _core.int64
        FP16, BF16 = _core.float16, _core.bfloat16
        FP32, FP64 = _core.float32, _core.float64
        LOD_TENSOR, SELECTED_ROWS, FEED_MINIBATCH, FETCH_LIST = 7, 8, 9, 10
        STEP_SCOPES, LOD_RANK_TABLE, LOD_TENSOR_ARRAY = 11, 12, 13
        PLACE_LIST, READER, RAW = 14, 15, 17


def get_cuda_device_count() -> int:
    """The number of CUDA devices that are not emulated."""
    return device_count("cuda") if is_compiled_with_cuda() else 0


__getattr__ = refusing(
    "fluid.core",
    {
        "NativeConfig": "AnalysisConfig(folder) says which model to run",
        **dict.fromkeys(
            (
                "VarBase",
                "op_proto_and_checker_maker",
                "ops",
                "save_op_compatible_info",
            ),
            "it is a part of PaddlePaddle's C++",
        ),
    },
)
