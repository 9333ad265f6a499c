"""Numba: three loops, parallel and with fastmath, into a given output."""

import peer_timing

options = peer_timing.arguments()
import numba  # noqa: E402  (after the thread variables)
import numpy as np  # noqa: E402


@numba.njit(parallel=True, fastmath=True)
def distances(x, y, z):
    for i in numba.prange(x.shape[0]):
        for j in range(y.shape[0]):
            total = np.float32(0)
            for k in range(x.shape[1]):
                total += abs(x[i, k] - y[j, k])
            z[i, j] = total


numba.set_num_threads(options.threads)


def prepare(x, y):
    z = np.empty((len(x), len(y)), np.float32)
    return lambda: distances(x, y, z)


peer_timing.report(peer_timing.distances(options, "numba_fastmath", prepare))
