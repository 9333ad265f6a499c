"""The interface of onnxruntime, implemented by Sluice.

>>> import sluice.onnxruntime as onnxruntime
>>> session = onnxruntime.InferenceSession("net.onnx")
>>> (probabilities,) = session.run(None, {"data": image})

Programs written for onnxruntime run unchanged. In addition, a session can
explain its choice of kernels (``session.explain()``), measure kernels and
choose the fastest (``session.tune(seconds)``), and write a report
(``session.report("net.html")``).
"""

from __future__ import annotations

import importlib
from typing import Any

from . import (
    absent,
    binding,
    devices,
    environment,
    options,
    tensors,
    values,
)
from .absent import *  # noqa: F403
from .binding import *  # noqa: F403
from .devices import *  # noqa: F403
from .environment import *  # noqa: F403
from .environment import INTERFACE as __version__
from .options import *  # noqa: F403
from .session import InferenceSession
from .tensors import *  # noqa: F403
from .values import *  # noqa: F403

__author__ = "Sluice"
package_name, version, cuda_version = "onnxruntime", __version__, ""

__all__ = [
    "InferenceSession", "__version__", *absent.__all__, *binding.__all__,
    *devices.__all__, *environment.__all__, *options.__all__,
    *tensors.__all__, *values.__all__,
]


def __getattr__(name: str) -> Any:
    """Import ``capi`` when it is first used, as ``onnxruntime.capi``."""
    if name != "capi":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(".capi", __name__)
