"""Optimizers, their formulas, and a loss whose gradient is what is fed."""

import numpy as np
from formulas.of_ops import outputs_of

import sluice as sl

opt = sl.optimizer
STEPS = 100
RATE = 0.05
START = np.random.default_rng(1).normal(size=(3, 5))
GRADS = np.random.default_rng(2).normal(size=(STEPS, 3, 5))


def formula(op, start=0, **attributes):
    """A step by the case of the op: (g, p, s, t, lr) -> p, with the state s and
    the step t from 1. States begin as `start`."""
    given = ("Param", "Grad", "LearningRate", "SkipUpdate")
    names = [a["name"] for a in sl.layers.ops.schema(op)["inputs"]]

    def step(g, p, s, t, lr):
        inputs = {"Param": p, "Grad": g, "LearningRate": np.array([lr])}
        for name in (n for n in names if n not in given):
            first = np.full_like(p, start)
            if name.endswith("Pow"):
                first = np.array([attributes[name.lower().removesuffix("pow")]])
            inputs[name] = s.get(name, first)
        outputs = outputs_of(op, inputs, attributes)
        s |= {name.removesuffix("Out"): value for name, value in outputs.items()}
        return outputs["ParamOut"]

    return step


def dpsgd(g, p, s, t, lr):
    return p - lr * g * min(1, 0.9 / np.linalg.norm(g))


B = {"beta2": 0.99}
BETAS = B | {"beta1": 0.9}
RMS = {"decay": 0.95, "epsilon": 1e-2, "momentum": 0.5}
sgd = formula("sgd")
momentum = formula("momentum", mu=0.9)
adam = formula("adam", **BETAS, epsilon=1e-8)
# name: ours, and the formula
CASES = {
    "sgd": (lambda r: opt.SGD(r), sgd),
    "momentum": (lambda r: opt.Momentum(r, 0.9), momentum),
    "nesterov": (
        lambda r: opt.Momentum(r, use_nesterov=True),
        formula("momentum", mu=0.9, use_nesterov=True),
    ),
    "lars": (
        lambda r: opt.LarsMomentum(r, 0.9, 0.1, 0.02),
        formula("lars_momentum", mu=0.9, lars_coeff=0.1,
                lars_weight_decay=0.02, epsilon=0),
    ),
    "adam": (lambda r: opt.Adam(r, **B), adam),
    "adam of Fluid": (
        lambda r: opt.Adam(r, **B, epsilon=1e-2, formula="fluid"),
        formula("adam", **BETAS, epsilon=1e-2, formula="fluid"),
    ),
    "adamw": (
        lambda r: opt.AdamW(r, **B, weight_decay=0.1),
        formula("adamw", **BETAS, epsilon=1e-8, coeff=0.1),
    ),
    "lamb": (
        lambda r: opt.Lamb(r, 0.1, **B),
        formula("lamb", **BETAS, epsilon=1e-6, weight_decay=0.1),
    ),
    "lamb of Fluid": (
        lambda r: opt.Lamb(r, 0.1, **B, formula="fluid"),
        formula("lamb", **BETAS, epsilon=1e-6, weight_decay=0.1,
                formula="fluid"),
    ),
    "adamax of Fluid": (
        lambda r: opt.Adamax(r, **B, epsilon=1e-2),
        formula("adamax", **BETAS, epsilon=1e-2),
    ),
    "adamax of PyTorch": (
        lambda r: opt.Adamax(r, **B, epsilon=1e-2, formula="pytorch"),
        formula("adamax", **BETAS, epsilon=1e-2, formula="pytorch"),
    ),
    "adagrad": (lambda r: opt.Adagrad(r), formula("adagrad", epsilon=1e-6)),
    "adagrad from 0.25": (
        lambda r: opt.Adagrad(r, initial_accumulator_value=0.25),
        formula("adagrad", 0.25, epsilon=1e-6),
    ),
    "decayed_adagrad": (
        lambda r: opt.DecayedAdagrad(r),
        formula("decayed_adagrad", decay=0.95, epsilon=1e-6),
    ),
    "adadelta": (
        lambda r: opt.Adadelta(r),
        formula("adadelta", rho=0.95, epsilon=1e-6),
    ),
    "rmsprop of Fluid": (
        lambda r: opt.RMSProp(r, 0.95, 1e-2, 0.5, True),
        formula("rmsprop", **RMS, centered=True),
    ),
    "rmsprop of PyTorch": (
        lambda r: opt.RMSProp(r, 0.95, 1e-2, 0.5, True, "pytorch"),
        formula("rmsprop", **RMS, centered=True, formula="pytorch"),
    ),
    "rmsprop not centered": (
        lambda r: opt.RMSProp(r, 0.95, 1e-2, 0.5, formula="pytorch"),
        formula("rmsprop", **RMS, formula="pytorch"),
    ),
    "rmsprop of Fluid, not centered": (
        lambda r: opt.RMSProp(r, 0.95, 1e-2, 0.5),
        formula("rmsprop", **RMS),
    ),
    "ftrl": (
        lambda r: opt.Ftrl(r, 0.5, 0.25),
        formula("ftrl", l1=0.5, l2=0.25, lr_power=-0.5),
    ),
    "ftrl by power": (
        lambda r: opt.Ftrl(r, 0.5, 0.25, -0.75),
        formula("ftrl", l1=0.5, l2=0.25, lr_power=-0.75),
    ),
    "lion": (
        lambda r: opt.Lion(r, weight_decay=0.1),
        formula("lion", beta1=0.9, beta2=0.99, weight_decay=0.1),
    ),
    "dpsgd": (lambda r: opt.Dpsgd(r, sigma=0.0), dpsgd),
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
    state = {}
    for t, g in enumerate(grads, 1):
        p = step(g, p, state, t, rate(t))
    return p
