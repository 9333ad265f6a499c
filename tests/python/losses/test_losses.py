"""Each loss against a formula in NumPy, its gradients against differences in
float64, and both against PyTorch where it is installed."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sluice as sl

L = sl.layers

try:
    import torch
    from torch.nn import functional as F
except ImportError:
    torch = F = None

RNG = np.random.default_rng(5)
N, C = 5, 4
LOGITS = RNG.normal(size=(N, C))
OTHER = RNG.normal(size=(N, C))
WEIGHTS = RNG.uniform(0.5, 2, (N, C))
SHARES = RNG.dirichlet(np.ones(C), N)  # rows that sum to 1
GUESSES = RNG.uniform(0.05, 0.95, (N, C))
BITS = RNG.integers(0, 2, (N, C)).astype("f8")
SIGNS = 2 * BITS - 1
CLASSES = np.array([[0], [3], [-100], [1], [2]])
CLASS_WEIGHTS = RNG.uniform(0.5, 2, C)
ONE_HOT = (CLASSES == np.arange(C)).astype("f8")


def log_softmax(x, axis=-1):
    x = x - x.max(axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def bent(d, bend):
    d = np.abs(d)
    return np.where(d < bend, d * d / 2, bend * (d - bend / 2))


def rows(x):
    return x.reshape(len(x), -1).sum(1, keepdims=True)


def npair(a, p):
    labels = np.array([0, 1, 0, 2, 1])
    same = (labels[:, None] == labels).astype("f8")
    share = same / same.sum(1, keepdims=True)
    each = -(share * log_softmax(a @ p.T)).sum(1, keepdims=True)
    norms = (a * a).sum(1).mean() + (p * p).sum(1).mean()
    return (share * each).sum(0).mean() + 0.25 * 0.002 * norms


def bpr(x):
    own = np.maximum(CLASSES, 0)
    above = np.log1p(np.exp(x - np.take_along_axis(x, own, 1)))
    above[np.arange(N), own[:, 0]] = 0
    return np.where(CLASSES < 0, 0, rows(above) / (C - 1))


def dice(x):
    truth = np.eye(C)[np.arange(N) % C]
    share = 2 * rows(x * truth) / (rows(x) + rows(truth) + 1e-5)
    return (1 - share).mean()


def labels(array):
    return lambda: constant(array)


def constant(array):
    """A variable of these values, which gets no gradient."""
    return sl.default_main_program().append_op(
        "assign_value",
        attrs={
            "shape": list(array.shape),
            "dtype": str(array.dtype),
            "values": array.ravel().astype("f8").tolist(),
        },
    )["Out"]


@dataclasses.dataclass
class Loss:
    """A layer of `inputs`, which get gradients, the same in NumPy and PyTorch
    (None if there is none)."""

    name: str
    layer: Callable[..., Any]
    inputs: tuple
    formula: Callable[..., Any]
    torch: Callable[..., Any] | None = None


def t(array):
    return torch.from_numpy(array)


def hard(x):
    return -(ONE_HOT * log_softmax(x)).sum(1, keepdims=True)


LOSSES = [
    Loss(
        "softmax_hard",
        lambda x: L.softmax_with_cross_entropy(x, constant(CLASSES)),
        (LOGITS,),
        hard,
        lambda x: F.cross_entropy(x, t(CLASSES[:, 0]), reduction="none")[
            :, None
        ],
    ),
    Loss(
        "softmax_soft",
        lambda x, y: L.softmax_with_cross_entropy(x, y, soft_label=True),
        (LOGITS, SHARES),
        lambda x, y: -(y * log_softmax(x)).sum(1, keepdims=True),
        lambda x, y: F.cross_entropy(x, y, reduction="none")[:, None],
    ),
    Loss(
        "softmax_axis",
        lambda x, y: L.softmax_with_cross_entropy(
            x, y, soft_label=True, axis=0
        ),
        (LOGITS, SHARES),
        lambda x, y: -(y * log_softmax(x, 0)).sum(0, keepdims=True),
        lambda x, y: F.cross_entropy(x.T, y.T, reduction="none")[None],
    ),
    Loss(
        "cross_entropy_hard",
        lambda p: L.cross_entropy(p, constant(CLASSES)),
        (GUESSES,),
        lambda p: -(ONE_HOT * np.log(p)).sum(1, keepdims=True),
        lambda p: F.nll_loss(p.log(), t(CLASSES[:, 0]), reduction="none")[
            :, None
        ],
    ),
    Loss(
        "cross_entropy_soft",
        lambda p, y: L.cross_entropy(p, y, soft_label=True),
        (GUESSES, SHARES),
        lambda p, y: -(y * np.log(p)).sum(1, keepdims=True),
        lambda p, y: -(y * p.log()).sum(1, keepdim=True),
    ),
    Loss(
        "nll_mean",
        lambda x: L.nll_loss(
            x, constant(CLASSES[:, 0]), constant(CLASS_WEIGHTS)
        ),
        (LOGITS,),
        lambda x: -(ONE_HOT * CLASS_WEIGHTS * x).sum()
        / (ONE_HOT * CLASS_WEIGHTS).sum(),
        lambda x: F.nll_loss(x, t(CLASSES[:, 0]), t(CLASS_WEIGHTS)),
    ),
    Loss(
        "nll_none",
        lambda x: L.nll_loss(x, constant(CLASSES), reduction="none"),
        (LOGITS,),
        lambda x: -(ONE_HOT * x).sum(1, keepdims=True),
        lambda x: F.nll_loss(x, t(CLASSES[:, 0]), reduction="none")[:, None],
    ),
    Loss(
        "square",
        lambda x, y: L.square_error_cost(x, y),
        (LOGITS, OTHER),
        lambda x, y: (x - y) ** 2,
        lambda x, y: F.mse_loss(x, y, reduction="none"),
    ),
    Loss(
        "mse",
        lambda x, y: L.mse_loss(x, y),
        (LOGITS, OTHER),
        lambda x, y: ((x - y) ** 2).mean(),
        lambda x, y: F.mse_loss(x, y),
    ),
    Loss(
        "sigmoid",
        lambda x, y: L.sigmoid_cross_entropy_with_logits(x, y),
        (LOGITS, SHARES),
        lambda x, y: -y * np.log(1 / (1 + np.exp(-x)))
        - (1 - y) * np.log(1 - 1 / (1 + np.exp(-x))),
        lambda x, y: F.binary_cross_entropy_with_logits(
            x, y, reduction="none"
        ),
    ),
    Loss(
        "sigmoid_normalized",
        lambda x: L.sigmoid_cross_entropy_with_logits(
            x, constant(BITS), ignore_index=0, normalize=True
        ),
        (LOGITS,),
        lambda x: BITS * np.log1p(np.exp(-x)) / BITS.sum(),
    ),
    Loss(
        "smooth_l1",
        lambda x, y, w: L.smooth_l1(x, y, w, constant(WEIGHTS), sigma=1.5),
        (LOGITS, OTHER, GUESSES),
        lambda x, y, w: rows(
            2.25 * bent((x - y) * w, 1 / 2.25) * WEIGHTS
        ),
        lambda x, y, w: (
            F.smooth_l1_loss(x * w, y * w, beta=1 / 2.25, reduction="none")
            * t(WEIGHTS)
        ).sum(1, keepdim=True),
    ),
    Loss(
        "smooth_l1_loss",
        lambda x, y: L.smooth_l1_loss(x, y, beta=0.5),
        (LOGITS, OTHER),
        lambda x, y: (bent(x - y, 0.5) / 0.5).mean(),
        lambda x, y: F.smooth_l1_loss(x, y, beta=0.5),
    ),
    Loss(
        "huber",
        lambda x, y: L.huber_loss(x, y, 0.5),
        (LOGITS, OTHER),
        lambda x, y: bent(x - y, 0.5),
        lambda x, y: F.huber_loss(x, y, delta=0.5, reduction="none"),
    ),
    *(
        Loss(
            f"kldiv_{reduction}",
            lambda x, y, r=reduction: L.kldiv_loss(x, y, r),
            (LOGITS, SHARES),
            lambda x, y, f=formula: f(y * (np.log(y) - x)),
            lambda x, y, r=reduction: F.kl_div(x, y, reduction=r),
        )
        for reduction, formula in (
            ("none", lambda x: x),
            ("mean", np.mean),
            ("sum", np.sum),
            ("batchmean", lambda x: x.sum() / N),
        )
    ),
    Loss(
        "bce",
        lambda p, y: L.bce_loss(p, y, constant(WEIGHTS)),
        (GUESSES, SHARES),
        lambda p, y: -(
            WEIGHTS * (y * np.log(p) + (1 - y) * np.log(1 - p))
        ).mean(),
        lambda p, y: (
            F.binary_cross_entropy(p, y, reduction="none") * t(WEIGHTS)
        ).mean(),
    ),
    Loss(
        "log_loss",
        lambda p, y: L.log_loss(p, y, 0.01),
        (GUESSES, SHARES),
        lambda p, y: -y * np.log(p + 0.01) - (1 - y) * np.log(1 - p + 0.01),
    ),
    Loss(
        "rank",
        lambda a, b: L.rank_loss(constant(BITS), a, b),
        (LOGITS, OTHER),
        lambda a, b: np.log(1 + np.exp(a - b)) - BITS * (a - b),
    ),
    Loss(
        "margin_rank",
        lambda a, b: L.margin_rank_loss(constant(SIGNS), a, b),
        (LOGITS, OTHER),
        lambda a, b: np.maximum(0, 0.1 - SIGNS * (a - b)),
        lambda a, b: F.margin_ranking_loss(
            a, b, t(SIGNS), margin=0.1, reduction="none"
        ),
    ),
    Loss(
        "hinge",
        lambda x: L.hinge_loss(x, constant(BITS)),
        (LOGITS,),
        lambda x: np.maximum(0, 1 - SIGNS * x),
    ),
    Loss(
        "label_smooth",
        lambda y: L.label_smooth(y, epsilon=0.2),
        (SHARES,),
        lambda y: 0.8 * y + 0.2 / C,
    ),
    Loss(
        "label_smooth_prior",
        lambda y: L.label_smooth(y, constant(SHARES[:1]), epsilon=0.2),
        (SHARES,),
        lambda y: 0.8 * y + 0.2 * SHARES[:1],
    ),
    Loss(
        "dice",
        lambda x: L.dice_loss(x, constant(np.arange(N)[:, None] % C)),
        (GUESSES,),
        dice,
    ),
    Loss(
        "npair",
        lambda a, p: L.npair_loss(a, p, constant(np.array([0, 1, 0, 2, 1]))),
        (LOGITS, OTHER),
        npair,
    ),
    Loss("bpr", lambda x: L.bpr_loss(x, constant(CLASSES)), (LOGITS,), bpr),
]


def run(loss, inputs, weights=None):
    """The loss, and with weights the gradients of its weighed sum."""
    program, variables = sl.Program(), []
    with sl.program_guard(program, sl.Program()):
        for i, array in enumerate(inputs):
            x = sl.data(f"x{i}", list(array.shape), str(array.dtype))
            x.stop_gradient = False
            variables.append(x)
        fetch = [loss.layer(*variables)]
        if weights is not None:
            weights = weights.astype(inputs[0].dtype)
            weighed = L.reduce_sum(fetch[0] * constant(weights))
            pairs = sl.append_backward(weighed, variables)
            fetch += [grad for _, grad in pairs]
        feed = {x.name: a for x, a in zip(variables, inputs)}
        return sl.Executor().run(program, feed, fetch)


def weights_of(loss):
    shape = np.shape(loss.formula(*loss.inputs))
    return np.random.default_rng(1).uniform(0.5, 1.5, shape)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_the_value_is_that_of_the_formula(loss):
    (found,) = run(loss, loss.inputs)
    expected = loss.formula(*loss.inputs)
    assert found.shape in (np.shape(expected), (1,))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_float32_is_as_exact_as_its_numbers(loss):
    (found,) = run(
        loss32(loss), [array.astype("f4") for array in loss.inputs]
    )
    assert found.dtype == np.float32
    expected = loss.formula(*loss.inputs)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def loss32(loss):
    """The same layer with constants in float32."""

    def layer(*variables):
        global constant
        before = constant
        constant = lambda a: before(a.astype("f4") if a.dtype == "f8" else a)  # noqa: E731
        try:
            return loss.layer(*variables)
        finally:
            constant = before

    return dataclasses.replace(loss, layer=layer)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_gradients_are_those_of_differences(loss):
    weights, step = weights_of(loss), 1e-5
    _, *grads = run(loss, loss.inputs, weights)
    assert len(grads) == len(loss.inputs)
    for i, grad in enumerate(grads):
        numeric = np.empty_like(grad)
        for at in np.ndindex(grad.shape):
            sums = []
            for sign in (1, -1):
                moved = [array.copy() for array in loss.inputs]
                moved[i][at] += sign * step
                sums.append((loss.formula(*moved) * weights).sum())
            numeric[at] = (sums[0] - sums[1]) / (2 * step)
        bound = 1e-7 * np.maximum(1, np.abs(numeric))
        assert (np.abs(grad - numeric) <= bound).all(), (i, grad - numeric)


@pytest.mark.skipif(torch is None, reason="PyTorch is missing")
@pytest.mark.parametrize(
    "loss",
    [loss for loss in LOSSES if loss.torch],
    ids=lambda loss: loss.name,
)
def test_agrees_with_torch(loss):
    weights = weights_of(loss)
    found = run(loss, loss.inputs, weights)
    inputs = [t(array).clone().requires_grad_() for array in loss.inputs]
    value = loss.torch(*inputs)
    (value * t(weights)).sum().backward()
    expected = [value.detach(), *(x.grad for x in inputs)]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-9, atol=1e-12)


def value(layer, *arrays, dtype="f8"):
    arrays = [np.asarray(a, dtype) for a in arrays]
    loss = Loss("", layer, arrays, lambda *a: layer)
    return run(loss, arrays, np.ones(()))


def test_logistic_losses_keep_small_and_large_numbers():
    found, grad, _ = value(
        L.sigmoid_cross_entropy_with_logits,
        [[100.0, -100.0, 800.0, -800.0]],
        [[1.0, 0.0, 0.0, 1.0]],
    )
    np.testing.assert_allclose(found[0, 0], np.exp(-100.0), rtol=1e-12)
    np.testing.assert_allclose(found[0, 1:], [0, 800, 800], atol=1e-12)
    np.testing.assert_allclose(grad[0, 2:], [1, -1])


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
        assert np.isfinite(grad).all()
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
        L.sigmoid_cross_entropy_with_logits,
        L.huber_loss,
        L.bce_loss,
        L.kldiv_loss,
        L.log_loss,
        L.hinge_loss,
    ):
        assert np.isnan(value(layer, nan, [[1.0]])[0]).all(), layer


def test_losses_of_no_rows():
    for layer in (L.huber_loss, L.smooth_l1, L.hinge_loss):
        found, *_ = run(
            Loss("", layer, (), None), [np.zeros((0, 3)), np.zeros((0, 3))]
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
    loss = Loss(
        "",
        lambda x: L.warpctc(
            x,
            constant(label),
            input_length=constant(times),
            label_length=constant(length),
            **attrs,
        ),
        (logits,),
        None,
    )
    return run(loss, [logits], np.ones((logits.shape[1], 1)))


def test_ctc_takes_padded_sequences():
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(12, 3, 5))
    label = np.array([[1, 1, 2], [4, 3, 0], [2, 9, 9]])
    times, length = np.array([12, 7, 1]), np.array([3, 2, 1])
    loss, grad = ctc(logits, label, times, length)
    np.testing.assert_allclose(loss[2], -log_softmax(logits[0, 2])[2])
    assert (grad[7:, 1] == 0).all() and (grad[1:, 2] == 0).all()
    np.testing.assert_allclose(grad.sum(2), 0, atol=1e-12)
    _, halved = ctc(logits, label, times, length, norm_by_times=True)
    np.testing.assert_allclose(halved * times[:, None], grad, atol=1e-15)
    if torch is None:
        return
    x = t(logits).requires_grad_()
    theirs = F.ctc_loss(
        x.log_softmax(2),
        t(np.minimum(label, 4)),
        t(times),
        t(length),
        reduction="none",
    )
    theirs.sum().backward()
    np.testing.assert_allclose(loss[:, 0], theirs.detach(), rtol=1e-10)
    np.testing.assert_allclose(grad, x.grad, atol=1e-10)


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
    ("wrong", "check", "words"),
    [
        (lambda x: L.huber_loss(x, x, 0), "python.loss_above_0", "delta"),
        (
            lambda x: L.smooth_l1(x, x, sigma=float("nan")),
            "python.loss_above_0",
            "sigma",
        ),
        (
            lambda x: L.smooth_l1_loss(x, x, beta=-1),
            "python.loss_above_0",
            "beta",
        ),
        (lambda x: L.mse_loss(x, x, "avg"), "python.reduction", "batchmean"),
        (lambda x: L.label_smooth(x, epsilon=2), "python.label_smooth", "1"),
        (lambda x: L.log_loss(x, x, "a"), "python.number", "epsilon"),
        (lambda x: L.hinge_loss(x, 1), "python.variable", "label"),
        (
            lambda x: L.bpr_loss(sl.data("y", [None, 1]), x),
            "python.bpr_loss_classes",
            "2 classes",
        ),
        (lambda x: L.warpctc(x, x), "python.variable", "input_length"),
    ],
)
def test_wrong_arguments_are_named(wrong, check, words):
    with pytest.raises(sl.InvalidArgumentError, match=words) as error:
        wrong(sl.data("x", [None, 3]))
    assert error.value.check_id == check
