"""Programs of one op, with shapes in terms of a size ``n``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

import sluice as sl
from sluice.errors import InvalidArgumentError, NotFoundError

from .arrays import check_size, numpy_dtype


def _evaluate(text: str, n: int, what: str) -> Any:
    """Evaluate a number or list in which ``n`` and + - * // are allowed."""

    def value(node: ast.expr) -> Any:
        if isinstance(node, (ast.List, ast.Tuple)):
            return [value(item) for item in node.elts]
        if isinstance(node, ast.Name) and node.id == "n":
            return n
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.BinOp):
            left, right = value(node.left), value(node.right)
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Sub):
                return left - right
            if isinstance(node.op, ast.Mult):
                return left * right
            if isinstance(node.op, ast.FloorDiv) and right:
                return left // right
        raise ValueError

    try:
        return value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError):
        raise InvalidArgumentError(
            f"{what}: expected numbers, n, and + - * // of them, such as "
            f"'8, 16, n, n', got {text!r}",
            "lab.expression",
        ) from None


def _shape(text: str, n: int, what: str) -> list[int]:
    sizes = _evaluate(text, n, what)
    sizes = sizes if isinstance(sizes, list) else [sizes]
    if not all(isinstance(s, int) and s >= 0 for s in sizes):
        raise InvalidArgumentError(
            f"{what}: expected sizes of 0 or more for n = {n}, got {sizes}",
            "lab.shape",
        )
    return sizes


def find_op(op: str) -> dict[str, Any]:
    """The schema of an op that a user's program can contain.

    Raises:
        NotFoundError: there is no such op; lists similar names.
        InvalidArgumentError: only passes make it; names an alternative.
    """
    try:
        schema = sl._core._schema(op)
    except NotFoundError:
        sl.kernels()  # loads all libraries, with passes and ops
        schema = sl._core._schema(op)
    if not schema["internal"]:
        return schema
    # The names of fused_conv2d and relu_pool2d_grad contain the original ops.
    parts = [
        name
        for name in sl._core._op_names()
        if op.endswith("_" + name) and not sl._core._schema(name)["internal"]
    ]
    instead = f": race {max(parts, key=len)} instead" if parts else ""
    raise InvalidArgumentError(
        f"{op} is what passes make of several ops when a program is prepared; "
        f"a program cannot be written with it{instead}",
        "lab.internal_op",
    )


def find_dtype(op: str, dtype: Any, place: Any) -> str:
    """The dtype's name; by default the first that the op's kernels compute.

    Raises InvalidArgumentError if no kernel at the place computes it; names the
    dtypes that some kernel computes.
    """
    place = sl.CPUPlace() if place is None else place
    kind = str(place).partition(":")[0]
    computed = dict.fromkeys(
        kernel.dtype for kernel in sl.kernels(op) if kernel.place == kind
    )
    if dtype is None:
        return next(iter(computed), "float32")
    try:
        name = sl._core.DType(dtype).name
    except InvalidArgumentError:
        name = str(dtype)
    if computed and name not in computed:
        raise InvalidArgumentError(
            f"{op}: no kernel for {kind} computes {name}; there are kernels "
            f"for {', '.join(computed)}",
            "lab.dtype",
        )
    return name


def shape_texts(
    schema: Mapping[str, Any], shapes: Mapping[str, str]
) -> dict[str, str]:
    """The shape of each input that :func:`one_op` feeds, in terms of ``n``."""
    known = schema["sizes"]
    texts = {}
    for argument in schema["inputs"]:
        name = argument["name"]
        text = shapes.get(name, known.get(name))
        if text is None and argument["optional"]:
            continue
        # As the docs of learning rates and other states of one element begin.
        usual = "1" if argument["doc"].startswith("[1]:") else "64, n"
        texts[name] = text or usual
    return texts


def one_op(
    op: str,
    n: int,
    shapes: Mapping[str, str],
    attrs: Mapping[str, Any],
    dtype: str,
) -> tuple[sl.Program, dict[str, np.ndarray]]:
    """A program of this op for one size, and its feeds.

    Raises InvalidArgumentError for an input that the op lacks, and what
    appending the op raises.
    """
    schema = find_op(op)
    names = [argument["name"] for argument in schema["inputs"]]
    for name in shapes:
        if name not in names:
            raise InvalidArgumentError(
                f"{op}: there is no input {name}; its inputs are "
                + ", ".join(names),
                "lab.input",
            )
    known = schema["sizes"]
    texts = shape_texts(schema, shapes)
    random = np.random.default_rng(0)
    program, feed, arguments = sl.Program(), {}, {}
    for argument in schema["inputs"]:
        name = argument["name"]
        if name not in texts:
            continue
        shape = _shape(texts[name], n, f"{op}: shape of {name}")
        kind = argument["dtype"]
        allowed = schema["type_vars"].get(kind, [kind])
        # The first type variable is the kernel's dtype. Others are mostly those
        # of indices and labels, for which 0 is valid.
        if kind == next(iter(schema["type_vars"]), None) and dtype in allowed:
            chosen = dtype
        else:
            chosen = "int64" if "int64" in allowed else allowed[-1]
        numpy = numpy_dtype(chosen, f"{op}: dtype of {name}")
        check_size(f"{op}: {name} for n = {n}", shape, numpy)
        feed[name] = (
            np.zeros(shape, numpy)
            if numpy.kind in "iub"
            else random.random(shape, np.float32).astype(numpy)
            if numpy.itemsize <= 4
            else random.random(shape).astype(numpy)
        )
        arguments[name] = program.data(name, list(shape), chosen)
    values = {
        attribute["name"]: _evaluate(known[attribute["name"]], n, op)
        for attribute in schema["attributes"]
        if attribute["name"] in known
    }
    for key, value in attrs.items():
        is_list = isinstance(value, list)
        values[key] = (
            [n if v == "n" else v for v in value] if is_list else value
        )
    # Without any requested output, a gradient op would compute nothing.
    names = [argument["name"] for argument in schema["outputs"]]
    only_optional = all(argument["optional"] for argument in schema["outputs"])
    outputs = {name: f"{op}.{name}" for name in names if only_optional}
    program.append_op(op, arguments, outputs, attrs=values)
    return program, feed
