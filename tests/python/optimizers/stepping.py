"""Optimizers, their formulas, and a loss whose gradient is what is fed."""

import numpy as np

import sluice as sl

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


def direction(g, s, t, epsilon, biased=False):
    s["m"] = 0.9 * s["m"] + 0.1 * g
    s["v"] = 0.99 * s["v"] + 0.01 * g * g
    if biased:
        return s["m"] / (np.sqrt(s["v"]) + epsilon)
    m, v = s["m"] / (1 - 0.9**t), s["v"] / (1 - 0.99**t)
    return m / (np.sqrt(v) + epsilon)


def adam(g, p, s, t, lr):
    return p - lr * direction(g, s, t, 1e-8)


def adam_of_fluid(g, p, s, t, lr):
    rate = lr * np.sqrt(1 - 0.99**t) / (1 - 0.9**t)
    return p - rate * direction(g, s, t, 1e-2, biased=True)


def adamw(g, p, s, t, lr):
    return p - lr * 0.1 * p - lr * direction(g, s, t, 1e-8)


def lamb(biased):
    def step(g, p, s, t, lr):
        r = direction(g, s, t, 1e-6, biased) + 0.1 * p
        return p - lr * np.linalg.norm(p) / np.linalg.norm(r) * r

    return step


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
    "adam of Fluid": (
        lambda r: opt.Adam(r, **B, epsilon=1e-2, formula="fluid"),
        adam_of_fluid,
        None,
    ),
    "adamw": (
        lambda r: opt.AdamW(r, **B, weight_decay=0.1),
        adamw,
        ("AdamW", {"betas": (0.9, 0.99), "weight_decay": 0.1}),
    ),
    "lamb": (lambda r: opt.Lamb(r, 0.1, **B), lamb(False), None),
    "lamb of Fluid": (
        lambda r: opt.Lamb(r, 0.1, **B, formula="fluid"),
        lamb(True),
        None,
    ),
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
    "rmsprop of Fluid, not centered": (
        lambda r: opt.RMSProp(r, 0.95, 1e-2, 0.5),
        rmsprop(False, False),
        None,
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
