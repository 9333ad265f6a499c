"""Optimizers for 100 steps, in float64, against independent formulas and, where
it is installed, PyTorch's own; and that they go on from a file with equal bits.
"""

import numpy as np
import pytest

import sluice as sl

try:
    import torch
except ImportError:
    torch = None

opt = sl.optimizer
STEPS = 100
RATE = 0.05
START = np.random.default_rng(1).normal(size=(3, 5))
GRADS = np.random.default_rng(2).normal(size=(STEPS, 3, 5))


# Each: (g, p, s, t, lr) -> p, with a state s that begins as zeros and the step
# t from 1.
def sgd(g, p, s, t, lr):
    return p - lr * g


def momentum(g, p, s, t, lr):
    s["v"] = 0.9 * s["v"] + g
    return p - lr * s["v"]


def nesterov(g, p, s, t, lr):
    s["v"] = 0.9 * s["v"] + g
    return p - lr * (g + 0.9 * s["v"])


def lars(g, p, s, t, lr):
    norm = np.linalg.norm
    rate = lr * 0.1 * norm(p) / (norm(g) + 0.02 * norm(p))
    s["v"] = 0.9 * s["v"] + rate * (g + 0.02 * p)
    return p - s["v"]


def direction(g, s, t, epsilon):
    s["m"] = 0.9 * s["m"] + 0.1 * g
    s["v"] = 0.99 * s["v"] + 0.01 * g * g
    m, v = s["m"] / (1 - 0.9**t), s["v"] / (1 - 0.99**t)
    return m / (np.sqrt(v) + epsilon)


def adam(g, p, s, t, lr):
    return p - lr * direction(g, s, t, 1e-8)


def adamw(g, p, s, t, lr):
    return p - lr * 0.1 * p - lr * direction(g, s, t, 1e-8)


def lamb(g, p, s, t, lr):
    r = direction(g, s, t, 1e-6) + 0.1 * p
    return p - lr * np.linalg.norm(p) / np.linalg.norm(r) * r


def adamax(outside):
    def step(g, p, s, t, lr):
        s["m"] = 0.9 * s["m"] + 0.1 * g
        s["u"] = np.maximum(
            0.99 * s["u"] + 1e-2 * (not outside), abs(g) + 1e-2 * outside
        )
        return p - lr / (1 - 0.9**t) * s["m"] / s["u"]

    return step


def adagrad(first):
    def step(g, p, s, t, lr):
        s["m"] = s["m"] + g * g + (first if t == 1 else 0)
        return p - lr * g / (np.sqrt(s["m"]) + 1e-6)

    return step


def decayed_adagrad(g, p, s, t, lr):
    s["m"] = 0.95 * s["m"] + 0.05 * g * g
    return p - lr * g / (np.sqrt(s["m"]) + 1e-6)


def adadelta(g, p, s, t, lr):
    s["g"] = 0.95 * s["g"] + 0.05 * g * g
    update = np.sqrt(s["u"] + 1e-6) / np.sqrt(s["g"] + 1e-6) * g
    s["u"] = 0.95 * s["u"] + 0.05 * update**2
    return p - lr * update


def rmsprop(outside, centered=True):
    def step(g, p, s, t, lr):
        s["g2"] = 0.95 * s["g2"] + 0.05 * g * g
        s["g"] = 0.95 * s["g"] + 0.05 * g
        variance = s["g2"] - centered * s["g"] ** 2
        if outside:
            s["m"] = 0.5 * s["m"] + g / (np.sqrt(variance) + 1e-2)
            return p - lr * s["m"]
        s["m"] = 0.5 * s["m"] + lr * g / np.sqrt(variance + 1e-2)
        return p - s["m"]

    return step


def ftrl(power):
    def step(g, p, s, t, lr):
        new = s["n"] + g * g
        s["z"] = s["z"] + g - (new**power - s["n"] ** power) / lr * p
        s["n"] = new
        z = s["z"]
        moved = (np.sign(z) * 0.5 - z) / (new**power / lr + 2 * 0.25)
        return np.where(abs(z) > 0.5, moved, 0)

    return step


def dpsgd(g, p, s, t, lr):
    return p - lr * g * min(1, 0.9 / np.linalg.norm(g))


