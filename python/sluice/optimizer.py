"""Optimizers: ops that move parameters against their gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import framework, unique_name
from .errors import InvalidArgumentError
from .feed_values import finite
from .framework import Program, Variable
from .initializer import Constant
from .layer_helper import LayerHelper

__all__ = ["SGD", "Adam", "Momentum", "Optimizer"]


class Optimizer:
    """Base of the optimizers.

    Args:
        learning_rate: a number, or a float variable of shape [1] that the
            program computes or is fed.
        name: the first part of the names of its own variables.

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
        """Append the gradients of ``loss`` and the ops that lower it.

        Args:
            loss: a float variable of one element.
            startup_program: where the optimizer's own variables begin; the
                default one if None.
            parameter_list: what to move; all parameters if None.
            no_grad_set: where gradients stop.

        Returns:
            The types of the ops that were appended, and (parameter, gradient)
            pairs.

        Raises:
            InvalidArgumentError: as :func:`sluice.append_backward`.
        """
        pairs = framework.append_backward(loss, parameter_list, no_grad_set)
        return self.apply_gradients(pairs, startup_program), pairs

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

    def _update(
        self, helper: LayerHelper, param: Variable, grad: Variable
    ) -> None:
        raise NotImplementedError

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

    def _update(
        self, helper: LayerHelper, param: Variable, grad: Variable
    ) -> None:
        rate = self._rate(helper, param.dtype)
        inputs = {"Param": param, "Grad": grad, "LearningRate": rate}
        helper.append_op("sgd", inputs, {"ParamOut": param})


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

    def _update(
        self, helper: LayerHelper, param: Variable, grad: Variable
    ) -> None:
        velocity = self._state(helper, param, "velocity")
        inputs = {
            "Param": param,
            "Grad": grad,
            "Velocity": velocity,
            "LearningRate": self._rate(helper, param.dtype),
        }
        attrs = {"mu": self.momentum, "use_nesterov": self.use_nesterov}
        outputs = {"ParamOut": param, "VelocityOut": velocity}
        helper.append_op("momentum", inputs, outputs, attrs)


class Adam(Optimizer):
    """Kingma and Ba's, "Adam: A method for stochastic optimization" (2015)."""

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

    def _update(
        self, helper: LayerHelper, param: Variable, grad: Variable
    ) -> None:
        states = {
            "Moment1": self._state(helper, param, "moment1"),
            "Moment2": self._state(helper, param, "moment2"),
            "Beta1Pow": self._state(
                helper, param, "beta1_pow", [1], self.beta1
            ),
            "Beta2Pow": self._state(
                helper, param, "beta2_pow", [1], self.beta2
            ),
        }
        rate = self._rate(helper, param.dtype)
        inputs = {"Param": param, "Grad": grad, "LearningRate": rate, **states}
        attrs = {
            "beta1": self.beta1,
            "beta2": self.beta2,
            "epsilon": self.epsilon,
        }
        outputs = {f"{name}Out": var for name, var in states.items()}
        helper.append_op("adam", inputs, {"ParamOut": param, **outputs}, attrs)
