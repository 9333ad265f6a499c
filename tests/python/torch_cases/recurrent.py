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

    with torch.no_grad():
        for way, suffix in zip(range(ways), ("", "_reverse")):
            biases = t["Bias"][way].chunk(2)
            values = (t["W"][way], t["R"][way], *biases)
            names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
            for name, value in zip(names, values):
                getattr(theirs, name + suffix).copy_(gates(value))
        states = [
            t[name].transpose(0, 1).contiguous() if first else t[name]
            for name in ("InitialH", "InitialC")
            if name in t
        ]
        y, last = theirs(
            t["X"], tuple(states) if len(states) > 1 else states[0]
        )
    last = last if isinstance(last, tuple) else (last,)
    y = y.unflatten(-1, (ways, hidden))
    out = {"Y": y if first else y.transpose(1, 2)}
    for name, state in zip(("LastH", "LastC"), last):
        out[name] = state.transpose(0, 1) if first else state
    return out


def recurrent(rng, direction, batch_first, module, order, **more):
    inputs, attrs = layer(rng, direction, batch_first, len(order))
    return Case(
        inputs, lambda t: same(t, attrs, module(), order), {**attrs, **more}
    )


@case("simple_rnn", *itertools.product(DIRECTIONS, (False, True)))
def simple_rnn(rng, direction, batch_first):
    return recurrent(rng, direction, batch_first, lambda: torch.nn.RNN, (0,))


@case("gru", *itertools.product(DIRECTIONS, (False, True)))
def gru(rng, direction, batch_first):
    return recurrent(
        rng, direction, batch_first, lambda: torch.nn.GRU, (1, 0, 2),
        linear_before_reset=True,
    )  # fmt: skip


@case("lstm", *itertools.product(DIRECTIONS, (False, True)))
def lstm(rng, direction, batch_first):
    return recurrent(
        rng, direction, batch_first, lambda: torch.nn.LSTM, (0, 2, 3, 1)
    )
