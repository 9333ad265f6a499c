"""What a case is, and how its examples are made."""

import inspect
import re
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple

import numpy as np


class Tensor(NamedTuple):
    """Numbers in float64 and the dtype that they are rounded to; T is the
    kernel's."""

    values: np.ndarray
    dtype: str = "T"


@dataclass
class Case:
    """See `case` for the members."""

    examples: Callable
    reference: Callable
    slack: float = 1
    alternative: Callable | None = None
    more_slack: dict[str, float] = field(default_factory=dict)


CASES: dict[str, Case] = {}


def case(op, examples, slack=1, alternative=None, more_slack=None):
    """Decorates the reference of `op`, which computes its outputs naively, not
    as the kernels do.

    The reference is called as `compute` says. `examples` is a function of a
    Maker that yields examples: dicts of inputs (Tensor, or a list of them for a
    variadic argument) and attributes, by name. There must be an empty input, a
    size of 1, an odd size, and an example large enough that two threads share
    the work.

    `slack` is that of NaiveBound (laboratory/tuning/reference.h), more than 1 if
    the formula itself loses digits; `more_slack` are factors of it for variants
    that round more than others. If the op allows two results for a NaN or an
    infinity, `alternative` computes the outputs by the other rule: each element
    may be as here or there.
    """

    def add(reference):
        if op in CASES:
            raise ValueError(f"two cases for {op}")
        CASES[op] = Case(
            examples, reference, slack, alternative, more_slack or {}
        )
        return reference

    return add


def compute(reference, inputs, attributes, dtypes=None):
    """The outputs of a reference, by name; one array is output Out.

    The parameters of the reference are those inputs and attributes that it
    needs: Out@GRAD is `out_grad`, a variadic X `*x`, and an input that is
    omitted None. `inputs` and `attributes` are all of them, by their own names.
    Floats come in float64, integers and bools in their own dtype; `dtypes` has
    those of the inputs in the op.
    """
    given = {_snake(name): value for name, value in inputs.items()}
    given |= attributes | {"inputs": inputs, "attributes": attributes}
    given["dtypes"] = dtypes
    positional, named = [], {}
    for name, parameter in inspect.signature(reference).parameters.items():
        default = parameter.default
        value = given.get(name, None if default is parameter.empty else default)
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += value if isinstance(value, list) else [value]
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[name] = value
        else:
            positional.append(value)
    outputs = reference(*positional, **named)
    return outputs if isinstance(outputs, dict) else {"Out": outputs}


def _snake(argument):
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", argument.replace("@", "_"))
    return words.lower()


def tensors(example):
    """The inputs of an example as (argument, Tensor)."""
    for name, value in example.items():
        many = value if isinstance(value, list) else [value]
        if many and isinstance(many[0], Tensor):
            yield from ((name, tensor) for tensor in many)


def outputs_of(reference, example):
    """What the reference computes for an example."""
    inputs: dict[str, Any] = {}
    for name, tensor in tensors(example):
        values = tensor.values
        if tensor.dtype.startswith("int"):
            values = values.astype(tensor.dtype)
        inputs.setdefault(name, []).append(values)
    return compute(
        reference,
        {name: v if len(v) > 1 else v[0] for name, v in inputs.items()},
        {k: v for k, v in example.items() if k not in inputs},
    )


def with_grads(examples, reference):
    """The examples with a gradient of Out, Out@GRAD."""

    def grads(make):
        for example in list(examples(make)):
            out = outputs_of(reference, example)["Out"]
            yield example | {"Out@GRAD": make.values(*out.shape)}

    return grads


def summed_like(grad, operand):
    """Over the dims in which the operand was repeated."""
    grad = grad.sum(tuple(range(grad.ndim - operand.ndim)))
    ones = [axis for axis, size in enumerate(operand.shape) if size == 1]
    return grad.sum(tuple(ones), keepdims=True)