B = {"beta2": 0.99}
# name: ours, the formula, PyTorch's by name and arguments or None
CASES = {
    "sgd": (lambda r: opt.SGD(r), sgd, ("SGD", {})),
    "momentum": (
        lambda r: opt.Momentum(r, 0.9),
        momentum,
        ("SGD", {"momentum": 0.9}),
    ),
    "nesterov": (
        lambda r: opt.Momentum(r, use_nesterov=True),
        nesterov,
        ("SGD", {"momentum": 0.9, "nesterov": True}),
    ),
    "lars": (
        lambda r: opt.LarsMomentum(r, 0.9, 0.1, 0.02),
        lars,
        None,
    ),
    "adam": (
        lambda r: opt.Adam(r, **B),
        adam,
        ("Adam", {"betas": (0.9, 0.99)}),
    ),
    "adamw": (
        lambda r: opt.AdamW(r, **B, weight_decay=0.1),
        adamw,
        ("AdamW", {"betas": (0.9, 0.99), "weight_decay": 0.1}),
    ),
    "lamb": (lambda r: opt.Lamb(r, 0.1, **B), lamb, None),
    "adamax of Fluid": (
        lambda r: opt.Adamax(r, **B, epsilon=1e-2),
        adamax(False),
        None,
    ),
    "adamax of PyTorch": (
        lambda r: opt.Adamax(r, **B, epsilon=1e-2, formula="pytorch"),
        adamax(True),
        ("Adamax", {"betas": (0.9, 0.99), "eps": 1e-2}),
    ),
    "adagrad": (
        lambda r: opt.Adagrad(r),
        adagrad(0),
        ("Adagrad", {"eps": 1e-6}),
    ),
    "adagrad from 0.25": (
        lambda r: opt.Adagrad(r, initial_accumulator_value=0.25),
        adagrad(0.25),
        ("Adagrad", {"eps": 1e-6, "initial_accumulator_value": 0.25}),
    ),
    "decayed_adagrad": (
        lambda r: opt.DecayedAdagrad(r),
        decayed_adagrad,
        ("RMSprop", {"alpha": 0.95, "eps": 1e-6}),
    ),
    "adadelta": (
        lambda r: opt.Adadelta(r),
        adadelta,
        ("Adadelta", {"rho": 0.95}),
    ),
    "rmsprop of Fluid": (
        lambda r: opt.RMSProp(r, 0.95, 1e-2, 0.5, True),
        rmsprop(False),
        None,
    ),
    "rmsprop of PyTorch": (
        lambda r: opt.RMSProp(r, 0.95, 1e-2, 0.5, True, "pytorch"),
        rmsprop(True),
        (
            "RMSprop",
            {"alpha": 0.95, "eps": 1e-2, "momentum": 0.5, "centered": True},
        ),
    ),
    "rmsprop not centered": (
        lambda r: opt.RMSProp(r, 0.95, 1e-2, 0.5, formula="pytorch"),
        rmsprop(True, False),
        ("RMSprop", {"alpha": 0.95, "eps": 1e-2, "momentum": 0.5}),
    ),
    "ftrl": (lambda r: opt.Ftrl(r, 0.5, 0.25), ftrl(0.5), None),
    "ftrl by power": (
        lambda r: opt.Ftrl(r, 0.5, 0.25, -0.75),
        ftrl(0.75),
        None,
    ),
    "dpsgd": (lambda r: opt.Dpsgd(r, sigma=0.0), dpsgd, None),
}


def parameter(start, name="p", dtype="float64", **attrs):
    attr = sl.ParamAttr(name, sl.initializer.NumpyArray(start), **attrs)
    helper = sl.LayerHelper("test")
    return helper.create_parameter(attr, np.shape(start), dtype)


def loss_of(param, feed="g"):
    """A loss whose gradient by `param` is what is fed."""
    grad = sl.data(feed, list(param.shape), param.dtype)
    return sl.layers.reduce_sum(param * grad)


def value(name="p"):
    return sl.global_scope()[name].numpy()


def train(exe, grads, fetch=()):
    """Run once for each gradient; return the fetched values of each run."""
    return [exe.run(feed={"g": g}, fetch_list=list(fetch)) for g in grads]


def ours(exe, optimizer, start=START, grads=GRADS, **attrs):
    """The parameter after steps with these gradients."""
    optimizer.minimize(loss_of(parameter(start, **attrs)))
    exe.run(sl.default_startup_program())
    train(exe, grads)
    return value()


