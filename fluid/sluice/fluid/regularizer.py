"""Decays of parameters, by both of Fluid's names."""

from ..regularizer import L1Decay, L2Decay

__all__ = ["L1Decay", "L1DecayRegularizer", "L2Decay", "L2DecayRegularizer"]

L1DecayRegularizer, L2DecayRegularizer = L1Decay, L2Decay
