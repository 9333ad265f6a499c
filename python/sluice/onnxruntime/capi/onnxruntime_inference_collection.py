"""The module from which clients of onnxruntime import sessions."""

from __future__ import annotations

from sluice.onnxruntime.binding import IOBinding, OrtValue
from sluice.onnxruntime.session import InferenceSession

__all__ = ["IOBinding", "InferenceSession", "OrtValue"]
