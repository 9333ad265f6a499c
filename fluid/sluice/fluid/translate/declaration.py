"""How ops of Fluid and their layers are declared.

A function has Fluid's order of a layer's arguments and its defaults, and a
decorator that says what the op calls them. In a stub, which editors check and
which is read, not run, it stands for an op that is one of Sluice, or that has a
row::

    @FluidOp("fill_constant", fixed={"value": 1.0})
    def ones(shape: list, dtype: DType, force_cpu=False): ...

In a module it is the op's translation, too: it gets the op and its inputs and
attributes by the layer's names, appends ops of Sluice and returns the outputs,
see :mod:`sluice.fluid.translate.table`. Keyword-only arguments are slots and
attributes of the op that the layer does not have::

    @FluidOp("top_k", k=Attribute("k", "K"), outputs="Out Indices")
    def topk(op, input, k: int, name=None, *, K: Variable | None = None): ...

An argument has a type where neither its default nor the row of the op says it.
What does not fit the op is an error with file and line.
"""

from __future__ import annotations

import ast
import inspect
import keyword
import pathlib
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn, TypeVar

from ...errors import InvalidArgumentError
from ...framework import Variable
from .sluice_op import SluiceOp
from .table import INTERNAL, REQUIRED, ROWS, Op, Row

F = TypeVar("F", bound=Callable[..., Any])
Output = Variable | None  # it is written to
Name = str | None  # of the layer, in place of one that is made up
DType = Any  # an element type, or its code
# So many numbers, of which one may stand for all.
Single = Pair = Triple = Quad = Sizes = int | list[int]
_COUNTS = {"Single": 1, "Pair": 2, "Triple": 3, "Quad": 4}

_INPUTS = {  # by type: whether required, whether a list
    "Variable": (True, False),
    "Variable | None": (False, False),
    "list[Variable]": (True, True),
    "list[Variable] | None": (False, True),
}
_TYPES: dict[str, tuple[type, ...]] = {
    "Output": (type(None),), "list[Variable]": (), "Variable": (type(None),),
    "Any": (object,), "DType": (object,), "None": (type(None),),
    "Name": (type(None),), "bool": (bool,), "int": (int,),
    "float": (float, int), "str": (str,),
    "list": (list,), "list[int]": (list,),
    **dict.fromkeys((*_COUNTS, "Sizes"), (int, list)),
}  # fmt: skip
_KNOWN = ", ".join(_TYPES)
COMPOSITES: dict[str, Layer] = {}  # whose translations are in modules
_SHARED = ("act", "name", "param_attr", "bias_attr")  # of all layers


class Attribute(NamedTuple):
    """What an op calls an argument that may also be a variable, or a list that
    may have some.
    """

    name: str
    tensor: str | None = None  # the slot of a variable
    tensors: str | None = None  # the slot of a list with variables
    count: int = 0  # of numbers


