"""Fluid's optimizers, by their argument order and defaults."""

from __future__ import annotations

from typing import Any, ClassVar

from .. import optimizer as sluice_optimizer
from ..framework import program_guard as sluice_guard
from .framework import Program, Variable, default_startup_program

__all__ = [
    "SGD",
    "Adadelta",
    "AdadeltaOptimizer",
    "Adagrad",
    "AdagradOptimizer",
    "Adam",
    "AdamOptimizer",
    "Adamax",
    "AdamaxOptimizer",
    "DecayedAdagrad",
    "DecayedAdagradOptimizer",
    "Dpsgd",
    "DpsgdOptimizer",
    "Ftrl",
    "FtrlOptimizer",
    "Lamb",
    "LambOptimizer",
    "LarsMomentum",
    "LarsMomentumOptimizer",
    "Momentum",
    "MomentumOptimizer",
    "RMSProp",
    "RMSPropOptimizer",
    "SGDOptimizer",
]


class _Optimizer:
    """An optimizer of Sluice, whose arguments are Fluid's, for its programs."""

    _sluice: Any
    _fixed: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, *values: Any, parameter_list: Any = None, **named: Any
    ) -> None:
        self._parameters = parameter_list
        values = tuple(_value(each) for each in values)
        if "learning_rate" in named:
            named["learning_rate"] = _value(named["learning_rate"])
        self._made = self._sluice(*values, **named, **self._fixed)

    def __repr__(self) -> str:
        return f"<fluid.optimizer.{type(self).__name__}: {self._made!r}>"

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        grad_clip: Any = None,
    ) -> tuple[Any, list[tuple[Variable, Variable]]]:
        """Append the gradients of ``loss`` and the updates of parameters.

        Returns the types of the ops, and (parameter, gradient) pairs.
        """
        program = loss.block.program
        startup = startup_program or default_startup_program()
        if grad_clip is not None:
            self._made.grad_clip = grad_clip
        with sluice_guard(program.sluice, startup.sluice), program.optimizing():
            ops, pairs = self._made.minimize(
                loss.value,
                startup.sluice,
                _names(parameter_list or self._parameters),
                _names(no_grad_set),
            )
        program.trained = True
        block = program.global_block()
        return ops, [(block.var(p.name), block.adopt(g)) for p, g in pairs]


def _value(rate: Any) -> Any:
    return rate.value if isinstance(rate, Variable) else rate


def _names(variables: Any) -> Any:
    if variables is None:
        return None
    return [getattr(each, "name", each) for each in variables]


def _optimizer(name: str, **fixed: Any) -> type[_Optimizer]:
    text = f"See :class:`sluice.optimizer.{name}`."
    made = {"_sluice": getattr(sluice_optimizer, name), "_fixed": fixed}
    return type(name, (_Optimizer,), {"__doc__": text, **made})


SGD = SGDOptimizer = _optimizer("SGD")
Momentum = MomentumOptimizer = _optimizer("Momentum")
LarsMomentum = LarsMomentumOptimizer = _optimizer("LarsMomentum")
Adam = AdamOptimizer = _optimizer("Adam", formula="fluid")
Adamax = AdamaxOptimizer = _optimizer("Adamax", formula="fluid")
Lamb = LambOptimizer = _optimizer("Lamb", formula="fluid")
Adagrad = AdagradOptimizer = _optimizer("Adagrad")
DecayedAdagrad = DecayedAdagradOptimizer = _optimizer("DecayedAdagrad")
Adadelta = AdadeltaOptimizer = _optimizer("Adadelta")
RMSProp = RMSPropOptimizer = _optimizer("RMSProp", formula="fluid")
Ftrl = FtrlOptimizer = _optimizer("Ftrl")
Dpsgd = DpsgdOptimizer = _optimizer("Dpsgd")
