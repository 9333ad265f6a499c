"""What layers of Fluid are written with."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import layer_helper as sluice_helper
from .. import unique_name
from ..display import Shown
from ..elsewhere import unknown_argument
from ..errors import InvalidArgumentError, SluiceError
from ..framework import created
from ..framework import program_guard as sluice_guard
from .errors import wrong
from .framework import (
    Block,
    Program,
    Variable,
    code_of,
    default_main_program,
    default_startup_program,
)

__all__ = ["LayerHelper", "answering", "layer"]


class LayerHelper(Shown):
    """Creates the parameters of a layer and appends its ops.

    Args:
        layer_type: the first part of the names that it makes up.
        name: instead of a made-up one.
        kwargs: the arguments of a layer that a script writes, by name:
            ``input``, ``param_attr``, ``bias_attr`` and ``act`` mean something.
    """

    def __init__(
        self, layer_type: str, name: str | None = None, **kwargs: Any
    ) -> None:
        self.kwargs = {"name": name, **kwargs}
        self.block: Block = default_main_program().global_block()
        with sluice_guard(
            self.block.program.sluice, default_startup_program().sluice
        ):
            self._helper = sluice_helper.LayerHelper(layer_type, name)
        self.name = self._helper.name

    def create_parameter(
        self,
        attr: Any,
        shape: Sequence[int],
        dtype: Any = "float32",
        is_bias: bool = False,
        default_initializer: Any = None,
    ) -> Variable | None:
        """Create a parameter, or return that of its name; None for False."""
        # Divisions that were whole in Python 2.
        shape = [
            int(n) if isinstance(n, float) and n.is_integer() else n
            for n in shape
        ]
        made = self._helper.create_parameter(
            attr, shape, dtype, default_initializer, is_bias
        )
        if made is None:
            return None
        trained = not made.stop_gradient
        return self._adopt(made, shape, trained)

    def create_persistable(
        self,
        name: str,
        shape: Sequence[int],
        dtype: Any,
        initializer: Any,
        parameter: bool = False,
    ) -> Variable:
        """Create a variable that is stored and not trained."""
        made = self._helper.create_persistable(name, shape, dtype, initializer)
        return self._adopt(made, shape, False if parameter else None)

    def _adopt(
        self, made: Any, shape: Sequence[int], trained: bool | None
    ) -> Variable:
        code = code_of(made.dtype)
        startup = default_startup_program().global_block()
        startup.persistable(made.name, shape, code, trained)
        return self.block.persistable(made.name, shape, code, trained)

    @property
    def main_program(self) -> Program:
        """The default main program."""
        return default_main_program()

    @property
    def startup_program(self) -> Program:
        """The default startup program."""
        return default_startup_program()

    @property
    def param_attr(self) -> Any:
        """The argument ``param_attr`` as an attribute."""
        return sluice_helper.ParamAttr._to_attr(self.kwargs.get("param_attr"))

    @property
    def bias_attr(self) -> Any:
        """The argument ``bias_attr`` as an attribute, or False."""
        return sluice_helper.ParamAttr._to_attr(self.kwargs.get("bias_attr"))

    def input(self, input_param_name: str = "input") -> Variable:
        """The argument of a name, a variable."""
        given = self.kwargs.get(input_param_name)
        several = given if isinstance(given, (list, tuple)) else [given]
        if len(several) != 1 or not isinstance(several[0], Variable):
            wrong(
                f"{self.name}: {input_param_name} must be a variable, got "
                f"{given!r}",
                "fluid.layer_input",
            )
        return several[0]

    def input_dtype(self, input_param_name: str = "input") -> Any:
        """The element type of an argument."""
        return self.input(input_param_name).dtype

    def create_variable_for_type_inference(
        self, dtype: Any = None, stop_gradient: bool = False, shape: Any = None
    ) -> Variable:
        """A variable that an op will write. The op gives it shape and dtype;
        the arguments have no effect, see :meth:`append_op` for gradients.
        """
        return self.block.create_var(self.new())

    create_tmp_variable = create_variable_for_type_inference

    def create_global_variable(
        self, shape: Sequence[int], dtype: Any, persistable: bool = True,
        name: str | None = None, **_: Any,
    ) -> Variable:  # fmt: skip
        """A variable of the scope; see :meth:`set_variable_initializer`."""
        return self.block.persistable(name or self.new(), shape, dtype)

    def set_variable_initializer(
        self, var: Variable, initializer: Any
    ) -> Variable:
        """Let the startup program give a variable of the scope its value."""
        return self.create_persistable(
            var.name, list(var.shape), var.dtype.name, initializer
        )

    def append_op(
        self,
        type: str,
        inputs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        attrs: Mapping[str, Any] | None = None,
        stop_gradient: bool = False,
    ) -> Any:
        """Append an op of Fluid, as :meth:`Block.append_op` does; with
        ``stop_gradient`` no gradient flows through its outputs.
        """
        op = self.block.append_op(type, inputs, outputs, attrs)
        if stop_gradient:
            for name in op.output_arg_names:
                self.block.var(name).stop_gradient = True
        return op

    def append_bias_op(
        self,
        input_var: Variable,
        dim_start: int = 1,
        dim_end: int | None = None,
    ) -> Variable:
        """Add a bias of the dims from ``dim_start`` to ``dim_end``, by the
        argument ``bias_attr``.
        """
        sizes = input_var.shape[dim_start:dim_end]
        return self.bias(input_var, self.bias_attr, sizes, dim_start)

    def append_activation(self, input_var: Variable) -> Variable:
        """Apply the argument ``act``, if there is one."""
        return self.activation(input_var, self.kwargs.get("act"))

    def append(
        self,
        type: str,
        inputs: Mapping[str, Any],
        attrs: Mapping[str, Any] | None = None,
        out: str = "Out",
        more: Sequence[str] = (),
        into: Variable | None = None,
    ) -> Any:
        """Append an op; return its output ``out``, with ``more`` a tuple.

        It is written to ``into``, if that is not None.
        """
        if into is not None:
            self.block.append_op(type, inputs, {out: into}, attrs)
            return into
        return self.block.append(type, inputs, attrs, out, more, self.name)

    def new(self) -> str:
        """A name for an output."""
        return unique_name.generate(f"{self.name}.tmp")

    def written(self, output: Any) -> Any:
        """The variable of an output's name, or a list of them."""
        if isinstance(output, list):
            return [self.written(each) for each in output]
        return self.block.var(output) if isinstance(output, str) else output

    def bias(
        self, x: Variable, attr: Any, sizes: Sequence[int], axis: int
    ) -> Variable:
        """Add a bias to the dims from ``axis`` on, unless ``attr`` is False."""
        bias = self.create_parameter(attr, list(sizes), x.dtype, is_bias=True)
        if bias is None:
            return x
        return self.append(
            "elementwise_add", {"X": x, "Y": bias}, {"axis": axis}
        )

    def activation(self, x: Variable, act: str | None) -> Variable:
        """Apply an op such as ``"relu"``, unless ``act`` is None."""
        return x if act is None else self.append(act, {"X": x})


