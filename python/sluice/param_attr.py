"""How a parameter begins and is trained, and the bases of what says so.

Variables are above this file; here they are of any type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _core
from .display import Shown
from .elsewhere import checked
from .errors import argument_error
from .feed_values import finite


class Initializer(Shown):
    """Appends the op that initialises a variable to its program."""

    def __call__(self, var: Any) -> None:
        """Append the op."""
        self._append(var)

    def _append(self, var: Any) -> None:
        raise NotImplementedError

    @staticmethod
    def _fill(op: str, var: Any, **attrs: Any) -> None:
        attrs |= {"shape": list(var.shape or ()), "dtype": var.dtype}
        var.program.append_op(op, outputs={"Out": var}, attrs=attrs)


class GradientClip(Shown):
    """Limits gradients."""

    def _group(self) -> Any:
        """Gradients with equal groups are clipped together; None: alone."""
        return None

    def __call__(self, grads: list[Any]) -> list[Any]:
        """Append the clipping of gradients of one group."""
        return self._clip(grads)

    def _clip(self, grads: list[Any]) -> list[Any]:
        raise NotImplementedError


class ErrorClip(Shown):
    """Limits the gradient of a variable before it goes on."""


class WeightDecay(Shown):
    """Adds a term to the gradient of a parameter."""

    def __call__(self, param: Any, grad: Any) -> Any:
        """The gradient with the term."""
        raise NotImplementedError


@checked
@dataclass
class ParamAttr:
    """How to create a parameter.

    Attributes:
        name: its name; layers with the same name share it.
        initializer: its initial values; the layer's default if None.
        learning_rate: a factor of the optimizer's learning rate.
        regularizer: its decay, instead of the optimizer's; see
            :mod:`sluice.regularizer`.
        trainable: whether it gets a gradient.
        gradient_clip: its clip, instead of the optimizer's; see
            :mod:`sluice.clip`.
        do_model_average: whether ModelAverage and ExponentialMovingAverage
            average it.

    A parameter that layers share keeps the attributes of the first of them.
    Files of programs have them, without name and initializer.

    Raises:
        InvalidArgumentError: an attribute is of another kind, or the learning
            rate negative.
    """

    name: str | None = None
    initializer: Initializer | None = None
    learning_rate: float = 1.0
    regularizer: Any = None
    trainable: bool = True
    gradient_clip: Any = None
    do_model_average: bool = True

    def __post_init__(self) -> None:
        self.learning_rate = finite(
            "ParamAttr: learning_rate", self.learning_rate
        )
        for what, kind, wanted in (
            ("learning_rate", float, "at least 0"),
            ("trainable", bool, "True or False"),
            ("do_model_average", bool, "True or False"),
            ("regularizer", WeightDecay, "one of sluice.regularizer"),
            ("gradient_clip", GradientClip, "one of sluice.clip"),
        ):
            value = getattr(self, what)
            known = value is None and what in ("regularizer", "gradient_clip")
            known = known or isinstance(value, kind)
            if not known or (kind is float and value < 0):
                raise argument_error(
                    f"ParamAttr: {what} must be {wanted}, got "
                    f"{_core._shown(value)}",
                    "python.param_attr_value",
                )

    @classmethod
    def of(cls, value: Any) -> ParamAttr | None:
        """Convert ``value`` (None, a name, an initializer, True, False or an
        attribute) to an attribute; None for False, which means no parameter.
        """
        if value is False:
            return None
        if value is None or value is True:
            return cls()
        if isinstance(value, str):
            return cls(name=value)
        if isinstance(value, Initializer):
            return cls(initializer=value)
        if isinstance(value, cls):
            return value
        raise argument_error(
            "param_attr or bias_attr: expected a ParamAttr, an initializer, a "
            f"name or False, got {_core._shown(value)}",
            "python.param_attr",
        )

    @classmethod
    def _to_attr(cls, value: Any) -> Any:
        """:meth:`of`, as Fluid has it: False stays, and lists are taken."""
        if isinstance(value, (list, tuple)):
            return [cls._to_attr(each) for each in value]
        return False if value is False else cls.of(value)
