"""The package from which clients of onnxruntime import its errors."""

from sluice.onnxruntime.capi import (
    _pybind_state,
    onnxruntime_inference_collection,
    onnxruntime_pybind11_state,
    onnxruntime_validation,
)

__all__ = [
    "_pybind_state", "onnxruntime_inference_collection",
    "onnxruntime_pybind11_state", "onnxruntime_validation",
]
