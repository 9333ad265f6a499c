"""Limits of the gradients of variables in between, against NumPy."""

import numpy as np
import pytest
from stepping import parameter, value

import sluice as sl

layers = sl.layers
MAX, MIN = 0.5, -0.25


def limits():
    return sl.clip.ErrorClipByValue(MAX, MIN)


def clip(x):
    return np.clip(x, MIN, MAX)


def grads_of(exe, loss, feed, *more):
    """The gradients of all parameters, and what else is fetched."""
    pairs = sl.append_backward(loss)
    exe.run(sl.default_startup_program())
    return exe.run(feed=feed, fetch_list=[g for _, g in pairs] + list(more))


def test_everything_before_the_variable_gets_the_clipped_gradient(exe, rng):
    x, g = rng.normal(size=(2, 3, 5))
    w = parameter(rng.normal(size=(3, 5)), "w")
    v = parameter(rng.normal(size=(3, 5)), "v")
    h = w * sl.data("x", [3, 5], "float64")
    h.error_clip = limits()
    loss = layers.reduce_sum(h * v * sl.data("g", [3, 5], "float64"))
    by_w, by_v, by_h = grads_of(exe, loss, {"x": x, "g": g}, f"{h.name}@GRAD")
    by_loss = g * value("v")
    assert by_loss.max() > MAX and by_loss.min() < MIN
    np.testing.assert_array_equal(by_h, clip(by_loss))
    np.testing.assert_array_equal(by_w, x * clip(by_loss))
    np.testing.assert_allclose(by_v, g * x * value("w"), rtol=1e-14)


def test_a_sum_is_clipped_once_it_is_complete(exe):
    """-0.7 + 0.9 is within the limits, though neither of them is."""
    h = parameter(np.ones(3), "w") * 1.0
    h.error_clip = limits()
    a, b = (sl.data(name, [3], "float64") for name in "ab")
    loss = layers.reduce_sum(h * a) + layers.reduce_sum(h * b)
    feed = {"a": [-0.7, 0.4, -3.0], "b": [0.9, 0.4, 1.0]}
    feed = {name: np.array(each) for name, each in feed.items()}
    (got,) = grads_of(exe, loss, feed)
    np.testing.assert_array_equal(got, clip(feed["a"] + feed["b"]))
    assert got[0] == 0.9 - 0.7


def test_nan_stays_nan_and_infinity_becomes_a_limit(exe):
    h = parameter(np.ones(4), "w") * 1.0
    h.error_clip = sl.clip.ErrorClipByValue(2.0)
    g = np.array([np.nan, np.inf, -np.inf, 1.5])
    loss = layers.reduce_sum(h * sl.data("g", [4], "float64"))
    np.testing.assert_array_equal(
        grads_of(exe, loss, {"g": g})[0], [np.nan, 2.0, -2.0, 1.5]
    )


def test_a_clip_taken_back_or_set_too_late_does_nothing(exe):
    h = parameter(np.ones(3), "w") * 1.0
    g = np.array([3.0, -3.0, 0.1])
    h.error_clip = limits()
    assert h.error_clip.max == MAX
    h.error_clip = None
    assert h.error_clip is None
    loss = layers.reduce_sum(h * sl.data("g", [3], "float64"))
    ((_, grad),) = sl.append_backward(loss)
    h.error_clip = limits()
    exe.run(sl.default_startup_program())
    (got,) = exe.run(feed={"g": g}, fetch_list=[grad])
    np.testing.assert_array_equal(got, g)


def test_it_is_as_in_fluids_own_test(exe, rng):
    """A clone with a clip has the gradient of the original, clipped."""
    image = sl.data("x", [None, 20])
    label = sl.data("y", [None, 1], "int64")
    hidden = layers.fc(image, 12, act="relu")
    loss = layers.mean(
        layers.softmax_with_cross_entropy(
            layers.fc(layers.fc(hidden, 8, act="relu"), 4), label
        )
    )
    feed = {
        "x": rng.normal(size=(16, 20)).astype("float32"),
        "y": rng.integers(0, 4, (16, 1)),
    }
    program = sl.default_main_program()
    clone = program.clone()
    clone.var(hidden.name).error_clip = sl.clip.ErrorClipByValue(2e-3, -1e-3)
    exe.run(sl.default_startup_program())
    got = []
    for each in (program, clone):
        sl.append_backward(each.var(loss.name))
        got += exe.run(each, feed, [f"{hidden.name}@GRAD"])
    assert abs(got[0]).max() > 2e-3
    np.testing.assert_array_equal(got[1], np.clip(got[0], -1e-3, 2e-3))


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("which", ["made", "carried"])
def test_a_loop_clips_in_each_iteration(exe, rng, recompute, which):
    """s = (s + x) * w; what is clipped is s + x, or the s that comes in."""
    x = rng.normal(size=(6, 4))
    g = rng.normal(size=4)
    w = parameter(np.full(4, 1.5), "w")
    first = parameter(np.zeros(4), "s")

    def step(carried, elements):
        made = carried[0] + elements[0]
        (made if which == "made" else carried[0]).error_clip = limits()
        return [made * w], []

    (last,), _ = layers.scan(
        step, [first], [sl.data("x", [6, 4], "float64")], recompute=recompute
    )
    loss = layers.reduce_sum(last * sl.data("g", [4], "float64"))
    got = dict(zip("ws", grads_of(exe, loss, {"x": x, "g": g}), strict=True))
    states = [np.zeros(4)]
    for each in x:
        states.append((states[-1] + each) * 1.5)
    by_s, by_w = g, 0
    for t in reversed(range(6)):
        by_w = by_w + by_s * (states[t] + x[t])
        by_s = clip(by_s * 1.5)  # s and s + x have the same gradient
    np.testing.assert_allclose(got["w"], by_w, rtol=1e-12)
    np.testing.assert_allclose(got["s"], by_s, rtol=1e-12)


