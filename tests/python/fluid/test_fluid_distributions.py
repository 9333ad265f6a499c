"""Distributions, compared with formulas of NumPy in float64; the sweep has their
gradients (tests/python/sweep/rows_of_fluid.py)."""

import numpy as np
import pytest
import refusals
from fluid_runs import new_programs, run, started

import sluice.fluid as fluid
from sluice.fluid.distributions import (
    Categorical,
    MultivariateNormalDiag,
    Normal,
    Uniform,
)

layers = fluid.layers
LOG_2_PI = np.log(2 * np.pi)


def array(*shape, low=0.5, high=2.0):
    return np.random.default_rng(sum(shape)).uniform(low, high, shape)


def given(kind, value, name, feed):
    """The value as the kind of argument; a variable is fed."""
    value = np.asarray(value)
    if kind == "number" or kind == "list":
        return value.tolist()
    if kind == "array":
        return value
    feed[name] = value.astype("float32")
    shape = [None, *value.shape[1:]] if kind == "batch" else value.shape
    return fluid.data(name, list(shape))


def expect(out, wanted, feed=None):
    (got,) = run([out], feed)
    assert got.dtype == "float32" and got.shape == np.shape(wanted)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def uniform_log_prob(value, low, high):
    inside = (low < value) & (value < high)
    return np.where(inside, 0.0, -np.inf) - np.log(high - low)


def normal_log_prob(value, loc, scale):
    far = (value - loc) ** 2 / (2 * scale**2)
    return -far - np.log(scale) - np.log(np.sqrt(2 * np.pi))


def normal_kl(loc, scale, loc2, scale2):
    r, t = scale / scale2, (loc - loc2) / scale2
    return 0.5 * (r**2 + t**2 - 1 - np.log(r**2))


def log_softmax(z):
    z = z - z.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


A, B = array(4, 3), array(4, 3, low=2.5, high=5.0)
ARGUMENTS = {  # the kinds of the two arguments, and the values
    "numbers": ("number", 0.7, "number", 2.9),
    "lists": ("list", A, "list", B),
    "arrays": ("array", A, "array", B),
    "a number and an array": ("number", 0.7, "array", B),
    "a row and an array": ("array", A[0], "array", B),
    "variables": ("variable", A, "variable", B),
    "batches": ("batch", A, "batch", B),
    "a batch and a number": ("batch", A, "number", 2.9),
    "a row and a batch": ("array", A[0], "batch", B),
}


@pytest.fixture(params=ARGUMENTS)
def pair(request):
    """Two arguments, their values in one shape, and what to feed."""
    kind, a, kind2, b = ARGUMENTS[request.param]
    feed = {}
    made = given(kind, a, "a", feed), given(kind2, b, "b", feed)
    return made, np.broadcast_arrays(np.atleast_1d(a), b), feed


@pytest.mark.parametrize("kind", ["array", "batch"])
@pytest.mark.parametrize(
    "made, formula", [(Uniform, uniform_log_prob), (Normal, normal_log_prob)]
)
@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3)])
def test_log_prob(pair, made, formula, kind, shape):
    arguments, values, feed = pair
    value = array(*shape, low=-1.0, high=4.0)
    x = given(kind, value, "value", feed)
    expect(made(*arguments).log_prob(x), formula(value, *values), feed)


@pytest.mark.parametrize(
    "made, formula",
    [
        (Uniform, lambda low, high: np.log(high - low)),
        (Normal, lambda loc, scale: 0.5 + 0.5 * LOG_2_PI + np.log(scale)),
    ],
)
def test_entropy(pair, made, formula):
    arguments, values, feed = pair
    expect(made(*arguments).entropy(), formula(*values), feed)


@pytest.mark.parametrize("loc, scale", [(A, B), (0.3, 1.6)])
def test_kl_divergence_of_normals(pair, loc, scale):
    arguments, values, feed = pair
    out = Normal(*arguments).kl_divergence(Normal(loc, scale))
    expect(out, normal_kl(*values, *np.atleast_1d(loc, scale)), feed)


