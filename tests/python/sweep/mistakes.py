"""Mistakes of each kind that were found in formulas, planted into right rows.

The sweep must name each row. A formula is wrapped or written anew as somebody
would write it at first.
"""

import dataclasses
from typing import Any

import numpy as np
import rows_of_fluid
import rows_of_layers
import rows_of_losses
import rows_of_training as training
from rows_of_training import BIG, I, fresh

import sluice as sl

L, opt, F = sl.layers, sl.optimizer, rows_of_fluid.L


@dataclasses.dataclass(frozen=True)
class Mistake:
    kind: str
    right: Any  # the row
    layer: Any  # what is computed instead

    @property
    def wrong(self):
        return dataclasses.replace(self.right, layer=self.layer)


def row(table, name, index=0):
    return [row for row in table.ROWS if row.name == name][index]


def loss(name, kind, layer, index=0):
    return Mistake(kind, row(rows_of_losses, name, index), layer)


def of(name, kind, layer, index=0):
    return Mistake(kind, row(rows_of_layers, name, index), layer)


def trained(name, kind, layer, index=0):
    return Mistake(kind, row(training, name, index), layer)


def unscaled_norm(x):
    return L.reduce_sum(L.abs(x) ** 3.0, dim=[1], keep_dim=True) ** (1 / 3)


def plain_cosine(x, y):
    both = {"dim": [1], "keep_dim": True}
    sizes = L.sqrt(L.reduce_sum(x * x, **both) * L.reduce_sum(y * y, **both))
    return L.reduce_sum(x * y, **both) / sizes


def first_step(powers, dtype):
    """A step of the op adam with powers of a dtype."""
    zero = np.zeros(4, "f4")
    inputs = {
        "Param": training.START.astype("f4"),
        "Grad": training.PUSHES[0].astype("f4"),
        "Moment1": zero, "Moment2": zero,
        "Beta1Pow": np.array([powers[0]], dtype),
        "Beta2Pow": np.array([powers[1]], dtype),
        "LearningRate": np.array([0.125], "f4"),
    }  # fmt: skip
    attrs = {"beta1": 0.9999, "beta2": 0.99999}
    return sl.run_op("adam", inputs, attrs)["ParamOut"]


def float32_average(decay, count):
    """An exponential average whose factors and sum are float32."""
    one, kept = np.float32(1), np.float32(decay)
    p = training.START.astype("f4")
    average, left = np.zeros(4, "f4"), one
    for i in range(count):
        average = average * kept + (p + (i == count - 1)) * np.float32(1 - decay)
        left = left * kept
    return average / (one - left)


def float32_mean():
    total = np.zeros(4, "f4")
    for i in range(20_000):
        total = total + training.START.astype("f4") + np.float32(i == 19_999)
    return total / np.float32(20_000)


def float32_steps():
    L.inverse_time_decay(0.5, 8, 0.25, **training.F8)
    step = sl.default_main_program().var("learning_rate_step_0")
    return 0.5 / (1.0 + L.cast(L.cast(step, dtype="float32"), dtype="float64") / 32)


def outer_mean(x, y):
    return L.mean(L.square(L.reshape(x, [-1, 1]) - L.reshape(y, [-1])))


def shifted_classes(x):
    classes = np.maximum(rows_of_losses.CLASSES[:, 0], 0)
    weight = rows_of_losses.small(rows_of_losses.WEIGHTS)(x)
    return L.nll_loss(x, rows_of_losses.constant(classes), weight)


MISTAKES = (
    loss("sigmoid_cross_entropy_with_logits", "cancellation",
         lambda x, y: (1.0 - y) * x + L.softplus(-x)),
    loss("sigmoid_cross_entropy_with_logits", "gradient lost at saturation",
         lambda x, y: L.bce_loss(L.sigmoid(x), y, reduction="none")),
    loss("rank_loss", "overflow of exp",
         lambda a, b: L.log(1.0 + L.exp(a - b)) - rows_of_losses.hard(a) * (a - b)),
    loss("cross_entropy", "0 * log 0",
         lambda p, y: -L.reduce_sum(y * L.log(p), dim=[1], keep_dim=True), 1),
    loss("log_loss", "small epsilon lost",
         lambda p, y: -(y * L.log(p + 2.0**-23)
                        + (1.0 - y) * L.log((1.0 + 2.0**-23) - p))),
    loss("bce_loss", "probabilities clipped",
         lambda p, y: L.bce_loss(L.clip(p, min=1e-7, max=1 - 1e-7), y,
                                 reduction="none")),
    loss("kldiv_loss", "wrong mean", lambda x, y: L.kldiv_loss(x, y, "mean"), 1),
    loss("mse_loss", "N x N by broadcasting", outer_mean),
    loss("nll_loss", "mask ignored", shifted_classes),
    of("norm", "overflow of a power", unscaled_norm, 8),
    of("cos_sim", "underflow of a product", plain_cosine, 1),
    Mistake("overflow of a square", row(rows_of_fluid, "l2_normalize", 2),
            lambda x: x / F.sqrt(F.reduce_sum(x * x, 1, True) + 1e-12)),
    of("reduce_sum", "long sum in few digits",
       lambda x: L.reduce_sum(L.cast(L.cast(x, dtype="bfloat16"),
                                     dtype="float32"), dim=[1])),
    of("assign", "cast to int32",
       lambda x: L.cast(L.cast(x, dtype="int32"), dtype="int64")),
    of("full_like", "integer by way of float64",
       lambda x: L.fill_any_like(x, dtype="int64", value=float(BIG)), 2),
    trained("NumpyArray", "initial integers by way of float64",
            fresh(training.initial, I.NumpyArray(np.array([BIG, BIG + 2.0])))),
    trained("ExponentialMovingAverage", "decay in float32",
            lambda: float32_average(0.99999, 3), 2),
    trained("ExponentialMovingAverage", "sum that drifts",
            lambda: float32_average(0.9999, 20_000), 4),
    trained("ModelAverage", "long sum in float32", float32_mean),
    trained("Adam", "powers in float32",
            lambda: first_step((0.9999, 0.99999), "f4"), 3),
    trained("Adam", "bias corrected one step late",
            lambda: first_step((0.9999**2, 0.99999**2), "f8"), 3),
    trained("Adam", "epsilon in another place",
            fresh(training.trained,
                  lambda r: opt.Adam(r, beta2=0.99, formula="fluid"),
                  training.PUSHES)),
    trained("inverse_time_decay", "steps in float32",
            fresh(training.rates, float32_steps)),
    trained("exponential_decay", "steps in stairs",
            fresh(training.rates, lambda: L.exponential_decay(
                0.5, 1000, 0.9, True, "float64"))),
    trained("EditDistance", "halves in a metric",
            lambda: [np.float16(0.1), 1.0]),
)  # fmt: skip
