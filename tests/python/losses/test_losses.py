"""Losses of sequences, of nothing, of NaN and of wrong arguments. Their
formulas are in tests/python/sweep."""

import numpy as np
import pytest
import refusals
from sweep.sweeping import constant, run

import sluice as sl

L = sl.layers


def value(layer, *arrays, dtype="f8"):
    """The loss, and the gradients of its sum."""
    arrays = [np.asarray(a, dtype) for a in arrays]
    (found,) = run(layer, arrays)
    return run(layer, arrays, np.ones_like(found))


def test_losses_of_probabilities_0_and_1_are_finite_with_finite_gradients():
    sure, truth = [[0.0, 1.0, 0.0, 1.0]], [[0.0, 1.0, 1.0, 0.0]]
    for dtype in ("f4", "f8"):
        found, grad, _ = value(
            lambda p, y: L.bce_loss(p, y, reduction="none"),
            sure,
            truth,
            dtype=dtype,
        )
        np.testing.assert_array_equal(found, [[0, 0, 100, 100]])
        # PyTorch's, but that of a right probability, which is 0 there.
        np.testing.assert_allclose(grad, [[1, -1, -1e12, 1e12]], rtol=1e-6)
    found, grad, _ = value(
        lambda x, y: L.kldiv_loss(x, y, "none"), [[-3.0, -1.0]], [[0.0, -1.0]]
    )
    np.testing.assert_array_equal(found, [[0, 0]])
    np.testing.assert_array_equal(grad, [[0, 0]])
    found, grad, _ = value(
        lambda p, y: L.cross_entropy(p, y, soft_label=True),
        [[0.0, 1.0]],
        [[0.0, 1.0]],
    )
    assert found == 0
    np.testing.assert_array_equal(grad, [[0, -1]])


def test_a_class_that_is_ignored_has_no_gradient_even_from_0():
    found, grad = value(
        lambda p: L.cross_entropy(p, constant(np.array([[-100]]))), [[0.0, 1.0]]
    )
    assert found == 0
    np.testing.assert_array_equal(grad, [[0, 0]])


def test_a_mean_of_labels_that_are_all_ignored_is_0():
    def loss(x, y):
        return L.sigmoid_cross_entropy_with_logits(x, y, normalize=True)

    found, grad, _ = value(loss, [[1.0, -2.0]], [[-100.0, -100.0]])
    np.testing.assert_array_equal([found, grad], 0)


def test_bpr_loss_keeps_small_numbers_and_checks_labels():
    def loss(label):
        return lambda x: L.bpr_loss(x, constant(np.array(label)))

    # The label's own score adds nothing, not even rounding.
    found, grad = value(loss([[1]]), [[-40.0, 0.0, -40.0]])
    np.testing.assert_allclose(found, [[np.exp(-40.0)]], rtol=1e-12)
    np.testing.assert_allclose(grad[0, 1], -np.exp(-40.0), rtol=1e-12)
    found, grad = value(loss([[-100]]), [[np.inf, np.nan]])
    assert found == 0 and (grad == 0).all()
    assert np.isnan(value(loss([[0]]), [[np.nan, 1.0]])[0])
    with pytest.raises(sl.OutOfRangeError):
        value(loss([[2]]), [[0.0, 1.0]])


def test_nan_stays():
    nan = [[np.nan]]
    for layer in (
        L.sigmoid_cross_entropy_with_logits, L.huber_loss, L.bce_loss,
        L.kldiv_loss, L.log_loss, L.hinge_loss,
    ):
        assert np.isnan(value(layer, nan, [[1.0]])[0]).all(), layer
    for none in (-0.5, 1.5):  # no probability
        assert np.isnan(value(L.bce_loss, [[none]], [[1.0]])[0]).all()


def test_losses_of_no_rows():
    for layer in (L.huber_loss, L.smooth_l1, L.hinge_loss):
        found, *_ = run(
            layer, [np.zeros((0, 3)), np.zeros((0, 3))]
        )
        assert found.shape == ((0, 1) if layer is L.smooth_l1 else (0, 3))


def test_a_batch_may_have_any_size(exe):
    x, y = sl.data("x", [None, 3]), sl.data("y", [None, 3])
    loss = L.kldiv_loss(x, y, "batchmean")
    for n in (1, 4):
        ones = np.ones((n, 3), "f4")
        (found,) = exe.run(feed={"x": ones, "y": ones}, fetch_list=[loss])
        assert found == -3