@pytest.mark.parametrize("kind", ["list", "array", "variable", "batch"])
@pytest.mark.parametrize("shape", [(5,), (4, 5), (2, 4, 5)])
def test_categorical(kind, shape):
    feed = {}
    a, b = (  # exp of these is infinite, or 0
        array(*shape, low=low, high=low + 5.0).astype("float32")
        for low in (95.0, -120.0)
    )
    kind = "variable" if len(shape) == 1 and kind == "batch" else kind
    x = Categorical(given(kind, a, "a", feed))
    y = Categorical(given(kind, b, "b", feed))
    p, q = log_softmax(a.astype("float64")), log_softmax(b.astype("float64"))
    expect(x.entropy(), -(np.exp(p) * p).sum(-1, keepdims=True), feed)
    kl = (np.exp(p) * (p - q)).sum(-1, keepdims=True)
    expect(x.kl_divergence(y), kl, feed)


@pytest.mark.parametrize("kind", ["list", "array", "variable"])
def test_multivariate_normal_diag(kind):
    k, feed = 3, {}
    loc, loc2 = A[0], A[1]
    scale, scale2 = np.diag(A[2]), np.diag(B[3])
    x, y = (
        MultivariateNormalDiag(
            given(kind, at, f"loc{n}", feed),
            given(kind, var, f"scale{n}", feed),
        )
        for n, (at, var) in enumerate([(loc, scale), (loc2, scale2)])
    )
    logs = [np.log(np.linalg.det(each)) for each in (scale, scale2)]
    expect(x.entropy(), [0.5 * (k * (1 + LOG_2_PI) + logs[0])], feed)
    inverse, d = np.linalg.inv(scale2), loc2 - loc
    far = np.trace(inverse @ scale) + d @ inverse @ d
    kl = 0.5 * (far - k + logs[1] - logs[0])
    expect(x.kl_divergence(y), [kl], feed)


def test_multivariate_normal_diag_of_batches():
    feed = {"loc": A.astype("float32")}
    x = MultivariateNormalDiag(fluid.data("loc", [None, 3]), np.diag(B[0]))
    beside = np.triu(np.ones((3, 3)), 1)  # does not count
    y = MultivariateNormalDiag(A[1], np.diag(A[2]) + beside)
    each = normal_kl(A, np.sqrt(B[0]), A[1], np.sqrt(A[2]))
    expect(x.kl_divergence(y), each.sum(-1, keepdims=True), feed)


def test_a_variable_of_float64_makes_all_float64():
    x = Normal(fluid.data("loc", [3], "float64"), 2.0)
    outs = [x.sample([2]), x.entropy(), x.log_prob(A)]
    feed = {"loc": B[0]}
    assert {out.dtype.name for out in run(outs, feed)} == {"float64"}
    wanted = normal_log_prob(A, B[0], 2.0)
    np.testing.assert_allclose(run(outs[2:], feed)[0], wanted, rtol=1e-14)


@pytest.mark.parametrize("made", [Uniform, Normal])
@pytest.mark.parametrize("shape", [[5], (np.int64(2), 5), []])
def test_sample_puts_shape_before_that_of_parameters(pair, made, shape):
    arguments, values, feed = pair
    out = made(*arguments).sample(shape)
    of_numbers = isinstance(arguments[0], float) and len(feed) == 0
    of_numbers = of_numbers and isinstance(arguments[1], float)
    batch = () if of_numbers and shape else values[0].shape
    wanted = (*shape, *batch)
    assert len(out.shape) == len(wanted)
    assert all(n in (-1, size) for n, size in zip(out.shape, wanted))
    first, second = (run([out], feed)[0] for _ in "ab")
    assert first.shape == second.shape == wanted
    assert (first != second).any()


@pytest.mark.parametrize("kind", ["array", "batch"])
@pytest.mark.parametrize("made", [Uniform, Normal])
def test_moments_and_support_of_samples(made, kind):
    feed = {}
    a, b = A[:2, :2], B[:2, :2]
    x = made(given(kind, a, "a", feed), given(kind, b, "b", feed))
    (out,) = run([x.sample([20000])], feed)
    mean, deviation = a, b
    if made is Uniform:
        mean, deviation = (a + b) / 2, (b - a) / np.sqrt(12)
        assert (out >= a.astype("float32")).all() and (out <= b).all()
        np.testing.assert_allclose(out.min(0), a, atol=0.01)
        np.testing.assert_allclose(out.max(0), b, atol=0.01)
    error = 5 * deviation.max() / np.sqrt(20000)
    np.testing.assert_allclose(out.mean(0), mean, atol=error)
    np.testing.assert_allclose(out.std(0), deviation, rtol=0.04)
    off = np.corrcoef(out.reshape(20000, -1).T) - np.eye(4)
    assert np.abs(off).max() < 0.05