def by_formula(step, p=START, grads=GRADS, rate=lambda t: RATE):
    class Zeros(dict):
        def __missing__(self, key):
            return np.zeros_like(p)

    state = Zeros()
    for t, g in enumerate(grads, 1):
        p = step(g, p, state, t, rate(t))
    return p


def by_torch(name, arguments, start=START, grads=GRADS, before=None):
    p = torch.tensor(start, requires_grad=True)
    stepped = getattr(torch.optim, name)([p], lr=RATE, **arguments)
    for g in grads:
        p.grad = torch.tensor(g)
        if before is not None:
            before(p)
        stepped.step()
    return p.detach().numpy()


@pytest.mark.parametrize("name", CASES)
def test_100_steps_are_those_of_the_formula(exe, name):
    make, step, _ = CASES[name]
    got = ours(exe, make(RATE))
    np.testing.assert_allclose(got, by_formula(step), rtol=0, atol=1e-10)


@pytest.mark.skipif(torch is None, reason="PyTorch is missing")
@pytest.mark.parametrize("name", [n for n, case in CASES.items() if case[2]])
def test_100_steps_are_those_of_pytorch(exe, name):
    make, _, (theirs, arguments) = CASES[name]
    expected = by_torch(theirs, arguments)
    np.testing.assert_allclose(ours(exe, make(RATE)), expected, atol=1e-6)


WRAPPED = {
    "merge": lambda r: opt.GradientMerge(opt.Adam(r), 3),
    "lookahead": lambda r: opt.Lookahead(opt.Momentum(r), k=3),
}


@pytest.mark.parametrize("name", [*CASES, *WRAPPED])
def test_training_goes_on_from_a_file_with_equal_bits(tmp_path, exe, name):
    """With a schedule and averages, in the middle of an accumulation."""
    rate = sl.layers.exponential_decay(RATE, 10, 0.9)
    make = WRAPPED.get(name) or CASES[name][0]
    make(rate).minimize(loss_of(parameter(START)))
    average = opt.ExponentialMovingAverage(0.9)
    average.update()
    mean = opt.ModelAverage(0.5, 3, 10)
    exe.run(sl.default_startup_program())
    train(exe, GRADS[:31])
    sl.io.save_params(tmp_path / "at_31")
    train(exe, GRADS[31:60])
    through = {v: value(v).copy() for v in sl.global_scope().names()}
    with sl.scope_guard(sl.Scope()):
        sl.io.load_params(tmp_path / "at_31")
        train(exe, GRADS[31:60])
        for variable, expected in through.items():
            np.testing.assert_array_equal(value(variable), expected, variable)
        with average.apply(exe), mean.apply(exe):
            assert not np.array_equal(value(), through["p"])
        np.testing.assert_array_equal(value(), through["p"])


# ---------------------------------------------------------------- schedules
def staged(t):
    return 0.5 if t < 30 else 0.25 if t < 60 else 0.1


