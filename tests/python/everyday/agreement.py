"""Compares layers with NumPy: results, and gradients with differences."""

import numpy as np
from formulas.differences import slopes

import sluice as sl

layers = sl.layers


def listed(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def fed(name, array, unknown=()):
    shape = [None if i in unknown else s for i, s in enumerate(array.shape)]
    variable = sl.data(name, shape, str(array.dtype))
    if array.dtype.kind == "f":
        variable.stop_gradient = False
    return variable


def agree(function, reference, *arrays, unknown=(), grads=True):
    """Compare results with NumPy's, and gradients with differences of those."""
    feed = {f"x{i}": array for i, array in enumerate(arrays)}
    made = listed(function(*(fed(n, a, unknown) for n, a in feed.items())))
    want = listed(reference(*arrays))
    assert len(made) == len(want)
    exe = sl.Executor()
    for variable, got, expected in zip(
        made, exe.run(feed=feed, fetch_list=made), want
    ):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
        known = [s for s in variable.shape if s is not None]
        assert len(variable.shape) == expected.ndim
        assert all(s in expected.shape for s in known)
    if not grads:
        return
    rng = np.random.default_rng(7)
    weights = [rng.uniform(0.5, 1.5, w.shape) for w in want]
    loss = layers.sum(
        [
            layers.reduce_sum(m * sl.data(f"w{i}", w.shape, "float64"))
            for i, (m, w) in enumerate(zip(made, weights))
        ]
    )
    names = [n for n, a in feed.items() if a.dtype.kind == "f"]

    def weighted(moved):
        all_values = {**dict(zip(feed, arrays)), **dict(zip(names, moved))}
        results = listed(reference(*all_values.values()))
        return sum((r * w).sum() for r, w in zip(results, weights))

    expected = slopes(weighted, [feed[name] for name in names])
    pairs = sl.append_backward(loss, [loss.program.var(n) for n in names])
    feed |= {f"w{i}": w for i, w in enumerate(weights)}
    got = exe.run(feed=feed, fetch_list=[g for _, g in pairs])
    for grad, slope in zip(got, expected, strict=True):
        np.testing.assert_allclose(grad, slope, rtol=1e-7, atol=1e-7)


def values(*shape, seed=0):
    """Numbers that all differ, away from 0, with both signs."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    numbers = rng.permutation(count) + 1.0
    return (numbers * rng.choice([-1, 1], count) / count).reshape(shape)
