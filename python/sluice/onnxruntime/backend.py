"""``onnxruntime.backend``: that of :mod:`sluice.onnx`."""

from sluice.onnx.backend import *  # noqa: F403
from sluice.onnx.backend import __all__  # noqa: F401
