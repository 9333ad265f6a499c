"""A kernel to be verified."""

import numpy as np

import sluice as sl


@sl.kernel("relu", variant="mine", dtypes=["float32"])
def relu(x):
    return np.maximum(x, 0)
