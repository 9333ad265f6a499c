"""The distributions of initial values."""

import math
from statistics import NormalDist

import numpy as np
import pytest

import sluice as sl

I = sl.initializer  # noqa: E741


def values(initializer, shape=(300, 400), dtype="float32", seed=0):
    """What the startup program puts into a parameter."""
    with sl.program_guard(sl.Program(), sl.Program()), sl.unique_name.guard():
        sl.default_startup_program().random_seed = seed
        helper = sl.LayerHelper("made")
        parameter = helper.create_parameter(initializer, shape, dtype)
        with sl.scope_guard(sl.Scope()):
            sl.Executor().run(sl.default_startup_program())
            return sl.global_scope()[parameter.name].numpy()


def is_uniform(x, limit):
    flat = np.sort(x.ravel()) / limit
    expected = 2 * (np.arange(flat.size) + 0.5) / flat.size - 1
    return np.abs(flat - expected).max() < 0.02


def is_normal(x, deviation):
    flat = np.sort(x.ravel()) / deviation
    at = (np.arange(flat.size) + 0.5) / flat.size
    places = slice(0, None, 997)
    normal = [NormalDist().cdf(each) for each in flat[places]]
    return np.abs(normal - at[places]).max() < 0.01


LIMIT = math.sqrt(6 / 700)
FILTER = (60, 50, 5, 5)


@pytest.mark.parametrize(
    ("initializer", "shape", "limit"),
    [
        (I.Uniform(-0.5, 0.5, 3), (300, 400), 0.5),
        (I.Xavier(seed=3), (300, 400), LIMIT),
        (I.Xavier(fan_in=100, fan_out=200, seed=3), (300, 400), math.sqrt(0.02)),
        (I.Xavier(seed=3), FILTER, math.sqrt(6 / (110 * 25))),
        (I.MSRA(seed=3), (300, 400), math.sqrt(6 / 300)),
        (I.MSRA(seed=3), FILTER, math.sqrt(6 / (50 * 25))),
        (I.MSRA(fan_in=24, seed=3), (300, 400), 0.5),
    ],
)
def test_uniform_ones(initializer, shape, limit):
    assert is_uniform(values(initializer, shape), limit)
    assert not is_uniform(values(initializer, shape), 1.1 * limit)


@pytest.mark.parametrize(
    ("initializer", "deviation"),
    [
        (I.Normal(0.0, 0.5, 3), 0.5),
        (I.Xavier(uniform=False, seed=3), math.sqrt(2 / 700)),
        (I.MSRA(uniform=False, seed=3), math.sqrt(2 / 300)),
    ],
)
def test_normal_ones(initializer, deviation):
    assert is_normal(values(initializer), deviation)
    assert not is_normal(values(initializer), 1.1 * deviation)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_truncated_normal_ends_at_two_deviations(dtype):
    z = (values(I.TruncatedNormal(1.0, 0.5, 3), dtype=dtype) - 1) / 0.5
    assert 1.999 < np.abs(z).max() <= 2 + 1e-6
    inside = 2 * NormalDist().cdf(2) - 1
    for end in (-1.5, -0.3, 0.0, 1.0):
        share = (NormalDist().cdf(end) - NormalDist().cdf(-2)) / inside
        assert abs((z < end).mean() - share) < 0.005
    np.testing.assert_allclose(z.std(), 0.87963, rtol=0.01)


@pytest.mark.parametrize(
    "kind", [I.Uniform, I.Normal, I.TruncatedNormal, I.Xavier, I.Orthogonal]
)
def test_seeds_repeat_and_differ(kind):
    shape = (20, 30)
    first = values(kind(seed=5), shape)
    np.testing.assert_array_equal(first, values(kind(seed=5), shape))
    assert (first != values(kind(seed=6), shape)).any()
    first = values(kind(), shape, seed=7)
    np.testing.assert_array_equal(first, values(kind(), shape, seed=7))
    assert (first != values(kind(), shape, seed=8)).any()


def test_orthogonal_without_a_seed_repeats():
    first = values(I.Orthogonal(), (4, 4))
    np.testing.assert_array_equal(first, values(I.Orthogonal(), (4, 4)))


@pytest.mark.parametrize("shape", [(30, 20), (20, 30), (20, 3, 2, 5)])
def test_orthogonal_rows_or_columns(shape):
    x = values(I.Orthogonal(2.0, 3), shape, "float64").reshape(shape[0], -1)
    x = x if x.shape[0] <= x.shape[1] else x.T
    np.testing.assert_allclose(x @ x.T, 4 * np.eye(len(x)), atol=1e-12)


@pytest.mark.parametrize("factor", [2, 3, 4])
def test_bilinear_filters_enlarge_a_plane_exactly(exe, factor):
    size = 2 * factor - factor % 2
    x = sl.data("x", [1, 2, 6, 6])
    weight = sl.LayerHelper("up").create_parameter(
        I.Bilinear(), [2, 1, size, size]
    )
    pad = math.ceil((factor - 1) / 2)
    y = sl.layers.ops.conv2d_transpose(
        x,
        weight,
        strides=[factor, factor],
        paddings=[pad, pad, pad, pad],
        groups=2,
    )
    exe.run(sl.default_startup_program())
    plane = np.add.outer(np.arange(6.0), 2 * np.arange(6.0)).astype("f4")
    feed = {"x": np.stack([plane, -plane])[None]}
    (found,) = exe.run(feed=feed, fetch_list=[y])
    # Inside, the plane goes on with a slope of 1 / factor.
    inner = found[0, :, factor:-factor, factor:-factor]
    np.testing.assert_allclose(np.diff(inner[0], axis=0), 1 / factor, atol=1e-5)
    np.testing.assert_allclose(np.diff(inner[1], axis=1), -2 / factor, atol=1e-5)


def test_constants_and_arrays():
    assert (values(I.Constant(1.5), (2, 3)) == 1.5).all()
    array = np.arange(6.0).reshape(2, 3)
    found = values(I.NumpyArrayInitializer(array), (2, 3))
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    ("initializer", "shape", "check"),
    [
        (I.NumpyArray([1.0, 2.0]), (3,), "python.initializer_shape"),
        (I.Bilinear(), (1, 1, 3, 4), "python.initializer_bilinear"),
        (I.Bilinear(), (3, 3), "python.initializer_bilinear"),
        (I.Orthogonal(), (3,), "python.initializer_orthogonal"),
        (I.TruncatedNormal(scale="a"), (3,), "python.number"),
        (I.TruncatedNormal(scale=-1.0), (3,), "op.attribute_limit"),
    ],
)
def test_wrong_arguments(initializer, shape, check):
    with pytest.raises(sl.InvalidArgumentError) as error:
        values(initializer, shape)
    assert error.value.check_id == check
