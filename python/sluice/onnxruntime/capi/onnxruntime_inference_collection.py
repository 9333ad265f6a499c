"""The module from which clients of onnxruntime import sessions."""

from __future__ import annotations

from sluice.onnxruntime.absent import (
    AdapterFormat,
    ModelCompiler,
    SparseTensor,
)
from sluice.onnxruntime.binding import IOBinding
from sluice.onnxruntime.devices import (
    OrtDevice,
    OrtDeviceVendorId,
    type_number,
)
from sluice.onnxruntime.session import InferenceSession
from sluice.onnxruntime.tensors import OrtValue, copy_tensors

__all__ = [
    "AdapterFormat", "IOBinding", "InferenceSession", "ModelCompiler",
    "OrtDevice", "OrtDeviceVendorId", "OrtValue", "Session", "SparseTensor",
    "copy_tensors", "get_ort_device_type",
]

Session = InferenceSession
get_ort_device_type = type_number
