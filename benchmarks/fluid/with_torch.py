"""PyTorch's contestants of `./dev bench fluid`; see worker.py."""

import cases
import images
import numpy as np
import torch
import worker
from torch import nn
from torch.nn import functional as F

VERSION = torch.__version__


def set_threads(count):
    torch.set_num_threads(count)
    torch.set_num_interop_threads(1)


def parameter(value):
    return nn.Parameter(torch.from_numpy(np.ascontiguousarray(value)))


def step_of(parameters, loss_of, optimizer=None):
    """A training step, by default with SGD."""
    optimizer = optimizer or torch.optim.SGD(parameters, lr=cases.RATE,
                                             fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def classifier(case, parameters, last_of):
    """The training step of a classifier by the last states [batch, units]."""
    weight, bias = parameter(case.weight), parameter(case.bias)
    label = torch.from_numpy(case.label)

    def loss_of():
        return F.cross_entropy(F.linear(last_of(), weight, bias), label)

    return worker.Steps(step_of([*parameters, weight, bias], loss_of))


def by_layer(count, form="whole"):
    """The stacked classifier by nn.LSTM."""

    def make(sizes):
        case = cases.Sequences(sizes, count)
        lstm = nn.LSTM(sizes.units, sizes.units, count)
        values = [value for layer in case.layers for value in layer]
        with torch.no_grad():
            for to, value in zip(lstm.parameters(), values, strict=True):
                to.copy_(torch.from_numpy(value))
        x, lengths = torch.from_numpy(case.x), torch.from_numpy(case.lengths)
        if form == "packed":
            x = nn.utils.rnn.pack_padded_sequence(x, lengths,
                                                  enforce_sorted=False)
        ends, rows = lengths - 1, torch.arange(sizes.batch)

        def last_of():
            outputs, (last, _) = lstm(x)
            return outputs[ends, rows] if form == "padded" else last[-1]

        return classifier(case, lstm.parameters(), last_of)

    return make


def cell(x, h, c, w, u, a, b):
    """The same cell as in with_sluice."""
    i, f, g, o = (torch.addmm(a, x, w) + torch.addmm(b, h, u)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def by_cell(compiled=""):
    """A loop over the cell; `compiled` is "cell", "loop" or neither."""

    def make(sizes):
        case = cases.Sequences(sizes, 1)
        ((w, u, a, b),) = case.layers
        parameters = [parameter(value) for value in (w.T, u.T, a, b)]
        x = torch.from_numpy(case.x)
        one = torch.compile(cell) if compiled == "cell" else cell

        def last_of(x, *parameters):
            h = c = torch.zeros(sizes.batch, sizes.units)
            for t in range(sizes.steps):
                h, c = one(x[t], h, c, *parameters)
            return h

        if compiled == "loop":
            last_of = torch.compile(last_of)
        return classifier(case, parameters, lambda: last_of(x, *parameters))

    return make


def by_table(sparse, optimizer):
    def make(sizes):
        values, batches = cases.table(sizes)
        table, batches = parameter(values), torch.from_numpy(batches)
        rate = cases.RATE if optimizer == "SGD" else cases.ADAM_RATE
        chosen = getattr(torch.optim, optimizer)([table], lr=rate)
        turn = 0

        def loss_of():
            nonlocal turn
            turn += 1
            found = F.embedding(batches[turn % cases.IDS], table,
                                sparse=sparse)
            return (found * found).sum() * 0.5

        return worker.Steps(step_of([table], loss_of, chosen))

    return make


def by_adam(many, **settings):
    """The optimizer's step alone."""

    def make(sizes):
        parameters = []
        for value, slope in cases.parameters(sizes, many):
            parameters.append(parameter(value))
            parameters[-1].grad = torch.from_numpy(slope)
        adam = torch.optim.Adam(parameters, lr=cases.ADAM_RATE, **settings)

        def mean():
            with torch.no_grad():
                return np.mean([p.mean(dtype=torch.float64).item()
                                for p in parameters])

        return worker.Steps(adam.step, mean)

    return make


def loader(sizes):
    return torch.utils.data.DataLoader(
        images.Images(sizes.batches * images.BATCH), images.BATCH,
        shuffle=True, num_workers=images.WORKERS, persistent_workers=True)


def busy(sizes):
    """The network of with_sluice.py."""
    network = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 8 * 8, 10))
    sgd = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9,
                          fused=True)

    def step(batch):
        pictures, label = batch
        sgd.zero_grad(set_to_none=True)
        loss = F.cross_entropy(network(pictures), label.flatten())
        loss.backward()
        sgd.step()
        return loss.item()

    return worker.Busy(loader(sizes), step)


ADAMS = {"torch": {}, "torch_foreach": {"foreach": True},
         "torch_fused": {"fused": True}}
ROWS = {
    "lstm": {"torch": by_layer(2)},
    "cell": {"torch_loop": by_cell(), "torch_compiled_cell": by_cell("cell"),
             "torch_compiled_loop": by_cell("loop"),
             "torch_lstm": by_layer(1)},
    "packed": {"torch_packed": by_layer(2, "packed"),
               "torch_padded": by_layer(2, "padded")},
    "sgd": {"torch_sparse": by_table(True, "SGD"),
            "torch_dense": by_table(False, "SGD")},
    "lazy_adam": {"torch_sparse": by_table(True, "SparseAdam"),
                  "torch_dense": by_table(False, "Adam")},
    "adam_large": {name: by_adam(False, **s) for name, s in ADAMS.items()},
    "adam_many": {name: by_adam(True, **s) for name, s in ADAMS.items()},
    "loader": {"torch": lambda sizes: worker.Batches(loader(sizes))},
    "busy": {"torch": busy},
}