def test_a_seed_draws_the_same_in_each_program():
    draws = []
    for seed in (7, 7, 8):
        with new_programs():
            draws += run([Normal(A, B).sample([2], seed=seed)])
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[1] != draws[2]).all()


def parameter(name, value):
    value = np.broadcast_to(value, 3)
    start = fluid.initializer.NumpyArrayInitializer(value.astype("float32"))
    return layers.create_parameter([3], "float32", name, None, False, start)


@pytest.mark.parametrize("is_batch", [False, True])
@pytest.mark.parametrize("made", [Uniform, Normal])
def test_gradients_go_through_samples(made, is_batch):
    a, b = parameter("a", 0.5), parameter("b", 2.0)
    feed = {"x": np.zeros((4, 3), "float32")} if is_batch else None
    x = fluid.data("x", [None, 3]) if is_batch else 0.0
    draws = made(a + x, b + x).sample([5])
    grads = fluid.gradients(layers.reduce_sum(draws), [a, b])
    out, at, width = run([draws, *grads], feed)
    count = out.size / 3
    part = (out.astype("float64") - 0.5) / (1.5 if made is Uniform else 2.0)
    part = part.reshape(-1, 3).sum(0)
    wanted = [np.full(3, count), part]
    if made is Uniform:
        wanted = [count - part, part]
    np.testing.assert_allclose([at, width], wanted, rtol=1e-4)


def test_a_policy_learns_through_samples_and_log_prob():
    x = fluid.data("x", [None, 2])
    loc = layers.fc(x, 2)
    scale = layers.exp(layers.clip(layers.fc(x, 2), -5.0, 2.0))
    policy = Normal(loc, scale)
    action = policy.sample([1])[0]
    entropy = layers.reduce_mean(policy.log_prob(action))
    far = layers.reduce_mean(layers.square(action - 1.5))
    fluid.optimizer.Adam(0.05).minimize(far * 8.0 + entropy)
    exe = started()
    feed = {"x": np.ones((64, 2), "float32")}
    for _ in range(200):
        mean, deviation = exe.run(feed=feed, fetch_list=[loc, scale])
    # 2 actions, of which each has a mean over both: 16 / 2 d^2 - log d.
    np.testing.assert_allclose(mean, 1.5, atol=0.1)
    np.testing.assert_allclose(deviation, 0.25, atol=0.06)


test_wrong_arguments_are_named = refusals.rows(
    [
        (lambda: Normal(None, 1.0), "loc: expected a number, ", "got None"),
        (lambda: Normal(0.0, "1"), "scale: expected a number"),
        (lambda: Normal([True], 1.0), "loc: expected a number"),
        (lambda: Uniform([[1.0], [1.0, 2.0]], 3.0), "low: expected"),
        (lambda: Uniform(0.0, []), "high: expected ", "got []"),
        (lambda: Uniform(A, B[:, :2]), "do not fit"),
        (lambda: Normal(0.0, 1.0).log_prob({}), "value: expected"),
        (lambda: Normal(0.0, 1.0).sample(2), "shape: expected ", "got 2"),
        (lambda: Normal(0.0, 1.0).sample([2.5]), "shape: expected"),
        (lambda: Uniform(0.0, 1.0).sample([-1]), "shape: expected"),
        (lambda: Uniform(0.0, 1.0).sample([2], 0.5), "seed: expected"),
        (lambda: Categorical(1.0), "logits: expected"),
        (lambda: MultivariateNormalDiag([1.0], [1.0]), "scale [..., k, k]"),
        (lambda: MultivariateNormalDiag(A[0], np.eye(2)), "expected loc"),
        (lambda: Normal(0.0, 1.0).kl_divergence(Uniform(0.0, 1.0)),
         "other: expected a Normal, got <Uniform: "),
        (lambda: Categorical([1.0]).kl_divergence(2), "expected a Categorical"),
        (lambda: MultivariateNormalDiag([1.0], [[1.0]]).kl_divergence(None),
         "expected a MultivariateNormalDiag, got None"),
    ]
)  # fmt: skip
