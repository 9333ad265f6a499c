"""A model whose gradients are compared with differences, for tests."""

import re

import numpy as np
import sluice as sl
from sluice import layers


class Model:
    """Parameters of float64 with values, and the gradients of a loss."""

    def __init__(self):
        self.values = {}
        self.random = np.random.default_rng(7)
        self.exe = sl.Executor()
        self.feed = {}

    def parameter(self, name, *shape):
        self.values[name] = self.random.normal(size=shape) * 0.7
        return sl.default_main_program().persistable(name, shape, "float64")

    def constant(self, *shape):
        value = self.random.normal(size=shape)
        name = f"data_{len(self.feed)}"
        self.feed[name] = value
        return sl.data(name, [None, *shape[1:]], "float64")

    def run(self, fetches, changed=()):
        scope = self.scope({**self.values, **dict(changed)})
        return self.exe.run(feed=self.feed, fetch_list=fetches, scope=scope)

    def check(self, loss):
        """Compare all gradients of `loss` with differences; return them."""
        before = self.run([loss])[0]
        pairs = sl.append_backward(loss)
        got = self.run([loss, *(grad for _, grad in pairs)])
        assert got[0] == before
        grads = dict(zip([p.name for p, _ in pairs], got[1:], strict=True))
        for name, grad in grads.items():
            value = self.values[name]
            assert grad.shape == value.shape
            slopes = np.empty_like(value)
            for at in np.ndindex(*value.shape):
                # A difference of fourth order, so that 1e-3 is exact enough.
                losses = []
                for steps in (-2, -1, 1, 2):
                    moved = value.copy()
                    moved[at] += steps * 1e-3
                    losses.append(self.run([loss], {name: moved})[0].item())
                a, b, c, d = losses
                slopes[at] = (a - 8 * b + 8 * c - d) / 12e-3
            np.testing.assert_allclose(
                grad, slopes, rtol=1e-7, atol=1e-7, err_msg=name
            )
        test = sl.default_main_program().clone(for_test=True)
        assert not re.search("SAVED.* = loop", str(test))
        run = self.exe.run(test, self.feed, [loss], scope=self.scope(self.values))
        assert run[0] == before
        return grads

    def check_scan(self, step, first, sequences, **options):
        """The same for all last states and outputs of a scan."""
        last, outputs = layers.scan(step, first, sequences, **options)
        return self.check(total(*last, *outputs))

    def scope(self, values):
        scope = sl.Scope()
        for name, value in values.items():
            scope.set(name, value)
        return scope


def total(*variables):
    """The sum of the squares of all elements."""
    sums = [layers.reduce_sum(layers.square(each)) for each in variables]
    return sums[0] if len(sums) == 1 else layers.sum(sums)
