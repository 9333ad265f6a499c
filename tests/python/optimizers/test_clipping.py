"""Clipping, decay, what one parameter has, what is refused."""

import numpy as np
import pytest
from of_pytorch import torch
from stepping import (
    GRADS, RATE, START, by_formula, loss_of, momentum, opt, ours, parameter,
    value,
)

import sluice as sl

@pytest.mark.parametrize("coeff", [0.0, 0.25])
def test_l2_decay_is_the_weight_decay_of_pytorch(exe, coeff):
    decay = sl.regularizer.L2Decay(coeff)
    got = ours(exe, opt.Momentum(RATE, regularization=decay))

    def step(g, p, s, t, lr):
        return momentum(g + coeff * p, p, s, t, lr)

    np.testing.assert_allclose(got, by_formula(step), atol=1e-10)


def test_l1_decay_adds_the_sign(exe):
    decay = sl.regularizer.L1Decay(0.25)
    got = ours(exe, opt.SGD(RATE, regularization=decay))

    def step(g, p, s, t, lr):
        return p - lr * (g + 0.25 * np.sign(p))

    np.testing.assert_allclose(got, by_formula(step), atol=1e-10)


def test_a_parameter_has_its_own_rate_decay_and_clip(exe):
    """They count instead of the optimizer's; others have the optimizer's."""
    own = parameter(
        START,
        learning_rate=0.5,
        regularizer=sl.regularizer.L2Decay(0.5),
        gradient_clip=sl.clip.GradientClipByValue(0.25),
    )
    other = parameter(START, "q")
    loss = loss_of(own) + loss_of(other, "h")
    opt.SGD(
        RATE,
        sl.regularizer.L1Decay(0.125),
        sl.clip.GradientClipByValue(0.5, -1.0),
    ).minimize(loss)
    exe.run(sl.default_startup_program())
    g, h = GRADS[:2]
    exe.run(feed={"g": g, "h": h})
    moved = START - RATE / 2 * (np.clip(g, -0.25, 0.25) + 0.5 * START)
    np.testing.assert_allclose(value(), moved, rtol=1e-14)
    moved = START - RATE * (np.clip(h, -1, 0.5) + 0.125 * np.sign(START))
    np.testing.assert_allclose(value("q"), moved, rtol=1e-14)


def clipped_grads(exe, clips, grads, default=None):
    """What parameters of zeros lose by a step of SGD with rate 1."""
    losses = []
    for i, (clip, g) in enumerate(zip(clips, grads, strict=True)):
        p = parameter(np.zeros_like(g), f"p{i}", g.dtype, gradient_clip=clip)
        loss = loss_of(p, f"g{i}")
        if loss.dtype != "float64":
            loss = sl.layers.cast(loss, dtype="float64")
        losses.append(loss)
    opt.SGD(1.0, grad_clip=default).minimize(sl.layers.sum(losses))
    exe.run(sl.default_startup_program())
    exe.run(feed={f"g{i}": g for i, g in enumerate(grads)})
    return [-value(f"p{i}") for i in range(len(grads))]


def test_clipping_by_norm_keeps_the_direction(exe):
    small, large = np.array([0.3, -0.4]), np.array([3.0, -4.0])
    clip = sl.clip.GradientClipByNorm(2.0)
    got = clipped_grads(exe, [None] * 2, [small, large], clip)
    np.testing.assert_array_equal(got[0], small)
    np.testing.assert_allclose(got[1], [1.2, -1.6], rtol=1e-14)


def test_clipping_by_the_global_norm_is_that_of_pytorch(exe):
    grads = [GRADS[0], GRADS[1][0], GRADS[2].sum()]
    clip = sl.clip.GradientClipByGlobalNorm(1.5)
    got = clipped_grads(exe, [None] * 3, grads, clip)
    norm = np.sqrt(sum((g**2).sum() for g in grads))
    for g, c in zip(grads, got, strict=True):
        np.testing.assert_allclose(c, g * 1.5 / norm, rtol=1e-14)
    if torch is None:
        return
    parameters = [torch.zeros(g.shape, requires_grad=True) for g in grads]
    for p, g in zip(parameters, grads, strict=True):
        p.grad = torch.tensor(g, dtype=p.dtype)
    torch.nn.utils.clip_grad_norm_(parameters, 1.5)
    for p, c in zip(parameters, got, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), c, atol=1e-6)


