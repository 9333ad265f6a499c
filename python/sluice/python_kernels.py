"""Kernels that are Python functions: the decorator ``sluice.kernel``."""

from __future__ import annotations

import atexit
import functools
import hashlib
import inspect
import operator
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from . import _core
from .errors import InvalidArgumentError
from .kernel_outputs import BadOutput, arrays_of, plain, require_all_written
from .tracebacks import is_users

F = TypeVar("F", bound=Callable[..., Any])

# Keywords that are not attributes.
_OUT, _STREAM = "out", "stream"

# The origin of a function, by op, variant and kind of place.
_origins: dict[tuple[str, str, str], str] = {}


class DeviceArray:
    """An input or output of a kernel on a device, valid during its call.

    Libraries that support ``__cuda_array_interface__`` or DLPack can view it:
    CuPy, Numba, PyTorch, Triton. Enqueue work on ``stream``.
    """

    __slots__ = ("__weakref__", "_stream", "_tensor", "_writable")

    def __init__(
        self, tensor: _core.Tensor, stream: int | None, writable: bool
    ) -> None:
        self._tensor = tensor
        self._stream = stream
        self._writable = writable

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes."""
        return self._tensor.shape

    @property
    def dtype(self) -> Any:
        """The element type, as numpy.dtype."""
        return self._tensor.dtype.dtype

    @property
    def stream(self) -> int | None:
        """The cudaStream_t that the kernel runs on."""
        return self._stream

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._stream is None:
            raise AttributeError(f"this array is at {self._tensor.place}")
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._tensor._address, not self._writable),
            "strides": None,
            "version": 3,
            # 0 would be ambiguous; 1 is the default stream.
            "stream": self._stream or 1,
        }

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._tensor.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.__dlpack_device__()

    def __repr__(self) -> str:
        return f"DeviceArray({self.shape}, {self.dtype}, {self._tensor.place})"


def kernel(
    op: str,
    *,
    variant: str | None = None,
    dtypes: Sequence[Any] = ("float32",),
    place: Any = "cpu",
) -> Callable[[F], F]:
    """Register a function of arrays as a kernel of an op that exists.

    >>> @sl.kernel("scale", variant="mine", dtypes=["float32"])
    ... def scale(x, *, scale, bias):
    ...     return x * np.float32(scale) + np.float32(bias)

    The function is called with the op's inputs in the order of
    :func:`kernel_arguments`: read-only NumPy views, None for an omitted
    optional input, a list for a variadic input. Parameters after them are
    attributes, by name. It returns one array for each output, or a tuple of
    them; it may return None for an output that is not requested. Instead of
    returning, it may have a parameter ``out`` and write into it: an array, or a
    tuple with one for each output, None if the output is not requested. Each
    call checks that all of ``out`` was written, and may be repeated for that.

    At ``place="cuda"`` the arrays are :class:`DeviceArray`; the function needs
    the parameters ``out`` and ``stream`` (a cudaStream_t), and enqueues.

    The kernel is a candidate like all others, of the library PYTHON: hints can
    name it, and records can choose it. The threads that run programs call it,
    one at a time unless it releases the GIL. An exception becomes an error of
    the op, with the exception as its cause. A function that is registered again
    replaces the first one, even in prepared plans.

    Args:
        op: the op's type, for example "relu" or "relu_grad".
        variant: the kernel's name; the function's name if None.
        dtypes: dtypes of the op that it computes.
        place: "cpu" or "cuda".

    Raises:
        NotFoundError: there is no such op; lists similar names.
        InvalidArgumentError: the parameters do not match the op, or the op has
            none of the dtypes.
    """
    schema = _core._schema(op)

    def register(function: F) -> F:
        name = function.__name__ if variant is None else variant
        if not (isinstance(name, str) and name.isidentifier()):
            raise InvalidArgumentError(
                f"kernel of {op}: variant {name!r} is no identifier",
                "python_kernel.variant",
            )
        kind = _kind(op, place)
        wanted = _dtypes(schema, dtypes)
        call = _Call(schema, function, name, kind)
        _say_if_replaced(op, name, kind, function)
        _core._register_kernel(
            op, name, place, wanted, _version(function), call, call.attributes
        )
        return function

    return register


class KernelArgument(NamedTuple):
    """An input, an output or an attribute of an op."""

    name: str
    type: str
    """Dtypes that it may have; for an attribute "int", "floats" and so on."""
    optional: bool
    """None may come for an input, no array is needed of an output; an
    attribute has a default."""
    several: bool
    """A list of arrays."""
    default: Any
    """The default of an attribute."""
    doc: str
    """Its meaning and shape."""


class KernelArguments(NamedTuple):
    """The inputs, outputs and attributes of a kernel; print it for a table."""

    inputs: list[KernelArgument]
    outputs: list[KernelArgument]
    attributes: list[KernelArgument]

    def __str__(self) -> str:
        lines = []
        for what, arguments in zip(self._fields, self, strict=True):
            lines.append(what if arguments else f"{what}: none")
            for a in arguments:
                notes = [a.type]
                if a.default is not None:
                    notes.append(f"default {a.default!r}")
                elif a.optional:
                    notes.append("optional")
                if a.several:
                    notes.append("several")
                lines.append(f"  {a.name} ({', '.join(notes)}): {a.doc}")
        return "\n".join(lines)


def kernel_arguments(op: str) -> KernelArguments:
    """Return the inputs, outputs and attributes of a kernel of ``op``.

    They are in the order of a function for ``sl.kernel``, each with its name,
    dtypes, shape and whether it is optional. Raises NotFoundError and lists
    similar names.
    """
    schema = _core._schema(op)
    return KernelArguments(
        [_tensor(schema, a) for a in schema["inputs"] if not a["attribute"]],
        [_tensor(schema, argument) for argument in schema["outputs"]],
        [_attribute(attribute) for attribute in schema["attributes"]],
    )


def _tensor(schema: dict[str, Any], argument: dict[str, Any]) -> KernelArgument:
    dtype = argument["dtype"]
    allowed = schema["type_vars"].get(dtype)
    return KernelArgument(
        argument["name"],
        f"{dtype}: {' or '.join(allowed)}" if allowed else dtype,
        argument["optional"],
        argument["variadic"],
        None,
        argument["doc"],
    )


def _attribute(attribute: dict[str, Any]) -> KernelArgument:
    return KernelArgument(
        attribute["name"],
        attribute["type"],
        not attribute["required"],
        False,
        attribute["default"],
        attribute["doc"],
    )


def _inputs(schema: dict[str, Any]) -> list[str]:
    """All inputs except the operands, which are attributes of kernels."""
    return [a["name"] for a in schema["inputs"] if not a["attribute"]]


def describe(exception: BaseException) -> str:
    """Describe an exception and its location in the kernel's function."""
    text = type(exception).__name__
    if str(exception):
        text += f": {exception}"
    traceback = exception.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_users(code.co_filename):
            return f"{text} ({code.co_filename}:{traceback.tb_lineno})"
        traceback = traceback.tb_next
    return text


