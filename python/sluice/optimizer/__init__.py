"""Optimizers: ops that update parameters by their gradients.

Arguments and defaults are Fluid's. Formulas are those of Fluid and PyTorch;
where the two differ, the optimizer says how, and has both. Fluid's DGCMomentum
is left out: it saves bandwidth between GPUs by sending the largest gradients
only, and gradients between ranks are dense here.
"""

from __future__ import annotations

from typing import Any

from ..elsewhere import missing
from .averages import ExponentialMovingAverage, ModelAverage
from .base import Optimizer
from .updates import (
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    DecayedAdagrad,
    Dpsgd,
    Ftrl,
    Lamb,
    LarsMomentum,
    Momentum,
    RMSProp,
)
from .wrappers import GradientMerge, Lookahead

__all__ = [
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "DecayedAdagrad",
    "Dpsgd",
    "ExponentialMovingAverage",
    "Ftrl",
    "GradientMerge",
    "Lamb",
    "LarsMomentum",
    "Lookahead",
    "ModelAverage",
    "Momentum",
    "Optimizer",
    "RMSProp",
]


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
