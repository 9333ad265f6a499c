"""Distributions of Fluid, as formulas of layers.

Parameters are numbers, which have the shape [1], lists, arrays or variables.
They are broadcast together, to variables of float32, or of float64 if one is.
Results have that shape unless a method says another. Arguments of another kind,
and shapes that do not fit, raise InvalidArgumentError.
"""

from __future__ import annotations

import math
import numbers
from functools import partial
from typing import Any

import numpy as np

from ..display import Shown
from . import layers
from .errors import wrong
from .framework import Variable

__all__ = ["Categorical", "MultivariateNormalDiag", "Normal", "Uniform"]

_LOG_2_PI = math.log(2.0 * math.pi)


def _check(right: bool, name: str, expected: str, got: Any) -> None:
    if not right:
        wrong(f"{name}: expected {expected}, got {got!r}", "fluid.distribution")


def _variable(name: str, value: Any, dtype: str) -> Variable:
    if isinstance(value, Variable):
        return value if value.dtype == dtype else value.astype(dtype)
    try:
        array = np.atleast_1d(np.asarray(value))
    except ValueError:  # rows of several lengths
        array = np.empty(0)
    right = array.dtype.kind in "fiu" and array.size > 0
    expected = "a number, a list or an array of numbers, or a variable"
    _check(right, name, expected, value)
    return layers.assign(array.astype(dtype))


def _variables(**values: Any) -> list[Variable]:
    """The values, broadcast together as NumPy does."""
    wide = any(
        isinstance(each, Variable) and each.dtype == "float64"
        for each in values.values()
    )
    dtype = "float64" if wide else "float32"
    made = [_variable(name, each, dtype) for name, each in values.items()]
    if len({each.shape for each in made}) == 1:
        return made
    every = made[0]
    for each in made[1:]:
        every = layers.elementwise_add(every, each)
    zeros = layers.zeros_like(every)
    return [layers.elementwise_add(zeros, each) for each in made]


class _Distribution(Shown):
    def _same(self, other: Any) -> None:
        kind = type(self)
        _check(isinstance(other, kind), "other", f"a {kind.__name__}", other)


class _Drawn(_Distribution):
    """Samples are ``at + draw * width``, and have gradients for both."""

    _draw: Any  # gets sizes
    _at_and_width: Any

    def __init__(self, **values: Any) -> None:
        self._of_numbers = all(
            isinstance(each, numbers.Real) for each in values.values()
        )
        vars(self).update(zip(values, _variables(**values), strict=True))

    def sample(self, shape: Any, seed: int = 0) -> Variable:
        """Draw [*shape, *batch], where batch is the shape of the parameters;
        of two numbers [*shape].
        """
        at, width = self._at_and_width()
        _check(
            isinstance(shape, (list, tuple))
            and all(isinstance(n, numbers.Integral) and n > 0 for n in shape),
            "shape", "a list of sizes above 0", shape,
        )  # fmt: skip
        _check(isinstance(seed, numbers.Integral), "seed", "an integer", seed)
        sizes: list[Any] = list(at.shape)
        if self._of_numbers and shape:
            sizes = []
        elif -1 in sizes:
            known = layers.shape(at)
            sizes = [
                known[k : k + 1] if size == -1 else size
                for k, size in enumerate(sizes)
            ]
        sizes = [*map(int, shape), *sizes]
        drawn = self._draw(sizes, seed=int(seed), dtype=at.dtype)
        return layers.elementwise_add(layers.elementwise_mul(drawn, width), at)


class Uniform(_Drawn):
    """Equally likely numbers from low to below high.

    Args:
        low: the smallest number.
        high: where the numbers end.
    """

    low: Variable
    high: Variable
    _draw = staticmethod(partial(layers.uniform_random, min=0.0, max=1.0))

    def __init__(self, low: Any, high: Any) -> None:
        super().__init__(low=low, high=high)

    def _at_and_width(self) -> tuple[Variable, Variable]:
        return self.low, self.high - self.low

    def log_prob(self, value: Any) -> Variable:
        """The logarithm of the density; -inf for low, high and outside."""
        value, low, high = _variables(value=value, low=self.low, high=self.high)
        above = (low < value).astype(low.dtype)
        below = (value < high).astype(low.dtype)
        return layers.log(above * below) - layers.log(high - low)

    def entropy(self) -> Variable:
        """The entropy, in nats."""
        return layers.log(self.high - self.low)


