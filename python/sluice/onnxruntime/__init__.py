"""The interface of onnxruntime, implemented by Sluice.

>>> import sluice.onnxruntime as onnxruntime
>>> session = onnxruntime.InferenceSession("net.onnx")
>>> (probabilities,) = session.run(None, {"data": image})

Programs written for onnxruntime run unchanged. In addition, a session can
explain its choice of kernels (``session.explain()``), measure kernels and
choose the fastest (``session.tune(seconds)``), and write a report
(``session.report("net.html")``).
"""

from __future__ import annotations

from .. import __version__
from .capi.onnxruntime_pybind11_state import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    ModelMetadata,
    NodeArg,
    RunOptions,
    SessionOptions,
    disable_telemetry_events,
    enable_telemetry_events,
    get_all_providers,
    get_available_providers,
    get_device,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_seed,
)
from .session import InferenceSession

__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "RunOptions",
    "SessionOptions",
    "__version__",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
]
