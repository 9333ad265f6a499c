"""The names of :mod:`.onnxruntime_pybind11_state`: clients use both."""

from __future__ import annotations

from .onnxruntime_pybind11_state import *  # noqa: F403
from .onnxruntime_pybind11_state import __all__  # noqa: F401