class Normal(_Drawn):
    """Normally distributed numbers.

    Args:
        loc: the mean.
        scale: the standard deviation.
    """

    loc: Variable
    scale: Variable
    _draw = staticmethod(layers.gaussian_random)

    def __init__(self, loc: Any, scale: Any) -> None:
        super().__init__(loc=loc, scale=scale)

    def _at_and_width(self) -> tuple[Variable, Variable]:
        return self.loc, self.scale

    def entropy(self) -> Variable:
        """The entropy, in nats."""
        return layers.log(self.scale) + (0.5 + 0.5 * _LOG_2_PI)

    def log_prob(self, value: Any) -> Variable:
        """The logarithm of the density."""
        value, loc, scale = _variables(
            value=value, loc=self.loc, scale=self.scale
        )
        far = layers.square((value - loc) / scale)
        return far * -0.5 - layers.log(scale) - 0.5 * _LOG_2_PI

    def kl_divergence(self, other: Normal) -> Variable:
        """The divergence from this to another, in nats."""
        self._same(other)
        loc, scale, loc2, scale2 = _variables(
            loc=self.loc, scale=self.scale, loc2=other.loc, scale2=other.scale
        )
        ratio = layers.square(scale / scale2)
        far = layers.square((loc - loc2) / scale2)
        return (ratio + far - 1.0 - layers.log(ratio)) * 0.5


class Categorical(_Distribution):
    """Classes, whose probabilities are the softmax of logits.

    Args:
        logits: [..., classes].
    """

    def __init__(self, logits: Any) -> None:
        right = not isinstance(logits, numbers.Real)
        _check(right, "logits", "a list, an array or a variable", logits)
        (self.logits,) = _variables(logits=logits)

    def kl_divergence(self, other: Categorical) -> Variable:
        """The divergence from this to another, in nats: [..., 1]."""
        self._same(other)
        both = _variables(logits=self.logits, other=other.logits)
        p, q = (_log_softmax(each) for each in both)
        return _mean(p, p - q)

    def entropy(self) -> Variable:
        """The entropy, in nats: [..., 1]."""
        p = _log_softmax(self.logits)
        return -_mean(p, p)


def _mean(log_p: Variable, x: Variable) -> Variable:
    """The mean of x over the classes that have a probability."""
    p = layers.exp(log_p)
    kept = layers._where(p > 0.0, x, layers.zeros_like(x))
    return layers.reduce_sum(p * kept, -1, True)


def _log_softmax(x: Variable) -> Variable:
    x = x - layers.reduce_max(x, -1, True)
    return x - layers.log(layers.reduce_sum(layers.exp(x), -1, True))


class MultivariateNormalDiag(_Distribution):
    """Normally distributed vectors of k independent numbers.

    Args:
        loc: the means, [..., k].
        scale: the variances, as diagonals of matrices [..., k, k]; what is
            beside the diagonals does not count.
    """

    def __init__(self, loc: Any, scale: Any) -> None:
        (self.loc,) = _variables(loc=loc)
        (self.scale,) = _variables(scale=scale)
        sizes = [self.loc.shape[-1], *self.scale.shape[-2:]]
        known = {size for size in sizes if size != -1}
        _check(
            len(sizes) == 3 and len(known) == 1, "MultivariateNormalDiag",
            "loc [..., k] and scale [..., k, k]", [self.loc, self.scale],
        )  # fmt: skip
        eye = layers.eye(known.pop(), dtype=self.scale.dtype)
        self._variance = layers.reduce_sum(self.scale * eye, -1)

    def entropy(self) -> Variable:
        """The entropy, in nats: [..., 1]."""
        each = layers.log(self._variance) + (1.0 + _LOG_2_PI)
        return layers.reduce_sum(each, -1, True) * 0.5

    def kl_divergence(self, other: MultivariateNormalDiag) -> Variable:
        """The divergence from this to another, in nats: [..., 1]."""
        self._same(other)
        loc, variance, loc2, variance2 = _variables(
            loc=self.loc, scale=self._variance,
            loc2=other.loc, scale2=other._variance,
        )  # fmt: skip
        ratio = variance / variance2
        far = layers.square(loc2 - loc) / variance2
        each = ratio + far - 1.0 - layers.log(ratio)
        return layers.reduce_sum(each, -1, True) * 0.5
