"""Sluice: a small deep-learning runtime that explains its choice of kernels.

>>> import sluice as sl
>>> x = sl.data("x", [None, 3])
>>> y = sl.layers.fc(x, 2, act="relu")
>>> exe = sl.Executor(sl.CPUPlace())
>>> _ = exe.run(sl.default_startup_program())
>>> (value,) = exe.run(feed={"x": [[1, 2, 3]]}, fetch_list=[y])
"""

from __future__ import annotations

from . import errors, initializer, io, layers, optimizer, unique_name
from ._core import (
    Comparison,
    CPUPlace,
    CUDAPlace,
    CustomPlace,
    DType,
    FPGAPlace,
    OpComparison,
    Place,
    Plan,
    Profile,
    Scope,
    Tensor,
    TunedKernel,
    TunedSignature,
    TuneResult,
    __version__,
    bfloat16,
    bool,
    counters,
    device_count,
    float16,
    float32,
    float64,
    from_dlpack,
    int8,
    int32,
    int64,
    kernel_hints,
    load_device_plugin,
    memory_summary,
    num_threads,
    set_num_threads,
    uint8,
)
from .errors import (
    DataLossError,
    DeviceLostError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    ResourceExhaustedError,
    SluiceError,
    UnimplementedError,
)
from .executor import Executor, global_scope, scope_guard
from .framework import (
    Operator,
    Program,
    Variable,
    append_backward,
    data,
    default_main_program,
    default_startup_program,
    name_scope,
    program_guard,
)
from .layer_helper import LayerHelper, ParamAttr
from .python_kernels import kernel, kernel_arguments
from .tools import (
    compare,
    kernels,
    load_kernel_library,
    load_op_library,
    run_op,
    show_config,
)
from .tuning import tune

__all__ = [
    "CPUPlace",
    "CUDAPlace",
    "Comparison",
    "CustomPlace",
    "DType",
    "DataLossError",
    "DeviceLostError",
    "Executor",
    "FPGAPlace",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "LayerHelper",
    "NotFoundError",
    "OpComparison",
    "Operator",
    "OutOfRangeError",
    "ParamAttr",
    "Place",
    "Plan",
    "Profile",
    "Program",
    "ResourceExhaustedError",
    "Scope",
    "SluiceError",
    "Tensor",
    "TuneResult",
    "TunedKernel",
    "TunedSignature",
    "UnimplementedError",
    "Variable",
    "__version__",
    "append_backward",
    "bfloat16",
    "bool",
    "compare",
    "counters",
    "data",
    "default_main_program",
    "default_startup_program",
    "device_count",
    "errors",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "global_scope",
    "initializer",
    "int8",
    "int32",
    "int64",
    "io",
    "kernel",
    "kernel_arguments",
    "kernel_hints",
    "kernels",
    "layers",
    "load_device_plugin",
    "load_kernel_library",
    "load_op_library",
    "memory_summary",
    "name_scope",
    "num_threads",
    "optimizer",
    "program_guard",
    "run_op",
    "scope_guard",
    "set_num_threads",
    "show_config",
    "tune",
    "uint8",
    "unique_name",
]


def __getattr__(name: str) -> object:
    # These are imported when somebody wants them.
    if name in ("lab", "onnx", "onnxruntime"):
        from importlib import import_module

        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