def test_groups_are_clipped_by_their_own_norms(exe):
    def clip(norm, group):
        return sl.clip.GradientClipByGlobalNorm(norm, group)

    grads = [np.array([3.0]), np.array([6.0]), np.array([4.0], "float32")]
    clips = [clip(1.0, "a"), clip(2.0, "b"), clip(1.0, "a")]
    got = clipped_grads(exe, clips, grads)
    np.testing.assert_allclose(np.ravel(got), [0.6, 2.0, 0.8], rtol=1e-7)
    with (
        sl.program_guard(sl.Program(), sl.Program()),
        pytest.raises(sl.InvalidArgumentError, match=r"'a' has clip_norm 1.0"),
    ):
        clipped_grads(exe, [clip(1.0, "a"), clip(2.0, "a")], grads[:2])


def test_norms_do_not_overflow(exe):
    clip = sl.clip.GradientClipByGlobalNorm(1.0)
    grads = [np.array([3e30, 0], "f4"), np.array([0, 4e30], "f4")]
    got = clipped_grads(exe, [None] * 2, grads, clip)
    np.testing.assert_allclose(got, [[0.6, 0], [0, 0.8]], rtol=1e-6)


def test_clipping_keeps_nan_and_says_where(exe):
    nan, inf = np.nan, np.inf
    grads = [np.array([nan, 2.0]), np.array([3.0, 4.0]), np.array([inf, 2.0])]
    for clip, expected in (
        (
            sl.clip.GradientClipByValue(1.0),
            [[nan, 1.0], [1.0, 1.0], [1.0, 1.0]],
        ),
        (sl.clip.GradientClipByNorm(1.0), [[nan, nan], [0.6, 0.8], [nan, 0.0]]),
        (sl.clip.GradientClipByGlobalNorm(1.0), [[nan, nan]] * 3),
    ):
        with (
            sl.program_guard(sl.Program(), sl.Program()),
            sl.scope_guard(sl.Scope()),
        ):
            got = clipped_grads(exe, [None] * 3, grads, clip)
            np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_what_optimizers_refuse():
    decay = sl.regularizer.L2Decay(0.1)
    clip = sl.clip.GradientClipByNorm(1.0)
    for make, said in (
        (lambda: opt.SGD(0.1, clip), "regularization must be one of"),
        (lambda: opt.SGD(0.1, grad_clip=1.0), "grad_clip must be one of"),
        (lambda: opt.Adamax(formula="torch"), "formula must be"),
        (lambda: opt.RMSProp(0.1, float("inf")), "rho must be finite"),
        (lambda: opt.Dpsgd(batch_size=0), "batch_size must be above 0"),
        (lambda: opt.GradientMerge(opt.SGD(0.1), 0), "k_steps"),
        (lambda: opt.GradientMerge("adam"), "inner_optimizer must be"),
        (lambda: opt.Lookahead(opt.SGD(0.1), 2.0), "alpha must be from 0"),
        (
            lambda: opt.GradientMerge(opt.Lookahead(opt.SGD(0.1))),
            "inside of Lookahead",
        ),
        (lambda: opt.ExponentialMovingAverage(1.0), "decay must be"),
        (lambda: opt.ModelAverage(-1.0), "average_window_rate must be"),
        (lambda: sl.clip.GradientClipByNorm(0.0), "must be above 0"),
        (lambda: sl.clip.GradientClipByValue(-1.0), "must not be above max"),
        (lambda: sl.clip.GradientClipByNorm(float("nan")), "must be finite"),
        (lambda: sl.regularizer.L2Decay("1"), "must be a number"),
        (lambda: sl.ParamAttr(regularizer=clip), "regularizer must be one of"),
        (lambda: sl.ParamAttr(gradient_clip=decay), "gradient_clip must be"),
        (lambda: sl.ParamAttr(learning_rate=-1.0), "must be at least 0"),
    ):
        with pytest.raises(sl.InvalidArgumentError, match=said):
            make()