class FluidOp:
    """What a declaration says besides the signature: the decorator.

    Args:
        type: the op; that of the layer's name if empty. A translation may be
            that of several: the layer is the first one.
        outputs: the slots that the layer returns; the op's first if empty.
        more: the slots of further outputs of a translation.
        defaults: of a translation, the op's defaults by argument, where they
            are not the layer's.
        fixed: attributes that the layer gives the op.
        unused: arguments that change nothing, or that only ``parameters`` gets.
        parameters: of a translation, a function of those arguments of the layer
            that it names, which adds parameters, and attributes that it
            computes, to the op: to its first argument, see
            :class:`sluice.fluid.op_layers.Appending`.
        layers: the names of several layers, each with the op of its name, in
            place of the function's.
        sluice: what an op is that is one of Sluice.
        called: what the op calls an argument, if not as the layer does. Slots
            begin with a capital letter; ``input`` is X of an op without Input.
    """

    def __init__(
        self,
        type: str = "",
        *,
        outputs: str = "",
        fixed: Mapping[str, Any] | None = None,
        unused: str = "",
        layers: str = "",
        sluice: SluiceOp | None = None,
        more: str = "",
        defaults: Mapping[str, Any] | None = None,
        parameters: Callable[..., None] | None = None,
        **called: str | Attribute,
    ) -> None:
        self.types, self.outputs = type.split(), outputs.split()
        self.more, self.defaults = more.split(), defaults or {}
        self.parameters = parameters
        self.fixed, self.unused = fixed or {}, unused.split()
        self.layers, self.sluice = layers.split(), sluice
        self.called: dict[str, Any] = called

    def __call__(self, function: F) -> F:
        """Make the function the translation of the op, and its layer."""
        name, code = function.__name__, function.__code__
        where = f"{code.co_filename}:{code.co_firstlineno}"
        _, *arguments = inspect.signature(function).parameters.values()
        parameters = [
            each.replace(annotation="") if each.annotation is REQUIRED else each
            for each in arguments
        ]
        called = self.called | {
            each.name: _fluids(each.name)
            for each in parameters
            if each.kind is each.KEYWORD_ONLY
        }
        made = _Declaration(where, name, parameters, called)
        for op in self.types or [name]:
            made.add_translation(op, self, function)
        positional = [e for e in parameters if e.kind is not e.KEYWORD_ONLY]
        made = made._replace(parameters=positional, called=self.called)
        for layer in self.layers or [name]:
            COMPOSITES[layer] = made.layer(layer, self, self.parameters)
        return function


class Layer(NamedTuple):
    """A declared layer."""

    op: str
    details: FluidOp
    outputs: list[str]
    signature: inspect.Signature
    body: Callable[..., None] | None  # adds what is computed
    wanted: list[str]  # the arguments that it gets
    inputs: dict[str, tuple[str, bool, bool]]  # slot, required, a list
    attributes: dict[str, Attribute]
    written: dict[str, str]  # slots of outputs


