"""FAISS: pairwise_distances with METRIC_L1."""

import peer_timing

options = peer_timing.arguments()
import faiss  # noqa: E402  (after the thread variables)

faiss.omp_set_num_threads(options.threads)
peer_timing.report(peer_timing.distances(
    options, "faiss", lambda x, y: lambda: faiss.pairwise_distances(
        x, y, metric=faiss.METRIC_L1)))
