"""The steps of optimizers: Sluice's ops of the same names.

An output whose input is stored is written to the same memory; others are new
variables.
"""

from __future__ import annotations

from typing import Any

from ... import layers
from .table import REQUIRED, ROWS, Op, Row, row

# Defaults of Fluid that are not those of Sluice's op.
_UPDATES: dict[str, dict[str, Any]] = {
    "sgd": {}, "momentum": {"mu": REQUIRED}, "lars_momentum": {"mu": REQUIRED},
    "adam": {}, "lamb": {"weight_decay": REQUIRED}, "adamax": {}, "adagrad": {},
    "decayed_adagrad": {}, "adadelta": {}, "ftrl": {},
    "rmsprop": {"decay": 0.9, "epsilon": 1e-10},
}  # fmt: skip
_OPTIONAL = {"adadelta": "LearningRate", "rmsprop": "MeanGrad"}
# What Fluid's op calls an output, where that is not its input and "Out".
_OUTPUTS = {
    "SquaredAccumulator": "SquaredAccum",
    "LinearAccumulator": "LinearAccum",
}


def _step(op: Op, **given: Any) -> dict[str, Any]:
    names = [name for name in given if name in ROWS[op.type].slots]
    inputs = {name: given.pop(name) for name in names}
    if op.type == "adadelta":  # Fluid's has no rate
        inputs["LearningRate"] = op.constant(1.0, inputs["Param"].dtype, [1])
    if op.type == "rmsprop" and "MeanGrad" not in inputs:
        inputs["MeanGrad"] = op.constant_like(inputs["Moment"], 0.0)
    if op.type == "adamax":  # Fluid multiplies the power by an op of its own
        inputs["Beta1Pow"] = op.assign(inputs["Beta1Pow"])
    into = {
        f"{slot}Out": value.name
        for slot, value in inputs.items()
        if slot not in ("Grad", "LearningRate") and value.persistable
    }
    # PaddlePaddle 2 corrects the bias of lamb's moments.
    corrected = op.type == "lamb" and op.wants("Beta1PowOut")
    if op.type in ("adam", "lamb") and not corrected:
        given["formula"] = "fluid"
    made = op.append_all(op.type, inputs, into, **given)
    for slot, name in _OUTPUTS.items():
        if f"{slot}Out" in made:
            made[f"{name}Out"] = made[f"{slot}Out"]
    return made


def _row(type: str, defaults: dict[str, Any]) -> Row:
    """The row of an op: what Sluice's op has and needs."""
    schema = layers.ops.schema(type)
    needed = [e["name"] for e in schema["inputs"] if not e["optional"]]
    slots = dict.fromkeys(needed, (True, False))
    if type in _OPTIONAL:
        slots[_OPTIONAL[type]] = (False, False)
    known = {e["name"]: e["default"] for e in schema["attributes"]}
    known.pop("formula", None)
    return Row(_step, slots, known | defaults, ("ParamOut",))


for _type, _defaults in _UPDATES.items():
    ROWS[_type] = _row(_type, _defaults)


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
