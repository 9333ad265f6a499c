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
rows = {}
for size in options.sizes:
    x, y = peer_timing.matrices(size)
    z = np.empty(size[:2], np.float32)
    seconds = peer_timing.median_seconds(lambda: distances(x, y, z))
    row = peer_timing.row_id("manhattan", size, options.threads)
    rows[row] = {"numba_fastmath": peer_timing.gigapairs(size, seconds)}
peer_timing.report(rows)
