"""SciPy: cdist with cityblock, which computes in float64 on one thread."""

import peer_timing

options = peer_timing.arguments()
from scipy.spatial.distance import cdist  # noqa: E402


def prepare(x, y):
    x, y = x.astype("float64"), y.astype("float64")
    return lambda: cdist(x, y, "cityblock")


peer_timing.report(peer_timing.distances(options, "scipy_f64", prepare, 3))
