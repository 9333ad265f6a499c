"""The steps of optimizers: Sluice's ops of the same names.

An output whose input is stored is written to the same memory; others are new
variables.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .table import REQUIRED, ROWS, Op, Row, row


class _Update(NamedTuple):
    states: str  # slots besides Param, Grad and LearningRate
    attributes: dict[str, Any]  # with Fluid's defaults
    fixed: Any = ()  # attributes of Sluice's op


_MOMENTS = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
_POWERS = "Moment1 Moment2 Beta1Pow Beta2Pow"
_FLUID = {"formula": "fluid"}
_UPDATES = {
    "sgd": _Update("", {}),
    "momentum": _Update("Velocity", {"mu": REQUIRED, "use_nesterov": False,
        "regularization_method": "", "regularization_coeff": 0.0}),
    "lars_momentum": _Update("Velocity", {"mu": REQUIRED, "lars_coeff": 0.001,
        "lars_weight_decay": 0.0005, "epsilon": 0.0}),
    "adam": _Update(_POWERS, _MOMENTS, _FLUID),
    "lamb": _Update(_POWERS, {**_MOMENTS, "epsilon": 1e-6,
        "weight_decay": REQUIRED}, _FLUID),
    "adamax": _Update("Moment InfNorm Beta1Pow", _MOMENTS),
    "adagrad": _Update("Moment", {"epsilon": 1e-6}),
    "decayed_adagrad": _Update("Moment", {"decay": 0.95, "epsilon": 1e-6}),
    "adadelta": _Update("AvgSquaredGrad AvgSquaredUpdate", {"rho": 0.95,
        "epsilon": 1e-6}),
    "rmsprop": _Update("MeanSquare MeanGrad Moment", {"decay": 0.9,
        "momentum": 0.0, "epsilon": 1e-10, "centered": False}),
    "ftrl": _Update("SquaredAccumulator LinearAccumulator", {"l1": 0.0,
        "l2": 0.0, "lr_power": -0.5}),
}  # fmt: skip
# What Fluid's op calls an output, where that is not its input and "Out".
_OUTPUTS = {
    "SquaredAccumulator": "SquaredAccum",
    "LinearAccumulator": "LinearAccum",
}


def _step(op: Op, update: _Update, inputs: Any, attrs: Any) -> dict[str, Any]:
    if op.type == "adadelta":  # Fluid's has no rate
        inputs["LearningRate"] = op.constant(1.0, inputs["Param"].dtype, [1])
    if "MeanGrad" in update.states and "MeanGrad" not in inputs:
        inputs["MeanGrad"] = op.constant_like(inputs["Moment"], 0.0)
    if op.type == "adamax":  # Fluid multiplies the power by an op of its own
        inputs["Beta1Pow"] = op.assign(inputs["Beta1Pow"])
    into = {
        f"{slot}Out": value.name
        for slot, value in inputs.items()
        if slot not in ("Grad", "LearningRate") and value.persistable
    }
    fixed = dict(update.fixed)
    if op.type == "lamb" and op.wants("Beta1PowOut"):
        fixed = {}  # PaddlePaddle 2 corrects the moments' bias
    made = op.append_all(op.type, inputs, into, **attrs, **fixed)
    for slot, name in _OUTPUTS.items():
        if f"{slot}Out" in made:
            made[f"{name}Out"] = made[f"{slot}Out"]
    return made


def _row(type: str, update: _Update) -> Row:
    states = update.states.split()
    slots = dict.fromkeys(["Param", "Grad", *states], (True, False))
    slots["LearningRate"] = (type != "adadelta", False)
    if "MeanGrad" in slots:
        slots["MeanGrad"] = (False, False)

    def function(op: Op, **given: Any) -> Any:
        inputs = {slot: given[slot] for slot in slots if slot in given}
        attrs = {name: given[name] for name in update.attributes}
        return _step(op, update, inputs, attrs)

    return Row(function, slots, update.attributes, ("ParamOut",))


for _type, _update in _UPDATES.items():
    ROWS[_type] = _row(_type, _update)


def _proximal(op: Op, x: Any, rate: Any, l1: float, l2: float) -> Any:
    size = op.abs(x) - rate * l1
    shrunk = op.relu(size) * op.sign(x)
    return shrunk / (rate * l2 + 1.0)


@row("proximal_gd", outputs="ParamOut")
def proximal_gd(op, Param, Grad, LearningRate, *, l1=0.0, l2=0.0):
    """A step of descent, then shrunk by l1 and l2."""
    return _proximal(op, Param - LearningRate * Grad, LearningRate, l1, l2)


@row("proximal_adagrad", outputs="ParamOut MomentOut")
def proximal_adagrad(op, Param, Moment, Grad, LearningRate, *, l1=0.0, l2=0.0):
    """A step of Adagrad, then shrunk by l1 and l2."""
    moment = Moment + op.square(Grad)
    step = LearningRate * Grad / op.sqrt(moment)
    return {
        "ParamOut": _proximal(op, Param - step, LearningRate, l1, l2),
        "MomentOut": moment,
    }
