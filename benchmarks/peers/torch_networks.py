"""The networks of networks.py in PyTorch, for the CPU and for CUDA."""

import networks
import torch
from torch.nn import functional as F

LAST = torch.channels_last


def parameters(case, device="cpu", channels_last=False):
    """The parameters for Linear and Conv2d: [units, inputs]."""
    made = []
    for value in case.parameters:
        value = torch.from_numpy(value.copy())
        if value.ndim == 2:
            value = value.T.contiguous()
        if value.ndim == 4 and channels_last:
            value = value.contiguous(memory_format=LAST)
        made.append(value.to(device).requires_grad_())
    return made


def logits(x, weights):
    """The network that the shapes of the parameters define."""
    for i in range(0, len(weights), 2):
        weight, bias = weights[i], weights[i + 1]
        if weight.ndim == 4:
            x = F.max_pool2d(F.relu(F.conv2d(x, weight, bias)), 2)
            continue
        x = F.linear(x.flatten(1), weight, bias)
        if i + 2 < len(weights):
            x = F.relu(x)
    return x


def image_of(case, batch, device, channels_last):
    image = torch.from_numpy(case.image[:batch]).to(device)
    if channels_last and image.ndim == 4:
        image = image.contiguous(memory_format=LAST)
    return image


def make_step(device="cpu", channels_last=False, compiled=False):
    """Returns make(case) for networks.measure."""

    def make(case):
        weights = parameters(case, device, channels_last)
        image = image_of(case, networks.BATCH, device, channels_last)
        label = torch.from_numpy(case.label).to(device)
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


def make_forward(device="cpu", channels_last=False, compiled=False):
    """Returns make(case, batch) for networks.measure."""

    def make(case, batch):
        weights = parameters(case, device, channels_last)
        image = image_of(case, batch, device, channels_last)
        function = torch.compile(logits) if compiled else logits

        def forward():
            with torch.no_grad() if compiled else torch.inference_mode():
                return function(image, weights).cpu().numpy()

        return forward

    return make
