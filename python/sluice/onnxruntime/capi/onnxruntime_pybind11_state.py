"""The names that clients of onnxruntime import from its extension."""

from __future__ import annotations

from .. import environment, errors, options, values
from ..environment import *  # noqa: F403
from ..errors import *  # noqa: F403
from ..options import *  # noqa: F403
from ..values import *  # noqa: F403

__all__ = [
    *environment.__all__,
    *errors.__all__,
    *options.__all__,
    *values.__all__,
]
