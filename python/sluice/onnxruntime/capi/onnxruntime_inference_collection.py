"""Where clients of onnxruntime import sessions from."""

from __future__ import annotations

from ..session import InferenceSession

__all__ = ["InferenceSession"]
