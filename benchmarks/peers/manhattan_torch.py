"""PyTorch: cdist with p = 1, and the gradient of both of its inputs."""

import peer_timing

options = peer_timing.arguments()
import torch  # noqa: E402  (after the thread variables)

torch.set_num_threads(options.threads)


def forward(x, y):
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    return lambda: torch.cdist(x, y, p=1.0)


def backward(x, y):
    inputs = [torch.from_numpy(a).requires_grad_() for a in (x, y)]
    z = torch.cdist(*inputs, p=1.0)
    weights = torch.ones_like(z)
    return lambda: torch.autograd.grad(z, inputs, weights, retain_graph=True)


peer_timing.report({
    **peer_timing.distances(options, "torch", forward, 5),
    **peer_timing.distances(options, "torch", backward, 3, "manhattan_grad"),
})
