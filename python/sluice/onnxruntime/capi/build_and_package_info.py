"""The version of onnxruntime whose interface this is."""

from __future__ import annotations

from sluice.onnxruntime.environment import INTERFACE

package_name = "onnxruntime"
__version__ = INTERFACE
