"""The names of :mod:`.onnxruntime_pybind11_state`: clients use both."""

from __future__ import annotations

from sluice.onnxruntime.capi.onnxruntime_pybind11_state import *  # noqa: F403
from sluice.onnxruntime.capi.onnxruntime_pybind11_state import __all__  # noqa: F401