class _Declaration(NamedTuple):
    """A function of a stub."""

    where: str  # its file and line
    name: str
    parameters: list[inspect.Parameter]
    called: Mapping[str, Any]  # see FluidOp

    def layer(self, name: str, of: FluidOp, body: Any) -> Layer:
        """The layer of a name, checked against the row of its op."""
        op = of.types[0] if of.types else name
        if of.sluice:
            unused = {*_SHARED, *INTERNAL}
            self.add_row(op, of.sluice, of.outputs or ["Out"], unused)
        if op not in ROWS:
            self.wrong(f"op {op} has no translation")
        row, kinds = ROWS[op], {}
        for each in self.parameters:
            kinds[each.name] = self._kind(each, ROWS[op])
        code = body.__code__ if body else None
        wanted = code.co_varnames[1 : code.co_argcount] if code else ()
        for each in (*self.called, *of.unused, *wanted):
            if each not in kinds:
                self.wrong(f"there is no argument {each}")
        signature = inspect.Signature(
            each.replace(annotation=each.annotation or REQUIRED)
            for each in self.parameters
        )
        outputs = of.outputs or [*row.outputs[:1]]
        layer = Layer(op, of, outputs, signature, body, [*wanted], {}, {}, {})
        for each, kind in kinds.items():
            to = self.called.get(each, each)
            if kind in _INPUTS:
                layer.inputs[each] = (self._slot(each, row), *_INPUTS[kind])
            elif kind == "Output":
                layer.written[each] = self._slot(each, row)
            elif each not in _SHARED and each not in of.unused:
                if body and each not in self.called and not row.takes(to):
                    continue  # it is for the body
                made = to if isinstance(to, Attribute) else Attribute(to)
                count = _COUNTS.get(kind.partition(" ")[0], 0)
                layer.attributes[each] = made._replace(count=count)
        self._check(layer, row)
        return layer

    def add_row(
        self, op: str, to: SluiceOp, outputs: list[str], unused: Container[str]
    ) -> None:
        """Make the row of an op that is one of Sluice."""
        slots, attributes = self._slots_and_attributes(unused)
        attributes = {name: each.default for name, each in attributes.items()}
        try:
            row = to.row(op, _kinds(slots), attributes, tuple(outputs))
        except ValueError as error:
            self.wrong(str(error))
        self._add(op, row)

    def add_translation(self, op: str, of: FluidOp, function: Any) -> None:
        """Make the row of an op that a function translates. An attribute that
        may be a variable, or have some, is these for the function.
        """
        unused = {*_SHARED, *of.unused}
        slots, attributes = self._slots_and_attributes(unused)
        named = {slot: each.name for slot, (each, _) in slots.items()}
        named |= {name: each.name for name, each in attributes.items()}
        kinds = _kinds(slots)
        for each in attributes.values():
            to = self.called.get(each.name)
            if isinstance(to, Attribute):
                own = {to.tensor: (False, False), to.tensors: (False, True)}
                own = {s: k for s, k in own.items() if s and s not in kinds}
                named |= dict.fromkeys(own, each.name)
                kinds |= own

        of_layer = {
            each.name: None
            for each in self.parameters
            if each.default is REQUIRED and each.name in unused
        }

        def translate(op: Op, **given: Any) -> Any:
            values: dict[str, Any] = {}
            for name, value in given.items():  # attributes come last
                values.setdefault(named[name], value)
            return function(op, **of_layer, **values)

        defaults = {
            name: of.defaults.get(each.name, each.default)
            for name, each in attributes.items()
        }
        outputs = (*(of.outputs or ["Out"]), *of.more)
        self._add(op, Row(translate, kinds, defaults, outputs))

    def _slots_and_attributes(
        self, unused: Container[str]
    ) -> tuple[dict[str, Any], dict[str, inspect.Parameter]]:
        """The parameters by slot, with their types, and by attribute."""
        slots, attributes = {}, {}
        for each in self.parameters:
            kind = self._kind(each)
            if kind in _INPUTS:
                slots[self._slot(each.name)] = each, kind
            elif kind != "Output" and each.name not in unused:
                name = self.called.get(each.name, each.name)
                attributes[getattr(name, "name", name)] = each
        return slots, attributes

    def _add(self, op: str, row: Row) -> None:
        if op in ROWS:
            self.wrong(f"op {op} has a row")
        ROWS[op] = row

    def wrong(self, text: str) -> NoReturn:
        """Raise InvalidArgumentError with the file and the line."""
        raise InvalidArgumentError(
            f"{self.where}: layer {self.name}: {text}",
            "fluid.layer_declaration",
        )

    def _slot(self, name: str, row: Row | None = None) -> str:
        """The slot of an argument: as it is called, or by its own name."""
        if name in self.called:
            return self.called[name]
        slots = row.slots if row else {}
        slot = name if name in slots else name.capitalize()
        return "X" if slot == "Input" and slot not in slots else slot

    def _kind(self, each: inspect.Parameter, row: Row | None = None) -> str:
        """The type of an argument; where it has none, that of its default, or
        what the op has by this name.
        """
        default = each.default
        if each.annotation:
            return self._checked(each.annotation, each.name, default)
        if each.name in _SHARED or default not in (None, REQUIRED):
            return "Any"
        slot, known = self._slot(each.name, row), row.slots if row else {}
        if row and slot in row.outputs and slot not in known:
            return "Output"
        if row and slot not in known:
            slots = ", ".join(known)
            self.wrong(f"there is no slot {slot}; known are {slots}")
        if default is None or (row and not known[slot][0]):
            return "Variable | None"
        return "list[Variable]" if row and known[slot][1] else "Variable"

    def _checked(self, kind: str, name: str, default: Any) -> str:
        """A type, compared with the default."""
        types = _TYPES.get(kind)
        if types is None:
            parts = kind.split(" | ")
            for part in parts:
                if part not in _TYPES:
                    self.wrong(f"{name} has type {part}, none of {_KNOWN}")
            types = _TYPES[kind] = sum((_TYPES[part] for part in parts), ())
        if default is not REQUIRED and not isinstance(default, types):
            self.wrong(f"{name} is {default!r}; its type is {kind}")
        return kind

    def _check(self, layer: Layer, row: Row) -> None:
        """Whether the op has what it is given, and gets what it needs."""
        slots = [(slot, many) for slot, _, many in layer.inputs.values()]
        attributes = {*layer.details.fixed}
        for name, tensor, tensors, _ in layer.attributes.values():
            attributes.add(name)
            slots += [(tensor, False)] if tensor else []
            slots += [(tensors, True)] if tensors else []
        for slot, many in slots:
            if row.slots.get(slot, (False, many))[1] != many:
                takes = "one variable" if many else "a list"
                self.wrong(f"slot {slot} takes {takes}")
        for kind, given, known in (
            ("slot", [slot for slot, _ in slots], row.slots),
            ("attribute", attributes, {*row.attributes, *INTERNAL}),
            ("output", [*layer.outputs, *layer.written.values()], row.outputs),
        ):
            for each in given:
                if each not in known:
                    self.wrong(f"op {layer.op} has no {kind} {each}")
        needed = [slot for slot, (required, _) in row.slots.items() if required]
        needed += [k for k, v in row.attributes.items() if v is REQUIRED]
        for each in needed if layer.body is None else ():
            if each not in attributes and each not in dict(slots):
                self.wrong(f"{each} of op {layer.op} is missing")