def shape_only(shape: tuple[int, ...], dtype: _core.DType) -> Any:
    """An array for an input whose elements must not be read."""
    return np.broadcast_to(np.zeros((), dtype.dtype), shape)


class _Call:
    """The callable for C++, which knows the function's parameters."""

    def __init__(
        self,
        schema: dict[str, Any],
        function: Callable[..., Any],
        variant: str,
        kind: str,
    ) -> None:
        self._function = function
        self._outputs = [output["name"] for output in schema["outputs"]]
        keywords = _keywords(schema, function, variant)
        self._wants_out = _OUT in keywords
        self._wants_stream = _STREAM in keywords
        self.attributes = [k for k in keywords if k not in (_OUT, _STREAM)]
        if kind != "cpu" and not (self._wants_out and self._wants_stream):
            raise InvalidArgumentError(
                f"kernel {schema['name']}/{variant}: at {kind} it needs the "
                "parameters out and stream: it enqueues work that writes into "
                "out",
                "python_kernel.device_parameters",
            )

    def __call__(
        self,
        inputs: list[Any],
        outputs: list[Any],
        attributes: dict[str, Any],
        stream: int | None,
    ) -> None:
        if self._wants_stream:
            attributes[_STREAM] = stream
        if not self._wants_out:
            self._store(self._function(*inputs, **attributes), outputs)
            return
        write = functools.partial(self._write, inputs, attributes)
        require_all_written(write, outputs, arrays_of(inputs, outputs))

    def _write(
        self, inputs: list[Any], attributes: dict[str, Any], outputs: list[Any]
    ) -> None:
        out = outputs[0] if len(outputs) == 1 else tuple(outputs)
        result = self._function(*inputs, out=out, **attributes)
        if result is not None:
            raise BadOutput(
                f"returned {type(result).__name__}, and was given out to write "
                "into: expected None; out[...] = x writes x into it"
            )

    def _store(self, result: Any, outputs: list[Any]) -> None:
        count = len(outputs)
        if count == 1:
            results = (result,)
        elif isinstance(result, (tuple, list)) and len(result) == count:
            results = tuple(result)
        else:
            came = type(result).__name__
            if isinstance(result, (tuple, list)):
                came += f" of {len(result)}"
            raise BadOutput(
                f"returned {came}, expected a tuple of {count}: "
                + ", ".join(self._outputs)
            )
        for name, value, output in zip(
            self._outputs, results, outputs, strict=True
        ):
            if isinstance(output, list):
                self._store_variadic(name, value, output)
            elif output is not None:
                _copy(name, value, output)

    def _store_variadic(self, name: str, value: Any, output: list[Any]) -> None:
        if not isinstance(value, (tuple, list)) or len(value) != len(output):
            raise BadOutput(
                f"returned {type(value).__name__} as {name}, expected a list "
                f"of {len(output)} arrays"
            )
        for one, into in zip(value, output, strict=True):
            _copy(name, one, into)


