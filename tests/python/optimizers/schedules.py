"""Learning rates, by sluice.layers or Fluid's, and their formulas of a step."""

import numpy as np


def staged(t):
    return 0.5 if t < 30 else 0.25 if t < 60 else 0.1


cos, exp, floor = np.cos, np.exp, np.floor
SCHEDULES = {
    "exponential_decay": (
        lambda L, **more: L.exponential_decay(0.5, 7, 0.9, **more),
        lambda t: 0.5 * 0.9 ** (t / 7),
    ),
    "exponential staircase": (
        lambda L, **more: L.exponential_decay(0.5, 7, 0.9, True, **more),
        lambda t: 0.5 * 0.9 ** (t // 7),
    ),
    "natural_exp_decay": (
        lambda L, **more: L.natural_exp_decay(0.5, 7, 0.2, **more),
        lambda t: 0.5 * exp(-0.2 * t / 7),
    ),
    "natural staircase": (
        lambda L, **more: L.natural_exp_decay(0.5, 7, 0.2, True, **more),
        lambda t: 0.5 * exp(-0.2 * (t // 7)),
    ),
    "inverse_time_decay": (
        lambda L, **more: L.inverse_time_decay(0.5, 7, 0.2, **more),
        lambda t: 0.5 / (1 + 0.2 * t / 7),
    ),
    "polynomial_decay": (
        lambda L, **more: L.polynomial_decay(0.5, 60, 0.01, 2.0, **more),
        lambda t: 0.49 * (1 - min(t, 60) / 60) ** 2 + 0.01,
    ),
    "polynomial cycles": (
        lambda L, **more: L.polynomial_decay(0.5, 30, cycle=True, **more),
        lambda t: 0.4999 * (1 - t / (30 * max(1, -(-t // 30)))) + 0.0001,
    ),
    "piecewise_decay": (
        lambda L, **more: L.piecewise_decay([30, 60], [0.5, 0.25, 0.1], **more),
        staged,
    ),
    "noam_decay": (
        lambda L, **more: L.noam_decay(64, 40, 2.0, **more),
        lambda t: 2 / 8 * min((t + 1) ** -0.5, (t + 1) * 40**-1.5),
    ),
    "cosine_decay": (
        lambda L, **more: L.cosine_decay(0.5, 5, 20, **more),
        lambda t: 0.25 * (cos(floor(t / 5) * np.pi / 20) + 1),
    ),
    "linear_lr_warmup": (
        lambda L, **more: L.linear_lr_warmup(0.5, 20, 0.1, 0.4, **more),
        lambda t: 0.1 + 0.3 * t / 20 if t < 20 else 0.5,
    ),
    "a warm-up before a decay": (
        lambda L, **more: L.linear_lr_warmup(
            L.exponential_decay(0.5, 7, 0.9), 20, 0.1, 0.4, **more
        ),
        lambda t: 0.1 + 0.3 * t / 20 if t < 20 else 0.5 * 0.9 ** (t / 7),
    ),
}
