"""Trains a network of PyTorch with the values and batches of a file.

A twin calls :func:`train`. The file has ``start/<parameter>``, and for each
step ``<step>/<input>`` and, of sequences, ``<step>/<input>/lengths``;
``test/<input>`` are the inputs to be answered. Losses and outputs go to another
file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

torch.set_num_threads(1)  # the tensors are small


class Sequences(NamedTuple):
    """Rows of sequences, one after the other, and the lengths."""

    rows: torch.Tensor
    lengths: torch.Tensor

    def map(self, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        """The same sequences with other rows."""
        return Sequences(function(self.rows), self.lengths)

    def mask(self) -> torch.Tensor:
        """[sequences, longest]: where there are rows."""
        steps = torch.arange(int(self.lengths.max()))
        return steps[None] < self.lengths[:, None]

    def padded(self, value: float = 0.0) -> torch.Tensor:
        """[sequences, longest, ...], ``value`` after the ends."""
        mask = self.mask()
        made = torch.full((*mask.shape, *self.rows.shape[1:]), value).to(
            self.rows
        )
        made[mask] = self.rows
        return made

    def reversed(self) -> Any:
        """Each sequence from its end."""
        ends = self.lengths.cumsum(0)
        number = torch.arange(len(self.lengths)).repeat_interleave(self.lengths)
        rows = torch.arange(len(self.rows))
        return self.map(
            lambda x: x[(2 * ends - self.lengths - 1)[number] - rows]
        )

    def last(self) -> torch.Tensor:
        """The last row of each sequence."""
        return self.rows[self.lengths.cumsum(0) - 1]

    def windows(self, start: int, length: int) -> torch.Tensor:
        """[sequences, longest, length * width]: for each row those from
        ``start`` on, side by side; zeros outside the sequence.
        """
        x = self.padded()
        steps = x.shape[1]
        wide = torch.nn.functional.pad(x, (0, 0, length, length))
        parts = [
            wide[:, length + start + i :][:, :steps] for i in range(length)
        ]
        return torch.cat(parts, 2)


def _read(path: str) -> dict[str, dict[str, Any]]:
    """The values of a file by what stands before the first slash."""
    with np.load(path) as file:
        arrays = dict(file)
    found: dict[str, dict[str, Any]] = {}
    for key, array in arrays.items():
        if not key.endswith("/lengths"):
            group, _, name = key.partition("/")
            value: Any = torch.from_numpy(array)
            if f"{key}/lengths" in arrays:
                lengths = torch.from_numpy(arrays[f"{key}/lengths"])
                value = Sequences(value, lengths)
            found.setdefault(group, {})[name] = value
    return found


def lstm(
    x: Sequences,
    weight: torch.Tensor,
    bias: torch.Tensor,
    reverse: bool,
    candidate_act: Callable[..., torch.Tensor] = torch.tanh,
    cell_act: Callable[..., torch.Tensor] = torch.tanh,
) -> Sequences:
    """Fluid's ``dynamic_lstm`` with peepholes: gates in the order candidate,
    input, forget, output; the bias is theirs, and then the peepholes.
    """
    units = weight.shape[0]
    bias, peephole_i, peephole_f, peephole_o = bias[0].split(
        [4 * units, units, units, units]
    )
    gates = (x.reversed() if reverse else x).padded() + bias
    h = c = gates.new_zeros(len(gates), units)
    hidden = []
    for t in range(gates.shape[1]):
        candidate, i, f, o = (gates[:, t] + h @ weight).split(units, 1)
        i = torch.sigmoid(i + peephole_i * c)
        f = torch.sigmoid(f + peephole_f * c)
        c = f * c + i * candidate_act(candidate)
        h = torch.sigmoid(o + peephole_o * c) * cell_act(c)
        hidden.append(h)
    made = Sequences(torch.stack(hidden, 1)[x.mask()], x.lengths)
    return made.reversed() if reverse else made


class Adam(torch.optim.Optimizer):
    """Fluid's formula: epsilon is added before the second moment is scaled."""

    def __init__(
        self, parameters: Any, lr: float, eps: float = 1e-8, one: float = 0.9
    ) -> None:
        super().__init__(parameters, {"lr": lr, "eps": eps, "one": one})

    @torch.no_grad()
    def step(self) -> None:
        """Update each parameter that has a gradient."""
        for group in self.param_groups:
            one, two = group["one"], 0.999
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state.update(
                        t=0, m=torch.zeros_like(p), v=torch.zeros_like(p)
                    )
                state["t"] += 1
                state["m"].lerp_(p.grad, 1 - one)
                state["v"].mul_(two).addcmul_(p.grad, p.grad, value=1 - two)
                rate = group["lr"] * (1 - two ** state["t"]) ** 0.5
                rate /= 1 - one ** state["t"]
                p.sub_(rate * state["m"] / (state["v"].sqrt() + group["eps"]))


def train(
    networks: dict[str, Callable[[dict[str, torch.Tensor]], Any]],
) -> None:
    """Train one of these networks, by the name on the command line.

    Each is called with the start values by name, and returns steps and a
    function. A step is a pair of a function from a batch to a loss, and an
    optimizer; each batch is shown to all steps in turn. The function at the end
    returns the outputs for inputs.
    """
    given, got, name = sys.argv[1:]
    values = _read(given)
    start = {
        k: v for k, v in values.pop("start").items() if v.is_floating_point()
    }
    test = values.pop("test")
    for value in start.values():
        value.requires_grad_()
    steps, outputs = networks[name](start)
    losses = []
    for number in range(len(values)):
        losses.append([])
        for loss_of, optimizer in steps:
            optimizer.zero_grad()
            loss = loss_of(values[str(number)])
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    with torch.no_grad():
        made = outputs(test)
    answers = {f"output/{i}": each.numpy() for i, each in enumerate(made)}
    np.savez(got, losses=np.array(losses), **answers)
