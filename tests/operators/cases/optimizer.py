"""Ops that update parameters, the schedules of their rates, and sums of rows."""

import numpy as np

from .case import Tensor, case


def one(value):
    return Tensor(np.array([value]))


def updates(*states, powers=(), attributes=({},)):
    """Examples with these states, 0 or more each, in several shapes."""

    def examples(make):
        for some in attributes:
            rate = 0.125
            for dims in [3, 5], [1], [], [0, 4], [2, 1, 17], [70001]:
                example = {"Param": make.values(*dims), "Grad": make.values(*dims)}
                for name in states:
                    example[name] = make.integers("T", dims, 0, 9)
                example["LearningRate"] = one(rate)
                rate *= -1.5
                yield example | {name: one(0.59375) for name in powers} | some

    return examples


@case("sgd", updates())
def sgd(param, grad, learning_rate):
    return {"ParamOut": param - learning_rate[0] * grad}


def momentums(make):
    number = 0
    for nesterov in False, True:
        for example in updates("Velocity")(make):
            example |= {"mu": 0.75, "use_nesterov": nesterov}
            if number % 2:
                example["regularization_method"] = "l2_decay"
                example["regularization_coeff"] = 0.125
            number += 1
            yield example


@case("momentum", momentums)
def momentum(
    param,
    grad,
    velocity,
    learning_rate,
    mu,
    use_nesterov,
    regularization_method,
    regularization_coeff,
):
    if regularization_method == "l2_decay":
        grad = grad + regularization_coeff * param
    velocity = mu * velocity + grad
    step = grad + mu * velocity if use_nesterov else velocity
    return {"ParamOut": param - learning_rate[0] * step, "VelocityOut": velocity}


@case("adagrad", updates("Moment", attributes=[{"epsilon": 0.0078125}]))
def adagrad(param, grad, moment, learning_rate, epsilon):
    moment = moment + grad * grad
    step = grad / (np.sqrt(moment) + epsilon)
    return {"ParamOut": param - learning_rate[0] * step, "MomentOut": moment}


MOMENTS, POWERS = ("Moment1", "Moment2"), ("Beta1Pow", "Beta2Pow")
BETAS = {"beta1": 0.875, "beta2": 0.96875, "epsilon": 0.0078125}


def adam_step(inputs, attributes, biased=False, epsilon=None):
    """The direction of a step, and the outputs beside the parameter."""
    beta1, beta2 = attributes["beta1"], attributes["beta2"]
    epsilon = attributes["epsilon"] if epsilon is None else epsilon
    grad, power1, power2 = (inputs[name] for name in ("Grad", *POWERS))
    moment1 = beta1 * inputs["Moment1"] + (1 - beta1) * grad
    moment2 = beta2 * inputs["Moment2"] + (1 - beta2) * grad * grad
    m = moment1 if biased else moment1 / (1 - power1[0])
    v = moment2 if biased else moment2 / (1 - power2[0])
    return m / (np.sqrt(v) + epsilon), {
        "Moment1Out": moment1,
        "Moment2Out": moment2,
        "Beta1PowOut": power1 * beta1,
        "Beta2PowOut": power2 * beta2,
    }


def adams(make):
    step = 1
    for example in updates(*MOMENTS)(make):
        rate = example.pop("LearningRate")
        example["Beta1Pow"] = one(0.875**step)
        example["Beta2Pow"] = one(0.96875**step)
        example |= {"LearningRate": rate} | BETAS
        if step % 2 == 0:
            example["formula"] = "fluid"
        step = 3 * step + 1
        yield example


@case("adam", adams)
def adam(param, learning_rate, beta2_pow, epsilon, formula, inputs, attributes):
    if formula == "fluid":
        epsilon /= np.sqrt(1 - beta2_pow[0])
    step, outputs = adam_step(inputs, attributes, epsilon=epsilon)
    return {"ParamOut": param - learning_rate[0] * step} | outputs