def _copy(name: str, value: Any, output: Any) -> None:
    if value is None:
        raise BadOutput(f"returned None as {name}, expected an array")
    array = plain(value, output.dtype)
    if array.shape != output.shape:
        raise BadOutput(
            f"returned {name} with shape {list(array.shape)}, expected "
            f"{list(output.shape)}"
        )
    if array.dtype != output.dtype:
        raise BadOutput(
            f"returned {name} as {array.dtype}, expected {output.dtype}"
        )
    np.copyto(output, array)


def _kind(op: str, place: Any) -> str:
    kind = str(getattr(place, "kind", place)).split(":")[0]
    if kind not in ("cpu", "cuda"):
        raise InvalidArgumentError(
            f"kernel of {op}: expected place cpu or cuda, got {place}",
            "python_kernel.place",
        )
    return kind


def _dtypes(schema: dict[str, Any], dtypes: Sequence[Any]) -> list[Any]:
    if isinstance(dtypes, str) or not isinstance(dtypes, Sequence):
        dtypes = [dtypes]
    wanted = [_core.DType(dtype) for dtype in dtypes]
    allowed = {name for names in schema["type_vars"].values() for name in names}
    for dtype in wanted:
        if allowed and dtype.name not in allowed:
            raise InvalidArgumentError(
                f"kernel of {schema['name']}: the op has no dtype {dtype}, "
                f"expected one of {', '.join(sorted(allowed))}",
                "python_kernel.dtype",
            )
    if not wanted:
        raise InvalidArgumentError(
            f"kernel of {schema['name']}: dtypes is empty",
            "python_kernel.dtype",
        )
    return wanted


def _keywords(
    schema: dict[str, Any], function: Callable[..., Any], variant: str
) -> list[str]:
    """Return the parameters after the inputs, or raise."""
    inputs = _inputs(schema)
    known = [attribute["name"] for attribute in schema["attributes"]]
    what = f"kernel {schema['name']}/{variant}"
    parameters = list(inspect.signature(function).parameters.values())
    positional = 0
    taken: list[str] = []
    keywords: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional = max(positional, len(inputs))
        elif parameter.kind is parameter.VAR_KEYWORD:
            keywords += [name for name in known if name not in keywords]
        elif (
            positional < len(inputs)
            and parameter.kind is not parameter.KEYWORD_ONLY
        ):
            positional += 1
            if parameter.kind is not parameter.POSITIONAL_ONLY:
                taken.append(parameter.name)
        else:
            keywords.append(parameter.name)
    if positional != len(inputs):
        raise InvalidArgumentError(
            f"{what}: expected parameters for the inputs {', '.join(inputs)}, "
            f"got {inspect.signature(function)}",
            "python_kernel.parameters",
        )
    for name in keywords:
        if name in taken:
            raise InvalidArgumentError(
                f"{what}: parameter {name} comes in the place of an input, "
                "and is also the name of an attribute: rename it",
                "python_kernel.ambiguous",
            )
        if name not in (*known, _OUT, _STREAM):
            raise InvalidArgumentError(
                f"{what}: the op has no attribute {name}; after its inputs "
                f"({', '.join(inputs)}) come attributes "
                f"({', '.join(known) or 'it has none'}), out and stream",
                "python_kernel.attribute",
            )
    return keywords


def _version(function: Callable[..., Any]) -> int:
    """A hash of the function's text, so that records of another are stale."""
    plain = inspect.unwrap(function)
    try:
        text = inspect.getsource(plain)
    except (OSError, TypeError):
        code = getattr(plain, "__code__", None)
        text = repr(code and (code.co_code, code.co_consts, code.co_names))
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:4], "little") >> 1


