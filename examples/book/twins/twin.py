"""Trains a network of PyTorch with the values and batches of a file.

A twin calls :func:`train`. The file has ``start/<parameter>``, and for each step
``<step>/<input>`` and, of sequences, ``<step>/<input>/lengths``; ``test/<input>``
are the inputs to be answered. Losses and outputs go to another file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch


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
        made = torch.full((*mask.shape, *self.rows.shape[1:]), value).to(self.rows)
        made[mask] = self.rows
        return made


def _inputs(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key in arrays:
        if key.startswith(prefix) and not key.endswith("/lengths"):
            value = torch.from_numpy(arrays[key])
            lengths = arrays.get(f"{key}/lengths")
            if lengths is not None:
                value = Sequences(value, torch.from_numpy(lengths))
            found[key.removeprefix(prefix)] = value
    return found


class Adam(torch.optim.Optimizer):
    """Fluid's formula: epsilon is added before the second moment is scaled."""

    def __init__(self, parameters: Any, lr: float, betas=(0.9, 0.999)) -> None:
        super().__init__(parameters, {"lr": lr, "betas": betas})

    @torch.no_grad()
    def step(self) -> None:
        """Update each parameter that has a gradient."""
        for group in self.param_groups:
            one, two = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state.update(t=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                state["t"] += 1
                state["m"].lerp_(p.grad, 1 - one)
                state["v"].mul_(two).addcmul_(p.grad, p.grad, value=1 - two)
                rate = group["lr"] * (1 - two ** state["t"]) ** 0.5
                rate /= 1 - one ** state["t"]
                p.sub_(rate * state["m"] / (state["v"].sqrt() + 1e-8))


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
    with np.load(given) as file:
        arrays = dict(file)
    start = {
        key.removeprefix("start/"): torch.from_numpy(value).requires_grad_()
        for key, value in arrays.items()
        if key.startswith("start/")
    }
    steps, outputs = networks[name](start)
    count = 1 + max(int(k.split("/")[0]) for k in arrays if k[0].isdigit())
    losses = []
    for number in range(count):
        batch = _inputs(arrays, f"{number}/")
        losses.append([])
        for loss_of, optimizer in steps:
            optimizer.zero_grad()
            loss = loss_of(batch)
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    with torch.no_grad():
        made = outputs(_inputs(arrays, "test/"))
    answers = {f"output/{i}": each.numpy() for i, each in enumerate(made)}
    np.savez(got, losses=np.array(losses), **answers)
