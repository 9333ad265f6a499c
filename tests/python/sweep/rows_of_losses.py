"""Losses, at probabilities 0 and 1, at saturation and in long sums."""

import numpy as np
from sweeping import (
    BITS, FAR, LOGITS, SHARES, SIGNED, Row, absolute, constant, grid, least,
    log, log1p, relu, rows_of, sigmoid, softplus, where, xlogy,
)

import sluice as sl

L = sl.layers
RNG = np.random.default_rng(5)
N, C = 6, 4
NEAR = RNG.normal(size=(N, C))
OTHER = RNG.normal(size=(N, C))
MIXED = RNG.dirichlet(np.ones(C), N)
CLASSES = np.array([[0], [3], [-100], [1], [2], [0]])
ONE_HOT = (CLASSES == np.arange(C)).astype("f8")
WEIGHTS = np.array([0.5, 2.0, 1.25, 1e-30])
# Rows whose first class is more and more certain, and the reverse.
SURE = np.array([[s, -s, 0.5, 1 - s] for s in (1, 17, 40, 90, 150, -150)])
MASKED = np.array(
    [[0, 0.25, 0.75, 0], [1, 0, 0, 0], [0, 1, 0, 0], [1e-30, 0, 0.5, 0.5],
     [0.1, 0.2, 0.3, 0.4], [0, 0, 1e-7, 1 - 1e-7]]
)  # fmt: skip
TRUTH = np.arange(N)[:, None] % C
MANY = np.full((1000, 1000), 0.1)
FEW = grid(SIGNED[np.abs(SIGNED) < 1e19], FAR[FAR < 1e19])


def log_softmax(x):
    x = x - x.real.max(-1, keepdims=True)
    return x - log(np.exp(x).sum(-1, keepdims=True))


def logistic(x, y):
    right = (1 - y) * x + softplus(-x)
    return where(np.real(x) > 0, right, softplus(x) - x * y)


def apart(x, y):
    """Where the gradient is no difference of nearly equal numbers."""
    return np.abs(x - y) > 0.1 * np.maximum(np.abs(x), np.abs(y))


def bent(d, bend):
    d = absolute(d)
    return where(np.real(d) < bend, d * d / 2, bend * (d - bend / 2))


def bce(p, y):
    return -xlogy(y, p) - (1 - y) * log1p(-p)


def log_loss(epsilon):
    def loss(p, y):
        return -y * log1p(p - 1 + epsilon) - (1 - y) * log1p(epsilon - p)

    return loss


def npair(a, p):
    labels = np.arange(N) % 3
    same = (labels[:, None] == labels).astype("g")
    share = same / same.sum(1, keepdims=True)
    each = -(share * log_softmax(a @ p.T)).sum(1, keepdims=True)
    norms = (a * a).sum(1).mean() + (p * p).sum(1).mean()
    return (share * each).sum(0).mean() + np.longdouble("0.0005") * norms


def bpr(x):
    own = np.take_along_axis(x, np.maximum(CLASSES, 0), 1)
    above = where(ONE_HOT > 0, 0, softplus(x - own))
    return where(CLASSES < 0, 0, rows_of(above) / (C - 1))


def dice(x):
    truth = np.eye(C)[TRUTH[:, 0]]
    share = 2 * rows_of(x * truth)
    share = share / (rows_of(x) + rows_of(truth) + np.longdouble("1e-5"))
    return (1 - share).mean()


def small(arrays):
    """Constants in the dtype of a variable."""
    return lambda x: constant(arrays.astype(str(x.dtype)))