def _say_if_replaced(
    op: str, variant: str, kind: str, function: Callable[..., Any]
) -> None:
    """Warn if another function, and not an edited one, is replaced."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", repr(function))
    origin = f"{module}.{name}"
    before = _origins.get((op, variant, kind), origin)
    _origins[op, variant, kind] = origin
    if before != origin:
        warnings.warn(
            f"kernel {op}/{variant} of {before} is replaced by {origin}",
            stacklevel=3,
        )


_py_funcs: dict[Any, str] = {}


def py_func_op(
    function: Callable[..., Any],
    inputs: Sequence[_core.DType],
    outputs: Sequence[Any],
    backward: Callable[..., Any] | None,
    skipped: Sequence[bool],
) -> str:
    """The op that calls a function (``sluice.layers.py_func``).

    Args:
        function: of an array for each input.
        inputs: their dtypes.
        outputs: the shape and dtype of each output.
        backward: of the inputs, outputs and gradients of the outputs.
        skipped: for each input, whether ``backward`` does not get it.
    """
    specs = [_py_func_output(i, spec) for i, spec in enumerate(outputs)]
    for what, value in ("func", function), ("backward_func", backward):
        if not callable(value) and (what == "func" or value is not None):
            raise InvalidArgumentError(
                f"py_func: {what}: expected a function, got "
                f"{_core._shown(value)}",
                "py_func.function",
            )
    key = (function, backward, *inputs, repr(specs), *skipped)
    if key in _py_funcs:
        return _py_funcs[key]
    called = getattr(function, "__name__", type(function).__name__)
    op = f"py_func_{re.sub(r'[^0-9A-Za-z_]', '', called)}_{len(_py_funcs)}"
    xs = [(f"X{i}", t.name, False) for i, t in enumerate(inputs)]
    doc = f"Calls the Python function {called}."

    def forward(*arrays: Any) -> Any:
        result = function(*arrays)
        single = len(specs) == 1 and isinstance(result, tuple)
        return result[0] if single and len(result) == 1 else result

    floats = [i for i, t in enumerate(inputs) if t.is_floating]
    if backward is not None and floats:
        reads = [(x[0], x[1], s) for x, s in zip(xs, skipped, strict=True)]
        _add_py_func_grad(f"{op}_grad", backward, reads, specs, floats)
    _core._add_py_func(op, doc, xs, specs, f"{op}_grad" in _core._op_names())
    kernel(op, variant="python")(forward)
    _py_funcs[key] = op
    return op


def _add_py_func_grad(
    op: str,
    backward: Callable[..., Any],
    xs: list[tuple[str, str, bool]],
    specs: list[tuple[str, str, str, list[int]]],
    floats: list[int],
) -> None:
    """Add the op that calls ``backward``: the gradient of the inputs ``xs``,
    each a name, a dtype and whether it is skipped, with indices ``floats``.
    """
    arguments = [*xs, *((name, dtype, False) for name, dtype, *_ in specs)]
    arguments += [(f"{name}@GRAD", dtype, False) for name, dtype, *_ in specs]
    grads = [(f"X{i}@GRAD", xs[i][1], f"X{i}", []) for i in floats]

    def gradients(*arrays: Any) -> Any:
        pairs = zip(arrays, arguments, strict=True)
        result = backward(*(array for array, (*_, skip) in pairs if not skip))
        results = result if isinstance(result, (tuple, list)) else [result]
        if len(results) != len(xs):
            raise BadOutput(
                f"returned {len(results)} gradients, expected one for each "
                f"of {len(xs)} inputs"
            )
        chosen = tuple(results[i] for i in floats)
        return chosen if len(chosen) > 1 else chosen[0]

    name = getattr(backward, "__name__", type(backward).__name__)
    text = f"Calls the Python function {name}."
    _core._add_py_func(op, text, arguments, grads, False)
    kernel(op, variant="python")(gradients)


def _py_func_output(i: int, spec: Any) -> tuple[str, str, str, list[int]]:
    """An output: its name, its dtype, the input that it is like, its sizes."""
    shape, dtype = getattr(spec, "shape", spec), getattr(spec, "dtype", None)
    try:
        if dtype is None:
            shape, dtype = spec
        sizes = [-1 if size is None else operator.index(size) for size in shape]
        return f"Out{i}", _core.DType(dtype).name, "", sizes
    except TypeError:
        raise InvalidArgumentError(
            "py_func: out: expected a shape and a dtype, such as ([None, 3], "
            f'"float32"), or a list of them, got {_core._shown(spec)}',
            "py_func.out",
        ) from None


# Later runs in other threads get an error.
atexit.register(_core._withdraw_kernels)
