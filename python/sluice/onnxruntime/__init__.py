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

from .. import __version__
from . import absent, binding, environment, options, values
from .absent import *  # noqa: F403
from .binding import *  # noqa: F403
from .environment import *  # noqa: F403
from .options import *  # noqa: F403
from .session import InferenceSession
from .values import *  # noqa: F403

__all__ = [
    "InferenceSession", "__version__", *absent.__all__, *binding.__all__,
    *environment.__all__, *options.__all__, *values.__all__,
]
