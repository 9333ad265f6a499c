"""Layers that are one op: the lines of :mod:`sluice.fluid.layer_table`.

A line has the layer's arguments in Fluid's order. ``x:X`` is an input of slot
X, with ``*`` a list of them, with ``?`` one that may be None; ``out:Out!`` is a
variable to write to, or None; ``k`` or ``axis=-1`` is an attribute; ``act``,
``name``, ``param_attr`` and ``bias_attr`` are as in all layers. After the
default of an attribute may stand ``>transpose_X``, what the op calls it, or
``>_`` if it has none; ``|Shape|ShapeTensor``, the slots for a variable and for
a list with variables; and ``@2``, how many numbers it is of which one may stand
for all.

Several layers may have the same arguments, and ``{n}`` stands for 2 and 3.
Before the arguments may stand the op, if it is called otherwise. After ``;``
stand, in Python, with the arguments' names and those of ``_NAMES``: attributes
and inputs, ``seed=seed or 0``, where None changes nothing; parameters, ``W<attr
[sizes]=initializer``; parameters that are not trained, ``Mean~name
[sizes]=initializer``; and ``+size@axis``, a bias. At the end stand the outputs
that the layer returns, if not Out; ``Y*count``, a list of them; ``Mask!``,
which only the op has; and ``MeanOut=Mean``, which is written to the variable of
an input.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import unique_name
from ..errors import InvalidArgumentError
from ..feed_values import unmasked
from ..framework import created
from ..initializer import Constant, Normal
from ..layer_helper import ParamAttr
from .framework import Variable, code_of
from .layer_helper import LayerHelper
from .layer_table import TEXT


class Argument(NamedTuple):
    """An argument of a layer."""

    name: str
    slot: str | None  # of an input or output
    sign: str
    attribute: str | None
    tensor: str | None  # slots for an attribute as a variable
    tensors: str | None
    count: int


class Made(NamedTuple):
    """What is computed: an attribute, an input, a parameter or a bias."""

    name: str
    sign: str
    value: Any
    sizes: Any = None
    start: Any = None


class Layer(NamedTuple):
    """A line of the table."""

    op: str
    arguments: list[Argument]
    made: list[Made]
    signature: inspect.Signature
    outputs: list[str]


_LINE = re.compile(r"([\w ]+)(?:=(\w+))?\((.*?)(?:; (.*))?\)(?: -> (.*))?")
_PART = re.compile(
    r"(\w+)(?::(\w+))?([*?!])?(?:=([^>|@]*))?"
    r"(?:>(\w+))?(?:\|(\w+))?(?:\|(\w+))?(?:@(\d))?"
)
_MADE = re.compile(r"(\w+)([<~])(.*?)\[(.*)\](?:=(.*))?|(\w*)([=+])(.*)")
# The names of parameters begin as Fluid's.
_STEMS = {"lookup_table": "embedding", "lookup_table_v2": "embedding"}
_SHARED = ("act", "name", "param_attr", "bias_attr")


def _code(text: str | None) -> Any:
    return compile(text or "None", __file__, "eval")


def _argument(part: str) -> tuple[Argument, inspect.Parameter]:
    word, slot, sign, default, other, *slots, count = _PART.fullmatch(  # type: ignore
        part
    ).groups()
    value: Any = inspect.Parameter.empty
    if sign in ("?", "!") or part in _SHARED:
        value = None
    elif default is not None:
        value = ast.literal_eval(default)
    idle = slot or part in _SHARED or other == "_"
    attribute = None if idle else other or word
    made = Argument(word, slot, sign or "", attribute, *slots, int(count or 0))
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return made, inspect.Parameter(word, kind, default=value)


def _made(text: str) -> Made:
    slot, sign, attr, sizes, start, name, other, value = _MADE.fullmatch(  # type: ignore
        text
    ).groups()
    if slot:
        return Made(slot, sign, _code(attr), _code(f"[{sizes}]"), _code(start))
    size, _, axis = value.partition("@") if other == "+" else (value, "", "")
    return Made(name, other, _code(size), _code(axis))


def _parsed(text: str) -> dict[str, Layer]:
    names, op, arguments, made, outputs = _LINE.fullmatch(text).groups()  # type: ignore
    both = [_argument(part) for part in arguments.split(", ")]
    rest = (
        [argument for argument, _ in both],
        [_made(part) for part in (made or "").split("; ") if part],
        inspect.Signature([parameter for _, parameter in both]),
        (outputs or "Out").split(),
    )
    return {name: Layer(op or name, *rest) for name in names.split()}


# What the lines call


def whole(value: Any, count: int) -> list[Any]:
    """A list of so many numbers; one, or fewer, stand for all."""
    several = list(value) if isinstance(value, (list, tuple)) else [value]
    return several * max(1, count // (len(several) or 1))


def _tensor(value: Any, dtype: Any) -> Variable:
    """A number as a variable of one element; a variable in this dtype."""
    if not isinstance(value, Variable):
        return LAYERS["fill_constant"]([1], dtype, value)
    same = code_of(value.dtype) == code_of(dtype)
    return value if same else value.astype(dtype)


def assign_value(array: np.ndarray, output: Variable | None = None) -> Variable:
    """An array as a variable."""
    names = {"f": "fp32_values", "b": "bool_values"}
    slot = names.get(array.dtype.kind, f"{array.dtype}_values")
    attrs = {"shape": list(array.shape), "dtype": code_of(array.dtype)}
    attrs[slot] = unmasked(array).ravel().tolist()
    return LayerHelper("assign").append("assign_value", {}, attrs, into=output)


def _algorithm(padding: Any) -> str:
    return padding.upper() if isinstance(padding, str) else "EXPLICIT"


def _pads(padding: Any, rank: int, form: str) -> list[int]:
    """A number, or two, for each dim of an image."""
    if isinstance(padding, str):
        return [0] * rank
    pairs = whole(padding, rank)
    if not isinstance(pairs[0], (list, tuple)):
        return pairs
    last = form.endswith("C")
    spatial = pairs[1:-1] if last else pairs[2:]
    others = [*pairs[0], *(pairs[-1] if last else pairs[1])]
    if len(pairs) != rank + 2 or any(others):
        raise InvalidArgumentError(
            f"padding {padding!r}: expected a pair for each of {rank + 2} "
            f"dims, zeros for the batch and the channels{created()}",
            "fluid.padding",
        )
    return [size for pair in spatial for size in pair]


def _turned(
    rank: int, x: Variable, wanted: Any, given: Any, padding: Any, stride: Any,
    dilation: Any, form: str,
) -> list[int]:  # fmt: skip
    """The filter of a transposed convolution, from the size of its output."""
    if given is not None:
        return whole(given, rank)
    if wanted is None:
        raise InvalidArgumentError(
            "a transposed convolution needs filter_size or output_size"
            f"{created()}",
            "fluid.filter_size",
        )
    sizes = x.shape[1:-1] if form.endswith("C") else x.shape[2:]
    pads = _pads(padding, rank, form)
    both = [
        sum(pads[2 * k : 2 * k + 2]) if len(pads) > rank else 2 * pads[k]
        for k in range(rank)
    ]
    steps, gaps = whole(stride, rank), whole(dilation, rank)
    return [
        (size - (sizes[k] - 1) * steps[k] + both[k] - 1) // gaps[k] + 1
        for k, size in enumerate(whole(wanted, rank))
    ]


def _alphas(mode: str, x: Variable) -> list[int]:
    if mode == "all":
        return [1]
    return [1, *x.shape[1 : 2 if mode == "channel" else None]]


_NAMES = {
    "Constant": Constant,
    "KINDS": ("identity", "sigmoid", "tanh", "relu"),
    "Normal": Normal,
    "algorithm": _algorithm,
    "alphas": _alphas,
    "array": np.array,
    "assign": assign_value,
    "code_of": code_of,
    "first": lambda d, key, x: Constant(float((d or {}).get(key, x))),
    "fixed": ParamAttr(trainable=False),
    "he": lambda channels, size, rank: Normal(
        0.0, (2.0 / (channels * math.prod(whole(size, rank)))) ** 0.5
    ),
    "one": lambda count: 1 if count is None else count,
    "pads": _pads,
    "prod": math.prod,
    "tensor": _tensor,
    "turned": _turned,
    "untrained": lambda attr: dataclasses.replace(
        ParamAttr.of(attr) or ParamAttr(), trainable=False
    ),
    "whole": whole,
}


# How a layer is appended


def number_or_tensor(
    helper: LayerHelper, value: Any, tensor: str | None, tensors: str | None
) -> tuple[Any, dict[str, Any]]:
    """An attribute that may be a variable, or have some: the attribute and the
    inputs.
    """
    if tensor and isinstance(value, Variable):
        return None, {tensor: value}
    if not isinstance(value, (list, tuple)):
        return value, {}
    if not any(isinstance(each, Variable) for each in value):
        return list(value), {}
    variables = [
        each if isinstance(each, Variable) else _tensor(each, "int32")
        for each in value
    ]
    numbers = [-1 if isinstance(each, Variable) else each for each in value]
    return numbers, {tensors or "": variables}


class _Appending:
    """A layer that is being appended, with what its line computes."""

    def __init__(self, layer: Layer, given: dict[str, Any]) -> None:
        stem = _STEMS.get(layer.op, layer.op)
        self.helper = LayerHelper(stem, given.get("name"))
        self.inputs: dict[str, Any] = {}
        self.attrs: dict[str, Any] = {}
        self.into: dict[str, Any] = {}
        for each in layer.arguments:
            needed = each.slot and each.sign in ("", "*")
            if needed or given[each.name] is not None:
                self._take(each, given[each.name])
        x = next((v for v in given.values() if isinstance(v, Variable)), None)
        self.dtype = given.get("dtype") or getattr(x, "dtype", None)
        self.names = {**_NAMES, **given, "stem": self.helper.name}
        shape = x.shape if x is not None and layer.made else ()
        if shape:
            form = given.get("data_format") or given.get("data_layout") or ""
            axis = len(shape) - 1 if form.endswith("C") else 1
            self.names |= {"axis": given.get("axis", axis), "D": shape[-1]}
            self.names["C"] = shape[axis] if len(shape) > axis else None
        self.bias: tuple[Any, Any] | None = None
        for made in layer.made:
            self._make(made)

    def _take(self, argument: Argument, value: Any) -> None:
        if argument.sign == "!":
            self.into[argument.slot or ""] = value
        elif argument.slot:
            many = argument.sign == "*"
            several = isinstance(value, (list, tuple)) and many
            made = (
                assign_value(value) if isinstance(value, np.ndarray) else value
            )
            for each in value if several else [made]:
                if not isinstance(each, Variable):
                    raise InvalidArgumentError(
                        f"{self.helper.name}: {argument.name} must be a "
                        f"variable, got {each!r}{created()}",
                        "fluid.layer_input",
                    )
            self.inputs[argument.slot] = list(value) if several else made
        elif argument.attribute:
            if argument.attribute in ("dtype", "out_dtype"):
                value = code_of(value)
            if argument.count:
                value = whole(value, argument.count)
            number, more = number_or_tensor(
                self.helper, value, argument.tensor, argument.tensors
            )
            self.inputs |= more
            if number is not None:
                self.attrs[argument.attribute] = number

    def _make(self, made: Made) -> None:
        value, sizes, start = (
            code and eval(code, dict(self.names)) for code in made[2:]
        )
        if made.sign == "+":
            self.bias = value, sizes
            return
        if made.sign == "<":
            bias = made.name == "Bias"
            value = self.helper.create_parameter(
                value, sizes, self.dtype, bias, start
            )
        elif made.sign == "~":
            name = value or unique_name.generate(f"{self.helper.name}.w")
            value = self.helper.create_persistable(
                name, sizes, self.dtype, start, parameter=True
            )
        if value is not None:
            to = self.inputs if made.name[0].isupper() else self.attrs
            to[made.name] = value


def _function(name: str, layer: Layer) -> Callable[..., Any]:
    def function(*values: Any, **named: Any) -> Any:
        bound = layer.signature.bind(*values, **named)
        bound.apply_defaults()
        given = bound.arguments
        made = _Appending(layer, given)
        if given.get("inplace"):  # the variable itself gets the result
            made.into["Out"] = made.inputs["X"]
        returned = []
        for each in layer.outputs:
            slot, sign, what = each.replace("*", "=", 1).partition("=")
            if "*" in each:
                count = eval(what, {**made.names, **made.attrs})
                made.into[slot] = [made.helper.new() for _ in range(count)]
            elif sign:
                made.into[slot] = made.inputs[what]
                continue
            slot = slot.removesuffix("!")
            made.into.setdefault(slot, made.helper.new())
            if not each.endswith("!"):
                returned.append(made.into[slot])
        made.helper.block.append_op(
            layer.op, made.inputs, made.into, made.attrs
        )
        outs = [made.helper.written(each) for each in returned]
        out = outs[0] if len(outs) == 1 else tuple(outs)
        if made.bias is not None:
            out = made.helper.bias(out, given["bias_attr"], *made.bias)
        return made.helper.activation(out, given.get("act"))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The op ``{layer.op}`` of Fluid."
    function.__signature__ = layer.signature  # type: ignore[attr-defined]
    function.__annotations__ = {"return": Variable}
    return function


TABLE: dict[str, Layer] = {}
for _text in TEXT.replace("\n    ", " ").strip().splitlines():
    for _n, _form in ("2", "NCHW"), ("3", "NCDHW"):
        _line = _text.replace("{n}", _n).replace("{form}", _form)
        TABLE |= _parsed(_line)
LAYERS: dict[str, Callable[..., Any]] = {
    name: _function(name, layer) for name, layer in TABLE.items()
}
