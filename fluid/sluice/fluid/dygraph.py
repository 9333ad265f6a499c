"""``fluid.dygraph``: layers of Fluid whose values are asked for at once.

Inside of :func:`guard` layers are appended to a program of its own, and
``numpy()`` of a variable runs what it depends on: programs that are written
before they run are faster. A parameter that changes is another variable of the
program, so that what was computed before keeps its value.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import unique_name
from ..display import Shown
from .backward import gradients
from .errors import too_early, wrong
from .executor import Executor
from .framework import Program, Variable, default_main_program, program_guard
from .layer_helper import LayerHelper
from .left_out import refusing
from .op_layers import LAYERS
from .scopes import Scope

__all__ = [
    "BackwardStrategy", "Embedding", "Layer", "Linear", "ParamBase",
    "PiecewiseDecay", "disable_dygraph", "enable_dygraph", "enabled", "guard",
    "no_grad", "to_variable",
]  # fmt: skip


class _Eager(Program):
    """A program whose variables have values while it is written."""

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[str, np.ndarray] = {}
        self.losses: list[Variable] = []  # of which backward was asked for
        self.cleared: dict[str, int] = {}  # how many of them do not count
        self.kept: dict[str, np.ndarray] = {}  # gradients of values before
        self.drawn = 0  # parameters

    def value_of(self, variable: Variable) -> np.ndarray:
        # The first run of an executor, so that draws are the same each time.
        run = Executor().run
        return run(self, self.given, variable, scope=Scope())[0]

    def gradient_of(self, variable: Variable) -> np.ndarray | None:
        losses = self.losses[self.cleared.get(variable.name, 0) :]
        kept = self.kept.get(variable.name)
        if not self.losses:
            return None
        if variable.stop_gradient:  # what an op made gets zeros, as in Fluid
            made = variable.name not in self.given
            return np.zeros_like(self.value_of(variable)) if made else None
        if not losses:
            return (
                np.zeros_like(self.value_of(variable)) if kept is None else kept
            )
        (gradient,) = gradients(losses, [variable])
        if gradient is None:
            return kept
        value = self.value_of(gradient)
        return value if kept is None else value + kept

    def clear_gradient(self, variable: Variable) -> None:
        self.cleared[variable.name] = len(self.losses)
        self.kept.pop(variable.name, None)

    def set_value(self, variable: Variable, value: Any) -> None:
        array = np.asarray(value, variable.dtype.name)
        if [*array.shape] != [*variable.shape]:
            wrong(
                f"set_value: {variable!r} is given an array of shape "
                f"{list(array.shape)}",
                "fluid.set_value",
            )
        kept, stops = self.gradient_of(variable), variable.stop_gradient
        stem, _, number = variable.name.partition("@")
        variable.name = f"{stem}@{int(number or 0) + 1}"
        self.block0.data(variable.name, array.shape, array.dtype.name, 0)
        self.given[variable.name] = array
        variable.stop_gradient = stops
        self.cleared[variable.name] = len(self.losses)
        if kept is not None:
            self.kept[variable.name] = kept


class BackwardStrategy:
    """Takes any attribute and does nothing: sums are in one order."""


@contextlib.contextmanager
def guard(place: Any = None) -> Iterator[None]:
    """Compute the layers of the block at once, on the CPU."""
    with program_guard(_Eager(), Program()):
        yield


_entered = contextlib.ExitStack()


def enable_dygraph(place: Any = None) -> None:
    """Begin a :func:`guard` that :func:`disable_dygraph` ends."""
    if not enabled():
        _entered.enter_context(guard(place))


def disable_dygraph() -> None:
    """End what :func:`enable_dygraph` began."""
    _entered.close()


def enabled() -> bool:
    """Whether layers are computed at once."""
    return isinstance(default_main_program(), _Eager)


def _eager(what: str) -> _Eager:
    program = default_main_program()
    if isinstance(program, _Eager):
        return program
    too_early(
        f"{what} inside of fluid.dygraph.guard() only",
        "fluid.outside_of_guard",
    )


def no_grad(function: Any = None) -> Any:
    """The function unchanged, or a context: gradients are never kept."""
    return contextlib.nullcontext() if function is None else function


def to_variable(
    value: Any, name: str | None = None, zero_copy: bool | None = None
) -> Variable:
    """An array as a variable, inside of :func:`guard`."""
    if isinstance(value, Variable):
        return value
    program = _eager("to_variable works")
    array = np.array(value)
    name = name or unique_name.generate("generated_var")
    made = program.block0.data(name, array.shape, array.dtype.name, 0)
    program.given[name] = array
    return made


class ParamBase(Variable):
    """A parameter of a :class:`Layer`.

    Attributes:
        attr: what its ParamAttr says.
        base_name: its name before updates, which add ``@`` and a number.
    """

    def __init__(self, made: Variable, attr: Any) -> None:
        super().__init__(made.block, made.name)
        self.attr, self.base_name = attr, made.name

    @property
    def trainable(self) -> bool:
        """Whether optimizers change it."""
        return not self.stop_gradient


class Layer(Shown):
    """Parameters, layers in it, and ``forward``, which the script writes.

    Args:
        name_scope: begins the names of its parameters.
        dtype: of its parameters.
    """

    def __init__(
        self, name_scope: str | None = None, dtype: Any = "float32"
    ) -> None:
        kind = name_scope or type(self).__name__.lower()
        self._full_name, self._dtype = unique_name.generate(kind), dtype
        self.training = True

    def full_name(self) -> str:
        """The beginning of the names of its parameters."""
        return self._full_name

    def create_parameter(
        self,
        shape: Sequence[int],
        attr: Any = None,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Any = None,
    ) -> ParamBase | None:
        """Make a parameter and draw its first value; None for attr=False."""
        program = _eager("a Layer has parameters")
        startup, scratch = Program(), Program()
        program.drawn += 1
        startup.random_seed = program.random_seed + program.drawn
        with program_guard(scratch, startup):
            made = LayerHelper(self._full_name, self._full_name)
            made = made.create_parameter(
                attr, shape, dtype or self._dtype, is_bias, default_initializer
            )
        if made is None:
            return None
        scope = Scope()
        Executor().run(startup, scope=scope)
        value = np.asarray(scope.find_var(made.name))
        stored = program.block0.data(made.name, shape, made.dtype, 0)
        stored.stop_gradient = made.stop_gradient
        program.given[made.name] = value
        return ParamBase(stored, scratch.sluice._param_attrs.get(made.name))

    def add_sublayer(self, name: str, sublayer: Layer) -> Layer:
        """Let a layer be an attribute of that name; return it."""
        setattr(self, name, sublayer)
        return sublayer

    def _named(self, kind: type, prefix: str = "") -> Iterator[Any]:
        for name, value in vars(self).items():
            if isinstance(value, kind):
                yield prefix + name, value
            if isinstance(value, Layer):
                yield from value._named(kind, f"{prefix}{name}.")

    def parameters(self, include_sublayers: bool = True) -> list[ParamBase]:
        """Its parameters and those of the layers in it."""
        return [value for _, value in self._named(ParamBase)]

    def named_parameters(self) -> Iterator[tuple[str, ParamBase]]:
        """Its parameters by the names of attributes, ``fc.weight``."""
        return self._named(ParamBase)

    def sublayers(self, include_sublayers: bool = True) -> list[Layer]:
        """The layers in it, and theirs."""
        return [value for _, value in self._named(Layer)]

    def clear_gradients(self) -> None:
        """Forget the gradients of its parameters."""
        for each in self.parameters():
            each.clear_gradient()

    def train(self, training: bool = True) -> None:
        """Set ``training``, of the layers in it, too."""
        for each in (self, *self.sublayers()):
            each.training = training

    def eval(self) -> None:
        """Let ``training`` be False."""
        self.train(False)

    def state_dict(self) -> dict[str, np.ndarray]:
        """The values of :meth:`named_parameters`."""
        return {name: each.numpy() for name, each in self.named_parameters()}

    def set_dict(self, stat_dict: dict[str, Any]) -> None:
        """Set the values that :meth:`state_dict` gave."""
        for name, each in self.named_parameters():
            if name not in stat_dict:
                wrong(f"set_dict: no value for {name}", "fluid.set_dict")
            each.set_value(stat_dict[name])

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """What ``forward`` returns."""
        return self.forward(*inputs, **named)  # type: ignore[attr-defined]


class Linear(Layer):
    """x @ weight + bias, with weight [input_dim, output_dim]."""

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        param_attr: Any = None,
        bias_attr: Any = None,
        act: str | None = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(None, dtype)
        self.weight = self.create_parameter([input_dim, output_dim], param_attr)
        self.bias = self.create_parameter([output_dim], bias_attr, is_bias=True)
        self._act = act

    def forward(self, input: Variable) -> Variable:
        """Apply it to rows, the last dim of the input."""
        out = LAYERS["matmul"](input, self.weight)
        out = out if self.bias is None else out + self.bias
        return LayerHelper("linear").activation(out, self._act)


class Embedding(Layer):
    """Rows of ``weight`` [size[0], size[1]] by their numbers."""

    def __init__(
        self,
        size: Sequence[int],
        is_sparse: bool = False,
        is_distributed: bool = False,
        padding_idx: int | None = None,
        param_attr: Any = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__(None, dtype)
        self.weight = self.create_parameter(size, param_attr)
        self._padding = -1 if padding_idx is None else padding_idx % size[0]

    def forward(self, input: Variable) -> Variable:
        """The rows, in a new last dim."""
        return input.block.append(
            "lookup_table_v2",
            {"Ids": input, "W": self.weight},
            {"padding_idx": self._padding},
        )


class PiecewiseDecay(Shown):
    """values[i] before step boundaries[i], and then the last value.

    An optimizer takes it as its learning rate and counts its steps.
    """

    def __init__(
        self,
        boundaries: Sequence[int],
        values: Sequence[float],
        begin: int,
        step: int = 1,
        dtype: str = "float32",
    ) -> None:
        self.boundaries, self.values = list(boundaries), list(values)
        self.step_num, self.step_size = begin, step

    def __call__(self) -> float:
        """The rate of this step; the next call gives that of the next."""
        rate = self.rate()
        self.step_num += self.step_size
        return rate

    def rate(self) -> float:
        """The rate of this step."""
        past = sum(self.step_num >= each for each in self.boundaries)
        return self.values[past]


__getattr__ = refusing("fluid.dygraph", {})