def layer(
    function: Callable[..., Any], stem: str | None = None
) -> Callable[..., Any]:
    """Make a function of a helper and the arguments of a layer the layer.

    Args:
        function: its arguments are those of Fluid.
        stem: the first part of the names that the helper makes up; the name of
            the function if None.
    """
    _, *arguments = inspect.signature(function).parameters.values()
    signature = inspect.Signature(arguments)

    @functools.wraps(function)
    def wrapped(*values: Any, **named: Any) -> Any:
        bound = signature.bind(*values, **named)
        name = bound.arguments.get("name")
        helper = LayerHelper(stem or function.__name__, name)
        return function(helper, *bound.args, **bound.kwargs)

    wrapped.__signature__ = signature  # type: ignore[attr-defined]
    return wrapped


def answering(function: Callable[..., Any]) -> Callable[..., Any]:
    """The layer, with errors of Python as answers that name what it was given.

    Layers compute with their arguments before an op can check them: what has no
    shape or cannot be added fails there.
    """

    signature = inspect.signature(function)
    known = signature.parameters
    more = known and [*known.values()][-1].kind is inspect.Parameter.VAR_KEYWORD

    @functools.wraps(function)
    def wrapped(*values: Any, **named: Any) -> Any:
        wrong = "" if more else next((n for n in named if n not in known), "")
        if wrong:
            text = unknown_argument(function.__name__, [wrong], known)
            raise InvalidArgumentError(text, "fluid.layer_arguments")
        try:
            return function(*values, **named)
        except SluiceError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError,
                ValueError) as error:  # fmt: skip
            given = [_short(value) for value in values]
            given += [f"{name}={_short(each)}" for name, each in named.items()]
            raise InvalidArgumentError(
                f"{function.__name__}({', '.join(given)}): "
                f"{type(error).__name__}: {error}{created()}",
                "fluid.layer_arguments",
            ) from error

    return wrapped


def _short(value: Any) -> str:
    text = value.name if isinstance(value, Variable) else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
