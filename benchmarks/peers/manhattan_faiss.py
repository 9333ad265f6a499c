"""FAISS: pairwise_distances with METRIC_L1."""

import peer_timing

options = peer_timing.arguments()
import faiss  # noqa: E402  (after the thread variables)

faiss.omp_set_num_threads(options.threads)
rows = {}
for size in options.sizes:
    x, y = peer_timing.matrices(size)
    seconds = peer_timing.median_seconds(
        lambda: faiss.pairwise_distances(x, y, metric=faiss.METRIC_L1))
    row = peer_timing.row_id("manhattan", size, options.threads)
    rows[row] = {"faiss": peer_timing.gigapairs(size, seconds)}
peer_timing.report(rows)