@case("adamw", updates(*MOMENTS, powers=POWERS, attributes=[BETAS | {"coeff": 0.25}]))
def adamw(param, learning_rate, coeff, inputs, attributes):
    step, outputs = adam_step(inputs, attributes)
    decayed = param * (1 - learning_rate[0] * coeff)
    return {"ParamOut": decayed - learning_rate[0] * step} | outputs


def norm(values):
    return np.sqrt(np.sum(values * values))


LAMB = BETAS | {"weight_decay": 0.25}


@case(
    "lamb",
    updates(
        *MOMENTS, powers=POWERS, attributes=[LAMB, LAMB | {"formula": "fluid"}]
    ),
)
def lamb(param, learning_rate, weight_decay, formula, inputs, attributes):
    step, outputs = adam_step(inputs, attributes, biased=formula == "fluid")
    step = step + weight_decay * param
    known = norm(param) != 0 and norm(step) != 0
    ratio = norm(param) / norm(step) if known else 1
    return {"ParamOut": param - learning_rate[0] * ratio * step} | outputs


@case(
    "lars_momentum",
    updates(
        "Velocity",
        attributes=[
            {
                "mu": 0.5,
                "lars_coeff": 0.125,
                "lars_weight_decay": 0.25,
                "epsilon": 0.0625,
            },
            {"lars_weight_decay": 0.0},
        ],
    ),
)
def lars_momentum(
    param, grad, velocity, learning_rate, mu, lars_coeff, lars_weight_decay, epsilon
):
    ratio, decay = 1, lars_weight_decay
    if norm(param) != 0 and norm(grad) != 0 and decay > 0:
        ratio = norm(grad) + decay * norm(param) + epsilon
        ratio = lars_coeff * norm(param) / ratio
    velocity = mu * velocity + learning_rate[0] * ratio * (grad + decay * param)
    return {"ParamOut": param - velocity, "VelocityOut": velocity}


@case(
    "adamax",
    updates(
        "Moment",
        "InfNorm",
        powers=["Beta1Pow"],
        attributes=[BETAS, BETAS | {"formula": "pytorch"}],
    ),
)
def adamax(
    param,
    grad,
    moment,
    inf_norm,
    beta1_pow,
    learning_rate,
    beta1,
    beta2,
    epsilon,
    formula,
):
    moment = beta1 * moment + (1 - beta1) * grad
    if formula == "pytorch":
        inf_norm = np.maximum(beta2 * inf_norm, np.abs(grad) + epsilon)
    else:
        inf_norm = np.maximum(beta2 * inf_norm + epsilon, np.abs(grad))
    step = learning_rate[0] / (1 - beta1_pow[0]) * moment / inf_norm
    return {
        "ParamOut": param - step,
        "MomentOut": moment,
        "InfNormOut": inf_norm,
        "Beta1PowOut": beta1_pow * beta1,
    }


@case(
    "decayed_adagrad",
    updates("Moment", attributes=[{"decay": 0.75, "epsilon": 0.0078125}]),
)
def decayed_adagrad(param, grad, moment, learning_rate, decay, epsilon):
    moment = decay * moment + (1 - decay) * grad * grad
    step = grad / (np.sqrt(moment) + epsilon)
    return {"ParamOut": param - learning_rate[0] * step, "MomentOut": moment}


@case(
    "adadelta",
    updates(
        "AvgSquaredGrad",
        "AvgSquaredUpdate",
        attributes=[{"rho": 0.75, "epsilon": 0.0078125}],
    ),
)
def adadelta(
    param, grad, avg_squared_grad, avg_squared_update, learning_rate, rho, epsilon
):
    squares = rho * avg_squared_grad + (1 - rho) * grad * grad
    update = grad * np.sqrt((avg_squared_update + epsilon) / (squares + epsilon))
    return {
        "ParamOut": param - learning_rate[0] * update,
        "AvgSquaredGradOut": squares,
        "AvgSquaredUpdateOut": rho * avg_squared_update + (1 - rho) * update**2,
    }


