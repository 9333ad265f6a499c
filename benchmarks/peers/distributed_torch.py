"""PyTorch's DistributedDataParallel over gloo: one rank of bench_distributed.py,
which starts several with torchrun."""

import contextlib
import os
import sys

# Binds each rank, with all its threads, to one CPU, if there are enough.
cpus = sorted(os.sched_getaffinity(0))
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
if size <= len(cpus):
    os.sched_setaffinity(0, {cpus[rank]})

import ranks  # noqa: E402
import torch  # noqa: E402
import torch.distributed  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402


class Lenet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 20, 5), nn.Conv2d(20, 50, 5)
        self.fc1, self.fc2 = nn.Linear(800, 500), nn.Linear(500, 10)

    def forward(self, x):
        for conv in (self.conv1, self.conv2):
            x = F.max_pool2d(F.relu(conv(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Block(nn.Module):
    def __init__(self, channels, filters):
        super().__init__()
        stride = 1 if channels == filters else 2
        self.conv1 = nn.Conv2d(channels, filters, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(filters)
        self.conv2 = nn.Conv2d(filters, filters, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(filters)
        self.shortcut = None
        if stride != 1:
            self.shortcut = nn.Conv2d(channels, filters, 1, stride, bias=False)

    def forward(self, x):
        branch = F.relu(self.norm1(self.conv1(x)))
        branch = self.norm2(self.conv2(branch))
        if self.shortcut is not None:
            x = self.shortcut(x)
        return F.relu(x + branch)


class Resnet20(nn.Module):
    def __init__(self):
        super().__init__()
        channels = ranks.FILTERS[0]
        self.conv = nn.Conv2d(3, channels, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        blocks = []
        for filters in ranks.FILTERS:
            for _ in range(ranks.BLOCKS):
                blocks.append(Block(channels, filters))
                channels = filters
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(channels, 10, bias=False)

    def forward(self, x):
        x = self.blocks(F.relu(self.norm(self.conv(x))))
        return self.fc(x.mean((2, 3)))


class Parameters(nn.Module):
    """Parameters whose gradients cost next to nothing."""

    def __init__(self, values):
        super().__init__()
        self.values = nn.ParameterList(
            nn.Parameter(torch.from_numpy(value.copy())) for value in values
        )

    def forward(self):
        return sum(value.square().mean() for value in self.values)


def step_of(model, loss_of, parallel, momentum):
    if parallel:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=ranks.RATE, momentum=momentum, foreach=True
    )

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def network_step(network, parallel=True, momentum=ranks.MOMENTUM):
    model = {"lenet": Lenet, "resnet20": Resnet20}[network]()
    values = ranks.parameters(network)
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), values, strict=True):
            given = torch.from_numpy(value)
            parameter.copy_(given.T if given.ndim == 2 else given)
    image, label = map(torch.from_numpy, ranks.batch(network, rank))
    return step_of(model, lambda model: F.cross_entropy(model(image), label),
                   parallel, momentum)


def parameters_step(network, parallel=True, momentum=0):
    model = Parameters(ranks.parameters(network))
    return step_of(model, lambda model: model(), parallel, momentum)


def reduced(values, how):
    """See ranks.Ranks."""
    tensor = torch.tensor(values)
    torch.distributed.all_reduce(
        tensor, getattr(torch.distributed.ReduceOp, how.upper())
    )
    return tensor.tolist()


def buckets(world):
    return {
        "turns": world.take_turns({
            "without": parameters_step("resnet20", parallel=False),
            "buckets": parameters_step("resnet20"),
        })
    }


def hidden(world):
    return ranks.hidden(world, network_step, parameters_step)


def scaling(world):
    return ranks.scaling(world, network_step)


WANTS = {"buckets": buckets, "hidden": hidden, "scaling": scaling}


def main():
    options = ranks.parse_arguments([*WANTS, "start"])
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    torch.distributed.init_process_group("gloo")
    with contextlib.ExitStack() as stack:
        stack.callback(torch.distributed.destroy_process_group)
        if options.what == "start":
            network_step("lenet", momentum=0)()
            ranks.report_end_of_step(rank)
            return 0
        world = ranks.Ranks(rank, size, reduced, options)
        ranks.report(rank, WANTS[options.what](world))
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # Some threads outlive the process group and would call std::terminate.
    os._exit(status)
