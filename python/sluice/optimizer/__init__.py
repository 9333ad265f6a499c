"""Optimizers: ops that update parameters by their gradients.

Arguments and defaults are Fluid's. Formulas are those of Fluid and PyTorch;
where the two differ, the optimizer says how, and has both. Fluid's DGCMomentum
is left out: it saves bandwidth between GPUs by sending the largest gradients
only, and gradients between ranks are dense here.
"""

from __future__ import annotations

from ..elsewhere import help_with_names
from . import updates
from .averages import ExponentialMovingAverage, ModelAverage
from .base import Optimizer
from .updates import *  # noqa: F403
from .wrappers import GradientMerge, Lookahead

__all__ = [
    "ExponentialMovingAverage", "GradientMerge", "Lookahead", "ModelAverage",
    "Optimizer",
]
__all__ += updates.__all__

help_with_names(globals())
