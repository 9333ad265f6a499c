"""The helper for writing layers with parameters."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _core, framework, unique_name
from .display import Shown
from .elsewhere import checked
from .errors import InvalidArgumentError
from .feed_values import finite
from .framework import Variable
from .initializer import Constant, Initializer, Xavier

__all__ = ["LayerHelper", "ParamAttr"]


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
        from .clip import _Clip
        from .regularizer import _Decay

        self.learning_rate = finite(
            "ParamAttr: learning_rate", self.learning_rate
        )
        for what, kind, wanted in (
            ("learning_rate", float, "at least 0"),
            ("trainable", bool, "True or False"),
            ("do_model_average", bool, "True or False"),
            ("regularizer", _Decay, "one of sluice.regularizer"),
            ("gradient_clip", _Clip, "one of sluice.clip"),
        ):
            value = getattr(self, what)
            known = value is None and what in ("regularizer", "gradient_clip")
            known = known or isinstance(value, kind)
            if not known or (kind is float and value < 0):
                raise InvalidArgumentError(
                    f"ParamAttr: {what} must be {wanted}, got "
                    f"{_core._shown(value)}{framework.created()}",
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
        raise InvalidArgumentError(
            "param_attr or bias_attr: expected a ParamAttr, an initializer, a "
            f"name or False, got {_core._shown(value)}{framework.created()}",
            "python.param_attr",
        )

    @classmethod
    def _to_attr(cls, value: Any) -> Any:
        """:meth:`of`, as Fluid has it: False stays, and lists are taken."""
        if isinstance(value, (list, tuple)):
            return [cls._to_attr(each) for each in value]
        return False if value is False else cls.of(value)


class LayerHelper(Shown):
    """Creates the parameters of one layer and appends its ops.

    >>> helper = LayerHelper("scale_shift")
    >>> w = helper.create_parameter(None, [3], x.dtype)
    >>> y = helper.append_op("elementwise_mul", {"X": x, "Y": w})["Out"]
    >>> y = helper.append_activation(y, "relu")

    Args:
        layer_type: the first part of the names that it makes up.
        name: instead of a made-up one.
        program: where ops go; the default main program if None.
    """

    def __init__(
        self,
        layer_type: str,
        name: str | None = None,
        program: framework.Program | None = None,
    ) -> None:
        self.name = name or unique_name.generate(layer_type)
        self.main_program = program or framework.default_main_program()
        self.startup_program = framework.default_startup_program()

    def create_parameter(
        self,
        attr: Any,
        shape: Sequence[int],
        dtype: Any = "float32",
        default_initializer: Initializer | None = None,
        is_bias: bool = False,
    ) -> Variable | None:
        """Create a parameter, or return the existing one of that name.

        Args:
            attr: see :meth:`ParamAttr.of`.
            shape: its sizes, all known.
            dtype: its element type.
            default_initializer: for an ``attr`` without one; else Xavier, or
                zeros for a bias.
            is_bias: whether the name is ``<layer>.b_0`` instead of ``.w_0``.

        Returns:
            The parameter; None when ``attr`` is False.

        Raises:
            InvalidArgumentError: a size is unknown, or a parameter of that name
                has another shape or dtype.
        """
        attr = ParamAttr.of(attr)
        if attr is None:
            return None
        kind = "b" if is_bias else "w"
        name = attr.name or unique_name.generate(f"{self.name}.{kind}")
        shape = [self._size(size, name, shape) for size in shape]
        initializer = attr.initializer or default_initializer
        if initializer is None:
            initializer = Constant(0.0) if is_bias else Xavier()
        param = self.create_persistable(
            name, shape, dtype, initializer, stop_gradient=not attr.trainable
        )
        self.main_program._param_attrs.setdefault(name, attr)
        return param

    def create_persistable(
        self,
        name: str,
        shape: Sequence[int],
        dtype: Any,
        initializer: Initializer,
        stop_gradient: bool = True,
    ) -> Variable:
        """Create a variable that lives in the scope and gets no gradient, such
        as a moving average.
        """
        known = self.main_program.has_var(name)
        var = self.main_program.persistable(name, shape, dtype)
        if known and (
            list(var.shape or ()) != list(shape) or var.dtype != dtype
        ):
            raise InvalidArgumentError(
                f"parameter {name} is {var.dtype} {list(var.shape or ())}; it "
                f"cannot be shared as {dtype} "
                f"{list(shape)}{framework.created()}",
                "python.shared_parameter",
            )
        if stop_gradient:
            var.stop_gradient = True
        if not self.startup_program.has_var(name):
            start = self.startup_program.persistable(name, shape, dtype)
            initializer(start)
        return var

    def append_op(
        self,
        type: str,
        inputs: dict[str, Any] | None = None,
        outputs: dict[str, Any] | None = None,
        attrs: dict[str, Any] | None = None,
        hint: str = "",
    ) -> dict[str, Any]:
        """Do what :meth:`sluice.Program.append_op` does."""
        return self.main_program.append_op(type, inputs, outputs, attrs, hint)

    def append_bias(
        self, x: Variable, bias: Variable | None, axis: int = -1
    ) -> Variable:
        """Add ``bias``, unless it is None, to ``x`` from ``axis`` on."""
        if bias is None:
            return x
        inputs = {"X": x, "Y": bias}
        return self.append_op("elementwise_add", inputs, attrs={"axis": axis})[
            "Out"
        ]

    def append_activation(self, x: Variable, act: str | None) -> Variable:
        """Apply an op with input X and output Out, such as ``"relu"``."""
        if act is None:
            return x
        return self.append_op(act, {"X": x})["Out"]

    @staticmethod
    def _size(size: Any, name: str, shape: Sequence[Any]) -> int:
        try:
            known = operator.index(size)
        except TypeError:
            known = -1
        if known < 0:
            raise InvalidArgumentError(
                f"parameter {name} needs a shape that is known, got "
                f"{_core._shown(list(shape))}{framework.created()}",
                "python.parameter_shape",
            )
        return known
