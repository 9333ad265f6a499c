"""PyTorch: means over run-length masks, by prefix sums and by a dense mask."""

import peer_timing

options = peer_timing.arguments()
import numpy as np  # noqa: E402
import torch  # noqa: E402  (after the thread variables)

torch.set_num_threads(options.threads)
rows = {}
for batch, x_size, y_size, features, masks in options.sizes:
    random = np.random.default_rng(0)
    embedding = torch.from_numpy(random.standard_normal(
        (batch, x_size, y_size, features), dtype=np.float32))
    start = random.integers(0, y_size // 2, (batch, masks, x_size))
    length = random.integers(0, y_size // 4, (batch, masks, x_size))
    mask = torch.from_numpy(
        np.stack([start, start + length], -1).astype(np.int32))

    def by_prefix_sums():
        zeros = torch.zeros(batch, x_size, 1, features)
        sums = torch.cat([zeros, embedding.cumsum(2)], 2)
        begin, end = mask[..., 0].long(), mask[..., 1].long()
        b = torch.arange(batch)[:, None, None]
        x = torch.arange(x_size)[None, None]
        total = (sums[b, x, end] - sums[b, x, begin]).sum(2)
        count = (end - begin).sum(2)
        return total / count.clamp(min=1)[..., None], count

    def by_dense_mask():
        y = torch.arange(y_size)
        dense = (y >= mask[..., 0:1]) & (y < mask[..., 1:2])
        count = dense.sum((2, 3))
        total = torch.einsum("bmxy,bxyn->bmn", dense.float(), embedding)
        return total / count.clamp(min=1)[..., None], count

    row = (f"embedding/{batch}x{x_size}x{y_size}x{features}x{masks}"
           f"/t{options.threads}")
    rows[row] = {
        "torch_prefix_sums": 1e3 * peer_timing.median_seconds(by_prefix_sums),
        "torch_dense": 1e3 * peer_timing.median_seconds(by_dense_mask),
    }
peer_timing.report(rows)
