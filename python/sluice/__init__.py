"""Sluice: a small deep-learning runtime that explains its choice of kernels.

>>> import sluice as sl
>>> x = sl.data("x", [None, 3])
>>> y = sl.layers.fc(x, 2, act="relu")
>>> exe = sl.Executor(sl.CPUPlace())
>>> _ = exe.run(sl.default_startup_program())
>>> (value,) = exe.run(feed={"x": [[1, 2, 3]]}, fetch_list=[y])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import (
    clip,
    distributed,
    errors,
    initializer,
    io,
    layers,
    optimizer,
    regularizer,
    tracebacks,
    unique_name,
)
from ._core import (
    CPUPlace,
    CUDAPlace,
    CustomPlace,
    DType,
    FPGAPlace,
    Place,
    Plan,
    Scope,
    Tensor,
    __version__,
    bfloat16,
    bool,
    counters,
    device_count,
    float4_e2m1fn,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    from_dlpack,
    int2,
    int4,
    int8,
    int16,
    int32,
    int64,
    kernel_hints,
    load_device_plugin,
    memory_summary,
    num_threads,
    set_num_threads,
    uint2,
    uint4,
    uint8,
    uint16,
    uint32,
    uint64,
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
from .executor import Executor, TracedRun, global_scope, scope_guard
from .explanation import Explanation
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
from .ragged import Ragged
from .tools import (
    kernels,
    load_kernel_library,
    load_op_library,
    run_op,
    show_config,
)

if TYPE_CHECKING:
    from ._lab import (
        Comparison,
        OpComparison,
        Profile,
        TunedKernel,
        TunedSignature,
        TuneResult,
    )
    from .lab.measuring import compare, tune
    from .reader import DataFeeder

__all__ = [
    "CPUPlace",
    "CUDAPlace",
    "Comparison",
    "CustomPlace",
    "DType",
    "DataFeeder",
    "DataLossError",
    "DeviceLostError",
    "Executor",
    "Explanation",
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
    "Ragged",
    "ResourceExhaustedError",
    "Scope",
    "SluiceError",
    "Tensor",
    "TracedRun",
    "TuneResult",
    "TunedKernel",
    "TunedSignature",
    "UnimplementedError",
    "Variable",
    "__version__",
    "append_backward",
    "bfloat16",
    "bool",
    "clip",
    "compare",
    "counters",
    "data",
    "default_main_program",
    "default_startup_program",
    "device_count",
    "distributed",
    "errors",
    "float4_e2m1fn",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "global_scope",
    "initializer",
    "int2",
    "int4",
    "int8",
    "int16",
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
    "regularizer",
    "run_op",
    "scope_guard",
    "set_num_threads",
    "show_config",
    "tune",
    "uint2",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unique_name",
]


# Modules, and names in modules, that are imported on first use. The laboratory
# is a separate library.
_MODULES = ("_lab", "lab", "metrics", "onnx", "onnxruntime")
_NAMES = {
    "Comparison": "._lab",
    "DataFeeder": ".reader",
    "OpComparison": "._lab",
    "Profile": "._lab",
    "TuneResult": "._lab",
    "TunedKernel": "._lab",
    "TunedSignature": "._lab",
    "compare": ".lab.measuring",
    "tune": ".lab.measuring",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in _NAMES:
        return getattr(import_module(_NAMES[name], __name__), name)
    from .elsewhere import missing

    missing(__name__, name, [*__all__, *_MODULES[1:]])


tracebacks.install()