def test_a_variable_around_a_loop_is_clipped_after_the_loop(exe, rng):
    x = rng.normal(size=(6, 4))
    h = parameter(np.ones(4), "w") * 1.0
    h.error_clip = limits()

    def step(carried, elements):
        return [carried[0] + elements[0] * h], []

    (last,), _ = layers.scan(
        step, [layers.zeros_like(h)], [sl.data("x", [6, 4], "float64")]
    )
    (got,) = grads_of(exe, layers.reduce_sum(last), {"x": x})
    np.testing.assert_allclose(got, clip(x.sum(0)), rtol=1e-12)


def test_a_carried_variable_that_a_loop_passes_on_is_clipped(exe, rng):
    """Nothing in the loop reads the second one."""
    h = parameter(np.ones(3), "w") * 1.0

    def step(carried, elements):
        carried[1].error_clip = limits()
        return [carried[0] + elements[0], carried[1]], []

    xs = sl.data("x", [2, 3], "float64")
    _, last = layers.scan(step, [h, h], [xs])[0]
    g = np.array([3.0, -3.0, 0.1])
    loss = layers.reduce_sum(last * sl.data("g", [3], "float64"))
    (got,) = grads_of(exe, loss, {"x": np.ones((2, 3)), "g": g})
    np.testing.assert_array_equal(got, clip(g))


@pytest.mark.parametrize("then", [True, False])
def test_a_branch_clips_what_it_makes(exe, rng, then):
    g = np.array([3.0, -3.0, 0.1])
    w = parameter(np.full(3, 2.0), "w")

    def clipped():
        made = w * 1.0
        made.error_clip = limits()
        return made * 2.0

    chosen = layers.cond(
        sl.data("c", [1], "bool"), clipped, lambda: w * 4.0
    )
    loss = layers.reduce_sum(chosen * sl.data("g", [3], "float64"))
    (got,) = grads_of(exe, loss, {"c": np.array([then]), "g": g})
    np.testing.assert_array_equal(got, clip(2 * g) if then else 4 * g)


@pytest.mark.parametrize("deterministic", [False, True])
def test_data_parallel_training_clips(exe, rng, deterministic):
    sl.distributed.init()
    x, g = rng.normal(size=(2, 4, 3))
    h = sl.data("x", [None, 3], "float64") * parameter(np.ones(3), "w")
    h.error_clip = sl.clip.ErrorClipByValue(0.05)
    loss = layers.mean(h * sl.data("g", [None, 3], "float64"))
    sl.distributed.DataParallel(
        sl.optimizer.SGD(1.0), deterministic=deterministic
    ).minimize(loss)
    exe.run(sl.default_startup_program())
    exe.run(feed={"x": x, "g": g})
    moved = (x * np.clip(g / 12, -0.05, 0.05)).sum(0)
    assert abs(g / 12).max() > 0.05
    np.testing.assert_allclose(1 - value("w"), moved, rtol=1e-10)


def test_a_sparse_gradient_becomes_dense(exe):
    ids = sl.data("ids", [None, 1], "int64")
    rows = layers.embedding(ids, [4, 2], is_sparse=True)
    (table,) = sl.default_main_program().all_parameters()
    table.error_clip = sl.clip.ErrorClipByValue(2.5)
    ((_, grad),) = sl.append_backward(layers.reduce_sum(rows))
    assert grad.rows is None
    exe.run(sl.default_startup_program())
    feed = {"ids": np.array([[1], [1], [1], [3]])}
    (got,) = exe.run(feed=feed, fetch_list=[grad])
    np.testing.assert_array_equal(got[:, 0], [0, 2.5, 0, 1])


def test_a_clip_of_what_was_pruned_is_no_error(exe):
    w = parameter(np.ones(3), "w")
    loss = layers.reduce_sum(w * 2.0)
    other = w * 3.0
    other.error_clip = limits()
    part = sl.default_main_program().prune([loss])
    assert len(sl.append_backward(part.var(loss.name))) == 1


def test_what_is_no_clip_is_refused():
    x = sl.data("x", [3])
    count = sl.data("n", [3], "int64")
    for wrong in (sl.clip.GradientClipByValue(1.0), 1.0):
        with pytest.raises(sl.InvalidArgumentError, match="x: error_clip must"):
            x.error_clip = wrong
    with pytest.raises(sl.InvalidArgumentError, match="n: error_clip .* int64"):
        count.error_clip = limits()
    with pytest.raises(sl.InvalidArgumentError, match="must be finite"):
        sl.clip.ErrorClipByValue(float("nan"))
    with pytest.raises(sl.InvalidArgumentError, match="not be above max"):
        sl.clip.ErrorClipByValue(-1.0)
    with pytest.raises(sl.InvalidArgumentError, match="grad_clip must be one"):
        sl.optimizer.SGD(0.1, grad_clip=limits())
