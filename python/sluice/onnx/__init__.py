"""Loads and saves ONNX models as programs.

>>> model = sl.onnx.load("resnet50.onnx")
>>> (probabilities,) = model.run({"data": image})
>>> print(model.executor.explain(model.program))
>>> sl.onnx.save(program, "net.onnx", [y])
"""

from __future__ import annotations

from .load import Metadata, Model, Value, load
from .provider import execution_provider
from .save import save

__all__ = ["Metadata", "Model", "Value", "execution_provider", "load", "save"]