def read(
    path: pathlib.Path, bodies: Mapping[str, Any]
) -> Iterator[tuple[str, Layer]]:
    """The names and layers that the functions of a stub declare.

    Args:
        path: of the stub.
        bodies: by the function's name what adds to the op.

    Raises:
        InvalidArgumentError: a declaration does not fit its op.
    """
    source = path.read_text()
    lines = source.splitlines()
    for node in ast.parse(source, str(path)).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        name, made = (
            node.name,
            _Declaration(f"{path}:{node.lineno}", node.name, [], {}),
        )
        try:
            (of,) = map(_value, node.decorator_list or [_NONE])
            sluice = getattr(of, "sluice", of)
            for text in sluice.mistypes() if sluice else ():
                raise TypeError(text)
            parameters = [*_parameters(node.args, lines)]
        except (LookupError, TypeError, ValueError) as error:
            made.wrong(str(error))
        if isinstance(of, SluiceOp):  # there is no layer
            called = {each.name: _fluids(each.name) for each in parameters}
            made = made._replace(parameters=parameters, called=called)
            for op in of.ops.split() or [name]:
                made.add_row(op, of, of.outputs.split(), ())
            continue
        made = made._replace(parameters=parameters, called=of.called)
        for layer in of.layers or [name]:
            yield layer, made.layer(layer, of, bodies.get(name))


def _kinds(slots: Mapping[str, Any]) -> dict[str, tuple[bool, bool]]:
    return {slot: _INPUTS[kind] for slot, (_, kind) in slots.items()}


def _fluids(name: str) -> str:
    """Fluid's name of an attribute, which may be a keyword of Python."""
    return name[:-1] if keyword.iskeyword(name[:-1]) else name


def _parameters(
    arguments: ast.arguments, lines: list[str]
) -> Iterator[inspect.Parameter]:
    missing = [None] * (len(arguments.args) - len(arguments.defaults))
    for each, default in zip(
        [*arguments.args, *arguments.kwonlyargs],
        [*missing, *arguments.defaults, *arguments.kw_defaults],
        strict=True,
    ):
        kind, text = each.annotation, ""
        if kind:
            text = lines[kind.lineno - 1][kind.col_offset : kind.end_col_offset]
        yield inspect.Parameter(
            each.arg,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=REQUIRED if default is None else _value(default),
            annotation=text,
        )


_CALLS = {"Attribute": Attribute, "FluidOp": FluidOp, "SluiceOp": SluiceOp}
_NONE = ast.Call(ast.Name("FluidOp"), [], [])


def _value(node: ast.expr) -> Any:
    """A literal, or one of the calls that a stub has."""
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    call = _CALLS[getattr(node.func, "id", "")]
    named = {str(each.arg): _value(each.value) for each in node.keywords}
    return call(*map(_value, node.args), **named)
