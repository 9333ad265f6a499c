"""What layers are written with: their parameters, checks of their arguments,
and ops of one output."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from . import _core, unique_name
from .defaults import default_main_program, default_startup_program
from .display import Shown
from .errors import InvalidArgumentError, UnimplementedError, argument_error
from .feed_values import integer
from .initializer import Constant, Xavier
from .param_attr import Initializer, ParamAttr
from .program import Program, Variable, require_variable

__all__ = ["LayerHelper", "ParamAttr"]

Pair = int | Sequence[int]


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
            number = operator.index(size)
        except TypeError:
            number = -1
        if number < 0:
            raise argument_error(
                f"parameter {name} needs a shape that is known, got "
                f"{_core._shown(list(shape))}",
                "python.parameter_shape",
            )
        return number


def wrong(text: str, kind: type = InvalidArgumentError) -> Exception:
    """An error with this text and the line of the user."""
    return argument_error(text, "python.everyday", kind)


def make(
    type: str,
    inputs: Any,
    name: str | None = None,
    program: Program | None = None,
    **attrs: Any,
) -> Variable:
    """Append an op, and return its output Out, called ``name``.

    ``inputs`` is a dict by argument, or X alone: a variable or a list.
    """
    if not isinstance(inputs, dict):
        inputs = {"X": inputs}
    if program is None:
        first = next(iter(inputs.values()))
        first = first[0] if isinstance(first, list) else first
        program = first.program
    outputs = {} if name is None else {"Out": name}
    return program.append_op(type, inputs, outputs, attrs)["Out"]


def one_shape(layer: str, **named: Any) -> None:
    """Refuse variables (or shapes) that differ, which would be repeated.

    Sizes that are unknown fit every size, and numbers every shape.
    """
    shapes: dict[str, list[int | None]] = {}
    for name, value in named.items():
        shape = value.shape if isinstance(value, Variable) else value
        if isinstance(shape, (tuple, list)):
            shapes[name] = list(shape)
    first, other = next(iter(shapes.items()), ("", []))
    for name, shape in shapes.items():
        if len(shape) == len(other) and all(
            a == b or None in (a, b) for a, b in zip(shape, other, strict=True)
        ):
            continue
        advice = ""
        with_sizes = [[s for s in x if s != 1] for x in (shape, other)]
        if with_sizes[0] == with_sizes[1] and other[1:].count(None) < 2:
            sizes = reshape_sizes(layer, other)
            if other.count(None) == 1:
                sizes = [-1 if size is None else size for size in other]
            advice = f"; use sl.layers.reshape({name}, {sizes})"
        raise wrong(
            f"{layer}: {name} has shape {shape} and {first} has {other}: "
            f"expected the same shape{advice}"
        )


def variable_list(what: str, value: Any) -> list[Variable]:
    """Return ``value``, or raise unless it is a list of variables."""
    if isinstance(value, Variable) or not isinstance(value, Sequence):
        raise wrong(
            f"{what}: expected a list of variables, got {_core._shown(value)}"
        )
    if not value:
        raise wrong(f"{what}: expected a variable or more, got none")
    for i, each in enumerate(value):
        require_variable(f"{what}[{i}]", each)
    return list(value)


def ranked_shape(what: str, x: Any, least: int = 0) -> tuple[int | None, ...]:
    """The shape of x, which needs a known rank."""
    shape = require_variable(what, x).shape
    if shape is None:
        raise wrong(f"{what}: the rank of {x!r} is unknown", UnimplementedError)
    if len(shape) < least:
        raise wrong(f"{what}: expected {least} dims or more, got {x!r}")
    return shape


def reshape_sizes(what: str, sizes: list[int | None]) -> list[int]:
    """Attribute shape of reshape; the first size and one more may be None."""
    shape = [0 if i == 0 and s is None else s for i, s in enumerate(sizes)]
    if shape.count(None) > 1:
        raise wrong(
            f"{what}: more than one size besides the first is unknown: {sizes}",
            UnimplementedError,
        )
    return [-1 if size is None else size for size in shape]


def where(condition: Variable, x: Any, y: Any) -> Variable:
    """Choose by element; one of x and y may be a number."""
    like = x if isinstance(x, Variable) else y
    x, y = (
        each if isinstance(each, Variable) else like._constant(each)
        for each in (x, y)
    )
    return like._append("where", {"Condition": condition, "X": x, "Y": y})


def number_like(like: Variable, value: float) -> Variable:
    """A scalar of the dtype of a variable."""
    attrs = {"shape": [], "dtype": like.dtype, "value": value}
    return like._append("fill_constant", {}, **attrs)


def size_list(
    what: str, value: Pair, dims: int = 2, exactly: bool = False
) -> list[int]:
    """One integer for height and width (and depth), or a list of integers; as
    many as there are dims and all above 0 if ``exactly``.
    """
    try:
        several = isinstance(value, (list, tuple))
        numbers = [operator.index(e) for e in (value if several else [value])]
        numbers *= 1 if several else dims
        if not exactly or (len(numbers) == dims and min(numbers) > 0):
            return numbers
    except TypeError:
        pass
    instead = ""
    if isinstance(value, str):
        instead = (
            '; "VALID" is 0; "SAME", for an odd filter and stride 1, is '
            "filter_size // 2 * dilation"
        )
    raise argument_error(
        f"{what}: expected an integer{' above 0' * exactly} or "
        f"{'[height, width]' if dims == 2 else '[depth, height, width]'}, got "
        f"{_core._shown(value)}{instead}",
        "python.pair",
    )


def channels_of(
    what: str, x: Variable, rank: int | None = None, layout: str = "NCHW"
) -> int:
    """The number of channels, of an input of ``rank`` or of 2 and more."""
    require_variable(what, x)
    axes = None if x.shape is None else len(x.shape)
    if axes is None or (axes < 2 if rank is None else axes != rank):
        raise argument_error(
            f"{what} must have rank {rank or '2 or more'}, got {x!r}",
            "python.rank",
        )
    channels = x.shape[-1 if layout == "NHWC" else 1]  # type: ignore[index]
    if channels is None:
        raise argument_error(
            f"{what}: the number of channels must be known, got {x!r}",
            "python.channels",
        )
    return channels


def one_of(what: str, value: Any, allowed: Iterable[Any]) -> Any:
    """Return ``value`` if it is one of ``allowed``, else raise."""
    allowed = list(allowed)
    if any(type(value) is type(each) and value == each for each in allowed):
        return value
    *others, last = map(repr, allowed)
    layer, shown, hint = what.partition(":")[0], _core._shown(value), ""
    if isinstance(value, Variable):
        shown, hint = repr(value), f"; sl.layers.ops.{layer} takes variables"
    raise argument_error(
        f"{what}: expected {', '.join(others)} or {last}, got {shown}{hint}",
        "python.one_of",
    )


def index_of(what: str, value: Any, size: int) -> int:
    """An index below ``size``; a negative one counts from the end."""
    index = integer(value, -size, size)
    if index is None:
        raise argument_error(
            f"{what}: expected an integer from {-size} to {size - 1}, got "
            f"{_core._shown(value)}",
            "python.index",
        )
    return index % size


def move_axis(
    x: Variable, source: int, target: int, name: str | None = None
) -> Variable:
    """``x`` with one dim at another place, as by numpy.moveaxis."""
    order = list(range(len(x.shape or ())))
    moved = order.pop(source)
    order.insert(target % (len(order) + 1), moved)
    if order == sorted(order):
        return x
    return make("transpose", x, name, axis=order)
