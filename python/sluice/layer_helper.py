"""The helper for writing layers with parameters."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from . import _core, unique_name
from .defaults import default_main_program, default_startup_program
from .display import Shown
from .errors import argument_error
from .initializer import Constant, Xavier
from .param_attr import Initializer, ParamAttr
from .program import Program, Variable

__all__ = ["LayerHelper", "ParamAttr"]


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
        program: Program | None = None,
    ) -> None:
        self.name = name or unique_name.generate(layer_type)
        self.main_program = program or default_main_program()
        self.startup_program = default_startup_program()

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
            raise argument_error(
                f"parameter {name} is {var.dtype} {list(var.shape or ())}; it "
                f"cannot be shared as {dtype} {list(shape)}",
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
            raise argument_error(
                f"parameter {name} needs a shape that is known, got "
                f"{_core._shown(list(shape))}",
                "python.parameter_shape",
            )
        return known
