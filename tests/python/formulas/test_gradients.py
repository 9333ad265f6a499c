"""Training through ops whose attributes or sizes are computed."""

import numpy as np
import pytest

import sluice as sl
from sluice import layers


def gradient(make, size, feed=None):
    """w, and the gradient of the sum of the squares of make(w) by it."""
    program, startup = sl.Program(), sl.Program()
    with sl.program_guard(program, startup):
        w = sl.LayerHelper("w").create_parameter(
            sl.ParamAttr(name="w"), size, "float32"
        )
        loss = layers.reduce_sum(layers.square(make(w)))
        ((_, grad),) = sl.append_backward(loss)
    exe = sl.Executor(sl.CPUPlace())
    exe.run(startup)
    return exe.run(program, feed, ["w", grad])


def test_bounds_of_a_slice_may_be_fed():
    def middle(w):
        n = sl.data("n", [1], "int64")
        return layers.slice(w, starts_var=n, ends_var=layers.scale(n, scale=2))

    for n in (1, 2, 3):
        feed = {"n": np.array([n])}
        w, grad = gradient(middle, [6], feed)
        expected = np.zeros_like(w)
        expected[n : 2 * n] = 2 * w[n : 2 * n]
        np.testing.assert_allclose(grad, expected)


def test_bounds_of_a_slice_may_be_computed_from_data():
    def until_the_largest(w):
        data = sl.data("data", [5000], "float32")
        end = layers.reshape(layers.arg_max(data, axis=0), [1])
        return layers.slice(w, starts=[0], ends_var=end)

    data = np.zeros(5000, "float32")
    data[4] = 1
    w, grad = gradient(until_the_largest, [6], {"data": data})
    np.testing.assert_allclose(grad[:4], 2 * w[:4])
    assert not grad[4:].any()


def test_a_slice_takes_its_bounds_by_name():
    """Paddle's are axes, starts, ends; the op's are starts, ends, axes."""
    with pytest.raises(sl.NotFoundError, match="slice: needs by name: starts"):
        layers.slice(sl.data("x", [6]), [0], [0], [1])


def test_a_slice_without_an_end_is_refused():
    with pytest.raises(sl.InvalidArgumentError, match="ends .* is missing"):
        layers.slice(sl.data("x", [6]), starts=[0])


def test_a_bound_of_clip_may_depend_on_parameters():
    def clipped(w):
        return layers.clip(w, min_var=layers.scale(layers.mean(w), scale=1))

    w, grad = gradient(clipped, [5])
    mean = w.mean()
    expected = np.where(w < mean, 0, 2 * w)
    expected += 2 * mean * (w < mean).sum() / w.size
    np.testing.assert_allclose(grad, expected, rtol=1e-5)


def test_elements_that_a_condition_takes_are_trained():
    def positive(w):
        return layers.compress(w, layers.greater_than(w, layers.scale(w, 0)))

    w, grad = gradient(positive, [7])
    np.testing.assert_allclose(grad, np.where(w > 0, 2 * w, 0))


def test_the_error_says_why_an_op_has_no_gradient():
    def staircase(w):
        return layers.quantize_and_dequantize(w, min=-1, max=1)

    with pytest.raises(sl.InvalidArgumentError, match="between its steps"):
        gradient(staircase, [5])


def test_the_advice_for_quantized_training_works():
    def straight_through(w):
        out = layers.quantize_and_dequantize(w, min=-1, max=1)
        step = out - w
        out.stop_gradient = step.stop_gradient = True
        return w + step

    w, grad = gradient(straight_through, [5])
    step = 2 / 255
    quantized = np.round((w + 1) / step) * step - 1
    np.testing.assert_allclose(grad, 2 * quantized, rtol=1e-4, atol=1e-6)
