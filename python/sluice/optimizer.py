"""Optimizers: ops that update parameters by their gradients."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from . import _core, framework, unique_name
from .display import Shown, counted, cut
from .elsewhere import checked, missing
from .errors import InvalidArgumentError
from .feed_values import finite
from .framework import Program, Variable
from .initializer import Constant
from .layer_helper import LayerHelper

__all__ = ["SGD", "Adagrad", "Adam", "Momentum", "Optimizer"]


class Minimized(tuple):
    """What ``minimize`` returns, in one line."""

    def __repr__(self) -> str:
        ops, pairs = self
        names = cut(", ".join(param.name for param, _ in pairs), 60)
        kinds = ", ".join(dict.fromkeys(ops))
        return f"<{counted(len(ops), 'update')} by {kinds or 'no op'}: {names}>"


@checked
class Optimizer(Shown):
    """Base of the optimizers.

    Args:
        learning_rate: a number, or a float variable of shape [1] that the
            program computes or is fed.
        name: the prefix of its variables' names.

    Raises:
        InvalidArgumentError: the learning rate is neither, negative or not
            finite.
    """

    type = "optimizer"

    def __init__(
        self, learning_rate: float | Variable, name: str | None = None
    ) -> None:
        if not isinstance(learning_rate, Variable):
            what = f"{self.type}: learning_rate"
            learning_rate = finite(what, learning_rate)
            if learning_rate < 0:
                raise InvalidArgumentError(
                    f"{what} must be at least 0, got {learning_rate}",
                    "python.learning_rate",
                )
        self.learning_rate = learning_rate
        self.name = name or unique_name.generate(self.type)
        self._rates: dict[tuple[int, str], Variable] = {}

    def minimize(
        self,
        loss: Variable,
        startup_program: Program | None = None,
        parameter_list: Iterable[Variable | str] | None = None,
        no_grad_set: Iterable[Variable | str] | None = None,
    ) -> tuple[list[str], list[tuple[Variable, Variable]]]:
        """Append the gradients of ``loss`` and the updates of parameters.

        Args:
            loss: a float variable of one element.
            startup_program: initialises the optimizer's own variables; the
                default one if None.
            parameter_list: parameters to update; all if None.
            no_grad_set: variables where gradients stop.

        Returns:
            The types of the ops that were appended, and (parameter, gradient)
            pairs.

        Raises:
            InvalidArgumentError: see :func:`sluice.append_backward`.
        """
        pairs = framework.append_backward(loss, parameter_list, no_grad_set)
        return Minimized((self.apply_gradients(pairs, startup_program), pairs))

    def apply_gradients(
        self,
        params_grads: list[tuple[Variable, Variable]],
        startup_program: Program | None = None,
    ) -> list[str]:
        """Append the update of each parameter by its gradient."""
        if not params_grads:
            return []
        program = params_grads[0][0].program
        startup = startup_program or framework.default_startup_program()
        program._set_purpose("optimize")
        try:
            with framework.program_guard(program, startup):
                helper = LayerHelper(self.type, self.name)
                for param, grad in params_grads:
                    self._update(helper, param, grad)
        finally:
            program._set_purpose("forward")
        return [self.type] * len(params_grads)

    def _attributes(self) -> dict[str, Any]:
        """The attributes of the op."""
        return {}

    def _powers(self) -> dict[str, float]:
        """With what the states of shape [1] begin; others begin as 0."""
        return {}

    def _update(
        self, helper: LayerHelper, param: Variable, grad: Variable
    ) -> None:
        powers = self._powers()
        inputs = {"Param": param, "Grad": grad}
        outputs = {"ParamOut": param}
        for argument in _core._schema(self.type)["inputs"]:
            name = argument["name"]
            if name in ("Param", "Grad", "LearningRate"):
                continue
            shape = [1] if name in powers else None
            kind = re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
            state = self._state(
                helper, param, kind, shape, powers.get(name, 0.0)
            )
            inputs[name] = outputs[f"{name}Out"] = state
        inputs["LearningRate"] = self._rate(helper, param.dtype)
        helper.append_op(self.type, inputs, outputs, self._attributes())

    def _rate(self, helper: LayerHelper, dtype: Any) -> Variable:
        if isinstance(self.learning_rate, Variable):
            return self.learning_rate
        key = helper.main_program.uid, str(dtype)
        if key not in self._rates:
            name = unique_name.generate(f"{self.name}.learning_rate")
            value = Constant(self.learning_rate)
            self._rates[key] = helper.create_persistable(
                name, [1], dtype, value
            )
        return self._rates[key]

    def _state(
        self,
        helper: LayerHelper,
        param: Variable,
        kind: str,
        shape: list[int] | None = None,
        value: float = 0.0,
    ) -> Variable:
        name = unique_name.generate(f"{param.name}.{self.name}.{kind}")
        shape = list(param.shape or ()) if shape is None else shape
        return helper.create_persistable(
            name, shape, param.dtype, Constant(value)
        )


class SGD(Optimizer):
    """param -= learning_rate * grad."""

    type = "sgd"


@checked
class Momentum(Optimizer):
    """velocity = momentum * velocity + grad; param -= learning_rate * velocity.

    With ``use_nesterov`` the step is learning_rate * (grad + momentum *
    velocity).
    """

    type = "momentum"

    def __init__(
        self,
        learning_rate: float | Variable,
        momentum: float = 0.9,
        use_nesterov: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, name)
        self.momentum = finite(f"{self.type}: momentum", momentum)
        self.use_nesterov = use_nesterov

    def _attributes(self) -> dict[str, Any]:
        return {"mu": self.momentum, "use_nesterov": self.use_nesterov}


@checked
class Adam(Optimizer):
    """Adam (Kingma and Ba, "A method for stochastic optimization", 2015)."""

    type = "adam"

    def __init__(
        self,
        learning_rate: float | Variable = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, name)
        self.beta1 = finite(f"{self.type}: beta1", beta1)
        self.beta2 = finite(f"{self.type}: beta2", beta2)
        self.epsilon = finite(f"{self.type}: epsilon", epsilon)

    def _attributes(self) -> dict[str, Any]:
        return {
            "beta1": self.beta1,
            "beta2": self.beta2,
            "epsilon": self.epsilon,
        }

    def _powers(self) -> dict[str, float]:
        return {"Beta1Pow": self.beta1, "Beta2Pow": self.beta2}


@checked
class Adagrad(Optimizer):
    """moment += grad²; param -= learning_rate * grad / (√moment + epsilon).

    Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning
    and stochastic optimization", 2011.
    """

    type = "adagrad"

    def __init__(
        self,
        learning_rate: float | Variable,
        epsilon: float = 1e-6,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, name)
        self.epsilon = finite(f"{self.type}: epsilon", epsilon)

    def _attributes(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon}


def __getattr__(name: str) -> Any:
    missing(__name__, name, __all__)