pairs = grid(LOGITS, BITS)
halves = grid(LOGITS, np.array([0.25, 0.5]))
probable = grid(SHARES, SHARES)
inside = grid(SHARES[1:-1], SHARES)
EPSILON = 2.0**-23
hard, signs = small(ONE_HOT), small(2 * ONE_HOT - 1)
ROWS = [
    Row("softmax_with_cross_entropy",
        lambda x: L.softmax_with_cross_entropy(x, constant(CLASSES)),
        lambda x: -rows_of(ONE_HOT * log_softmax(x)), (SURE,), 1),
    Row("softmax_with_cross_entropy",
        lambda x, y: L.softmax_with_cross_entropy(x, y, soft_label=True),
        lambda x, y: -rows_of(y * log_softmax(x)), (SURE, MASKED), 1,
        scale=lambda x, y: rows_of(abs(y * log_softmax(x)))),
    Row("cross_entropy",
        lambda p: L.cross_entropy(p, constant(CLASSES)),
        lambda p: -rows_of(ONE_HOT * log(p)), (MIXED,), 1),
    Row("cross_entropy",
        lambda p, y: L.cross_entropy(p, y, soft_label=True),
        lambda p, y: -rows_of(xlogy(y, p)), (MASKED, MASKED), 1,
        smooth=lambda p, y: (p > 0) & (y > 0)),
    Row("nll_loss",
        lambda x: L.nll_loss(x, constant(CLASSES[:, 0]), small(WEIGHTS)(x)),
        lambda x: -(ONE_HOT * WEIGHTS * x).sum() / (ONE_HOT * WEIGHTS).sum(),
        (NEAR,), 0),
    Row("square_error_cost", L.square_error_cost, lambda x, y: (x - y) ** 2, FEW),
    Row("mse_loss", L.mse_loss, lambda x, y: ((x - y) ** 2).mean(),
        (NEAR, OTHER), 0),
    Row("mse_loss", L.mse_loss, lambda x, y: ((x - y) ** 2).mean(),
        (MANY, 0 * MANY), gradients=False),
    Row("sigmoid_cross_entropy_with_logits",
        L.sigmoid_cross_entropy_with_logits, logistic, pairs),
    Row("sigmoid_cross_entropy_with_logits",
        L.sigmoid_cross_entropy_with_logits, logistic, halves,
        smooth=lambda x, y: apart(sigmoid(x), y)),
    Row("sigmoid_cross_entropy_with_logits",
        lambda x: L.sigmoid_cross_entropy_with_logits(
            x, hard(x), ignore_index=0, normalize=True),
        lambda x: ONE_HOT * softplus(-x) / ONE_HOT.sum(), (SURE,)),
    Row("logistic_loss", L.logistic_loss, logistic, pairs),
    Row("xlogy", L.xlogy, xlogy, grid(np.array([0, 1e-30, 0.5, 1, 1e10]), FAR[1:])),
    Row("smooth_l1", lambda x, y: L.smooth_l1(x, y, sigma=1e-3),
        lambda x, y: 1e-6 * bent(x - y, 1e6), FEW, bound=1e-5),
    Row("smooth_l1", lambda x, y, w: L.smooth_l1(x, y, w, hard(x), sigma=1.5),
        lambda x, y, w: rows_of(2.25 * bent((x - y) * w, 1 / 2.25) * ONE_HOT),
        (NEAR, OTHER, MIXED), 1),
    Row("smooth_l1_loss",
        lambda x, y: L.smooth_l1_loss(x, y, "none", beta=2.0**-60),
        lambda x, y: bent(x - y, 2.0**-60) * 2.0**60, FEW),
    Row("huber_loss", lambda x, y: L.huber_loss(x, y, 0.5),
        lambda x, y: bent(x - y, 0.5), FEW),
    Row("kldiv_loss", lambda x, y: L.kldiv_loss(x, y, "none"),
        lambda x, y: xlogy(y, y) - y * x, grid(-FAR[:-4], SHARES),
        smooth=lambda x, y: y > 0, scale=lambda x, y: abs(y * x)),
    Row("kldiv_loss", lambda x, y: L.kldiv_loss(x, y, "batchmean"),
        lambda x, y: (xlogy(y, y) - y * x).sum() / N, (NEAR, MIXED), 0),
    Row("bce_loss", lambda p, y: L.bce_loss(p, y, reduction="none"), bce, inside,
        smooth=apart),
    Row("bce_loss", lambda p, y: L.bce_loss(p, y, small(OTHER**2)(p)),
        lambda p, y: (OTHER**2 * bce(p, y)).mean(), (MIXED, MIXED[::-1]), 0),
    Row("bce_loss", lambda p: L.bce_loss(p, hard(p), reduction="none"),
        lambda p: 100 * abs(p - ONE_HOT) + 0 * p, (1 - ONE_HOT,), gradients=False),
    Row("log_loss", lambda p, y: L.log_loss(p, y, EPSILON), log_loss(EPSILON),
        probable, smooth=apart),
    Row("log_loss", lambda p, y: L.log_loss(p, y, 0.0078125),
        log_loss(0.0078125), probable,
        smooth=lambda p, y: apart(p + 0.0078125, y)),
    Row("rank_loss", lambda a, b: L.rank_loss(hard(a), a, b),
        lambda a, b: logistic(a - b, ONE_HOT), (SURE, 0 * SURE)),
    Row("margin_rank_loss", lambda a, b: L.margin_rank_loss(signs(a), a, b, 0.5),
        lambda a, b: relu(0.5 - (2 * ONE_HOT - 1) * (a - b)), (SURE, NEAR)),
    Row("hinge_loss", lambda x: L.hinge_loss(x, hard(x)),
        lambda x: relu(1 - (2 * ONE_HOT - 1) * x), (SURE,)),
    Row("label_smooth", lambda y: L.label_smooth(y, epsilon=0.25),
        lambda y: 0.75 * y + 0.25 / C, (MASKED,)),
    Row("label_smooth", lambda y: L.label_smooth(y, small(MIXED[:1])(y), 0.25),
        lambda y: 0.75 * y + 0.25 * MIXED[:1].astype("f4"), (MASKED,), bound=1e-4,
        dtypes=("float32",)),
    Row("dice_loss", lambda x: L.dice_loss(x, constant(TRUTH)), dice, (MIXED,), 0),
    Row("npair_loss",
        lambda a, p: L.npair_loss(a, p, constant(np.arange(N) % 3)), npair,
        (NEAR, OTHER), 0, bound=1e-5, scale=lambda a, p: 1.0),
    Row("bpr_loss", lambda x: L.bpr_loss(x, constant(CLASSES)), bpr, (SURE,), 1),
    # The gradient reads the rounded result, as PyTorch's does.
    Row("sigmoid", L.sigmoid, sigmoid, (LOGITS[:, None],),
        smooth=lambda x: x < 3),
    Row("least", lambda x: L.clip(x, min=-2.0, max=3.0),
        lambda x: least(where(np.real(x) < -2, -2, x), 3), (SIGNED[:, None],)),
]  # fmt: skip
