"""Jobs that the laboratory runs, and its built-in networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sluice as sl
from sluice import tracebacks

from .arrays import check_size

tracebacks.USERS_FILES.add(__file__)


@dataclass
class Job:
    """A program ready to run: with feeds, and parameters in a scope."""

    name: str
    program: sl.Program
    feed: dict[str, Any]
    fetch_list: list[Any] | None
    scope: sl.Scope


def lenet(image: sl.Variable) -> sl.Variable:
    """Two convolutions with pooling and two dense layers, for 28x28 pixels."""
    x = image
    for filters in (20, 50):
        x = sl.layers.conv2d(x, filters, 5, act="relu")
        x = sl.layers.pool2d(x, 2)
    x = sl.layers.fc(x, 500, act="relu")
    return sl.layers.fc(x, 10)


def mlp(image: sl.Variable) -> sl.Variable:
    """Two dense layers of 256 and 128 units, for 28x28 pixels."""
    x = sl.layers.fc(image, 256, act="relu")
    x = sl.layers.fc(x, 128, act="relu")
    return sl.layers.fc(x, 10)


NETWORKS: dict[str, Callable[[sl.Variable], sl.Variable]] = {
    "lenet": lenet,
    "mlp": mlp,
}


def build(name: str, batch: int) -> Job:
    """A training step of one of NETWORKS, with random images and labels.

    Raises ResourceExhaustedError for a batch larger than the memory.
    """
    check_size(f"{name}: image of batch {batch}", (batch, 1, 28, 28), "float32")
    program, startup, scope = sl.Program(), sl.Program(), sl.Scope()
    startup.random_seed = 1
    with sl.program_guard(program, startup), sl.unique_name.guard():
        image = sl.data("image", [None, 1, 28, 28])
        label = sl.data("label", [None, 1], "int64")
        logits = NETWORKS[name](image)
        loss = sl.layers.mean(
            sl.layers.softmax_with_cross_entropy(logits, label)
        )
        sl.optimizer.Momentum(0.01).minimize(loss)
    sl.Executor().run(startup, scope=scope)
    random = np.random.default_rng(0)
    feed = {
        "image": random.random((batch, 1, 28, 28), np.float32),
        "label": random.integers(0, 10, (batch, 1)),
    }
    return Job(name, program, feed, [loss], scope)