def ctc(logits, label, times, length, **attrs):
    def layer(x):
        return L.warpctc(
            x,
            constant(label),
            input_length=constant(times),
            label_length=constant(length),
            **attrs,
        )

    return run(layer, [logits], np.ones((logits.shape[1], 1)))


def test_ctc_takes_padded_sequences():
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(12, 3, 5))
    label = np.array([[1, 1, 2], [4, 3, 0], [2, 9, 9]])
    times, length = np.array([12, 7, 1]), np.array([3, 2, 1])
    loss, grad = ctc(logits, label, times, length)
    shares = np.exp(logits[0, 2]) / np.exp(logits[0, 2]).sum()
    np.testing.assert_allclose(loss[2], -np.log(shares[2]))
    assert (grad[7:, 1] == 0).all() and (grad[1:, 2] == 0).all()
    np.testing.assert_allclose(grad.sum(2), 0, atol=1e-12)
    _, halved = ctc(logits, label, times, length, norm_by_times=True)
    np.testing.assert_allclose(halved * times[:, None], grad, atol=1e-15)


def test_ctc_of_a_thousand_times_has_the_gradient_of_differences():
    rng = np.random.default_rng(4)
    logits = 3 * rng.normal(size=(1000, 1, 6))
    label = rng.integers(1, 6, (1, 100))
    arguments = label, np.array([1000]), np.array([100])
    _, grad = ctc(logits, *arguments)
    for at in ((0, 0, 0), (500, 0, 3), (999, 0, 5)):
        around = []
        for step in (1e-4, -1e-4):
            moved = logits.copy()
            moved[at] += step
            around.append(ctc(moved, *arguments)[0][0, 0])
        numeric = (around[0] - around[1]) / 2e-4
        assert abs(grad[at] - numeric) < 1e-7


@pytest.mark.parametrize(
    "name",
    "bce_loss hinge_loss huber_loss kldiv_loss log_loss logistic_loss "
    "margin_rank_loss mse_loss rank_loss sigmoid_cross_entropy_with_logits "
    "smooth_l1 smooth_l1_loss square_error_cost".split(),
)
def test_two_shapes_are_refused(name):
    x, y = sl.data("x", [None, 1]), sl.data("y", [None])
    given = (x, y, x) if "rank" in name else (x, y)
    with pytest.raises(sl.InvalidArgumentError) as error:
        getattr(L, name)(*given)
    assert f"{name}: " in str(error.value)
    assert "[None] and " in str(error.value) or "[None, 1]" in str(error.value)
    assert "use sl.layers.reshape(" in str(error.value)


def test_labels_need_the_rank_of_the_scores():
    x, y = sl.data("x", [None, 5]), sl.data("y", [None], "int64")
    for layer in (L.bpr_loss, L.dice_loss):
        with pytest.raises(sl.InvalidArgumentError, match="one class for each row"):
            layer(x, y)
        arrays = np.zeros((1, 2)), np.array([[2]])
        with pytest.raises(sl.OutOfRangeError, match="Label has 2 as element 0"):
            run(layer, arrays)


test_wrong_arguments_are_named = refusals.rows(
    [
        (lambda x: L.huber_loss(x, x, 0), "[python.loss_above_0]", "delta"),
        (lambda x: L.smooth_l1(x, x, sigma=float("nan")),
         "[python.loss_above_0]", "sigma"),
        (lambda x: L.smooth_l1_loss(x, x, beta=-1), "[python.loss_above_0]", "beta"),
        (lambda x: L.mse_loss(x, x, "avg"), "[python.reduction]", "batchmean"),
        (lambda x: L.label_smooth(x, epsilon=2), "[python.label_smooth]", "1"),
        (lambda x: L.log_loss(x, x, "a"), "[python.number]", "epsilon"),
        (lambda x: L.hinge_loss(x, 1), "[python.variable]", "label"),
        (lambda x: L.bpr_loss(sl.data("y", [None, 1]), x),
         "[python.bpr_loss_classes]", "2 classes"),
        (lambda x: L.warpctc(x, x), "[python.variable]", "input_length"),
    ],
    given=lambda: [sl.data("x", [None, 3])],
    line=False,
)  # fmt: skip
