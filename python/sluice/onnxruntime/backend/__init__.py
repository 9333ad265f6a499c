"""``onnxruntime.backend``: the interface of the package onnx for backends."""

from sluice.onnxruntime.backend.backend import (
    is_compatible,
    prepare,
    run,
    supports_device,
)

__all__ = ["is_compatible", "prepare", "run", "supports_device"]
