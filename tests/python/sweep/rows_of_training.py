"""Schedules, optimizers, averages, initial values and metrics."""

import numpy as np
from optimizers.stepping import CASES, by_formula, loss_of, parameter
from sweeping import Values

import sluice as sl

L, opt = sl.layers, sl.optimizer
STEPS = (0, 1, 2, 59, 60, 61, 1000, 2**24 + 1, 2**31 + 5, 2**40)
BIG = 2**53 + 1


def fresh(function, *arguments):
    """Call a function with programs and a scope of its own."""

    def call():
        with (
            sl.program_guard(sl.Program(), sl.Program()),
            sl.scope_guard(sl.Scope()),
            sl.unique_name.guard(),
        ):
            return function(*arguments)

    return call


def rates(make):
    """The rates of STEPS, by setting the counter."""
    rate = make()
    exe = sl.Executor()
    exe.run(sl.default_startup_program())
    found = []
    for step in STEPS:
        sl.global_scope()["learning_rate_step_0"] = np.array([step - 1])
        found.append(exe.run(fetch_list=[rate])[0].item())
    return found


def schedule(name, make, formula, bound=1e-12):
    return Values(
        name,
        fresh(rates, make),
        lambda: [formula(np.longdouble(t)) for t in STEPS],
        bound,
    )


