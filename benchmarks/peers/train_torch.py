"""PyTorch: the suite `train`, eager, and with channels last."""

import peer_timing

options = peer_timing.arguments()
import networks  # noqa: E402
import torch  # noqa: E402  (after the thread variables)
from torch_networks import make_forward, make_step  # noqa: E402

torch.set_num_threads(options.threads)
torch.set_num_interop_threads(1)
networks.run_peer(
    __file__, options, "torch",
    {"torch": make_step(), "torch_channels_last": make_step(channels_last=True)},
    {"torch": make_forward(),
     "torch_channels_last": make_forward(channels_last=True)})