def rmsprops(make):
    some = {"decay": 0.75, "epsilon": 0.0078125}
    centered = some | {"momentum": 0.5, "centered": True}
    attributes = [some, centered, centered | {"formula": "pytorch"}]
    examples = updates("MeanSquare", "MeanGrad", "Moment", attributes=attributes)
    for example in list(examples(make)):
        dims = example["Param"].values.shape
        # Means of squares are not below the squares of means.
        example["MeanSquare"] = make.integers("T", dims, 4, 9)
        example["MeanGrad"] = make.integers("T", dims, 0, 1)
        yield example


@case("rmsprop", rmsprops)
def rmsprop(
    param,
    grad,
    mean_square,
    mean_grad,
    moment,
    learning_rate,
    decay,
    epsilon,
    momentum,
    centered,
    formula,
):
    mean_square = decay * mean_square + (1 - decay) * grad * grad
    mean_grad = decay * mean_grad + (1 - decay) * grad if centered else 0 * grad
    variance = mean_square - mean_grad**2
    if formula == "pytorch":
        moment = momentum * moment + grad / (np.sqrt(variance) + epsilon)
        step = learning_rate[0] * moment
    else:
        step = learning_rate[0] * grad / np.sqrt(variance + epsilon)
        step = moment = momentum * moment + step
    return {
        "ParamOut": param - step,
        "MeanSquareOut": mean_square,
        "MeanGradOut": mean_grad,
        "MomentOut": moment,
    }


def ftrls(make):
    some = {"l1": 0.75, "l2": 0.25}
    for example in updates(
        "SquaredAccumulator",
        "LinearAccumulator",
        attributes=[{}, some, some | {"lr_power": -0.75}],
    )(make):
        # A negative rate would make denominators that cancel.
        yield example | {"LearningRate": one(0.375)}


@case("ftrl", ftrls, slack=4)  # the difference of two powers loses digits
def ftrl(
    param,
    grad,
    squared_accumulator,
    linear_accumulator,
    learning_rate,
    l1,
    l2,
    lr_power,
):
    before = squared_accumulator**-lr_power
    squares = squared_accumulator + grad * grad
    after = squares**-lr_power
    linear = linear_accumulator + grad - (after - before) / learning_rate[0] * param
    moved = np.copysign(l1, linear) - linear
    moved = moved / (after / learning_rate[0] + 2 * l2)
    return {
        "ParamOut": np.where(np.abs(linear) <= l1, 0, moved),
        "SquaredAccumulatorOut": squares,
        "LinearAccumulatorOut": linear,
    }


@case(
    "lion",
    updates(
        "Moment",
        attributes=[{}, {"beta1": 0.875, "beta2": 0.75, "weight_decay": 0.25}],
    ),
)
def lion(param, grad, moment, learning_rate, beta1, beta2, weight_decay):
    sign = np.sign(beta1 * moment + (1 - beta1) * grad)
    return {
        "ParamOut": param - learning_rate[0] * (sign + weight_decay * param),
        "MomentOut": beta2 * moment + (1 - beta2) * grad,
    }


def schedules(*attributes):
    def examples(make):
        for some in attributes:
            for dims in [1], [], [0], [3, 7], [20011]:
                step = make.integers("int64", dims, 0, 40)
                yield {"Step": step, "dtype": {"dtype": "T"}} | some

    return examples


DECAY = {"learning_rate": 0.75, "decay_steps": 8, "decay_rate": 0.375}
DECAYS = schedules(DECAY | {"staircase": False}, DECAY | {"staircase": True})


def share(step, decay_steps, staircase):
    return step // decay_steps if staircase else step / decay_steps


@case("exponential_decay", DECAYS)
def exponential_decay(step, learning_rate, decay_steps, decay_rate, staircase):
    return learning_rate * decay_rate ** share(step, decay_steps, staircase)


