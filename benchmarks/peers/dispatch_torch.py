"""PyTorch: a chain of 1,000 additions of 4x4 float32, eager and as traced
TorchScript, on one thread; ns per op."""

import peer_timing

options = peer_timing.arguments()
import warnings  # noqa: E402

import torch  # noqa: E402  (after the thread variables)

OPS = 1000
torch.set_num_threads(1)
warnings.simplefilter("ignore")  # newer versions deprecate TorchScript
x = torch.ones(4, 4)
y = torch.full((4, 4), 1e-3)


def chain(value):
    for _ in range(OPS):
        value = value + y
    return value


with torch.no_grad():
    torch.testing.assert_close(chain(x), x + OPS * 1e-3, rtol=1e-3, atol=0)
    eager = peer_timing.median_seconds(lambda: chain(x))
    traced = torch.jit.trace(chain, (x,), check_trace=False)
    script = peer_timing.median_seconds(lambda: traced(x))
peer_timing.report({"dispatch/chain1000": {
    "torch_eager": eager / OPS * 1e9,
    "torch_jit": script / OPS * 1e9,
}})
