"""PyTorch: the suite `train`, eager, with channels last, and compiled."""

import peer_timing

options = peer_timing.arguments()
import networks  # noqa: E402
import torch  # noqa: E402  (after the thread variables)
from torch.nn import functional as F  # noqa: E402

torch.set_num_threads(options.threads)
torch.set_num_interop_threads(1)
LAST = torch.channels_last


def parameters(case, channels_last=False):
    """As Linear and Conv2d have them: [units, inputs]."""
    made = []
    for value in case.parameters:
        value = torch.from_numpy(value.copy())
        if value.ndim == 2:
            value = value.T.contiguous()
        if value.ndim == 4 and channels_last:
            value = value.contiguous(memory_format=LAST)
        made.append(value.requires_grad_())
    return made


def logits(x, weights):
    """The network, by the shapes of its parameters."""
    for i in range(0, len(weights), 2):
        weight, bias = weights[i], weights[i + 1]
        if weight.ndim == 4:
            x = F.max_pool2d(F.relu(F.conv2d(x, weight, bias)), 2)
            continue
        x = F.linear(x.flatten(1), weight, bias)
        if i + 2 < len(weights):
            x = F.relu(x)
    return x


def image_of(case, batch, channels_last):
    image = torch.from_numpy(case.image[:batch])
    if channels_last and image.ndim == 4:
        image = image.contiguous(memory_format=LAST)
    return image


def make_step(channels_last=False, compiled=False):
    def make(case):
        weights = parameters(case, channels_last)
        image = image_of(case, networks.BATCH, channels_last)
        label = torch.from_numpy(case.label)
        sgd = torch.optim.SGD(weights, lr=networks.RATE, foreach=True)

        def loss_of(x):
            return F.cross_entropy(logits(x, weights), label)

        function = torch.compile(loss_of) if compiled else loss_of

        def step():
            sgd.zero_grad(set_to_none=True)
            loss = function(image)
            loss.backward()
            sgd.step()
            return loss.item()

        return step

    return make


def make_forward(channels_last=False):
    def make(case, batch):
        weights = parameters(case, channels_last)
        image = image_of(case, batch, channels_last)

        def forward():
            with torch.inference_mode():
                return logits(image, weights).numpy()

        return forward

    return make


networks.run_peer(
    __file__, options, "torch",
    {"torch": make_step(), "torch_channels_last": make_step(True)},
    {"torch": make_forward(), "torch_channels_last": make_forward(True)})
