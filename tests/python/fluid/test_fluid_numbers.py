"""Numbers that a shorter formula, or float64, would lose."""

import numpy as np
import pytest
from fluid_runs import new_programs, run
from refusals import refused

import sluice.fluid as fluid
from sluice.errors import OutOfRangeError

L = fluid.layers
INF = np.float32(np.inf)


def ran(build, *arrays):
    """What ``build`` computes of the arrays, in a scope of its own."""
    with new_programs():
        block = fluid.default_main_program().global_block()
        block.program.random_seed = 1
        feed = {f"x{k}": array for k, array in enumerate(arrays)}
        for name, array in feed.items():
            block.data(name, array.shape, array.dtype.name, 0)
            block.vars[name].stop_gradient = False
        made = build(*(block.vars[name] for name in feed))
        several = isinstance(made, (list, tuple))
        return run(list(made) if several else [made], feed)


def test_drawn_integers_are_odd_and_even():
    (out,) = ran(lambda: L.randint(-(2**62), 2**62, [1000]))
    assert 400 < (out % 2).sum() < 600
    assert out.min() < -(2**61) and out.max() > 2**61


def test_a_drawn_class_has_a_probability():
    short = np.array([[0.3, 0.3999, 0]] * 4, np.float32)
    late = np.array([[0, 0.5, 0.5]] * 4, np.float32)
    assert ran(lambda x: L.sampling_id(x, 0.9999, 1.0), short)[0].max() == 1
    assert ran(lambda x: L.sampling_id(x, 0.0, 1e-30), late)[0].min() == 1


def with_gradient(build):
    def both(x, *others):
        out = build(x, *others)
        return [out, *fluid.gradients(out, x)]

    return both


TINY = np.exp(-20.0)  # log1p(exp(-20)), and its gradient


def column(*values, dtype=np.float32):
    return np.array(values, dtype)[:, None]


def tree(x, label):
    twenty = fluid.initializer.Constant(20.0)
    weight = fluid.ParamAttr(initializer=twenty)
    return L.hsigmoid(x, label, 2, param_attr=weight, bias_attr=False)


@pytest.mark.parametrize(
    "build, arrays, loss, gradient",
    [
        (
            L.teacher_student_sigmoid_loss,
            [column(20, -20, -20), column(-1, -2, 0)],
            [TINY, TINY, 2 * TINY],
            [-TINY, TINY, 2 * TINY],
        ),
        (
            tree,
            [column(1, -1), column(1, 0, dtype=int)],
            [TINY, TINY],
            [-20 * TINY, 20 * TINY],
        ),
        (
            lambda x, label: L.sigmoid_focal_loss(
                x, label, L.fill_constant([1], "int32", 1), 0.5, 1.0
            ),
            [column(20, 120), column(1, 1, dtype=np.int32)],
            [TINY**1.5, 0],
            [-1.5 * TINY**1.5, 0],
        ),
    ],
)
def test_losses_of_the_confident(build, arrays, loss, gradient):
    out = ran(with_gradient(build), *arrays)
    np.testing.assert_allclose(out[0].ravel(), loss, rtol=1e-5)
    np.testing.assert_allclose(out[1].ravel(), gradient, rtol=1e-5)


def test_masked_classes():
    p = np.array([[0, 0, -INF]], np.float32)
    q = np.array([[0, -INF, -INF]], np.float32)
    half = np.log(2)

    def build(x, y):
        one, other = L.Categorical(x), L.Categorical(y)
        both = [one.entropy(), other.kl_divergence(one)]
        return [*both, one.kl_divergence(other), *fluid.gradients(both, x)]

    entropy, kl, never, gradient = ran(build, p, q)
    np.testing.assert_allclose([entropy.item(), kl.item()], half, rtol=1e-6)
    assert never.item() == INF
    np.testing.assert_allclose(gradient, [[-0.5, 0.5, 0]], atol=1e-6)
    zero = np.array([[0.5, 0.5, 0]], np.float32)

    def cross(x, label):
        block, slots = x.block, {"Logits": x, "Label": label}
        attrs = {"soft_label": True, "use_softmax": False}
        return block.append("softmax_with_cross_entropy", slots, attrs, "Loss")

    loss, gradient = ran(with_gradient(cross), zero, zero)
    np.testing.assert_allclose(loss, [[half]], rtol=1e-6)
    np.testing.assert_allclose(gradient, [[-1, -1, 0]], rtol=1e-6)


@pytest.mark.parametrize("label", [-1, 3])
def test_what_is_no_class_is_refused(label):
    ids = column(label, 2, dtype=int)
    for layer in (lambda x: L.one_hot(x, 3), lambda x: L.mean_iou(x, x, 3)[0]):
        with pytest.raises(OutOfRangeError, match=f"has {label} as element 0"):
            ran(layer, ids)
    (out,) = ran(lambda x: L.one_hot(x, 3, allow_out_of_range=True), ids)
    assert out.tolist() == [[0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("label", [-2, 3])
def test_focal_loss_has_a_background_and_an_ignored_class(label):
    arrays = np.zeros((1, 2), "f4"), column(label, dtype=int), column(1, dtype=int)
    with pytest.raises(OutOfRangeError, match=f"has {label + 1} as element 0"):
        ran(L.sigmoid_focal_loss, *arrays)


def test_numbers_that_a_dtype_does_not_hold_are_refused():
    refused(lambda: L.randint(0, 2**31 + 1, [2], dtype="int32"), "int32 holds")


def test_adadelta_has_no_rate():
    def step(rate):
        one = fluid.initializer.Constant(1.0)
        attr = fluid.ParamAttr("w", initializer=one, learning_rate=0.5)
        w = L.create_parameter([1], "float32", attr=attr)
        fluid.optimizer.Adadelta(rate, 1e-6, 0.95).minimize(L.reduce_sum(w))
        return fluid.default_main_program().global_block().var("w")

    far, near = (ran(lambda r=r: step(r))[0].item() for r in (1.0, 0.001))
    assert far == near == pytest.approx(1 - (1e-6 / 0.050001) ** 0.5)


def test_two_piecewise_rates():
    def rates():
        return [L.piecewise_decay([9], [rate, 0.1]) for rate in (1.0, 2.0)]

    assert [each.item() for each in ran(rates)] == [1.0, 2.0]


def test_a_layer_without_inputs_goes_to_the_default_program_of_fluid():
    """Not to that of Sluice, which nobody runs."""
    eye, order = L.eye(3), L.randperm(5)
    assert eye.block.program is fluid.default_main_program()
    ones, numbers = run([eye, order])
    np.testing.assert_array_equal(ones, np.eye(3))
    assert sorted(numbers) == list(range(5))