def moves(op, examples, argument="X", slack=1, fill=None, forward=()):
    """Like `case`, for an op that moves elements of an input to Out, which has
    zeros besides, and for its gradient, with this slack. `fill` is the parameter
    of the reference with other numbers than zero, and `forward` are attributes
    that the gradient op does not have."""

    def add(reference):
        case(op, examples)(reference)

        def grad(inputs, attributes, out_grad):
            x = inputs[argument]
            places = np.arange(1, x.size + 1).reshape(x.shape)
            out = compute(
                reference,
                inputs | {argument: places},
                attributes | ({fill: 0} if fill else {}),
            )["Out"]
            sums = np.bincount(
                out.ravel(), out_grad.ravel(), minlength=x.size + 1
            )
            return {f"{argument}@GRAD": sums[1:].reshape(x.shape)}

        def grads(make):
            for example in with_grads(examples, reference)(make):
                yield {k: v for k, v in example.items() if k not in forward}

        case(f"{op}_grad", grads, slack)(grad)
        return reference

    return add


class Maker:
    """Makes inputs for kernels of one dtype, equal in every process.

    Args:
        kind: of the dtype: `float`, `signed`, `bits`, and `numbers`, the values
            of its 256 codes if it is a stored number.
    """

    def __init__(self, dtype, kind):
        self.dtype, self.kind = dtype, kind
        self._state, self._distinct = 20261121, 0

    def values(self, *dims):
        """Numbers around 0 of the kernel's dtype. float64: all different, over
        all arrays of one maker, so that numerical gradients meet no kink.
        Others: small, exact in every dtype, with many equal ones."""
        kind, count = self.kind, int(np.prod(dims))
        if not kind["float"]:
            end = 1 << min(kind["bits"], 8)
            if kind["signed"]:
                ends = -min(9, end // 2), min(9, end // 2 - 1)
            else:
                ends = 0, min(19, end - 1)
            return self.integers("T", dims, *ends)
        if "numbers" in kind:
            return Tensor(self._codes(count).reshape(dims))
        if self.dtype == "float64":
            # A permutation of 0 to 10006 (10007 is prime), then repeated.
            places = (self._distinct + np.arange(count)) * 3719 % 10007
            self._distinct += count
            return Tensor((places - 5003).reshape(dims) * 4e-4)
        return Tensor(self._integers(count, -96, 96).reshape(dims) / 64)

    def integers(self, dtype, dims, low, high):
        """Integers from `low` to `high`, as `dtype`."""
        count = int(np.prod(dims))
        return Tensor(self._integers(count, low, high).reshape(dims), dtype)

    def integer(self, low, high):
        return int(self._integers(1, low, high)[0])

    def _integers(self, count, low, high):
        states = self._states(count)
        self._state = int(states[-1]) if count else self._state
        return low + (states >> 8).astype(np.int64) % (high - low + 1)

    def _states(self, count):
        """The next states of a linear congruential generator."""
        powers = np.full(count + 1, 1664525, np.uint32)
        powers[0] = 1
        powers = np.cumprod(powers, dtype=np.uint32)
        sums = np.cumsum(powers[:-1], dtype=np.uint32)
        return powers[1:] * np.uint32(self._state) + sums * np.uint32(1013904223)

    def _codes(self, count):
        """Numbers that the dtype represents, and larger floats."""
        numbers = np.array(self.kind["numbers"], float)
        usable = np.isfinite(numbers) & (np.abs(numbers) <= 200)
        usable &= (numbers == 0) | (np.abs(numbers) >= 2**-6)
        found = np.zeros(0)
        while found.size < count:
            left = count - found.size
            states = self._states(int(1.1 * left / usable.mean()) + 64)
            codes = (states >> 8) % 256
            chosen = np.flatnonzero(usable[codes])[:left]
            found = np.append(found, numbers[codes[chosen]])
            last = chosen[-1] if found.size == count else -1
            self._state = int(states[last])
        return found


def index(make, dtype, dims, size):
    """Indices of `size` elements, half of them from the end."""
    return make.integers(dtype, dims, -size if size > 1 else 0, max(size - 1, 0))
