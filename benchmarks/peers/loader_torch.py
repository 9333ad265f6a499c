"""PyTorch: the suite `loader`."""

import peer_timing

options = peer_timing.arguments()
import images  # noqa: E402
import torch  # noqa: E402  (after the thread variables)

torch.set_num_threads(1)
loader = torch.utils.data.DataLoader(
    images.Images(int(options.sizes[0][0])), images.BATCH, shuffle=True,
    num_workers=images.WORKERS, persistent_workers=True)
seconds = images.batch_seconds(loader, options)
peer_timing.report({"loader/images64/w2": {"torch": seconds * 1e6}})
