"""The names that clients of onnxruntime import from its extension.

Imports are absolute, since this module is also ``onnxruntime.capi...`` where
``sys.modules["onnxruntime"]`` is ``sluice.onnxruntime``.
"""

from __future__ import annotations

from sluice.onnxruntime import binding, environment, errors, options, values
from sluice.onnxruntime.binding import *  # noqa: F403
from sluice.onnxruntime.environment import *  # noqa: F403
from sluice.onnxruntime.errors import *  # noqa: F403
from sluice.onnxruntime.options import *  # noqa: F403
from sluice.onnxruntime.values import *  # noqa: F403

__all__ = [
    *binding.__all__, *environment.__all__, *errors.__all__,
    *options.__all__, *values.__all__,
]
