"""Initial values of parameters, as ops in the startup program."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np

from .elsewhere import checked, help_with_names
from .errors import InvalidArgumentError
from .feed_values import number, positive, unmasked
from .param_attr import Initializer
from .program import Variable

__all__ = [
    "MSRA", "Bilinear", "Constant", "Initializer", "Normal", "NumpyArray",
    "NumpyArrayInitializer", "Orthogonal", "TruncatedNormal", "Uniform",
    "Xavier",
]


@checked
class Constant(Initializer):
    """Fills a parameter with one value."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def _append(self, var: Variable) -> None:
        value = number("initializer: value", self.value)
        whole = int(self.value) if isinstance(self.value, Integral) else value
        if var.dtype.is_floating or value == whole:
            self._fill("fill_constant", var, value=value)
            return
        # An integer that float64 cannot hold.
        one = {"values": [], "int_values": [whole], "shape": [1]}
        append = var.program.append_op
        outputs = append("assign_value", attrs=one | {"dtype": var.dtype})
        shape = {"shape": list(var.shape or ())}
        append("expand", {"X": outputs["Out"]}, {"Out": var}, shape)


@checked
class Uniform(Initializer):
    """Numbers from [low, high); seed 0 uses the program's seed."""

    def __init__(
        self, low: float = -1.0, high: float = 1.0, seed: int = 0
    ) -> None:
        self.low, self.high, self.seed = low, high, seed

    def _append(self, var: Variable) -> None:
        low = number("initializer: low", self.low)
        high = number("initializer: high", self.high)
        self._fill("uniform_random", var, seed=self.seed, min=low, max=high)


@checked
class Normal(Initializer):
    """Normally distributed numbers."""

    _op = "gaussian_random"

    def __init__(
        self, loc: float = 0.0, scale: float = 1.0, seed: int = 0
    ) -> None:
        self.loc, self.scale, self.seed = loc, scale, seed

    def _append(self, var: Variable) -> None:
        mean = number("initializer: loc", self.loc)
        std = number("initializer: scale", self.scale)
        self._fill(self._op, var, seed=self.seed, mean=mean, std=std)


class TruncatedNormal(Normal):
    """Normally distributed numbers within two deviations (``scale``) of
    ``loc``; their deviation is 0.88 ``scale``."""

    _op = "truncated_gaussian_random"


def _fans(var: Variable) -> tuple[int, int]:
    """Fan-in and fan-out, for [in, out] or [out, in, kernel...]."""
    shape = [size or 0 for size in var.shape or ()]
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return size, size
    if len(shape) == 2:
        return shape[0], shape[1]
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def _fan(what: str, value: int | None) -> int | None:
    """Check a fan-in or fan-out that a user passes; 0 leaves it out."""
    return value if value in (None, 0) else positive(what, value)


@checked
class Xavier(Initializer):
    """Glorot's: variance 2 / (fan_in + fan_out).

    From "Understanding the difficulty of training deep feedforward neural
    networks" (Glorot and Bengio, 2010).
    """

    def __init__(
        self,
        uniform: bool = True,
        fan_in: int | None = None,
        fan_out: int | None = None,
        seed: int = 0,
    ) -> None:
        self.uniform, self.seed = uniform, seed
        self.fan_in = _fan("Xavier: fan_in", fan_in)
        self.fan_out = _fan("Xavier: fan_out", fan_out)

    def _append(self, var: Variable) -> None:
        fan_in, fan_out = _fans(var)
        total = fan_in if self.fan_in is None else self.fan_in
        total += fan_out if self.fan_out is None else self.fan_out
        _spread(self.uniform, total, self.seed)(var)


@checked
class MSRA(Initializer):
    """He's, for layers with relu: variance 2 / fan_in.

    From "Delving deep into rectifiers" (He et al., 2015).
    """

    def __init__(
        self, uniform: bool = True, fan_in: int | None = None, seed: int = 0
    ) -> None:
        self.uniform, self.seed = uniform, seed
        self.fan_in = _fan("MSRA: fan_in", fan_in)

    def _append(self, var: Variable) -> None:
        fan_in, _ = _fans(var)
        total = fan_in if self.fan_in is None else self.fan_in
        _spread(self.uniform, total, self.seed)(var)


def _spread(uniform: bool, fans: int, seed: int) -> Initializer:
    deviation = math.sqrt(2.0 / max(fans, 1))
    if not uniform:
        return Normal(0.0, deviation, seed)
    limit = math.sqrt(3.0) * deviation
    return Uniform(-limit, limit, seed)


@checked
class NumpyArray(Initializer):
    """The values of an array of the parameter's shape.

    They become part of the program; set a large array in the scope instead.
    """

    def __init__(self, value: Any) -> None:
        self.value = unmasked(value)

    def _append(self, var: Variable) -> None:
        if self.value.shape != var.shape:
            raise InvalidArgumentError(
                f"initializer of {var!r}: the array has shape "
                f"{list(self.value.shape)}",
                "python.initializer_shape",
            )
        values: dict[str, Any] = {"values": [], "int_values": []}
        if self.value.dtype.kind in "iu" and not var.dtype.is_floating:
            values["int_values"] = self.value.ravel().tolist()
        else:
            values["values"] = self.value.ravel().astype("float64").tolist()
        self._fill("assign_value", var, **values)


NumpyArrayInitializer = NumpyArray


class Bilinear(Initializer):
    """The filter of a transposed convolution that enlarges an image.

    It interpolates linearly, in each pair of channels of [C, C / groups, k, k];
    for the factor f, k is 2 * f - f % 2, the stride f, and groups C.
    """

    def _append(self, var: Variable) -> None:
        shape = tuple(var.shape or ())
        if len(shape) != 4 or shape[2] != shape[3]:
            raise InvalidArgumentError(
                f"Bilinear: expected a filter [C, C / groups, k, k], got "
                f"{var!r}",
                "python.initializer_bilinear",
            )
        factor = (shape[3] + 1) // 2
        centre = (2 * factor - 1 - factor % 2) / (2 * factor)
        side = 1 - np.abs(np.arange(shape[3]) / factor - centre)
        NumpyArray(np.broadcast_to(np.outer(side, side), shape))(var)


@checked
class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns, whichever are fewer.

    Dims after the first are one dim of it. From "Exact solutions to the
    nonlinear dynamics of learning in deep linear neural networks" (Saxe et
    al., 2014). The values become part of the startup program.
    """

    def __init__(self, gain: float = 1.0, seed: int = 0) -> None:
        self.gain, self.seed = gain, seed

    def _append(self, var: Variable) -> None:
        shape = tuple(size or 0 for size in var.shape or ())
        if len(shape) < 2:
            raise InvalidArgumentError(
                f"Orthogonal: expected rank 2 or more, got {var!r}",
                "python.initializer_orthogonal",
            )
        gain = number("initializer: gain", self.gain)
        # Differs from parameter to parameter, like the seeds of random ops.
        seed = self.seed or var.program.random_seed
        chance = np.random.default_rng([seed, len(var.program.ops)])
        flat = chance.standard_normal((shape[0], math.prod(shape[1:])))
        tall = flat if flat.shape[0] >= flat.shape[1] else flat.T
        q, r = np.linalg.qr(tall)
        q = q * np.where(np.diag(r) < 0, -1.0, 1.0)  # uniform over all
        q = q if tall is flat else q.T
        NumpyArray((gain * q).reshape(shape))(var)

help_with_names(globals())