@case("natural_exp_decay", DECAYS)
def natural_exp_decay(step, learning_rate, decay_steps, decay_rate, staircase):
    part = share(step, decay_steps, staircase)
    return learning_rate * np.exp(-decay_rate * part)


@case("inverse_time_decay", DECAYS)
def inverse_time_decay(step, learning_rate, decay_steps, decay_rate, staircase):
    part = share(step, decay_steps, staircase)
    return learning_rate / (1 + decay_rate * part)


POLYNOMIAL = {
    "learning_rate": 0.75,
    "decay_steps": 9,
    "end_learning_rate": 0.125,
    "power": 1.5,
}


@case(
    "polynomial_decay",
    schedules(POLYNOMIAL | {"cycle": False}, POLYNOMIAL | {"cycle": True}),
)
def polynomial_decay(
    step, learning_rate, decay_steps, end_learning_rate, power, cycle
):
    cycles = np.maximum(np.ceil(step / decay_steps), 1) if cycle else 1
    left = np.maximum(1 - step / (decay_steps * cycles), 0)
    return end_learning_rate + (learning_rate - end_learning_rate) * left**power


@case(
    "piecewise_decay",
    schedules({"boundaries": [5, 20, 21], "values": [1.0, 0.5, 0.25, 2.0]}),
)
def piecewise_decay(step, boundaries, values):
    return np.array(values)[np.searchsorted(boundaries, step, "right")]


@case(
    "noam_decay",
    schedules({"d_model": 64, "warmup_steps": 16, "learning_rate": 3.0}),
)
def noam_decay(step, d_model, warmup_steps, learning_rate):
    n = step + 1.0
    factor = np.minimum(n * warmup_steps**-1.5, n**-0.5)
    return learning_rate * d_model**-0.5 * factor


@case(
    "cosine_decay",
    schedules({"learning_rate": 3.0, "step_each_epoch": 4, "epochs": 12}),
)
def cosine_decay(step, learning_rate, step_each_epoch, epochs):
    angle = step // step_each_epoch * np.pi / epochs
    return learning_rate * (np.cos(angle) + 1) / 2


def rows(*numbers):
    return Tensor(np.array(numbers, float), "int64")


def merges(make):
    for dims, numbers in [
        ([5, 3], rows(7, 2, 7, -1, 2)),
        ([3], rows(0, 0, 1)),
        ([1, 1], rows(4)),
        ([2, 2], rows(-1, -1)),
        ([0, 3], rows()),
        ([2, 0], rows(1, 0)),
    ]:
        yield {"X": make.values(*dims), "Rows": numbers}
    # More than one digit of the sort, and two threads.
    numbers = make.integers("int64", [1501], -1, 9_000_000)
    yield {"X": make.values(1501, 2, 33), "Rows": numbers}


@case("merge_rows", merges, slack=4)
def merge_rows(x, rows):
    used, places = np.unique(rows[rows >= 0], return_inverse=True)
    out, rows_out = np.zeros(x.shape), np.full(rows.shape, -1)
    np.add.at(out, places, x[rows >= 0])
    rows_out[: used.size] = used
    return {"Out": out, "RowsOut": rows_out}


def dense(make):
    for dims, numbers, like in [
        ([5, 3], rows(7, 2, 7, -1, 2), [8, 3]),
        ([3], rows(0, 0, 1), [2]),
        ([1, 1], rows(0), [1, 1]),
        ([0, 3], rows(), [4, 3]),
        ([2, 0], rows(-1, -1), [0, 0]),
    ]:
        yield {"X": make.values(*dims), "Rows": numbers, "Like": make.values(*like)}
    numbers = make.integers("int64", [301], -1, 2499)
    x = make.values(301, 2, 33)
    yield {"X": x, "Rows": numbers, "Like": make.values(2500, 2, 33)}


@case("rows_to_dense", dense, slack=4)
def rows_to_dense(x, rows, like):
    out = np.zeros(like.shape)
    np.add.at(out, rows[rows >= 0], x[rows >= 0])
    return out
