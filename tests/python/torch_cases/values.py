"""Outputs and gradients of a case, and PyTorch's results for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .case import torch

# Largest errors relative to the value and to the largest value of a tensor.
TOLERANCE = {"float32": 2e-5, "float64": 1e-11}


@dataclass
class Value:
    """An array and the name of its dtype. `differentiable` means that gradients
    pass through an output."""

    array: np.ndarray
    dtype: str
    differentiable: bool = False

    @classmethod
    def of_tensor(cls, tensor):
        dtype = str(tensor.dtype).removeprefix("torch.")
        return cls(tensor.detach().numpy(), dtype, tensor.requires_grad)

    def rounded(self):
        """Floats as float32."""
        if self.array.dtype.kind != "f":
            return self
        array = self.array.astype("float32")
        return Value(array, "float32", self.differentiable)


@dataclass
class Values:
    """Outputs by name, and the gradients of their weighted sum."""

    outputs: dict[str, Value]
    grads: list[Value] = field(default_factory=list)

    def all(self):
        """Every output and gradient."""
        return [*self.outputs.values(), *self.grads]

    def rounded(self):
        outputs = {name: one.rounded() for name, one in self.outputs.items()}
        return Values(outputs, [one.rounded() for one in self.grads])

    def names(self):
        """Their names in messages."""
        grads = [f"gradient {i}" for i in range(len(self.grads))]
        return [*self.outputs, *grads]

    def differentiable(self):
        """The outputs in the weighted sum."""
        return [k for k, v in self.outputs.items() if v.differentiable]


def cast(value: Any, dtype: str):
    """Floats as `dtype`, integers unchanged; lists element by element."""
    if isinstance(value, list):
        return [cast(one, dtype) for one in value]
    return value.astype(dtype) if value.dtype.kind == "f" else value


def pairs_of(inputs):
    """(argument, position, array) of every input."""
    for name, value in inputs.items():
        for i, one in enumerate(value if isinstance(value, list) else [value]):
            yield name, i, one


def weights_of(shape):
    """The weights of an output: its gradient is 0.5, 1.5 and so on."""
    return (np.arange(np.prod(shape, dtype=int)) % 7 + 0.5).reshape(shape)


def theirs(case, inputs) -> Values:
    """PyTorch's results."""
    tensors, wanted = {}, []
    for name, _, array in pairs_of(inputs):
        tensor = torch.from_numpy(np.array(array))
        if name in case.grads:
            wanted.append(tensor.requires_grad_())
        tensors.setdefault(name, []).append(tensor)
    given = {
        name: many if isinstance(inputs[name], list) else many[0]
        for name, many in tensors.items()
    }
    outputs = case.same(given)
    values = Values({k: Value.of_tensor(v) for k, v in outputs.items()})
    if case.grads:
        loss = sum(
            (out * torch.from_numpy(weights_of(out.shape)).to(out.dtype)).sum()
            for out in outputs.values()
            if out.requires_grad
        )
        grads = torch.autograd.grad(loss, wanted)
        values.grads = [Value.of_tensor(grad) for grad in grads]
    return values


def assert_close(what, found: Value, expected: Value, tolerance):
    assert found.dtype == expected.dtype, what
    assert found.array.shape == expected.array.shape, what
    array = expected.array
    if array.dtype.kind != "f":
        np.testing.assert_array_equal(found.array, array, what)
        return
    largest = np.abs(array[np.isfinite(array)]).max(initial=1)
    np.testing.assert_allclose(
        found.array,
        array,
        rtol=tolerance,
        atol=tolerance * largest,
        err_msg=what,
    )


def assert_all_close(what, found: Values, expected: Values, tolerance):
    assert found.names() == expected.names(), what
    for name, one, other in zip(found.names(), found.all(), expected.all()):
        assert_close(f"{what}, {name}", one, other, tolerance)
