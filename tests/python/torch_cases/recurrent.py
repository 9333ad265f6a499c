"""Recurrent layers."""

from __future__ import annotations

import itertools

from .case import Case, case, torch

DIRECTIONS = ("forward", "bidirectional")


def layer(rng, direction, batch_first, gates):
    """Inputs of our op, and the attributes that go with them."""
    steps, batch, size, hidden = (int(n) for n in rng.integers(1, 8, 4))
    ways = 2 if direction == "bidirectional" else 1
    x = (batch, steps, size) if batch_first else (steps, batch, size)
    first = (batch, ways, hidden) if batch_first else (ways, batch, hidden)
    shapes = {
        "X": x,
        "W": (ways, gates * hidden, size),
        "R": (ways, gates * hidden, hidden),
        "Bias": (ways, 2 * gates * hidden),
        "InitialH": first,
    }
    inputs = {
        name: rng.standard_normal(shape) for name, shape in shapes.items()
    }
    if gates == 4:
        inputs["InitialC"] = rng.standard_normal(first)
    return inputs, {"direction": direction, "batch_first": batch_first}


def same(t, attrs, module, order):
    """The outputs of a PyTorch layer, whose gates are in another order."""
    first = attrs["batch_first"]
    ways = t["W"].shape[0]
    hidden = t["R"].shape[2]
    theirs = module(
        t["X"].shape[2], hidden, batch_first=first, bidirectional=ways == 2
    ).to(t["X"].dtype)

    def gates(rows):
        parts = rows.split(hidden)
        return torch.cat([parts[i] for i in order])

    parameters = {}
    for way, suffix in zip(range(ways), ("", "_reverse")):
        biases = t["Bias"][way].chunk(2)
        values = (t["W"][way], t["R"][way], *biases)
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        for name, value in zip(names, values):
            parameters[name + suffix] = gates(value)
    states = [
        t[name].transpose(0, 1).contiguous() if first else t[name]
        for name in ("InitialH", "InitialC")
        if name in t
    ]
    x = t["X"]
    if "SequenceLens" in t:
        lens = t["SequenceLens"].to(torch.int64)
        x = torch.nn.utils.rnn.pack_padded_sequence(
            x, lens, first, enforce_sorted=False
        )
    y, last = torch.func.functional_call(
        theirs, parameters, (x, tuple(states) if len(states) > 1 else states[0])
    )
    if "SequenceLens" in t:
        steps = t["X"].shape[1 if first else 0]
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(
            y, first, total_length=steps
        )
    last = last if isinstance(last, tuple) else (last,)
    y = y.unflatten(-1, (ways, hidden))
    out = {"Y": y if first else y.transpose(1, 2)}
    for name, state in zip(("LastH", "LastC"), last):
        out[name] = state.transpose(0, 1) if first else state
    return out


def recurrent(rng, direction, batch_first, padded, module, order, **more):
    inputs, attrs = layer(rng, direction, batch_first, len(order))
    grads = tuple(inputs)
    if padded:
        shape = inputs["X"].shape
        steps, batch = shape[::-1][1:] if batch_first else shape[:2]
        inputs["SequenceLens"] = rng.integers(1, steps + 1, batch, "i4")
    return Case(
        inputs,
        lambda t: same(t, attrs, module(), order),
        {**attrs, **more},
        grads,
    )


# Direction, whether the batch comes first, whether rows differ in length.
WAYS = (
    *itertools.product(DIRECTIONS, (False, True), (False,)),
    ("bidirectional", False, True),
    ("forward", True, True),
)


@case("simple_rnn", *WAYS)
def simple_rnn(rng, *way):
    return recurrent(rng, *way, lambda: torch.nn.RNN, (0,))


@case("gru", *WAYS)
def gru(rng, *way):
    return recurrent(
        rng, *way, lambda: torch.nn.GRU, (1, 0, 2), linear_before_reset=True
    )


@case("lstm", *WAYS)
def lstm(rng, *way):
    return recurrent(rng, *way, lambda: torch.nn.LSTM, (0, 2, 3, 1))


@case("lstm")
def lstm_with_peepholes(rng):
    inputs, attrs = layer(rng, "forward", False, 4)
    hidden = inputs["R"].shape[2]
    inputs["Peephole"] = rng.standard_normal((1, 3 * hidden))

    def loop(t):
        h, c = t["InitialH"][0], t["InitialC"][0]
        peepholes = t["Peephole"][0].chunk(3)
        bias = sum(t["Bias"][0].chunk(2))
        rows = []
        for x in t["X"]:
            sums = x @ t["W"][0].T + h @ t["R"][0].T + bias
            i, o, f, g = sums.chunk(4, 1)
            f = torch.sigmoid(f + peepholes[2] * c)
            c = f * c + torch.sigmoid(i + peepholes[0] * c) * torch.tanh(g)
            h = torch.sigmoid(o + peepholes[1] * c) * torch.tanh(c)
            rows.append(h[None])
        return {"Y": torch.stack(rows), "LastH": h[None], "LastC": c[None]}

    return Case(inputs, loop, attrs, tuple(inputs))
