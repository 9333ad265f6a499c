"""The module from which clients of onnxruntime import sessions."""

from __future__ import annotations

from ..session import InferenceSession

__all__ = ["InferenceSession"]
