"""The sweep's rows: a public name, what is computed, and what is right.

A row runs a layer at far numbers, in float32 and float64, and compares values
and gradients with a formula in longdouble, by relative error. The tables are in
rows_of_*.py; a new one is added to TABLES of test_sweep.py. Formulas take
complex numbers for derivatives: the imaginary part of x + i h is h times the
slope. The functions below are defined for those.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from formulas.far_numbers import LONG, check, long

import sluice as sl

STEP = LONG("1e-300")
FAR = np.array(
    [0, 1e-30, 1e-10, 1e-5, 1e-3, 0.1, 0.5, 1, 2, 5, 10, 17, 40, 90, 150, 1e4,
     1e10, 1e20, 1e30, 1e38]
)  # fmt: skip
SIGNED = np.unique([*FAR, *-FAR])
# Logits: beyond 1e10 a product with a label is no longer exact.
LOGITS = SIGNED[np.abs(SIGNED) < 1e11]
SHARES = np.array(
    [0, 1e-30, 1e-12, 1e-7, 1e-3, 0.3, 0.5, 0.75, 0.999, 1 - 2**-20, 1]
)
BITS = np.array([0.0, 1.0])


def grid(*axes):
    """All combinations, each as a column."""
    flat = np.meshgrid(*axes, indexing="ij")
    return tuple(each.reshape(-1, 1) for each in flat)


def _lifted(function, slope):
    def of(x):
        if not np.iscomplexobj(x):
            return function(x)
        moves = x.imag != 0
        rest = np.where(moves, slope(x.real) * np.where(moves, x.imag, 0), 0)
        return function(x.real) + 1j * rest

    return of


log1p = _lifted(np.log1p, lambda x: 1 / (1 + x))
log = _lifted(np.log, lambda x: 1 / x)
absolute = _lifted(np.abs, np.sign)
relu = _lifted(lambda x: np.maximum(x, 0), lambda x: x > 0)


def where(condition, x, y):
    return np.where(condition, x, y)


def least(x, y):
    return np.where(np.real(x) < np.real(y), x, y)


def _sigmoid(x):
    small = np.exp(-np.abs(x))
    return np.where(x > 0, 1, small) / (1 + small)


sigmoid = _lifted(_sigmoid, lambda x: _sigmoid(x) * _sigmoid(-x))
softplus = _lifted(lambda x: np.logaddexp(0, x), sigmoid)
tanh_shrink = _lifted(
    lambda x: where(
        np.abs(x) < 0.01,
        x**3 / 3 - 2 * x**5 / 15 + 17 * x**7 / 315,
        x - np.tanh(x),
    ),
    lambda x: np.tanh(x) ** 2,
)


def xlogy(x, y):
    return x * log(where((np.real(x) == 0) & (np.real(y) == 0), 1, y))


def rows_of(x):
    return x.reshape(len(x), -1).sum(1, keepdims=True)


def constant(array):
    """A variable of these values, which gets no gradient."""
    kind = "int_values" if array.dtype.kind in "iu" else "values"
    attrs = {"shape": list(array.shape), "dtype": str(array.dtype), "values": []}
    attrs[kind] = array.ravel().tolist()
    return sl.default_main_program().append_op("assign_value", attrs=attrs)["Out"]


def run(layer, arrays, weights=None):
    """The result of a layer, and with weights the gradients of its weighed sum
    by the float inputs."""
    program, startup = sl.Program(), sl.Program()
    with sl.program_guard(program, startup), sl.unique_name.guard():
        inputs = []
        for i, array in enumerate(arrays):
            x = sl.data(f"x{i}", list(array.shape), str(array.dtype))
            x.stop_gradient = array.dtype.kind != "f"
            inputs.append(x)
        fetch = [layer(*inputs)]
        feed = {x.name: array for x, array in zip(inputs, arrays)}
        if weights is not None:
            weight = sl.data("weights", list(weights.shape), fetch[0].dtype)
            feed["weights"] = weights
            out = sl.layers.reshape(fetch[0], list(weights.shape))
            loss = sl.layers.reduce_sum(out * weight, reduce_all=True)
            floats = [x for x in inputs if not x.stop_gradient]
            fetch += [grad for _, grad in sl.append_backward(loss, floats)]
        exe = sl.Executor()
        with sl.scope_guard(sl.Scope()):
            exe.run(startup)
            return exe.run(program, feed, fetch)


@dataclasses.dataclass(frozen=True)
class Row:
    """A layer of float inputs and its formula.

    `rows` dims at the front are independent of each other, by default all.
    `bound` is the relative error of float32, and 2e-7 of it that of float64.
    Of sums, errors are compared with `scale` of the same inputs.
    """

    name: str
    layer: Callable[..., Any]
    formula: Callable[..., Any]
    inputs: tuple
    rows: int | None = None
    bound: float = 3e-6
    dtypes: tuple = ("float32", "float64")
    gradients: bool = True
    scale: Callable[..., Any] | None = None
    # Where gradients are compared: where the formula has one.
    smooth: Callable[..., Any] = lambda *inputs: True
    run = staticmethod(run)

    def verify(self):
        for dtype in self.dtypes:
            with np.errstate(all="ignore"):
                self._verify(dtype)

    def _verify(self, dtype):
        arrays = [
            x.astype(dtype) if x.dtype.kind == "f" else x for x in self.inputs
        ]
        exact = [long(x) if x.dtype.kind == "f" else x for x in arrays]
        want = np.asarray(self.formula(*exact))
        weights = np.random.default_rng(1).uniform(0.5, 1.5, want.shape)
        weights = weights.astype(dtype) if self.gradients else None
        got, *grads = self.run(self.layer, arrays, weights)
        scale = 0.0 if self.scale is None else self.scale(*exact)
        slack = self.bound / 3e-5
        got = got.reshape(want.shape)
        check(f"{self.name} {dtype}", got, want, dtype, (), slack, scale=scale)
        places = [i for i, x in enumerate(arrays) if x.dtype.kind == "f"]
        for at, grad in zip(places, grads):
            slope = self._slope(exact, at, long(weights))
            what = f"gradient {at} of {self.name} {dtype}"
            most = 0.0 if self.scale is None else np.abs(slope).max()
            smooth = self.smooth(*exact)
            shown = exact if self.rows is None else ()
            check(what, grad, slope, dtype, shown, slack, smooth, most)

    def _slope(self, exact, at, weights):
        """The derivative of the weighed sum by one input."""
        x = exact[at]
        front = x.ndim if self.rows is None else self.rows
        slope = np.zeros(x.shape, LONG)
        for place in np.ndindex(x.shape[front:]):
            moved = x.astype(np.clongdouble)
            moved[(..., *place) if place else ...] += 1j * STEP
            inputs = [*exact[:at], moved, *exact[at + 1 :]]
            change = weights * np.imag(self.formula(*inputs)) / STEP
            rest = tuple(range(front, change.ndim))
            slope[(..., *place) if place else ...] = change.sum(rest)
        return slope


@dataclasses.dataclass(frozen=True)
class Exact:
    """A layer whose result has exactly these elements, of every dtype."""

    name: str
    layer: Callable[..., Any]
    formula: Callable[..., Any]
    inputs: tuple
    run = staticmethod(run)

    def verify(self):
        (got,) = self.run(self.layer, self.inputs)
        want = np.asarray(self.formula(*self.inputs))
        assert got.shape == want.shape, (self.name, got.shape, want.shape)
        assert got.dtype == want.dtype, (self.name, got.dtype, want.dtype)
        wrong = np.argwhere(got != want)
        assert not len(wrong), (
            f"{self.name}: {len(wrong)} of {want.size} are wrong, such as "
            f"{got[tuple(wrong[0])]} for {want[tuple(wrong[0])]}"
        )


@dataclasses.dataclass(frozen=True)
class Values:
    """Numbers that a function computes, such as steps of an optimizer."""

    name: str
    layer: Callable[[], Any]
    formula: Callable[[], Any]
    bound: float = 1e-6

    def verify(self):
        got, want = (long(x()) for x in (self.layer, self.formula))
        assert got.shape == want.shape, (self.name, got.shape, want.shape)
        close = np.abs(got - want) <= self.bound * np.abs(want) + LONG("1e-300")
        wrong = np.argwhere(~(close | (got == want)))
        assert not len(wrong), (
            f"{self.name}: {len(wrong)} of {want.size} are wrong, such as "
            f"{got[tuple(wrong[0])]:.9g} for {want[tuple(wrong[0])]:.9g}"
        )