layers = sl.layers
cos, exp, floor = np.cos, np.exp, np.floor
SCHEDULES = {
    "exponential_decay": (
        lambda: layers.exponential_decay(0.5, 7, 0.9, dtype="float64"),
        lambda t: 0.5 * 0.9 ** (t / 7),
    ),
    "exponential staircase": (
        lambda: layers.exponential_decay(0.5, 7, 0.9, True, "float64"),
        lambda t: 0.5 * 0.9 ** (t // 7),
    ),
    "natural_exp_decay": (
        lambda: layers.natural_exp_decay(0.5, 7, 0.2, dtype="float64"),
        lambda t: 0.5 * exp(-0.2 * t / 7),
    ),
    "natural staircase": (
        lambda: layers.natural_exp_decay(0.5, 7, 0.2, True, "float64"),
        lambda t: 0.5 * exp(-0.2 * (t // 7)),
    ),
    "inverse_time_decay": (
        lambda: layers.inverse_time_decay(0.5, 7, 0.2, dtype="float64"),
        lambda t: 0.5 / (1 + 0.2 * t / 7),
    ),
    "polynomial_decay": (
        lambda: layers.polynomial_decay(0.5, 60, 0.01, 2.0, dtype="float64"),
        lambda t: 0.49 * (1 - min(t, 60) / 60) ** 2 + 0.01,
    ),
    "polynomial cycles": (
        lambda: layers.polynomial_decay(0.5, 30, cycle=True, dtype="float64"),
        lambda t: 0.4999 * (1 - t / (30 * max(1, -(-t // 30)))) + 0.0001,
    ),
    "piecewise_decay": (
        lambda: layers.piecewise_decay([30, 60], [0.5, 0.25, 0.1], "float64"),
        staged,
    ),
    "noam_decay": (
        lambda: layers.noam_decay(64, 40, 2.0, "float64"),
        lambda t: 2 / 8 * min((t + 1) ** -0.5, (t + 1) * 40**-1.5),
    ),
    "cosine_decay": (
        lambda: layers.cosine_decay(0.5, 5, 20, "float64"),
        lambda t: 0.25 * (cos(floor(t / 5) * np.pi / 20) + 1),
    ),
    "linear_lr_warmup": (
        lambda: layers.linear_lr_warmup(0.5, 20, 0.1, 0.4, "float64"),
        lambda t: 0.1 + 0.3 * t / 20 if t < 20 else 0.5,
    ),
    "a warm-up before a decay": (
        lambda: layers.linear_lr_warmup(
            layers.exponential_decay(0.5, 7, 0.9), 20, 0.1, 0.4, "float64"
        ),
        lambda t: 0.1 + 0.3 * t / 20 if t < 20 else 0.5 * 0.9 ** (t / 7),
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_100_rates_are_those_of_the_formula(exe, name):
    make, formula = SCHEDULES[name]
    rate = make()
    opt.SGD(rate).minimize(loss_of(parameter(START)))
    exe.run(sl.default_startup_program())
    got = [float(rates[0]) for (rates,) in train(exe, GRADS, [rate])]
    expected = [formula(t) for t in range(STEPS)]
    np.testing.assert_allclose(got, expected, rtol=1e-7)
    p = by_formula(sgd, rate=lambda t: formula(t - 1))
    np.testing.assert_allclose(value(), p, atol=1e-6)


TORCH_SCHEDULES = {
    "exponential staircase": ("StepLR", {"step_size": 7, "gamma": 0.9}),
    "exponential_decay": ("ExponentialLR", {"gamma": 0.9 ** (1 / 7)}),
    "polynomial to 0": ("PolynomialLR", {"total_iters": 60, "power": 2.0}),
    "pieces": ("MultiStepLR", {"milestones": [30, 60], "gamma": 0.5}),
    "cosine to 0": ("CosineAnnealingLR", {"T_max": 100}),
    "line": (
        "LinearLR",
        {"start_factor": 0.2, "end_factor": 1.0, "total_iters": 20},
    ),
}
OURS_LIKE_TORCH = {
    "polynomial to 0": lambda: layers.polynomial_decay(0.5, 60, 0.0, 2.0),
    "pieces": lambda: layers.piecewise_decay([30, 60], [0.5, 0.25, 0.125]),
    "cosine to 0": lambda: layers.cosine_decay(0.5, 1, 100),
    "line": lambda: layers.linear_lr_warmup(0.5, 20, 0.1, 0.5),
}


@pytest.mark.skipif(torch is None, reason="PyTorch is missing")
@pytest.mark.parametrize("name", TORCH_SCHEDULES)
def test_100_rates_are_those_of_pytorch(exe, name):
    make = OURS_LIKE_TORCH.get(name) or SCHEDULES[name][0]
    rate = make()
    exe.run(sl.default_startup_program())
    kind, arguments = TORCH_SCHEDULES[name]
    stepped = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    schedule = getattr(torch.optim.lr_scheduler, kind)(stepped, **arguments)
    for _ in range(STEPS):
        (got,) = exe.run(fetch_list=[rate])
        np.testing.assert_allclose(got, [schedule.get_last_lr()[0]], atol=1e-6)
        stepped.step()
        schedule.step()


def test_a_schedule_needs_steps_and_matching_numbers():
    refused = pytest.raises(sl.InvalidArgumentError, match="test_optimizers.py")
    for make in (
        lambda: layers.exponential_decay(0.1, 0, 0.9),
        lambda: layers.natural_exp_decay(0.1, 0, 0.9),
        lambda: layers.inverse_time_decay(0.1, 0, 0.9),
        lambda: layers.polynomial_decay(0.1, 0),
        lambda: layers.noam_decay(0, 5),
        lambda: layers.noam_decay(5, 0),
        lambda: layers.cosine_decay(0.1, 0, 5),
        lambda: layers.cosine_decay(0.1, 5, 0),
        lambda: layers.linear_lr_warmup(0.1, 0, 0.0, 0.1),
        lambda: layers.linear_lr_warmup(0.1, 5, 0.1, 0.1),
        lambda: layers.piecewise_decay([1, 2], [0.1, 0.2]),
        lambda: layers.piecewise_decay([2, 1], [0.1, 0.2, 0.3]),
    ):
        with refused:
            make()
    with pytest.raises(sl.InvalidArgumentError, match="finite"):
        layers.exponential_decay(float("nan"), 5, 0.9)


def test_a_clone_for_testing_counts_no_steps(exe):
    rate = layers.exponential_decay(0.5, 1, 0.5)
    loss = loss_of(parameter(START))
    test = sl.default_main_program().clone(for_test=True)
    opt.SGD(rate).minimize(loss)
    exe.run(sl.default_startup_program())
    rates = []
    for g in GRADS[:3]:
        exe.run(test, {"g": g}, [loss.name])
        rates += [float(r[0]) for (r,) in train(exe, [g], [rate])]
    assert rates == [0.5, 0.25, 0.125]


# ------------------------------------------------- clipping, decay, ParamAttr
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
            loss = layers.cast(loss, dtype="float64")
        losses.append(loss)
    opt.SGD(1.0, grad_clip=default).minimize(layers.sum(losses))
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
        (
            sl.clip.GradientClipByNorm(1.0),
            [[nan, nan], [0.6, 0.8], [nan, 0.0]],
        ),
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


# -------------------------------------------------------- wrappers, averages
@pytest.mark.parametrize("name", ["adam", "momentum", "lamb", "ftrl"])
def test_merged_gradients_update_like_the_large_batch(exe, name):
    make, step, _ = CASES[name]
    got = ours(exe, opt.GradientMerge(make(RATE), 4))
    batches = GRADS.reshape(25, 4, 3, 5).mean(axis=1)
    expected = by_formula(step, grads=batches)
    np.testing.assert_allclose(got, expected, atol=1e-10)


def test_merged_gradients_are_clipped_and_decay_once(exe):
    inner = opt.SGD(
        RATE, sl.regularizer.L2Decay(0.5), sl.clip.GradientClipByValue(0.25)
    )
    got = ours(exe, opt.GradientMerge(inner, 2, avg=False), grads=GRADS[:3])
    g = np.clip(GRADS[0] + GRADS[1], -0.25, 0.25) + 0.5 * START
    np.testing.assert_allclose(got, START - RATE * g, rtol=1e-14)


def test_a_nan_does_not_stay_in_the_merged_gradient(exe):
    merge = opt.GradientMerge(opt.Momentum(RATE), 2)
    merge.minimize(loss_of(parameter(START)))
    exe.run(sl.default_startup_program())
    train(exe, [GRADS[0] * np.nan])
    assert np.isfinite(value()).all()
    names = [n for n in sl.global_scope().names() if n.endswith(".gradient_0")]
    assert len(names) == 1
    sl.global_scope()[names[0]] = np.zeros_like(START)
    train(exe, [GRADS[1]])
    expected = START - RATE * GRADS[1] / 2
    np.testing.assert_allclose(value(), expected, rtol=1e-14)


def test_lookahead_meets_every_k_steps(exe):
    got = ours(exe, opt.Lookahead(opt.Adam(RATE, **B), 0.25, 7))
    slow = START
    state = {"m": 0.0, "v": 0.0}
    p = START
    for t, g in enumerate(GRADS, 1):
        p = adam(g, p, state, t, RATE)
        if t % 7 == 0:
            p = slow = slow + 0.25 * (p - slow)
    np.testing.assert_allclose(got, p, atol=1e-10)


@pytest.mark.parametrize("limited", [False, True])
def test_exponential_moving_average(exe, limited):
    opt.SGD(RATE).minimize(loss_of(parameter(START)))
    steps = None
    if limited:
        layers.exponential_decay(1.0, 1, 1.0)
        steps = sl.default_main_program().var("learning_rate_step")
    ema = opt.ExponentialMovingAverage(0.9, steps)
    ema.update()
    exe.run(sl.default_startup_program())
    p, average, left = START, 0, 1
    for t, g in enumerate(GRADS):
        train(exe, [g])
        p = p - RATE * g
        decay = min(0.9, (1 + t) / (10 + t)) if limited else 0.9
        average, left = decay * average + (1 - decay) * p, left * decay
        if t in (0, 4, STEPS - 1):
            with ema.apply(exe):
                expected = average / (1 - left)
                np.testing.assert_allclose(value(), expected, rtol=1e-10)
            np.testing.assert_allclose(value(), p, atol=1e-12)
    with ema.apply(exe, need_restore=False):
        pass
    np.testing.assert_allclose(value(), expected, rtol=1e-10)
    ema.restore(exe)
    np.testing.assert_allclose(value(), p, atol=1e-12)


def test_an_average_needs_update(exe):
    with (
        pytest.raises(sl.FailedPreconditionError, match="update"),
        opt.ExponentialMovingAverage().apply(exe),
    ):
        pass


def test_model_average_is_the_mean_over_its_windows(exe):
    opt.SGD(RATE).minimize(loss_of(parameter(START)))
    mean = opt.ModelAverage(0.15, 4, 9)
    exe.run(sl.default_startup_program())
    p, current, before, updates = START, [], [], 0
    for g in GRADS:
        train(exe, [g])
        p = p - RATE * g
        updates += 1
        current.append(p)
        if len(current) >= max(4, min(9, int(updates * 0.15))):
            before, current = current, []
        if updates in (3, 4, 50, STEPS):
            with mean.apply(exe):
                expected = np.mean(before + current, axis=0)
                np.testing.assert_allclose(value(), expected, rtol=1e-10)
    np.testing.assert_allclose(value(), p, atol=1e-12)


def test_wrappers_and_averages_take_parameters_of_every_rank(exe):
    for start in (np.float64(2.0), np.ones(1), np.zeros((0, 3))):
        with (
            sl.program_guard(sl.Program(), sl.Program()),
            sl.scope_guard(sl.Scope()),
        ):
            clip = sl.clip.GradientClipByGlobalNorm(1.0)
            inner = opt.GradientMerge(opt.Lamb(0.1, grad_clip=clip), 2)
            opt.Lookahead(inner, k=2).minimize(loss_of(parameter(start)))
            ema = opt.ExponentialMovingAverage()
            ema.update()
            mean = opt.ModelAverage(0.5)
            exe.run(sl.default_startup_program())
            train(exe, [np.full_like(start, 0.5)] * 3)
            with ema.apply(exe), mean.apply(exe):
                assert value().shape == np.shape(start)


def test_some_parameters_do_not_decay(exe):
    for make in (
        lambda: opt.AdamW(
            0.1, weight_decay=1.0, apply_decay_param_fun=lambda n: n == "p"
        ),
        lambda: opt.Lamb(
            0.1, 1.0, exclude_from_weight_decay_fn=lambda p: p.name == "q"
        ),
    ):
        with (
            sl.program_guard(sl.Program(), sl.Program()),
            sl.scope_guard(sl.Scope()),
        ):
            loss = loss_of(parameter(START)) + loss_of(parameter(START, "q"), "h")
            make().minimize(loss)
            exe.run(sl.default_startup_program())
            zeros = np.zeros_like(START)
            exe.run(feed={"g": zeros, "h": zeros})
            assert (abs(value()) < abs(START)).all()
            np.testing.assert_array_equal(value("q"), START)


def test_dpsgd_adds_noise(exe):
    p = ours(exe, opt.Dpsgd(1.0, 0.9, 2.0, 4.0, seed=3), START, GRADS[:1] * 0)
    noise = START - p
    assert 1 < noise.std() < 3
    assert len(np.unique(noise)) == noise.size


def test_a_rate_of_another_dtype_is_cast(exe):
    rate = sl.data("rate", [1])
    opt.SGD(rate).minimize(loss_of(parameter(START)))
    exe.run(sl.default_startup_program())
    exe.run(feed={"g": GRADS[0], "rate": [0.5]})
    np.testing.assert_allclose(value(), START - 0.5 * GRADS[0], rtol=1e-14)
