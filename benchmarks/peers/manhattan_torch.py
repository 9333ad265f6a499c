"""PyTorch: cdist with p = 1, and the gradient of both of its inputs."""

import peer_timing

options = peer_timing.arguments()
import torch  # noqa: E402  (after the thread variables)

torch.set_num_threads(options.threads)
rows = {}
for size in options.sizes:
    x, y = map(torch.from_numpy, peer_timing.matrices(size))
    seconds = peer_timing.median_seconds(lambda: torch.cdist(x, y, p=1.0),
                                         at_least=5)
    row = peer_timing.row_id("manhattan", size, options.threads)
    rows[row] = {"torch": peer_timing.gigapairs(size, seconds)}

    x.requires_grad_()
    y.requires_grad_()
    z = torch.cdist(x, y, p=1.0)
    weights = torch.ones_like(z)
    seconds = peer_timing.median_seconds(
        lambda: torch.autograd.grad(z, (x, y), weights, retain_graph=True),
        at_least=3)
    row = peer_timing.row_id("manhattan_grad", size, options.threads)
    rows[row] = {"torch": peer_timing.gigapairs(size, seconds)}
peer_timing.report(rows)
