"""SciPy: cdist with cityblock, which computes in float64 on one thread."""

import peer_timing

options = peer_timing.arguments()
from scipy.spatial.distance import cdist  # noqa: E402

rows = {}
for size in options.sizes:
    x, y = (a.astype("float64") for a in peer_timing.matrices(size))
    seconds = peer_timing.median_seconds(lambda: cdist(x, y, "cityblock"),
                                         at_least=3)
    row = peer_timing.row_id("manhattan", size, options.threads)
    rows[row] = {"scipy_f64": peer_timing.gigapairs(size, seconds)}
peer_timing.report(rows)