LONG = np.longdouble
F8 = {"dtype": "float64"}
SCHEDULES = [
    schedule("exponential_decay",
             lambda: L.exponential_decay(0.5, 1000, 0.9, **F8),
             lambda t: LONG(0.5) * LONG(0.9) ** (t / 1000), 1e-9),
    schedule("exponential_decay",
             lambda: L.exponential_decay(0.5, 1, 1 - 2.0**-40, True, **F8),
             lambda t: LONG(0.5) * (1 - LONG(2) ** -40) ** t, 1e-9),
    schedule("natural_exp_decay",
             lambda: L.natural_exp_decay(0.5, 2**30, 0.25, **F8),
             lambda t: LONG(0.5) * np.exp(-t / 2**32)),
    schedule("inverse_time_decay",
             lambda: L.inverse_time_decay(0.5, 8, 0.25, **F8),
             lambda t: LONG(0.5) / (1 + t / 32)),
    schedule("polynomial_decay",
             lambda: L.polynomial_decay(0.5, 60, 0.0625, 2.0, **F8),
             lambda t: LONG(0.4375) * (1 - min(t, 60) / 60) ** 2 + LONG(0.0625)),
    schedule("piecewise_decay",
             lambda: L.piecewise_decay([60, 1000], [0.5, 0.25, 0.1], "float64"),
             lambda t: 0.5 if t < 60 else 0.25 if t < 1000 else 0.1),
    schedule("noam_decay", lambda: L.noam_decay(64, 40, 2.0, "float64"),
             lambda t: min((t + 1) ** LONG(-0.5), (t + 1) * LONG(40) ** -1.5) / 4),
    schedule("cosine_decay", lambda: L.cosine_decay(0.5, 5, 2**42, "float64"),
             lambda t: (np.cos(t // 5 * LONG(np.pi) / 2**42) + 1) / 4),
    schedule("linear_lr_warmup",
             lambda: L.linear_lr_warmup(0.5, 1000, 0.125, 0.375, "float64"),
             lambda t: LONG(0.125) + t / 4000 if t < 1000 else 0.5),
]  # fmt: skip

START = np.array([1.0, -2.0, 0.5, 1e-3])
SIZES = np.array([1e-12, 1e-3, 1.0, 1e12])
PUSHES = [SIZES * s for s in (1.0, -0.5, 2.0, 0.25, 1.0, -1.0, 3.0, 0.5)]


def trained(make, grads):
    """The parameter after steps with these gradients."""
    make(0.125).minimize(loss_of(parameter(START.astype("f4"), dtype="float32")))
    exe = sl.Executor()
    exe.run(sl.default_startup_program())
    for grad in grads:
        exe.run(feed={"g": grad.astype("f4")})
    return sl.global_scope()["p"].numpy()


def steps(name, make, formula, bound=2e-5):
    def want():
        pushes = [g.astype("f4").astype("g") for g in PUSHES]
        start = START.astype("f4").astype("g")
        return by_formula(formula, start, pushes, lambda t: LONG(0.125))

    return Values(name, fresh(trained, make, PUSHES), want, bound)


def adam(beta1, beta2, **flags):
    """One step is the rate, for any betas."""
    def want():
        sign = np.sign(PUSHES[0])
        size = np.abs(PUSHES[0]) / (np.abs(PUSHES[0]) + LONG("1e-8"))
        return START.astype("f4") - LONG(0.125) * sign * size

    return Values("Adam", fresh(
        trained, lambda r: opt.Adam(r, beta1, beta2, **flags), PUSHES[:1]), want)


NAMES = {"sgd": "SGD", "momentum": "Momentum", "nesterov": "Momentum",
         "lars": "LarsMomentum", "rmsprop": "RMSProp", "adamw": "AdamW"}
OPTIMIZERS = [
    steps(NAMES.get(key.split(" ")[0], key.split(" ")[0].title().replace("_A", "A")),
          make, formula, 1e-3 if "ftrl" in key else 2e-5)
    for key, (make, formula) in CASES.items()
    if not key.startswith(("lamb", "rmsprop"))
] + [
    steps("Lamb" if key[0] == "l" else "RMSProp", make, formula, 2e-4)
    for key, (make, formula) in CASES.items()
    if key in ("lamb", "lamb of Fluid", "rmsprop of Fluid, not centered")
]  # fmt: skip
OPTIMIZERS += [adam(0.9, 0.999), adam(0.9999, 0.99999), adam(0.9, 0.9999999)]


def averaged(make, count):
    """The average of a parameter that stays, but grows by 1 in the last step."""
    opt.SGD(1.0).minimize(loss_of(parameter(START.astype("f4"), dtype="float32")))
    average = make()
    if hasattr(average, "update"):
        average.update()
    exe = sl.Executor()
    exe.run(sl.default_startup_program())
    for i in range(count):
        exe.run(feed={"g": np.full(4, -1.0 * (i == count - 1), "f4")})
    with average.apply(exe):
        return sl.global_scope()["p"].numpy()


def ema(decay, count):
    left = LONG(decay) ** count
    start = START.astype("f4").astype("g")
    move = (1 - LONG(decay)) / (1 - left)
    return Values(
        "ExponentialMovingAverage",
        fresh(averaged, lambda: opt.ExponentialMovingAverage(decay), count),
        lambda: start + move,
        3e-7,
    )


AVERAGES = [
    *(ema(decay, 3) for decay in (0.9, 0.9999, 0.99999, 0.999999)),
    ema(0.9999, 20_000),
    Values("ModelAverage",
           fresh(averaged, lambda: opt.ModelAverage(1.0, 10**6, 10**6), 20_000),
           lambda: START.astype("f4") + LONG(1) / 20_000, 3e-7),
]  # fmt: skip


def initial(initializer, dtype="int64"):
    helper = sl.LayerHelper("made")
    made = helper.create_parameter(initializer, [2], dtype)
    sl.Executor().run(sl.default_startup_program())
    return sl.global_scope()[made.name].numpy().astype(object) - 2**53


def metric(make, *batches):
    made = make()
    for batch in batches:
        made.update(*batch)
    return np.ravel(made.eval())


I, M = sl.initializer, sl.metrics  # noqa: E741
SCORES = np.array([0.0, 1.0, 0.9, 0.1, 0.5, 1e-30])
RIGHT = np.array([0, 1, 1, 0, 1, 0])
MANY = 10**6
HOST = [
    Values("Constant", fresh(initial, I.Constant(BIG)), lambda: [1, 1]),
    Values("NumpyArray", fresh(initial, I.NumpyArray([BIG, BIG + 2])),
           lambda: [1, 3]),
    Values("Precision", lambda: metric(M.Precision, (SCORES, RIGHT)), lambda: [1]),
    Values("Recall", lambda: metric(M.Recall, (SCORES, RIGHT)),
           lambda: [LONG(2) / 3]),
    Values("Accuracy",
           lambda: metric(M.Accuracy, *[(0.1, 3)] * MANY), lambda: [0.1]),
    Values("Auc", lambda: metric(M.Auc, (SCORES, RIGHT)), lambda: [1]),
    Values("EditDistance", lambda: metric(
        M.EditDistance, (np.full((MANY, 1), 0.1, "f4"), MANY)),
        lambda: [LONG(np.float32(0.1)), 1]),
    Values("ChunkEvaluator", lambda: metric(
        M.ChunkEvaluator, (BIG, BIG, BIG), (0, 0, 0)), lambda: [1, 1, 1]),
]  # fmt: skip
ROWS = SCHEDULES + OPTIMIZERS + AVERAGES + HOST
