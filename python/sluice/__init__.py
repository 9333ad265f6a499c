"""Sluice: a small deep-learning runtime that explains its choice of kernels.

>>> import sluice as sl
>>> x = sl.data("x", [None, 3])
>>> y = sl.layers.fc(x, 2, act="relu")
>>> exe = sl.Executor(sl.CPUPlace())
>>> _ = exe.run(sl.default_startup_program())
>>> (value,) = exe.run(feed={"x": [[1, 2, 3]]}, fetch_list=[y])
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from . import (
    clip,
    distributed,
    elsewhere,
    errors,
    executor,
    framework,
    initializer,
    io,
    layer_helper,
    layers,
    optimizer,
    ragged,
    regularizer,
    sparse,
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
from .errors import *  # noqa: F403
from .executor import *  # noqa: F403
from .framework import *  # noqa: F403
from .layer_helper import *  # noqa: F403
from .python_kernels import kernel, kernel_arguments
from .ragged import *  # noqa: F403
from .show import explanation
from .show.explanation import *  # noqa: F403
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
    from .compiling import compile_kernels, compile_library, compile_ops
    from .lab.measuring import compare, tune
    from .reader import DataFeeder

__all__ = [
    "CPUPlace", "CUDAPlace", "Comparison", "CustomPlace", "DType", "DataFeeder",
    "FPGAPlace", "OpComparison", "Place", "Plan", "Profile", "Scope", "Tensor",
    "TuneResult", "TunedKernel", "TunedSignature", "__version__", "bfloat16",
    "bool", "clip", "compare", "compile_kernels", "compile_library",
    "compile_ops", "counters", "device_count", "distributed",
    "errors", "float4_e2m1fn", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float16", "float32",
    "float64", "from_dlpack", "initializer", "int2", "int4", "int8", "int16",
    "int32", "int64", "io", "kernel", "kernel_arguments", "kernel_hints",
    "kernels", "layers", "load_device_plugin", "load_kernel_library",
    "load_op_library", "memory_summary", "num_threads", "optimizer",
    "regularizer", "run_op", "set_num_threads", "show_config", "sparse",
    "tune", "uint2", "uint4", "uint8", "uint16", "uint32", "uint64",
    "unique_name",
]
__all__ += errors.__all__
__all__ += executor.__all__
__all__ += explanation.__all__
__all__ += framework.__all__
__all__ += layer_helper.__all__
__all__ += ragged.__all__

# Modules, and names in modules, that are imported on first use. The laboratory
# is a separate library.
_ANNEXES = ("fluid",)  # packages of their own
_MODULES = (
    "_lab", "datasets", "fluid", "lab", "metrics", "onnx", "onnxruntime",
)
_MODULES_OF = {
    "DataFeeder": ".reader",
    "compare": ".lab.measuring",
    "compile_kernels": ".compiling",
    "compile_library": ".compiling",
    "compile_ops": ".compiling",
    "tune": ".lab.measuring",
}  # the others of __all__ are in ._lab


def __getattr__(name: str) -> object:
    if name in _MODULES:
        module = f"{__name__}.{name}"
        try:
            return import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module or name not in _ANNEXES:
                raise
            raise ModuleNotFoundError(
                f"{module} is not installed: pip install sluice-{name}",
                name=module,
            ) from None
    if name in __all__:
        module = _MODULES_OF.get(name, "._lab")
        return getattr(import_module(module, __name__), name)
    elsewhere.missing(__name__, name, [*__all__, *_MODULES[1:]])


elsewhere.PUBLIC |= {
    "sl": lambda: __all__,
    "sl.initializer": lambda: initializer.__all__,
    "sl.io": lambda: io.__all__,
    "sl.layers": layers.__dir__,
    "sl.optimizer": lambda: optimizer.__all__,
    "sl.regularizer": lambda: regularizer.__all__,
    "sluice.fluid.layers": lambda: (
        import_module(f"{__name__}.fluid.layers").__all__
        if find_spec(f"{__name__}.fluid")
        else ()
    ),
}
tracebacks.install()
