"""The convolution, batch norm and relu of bench_onednn.cc: every tensor is a
ramp, the images are [32, 56, 56, 64]."""

import numpy as np

IMAGES, CHANNELS, PIXELS = 32, 64, 56


def ramp(*shape):
    """A tensor with 0, 1/97 ... 96/97 repeated."""
    return (np.arange(np.prod(shape)) % 97 / 97).reshape(shape).astype("f4")


def image():
    return ramp(IMAGES, PIXELS, PIXELS, CHANNELS)


def weights():
    """The filter, and scale, shift, mean and variance; epsilon is 1."""
    return ramp(CHANNELS, CHANNELS, 3, 3), *[ramp(CHANNELS)] * 4


def check(peer, found, expected, tolerance=1e-3):
    """Ends the script if a peer's results differ."""
    mean = np.mean(np.asarray(found, "f8"))
    if abs(mean - expected) > tolerance * abs(expected):
        raise SystemExit(f"{peer}: the mean is {mean}, not {expected}")
