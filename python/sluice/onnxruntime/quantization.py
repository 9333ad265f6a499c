"""``onnxruntime.quantization``, which Sluice lacks: see :mod:`.absent`."""

from sluice.onnxruntime.absent import package

__path__: list[str] = []
__getattr__ = package(
    __name__,
    "Sluice runs quantized models and makes none: quantize with the "
    "package onnxruntime, in a process of its own, and load the file here",
)
