"""Layers with parameters, based on LayerHelper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from ..errors import argument_error
from ..feed_values import positive
from ..initializer import Constant, Uniform
from ..layer_helper import LayerHelper, channels_of, index_of, move_axis, one_of
from ..program import Variable, require_variable
from .vectors import einsum


def fc(
    input: Variable | Sequence[Variable],
    size: int,
    num_flatten_dims: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Variable:
    """Fully connected layer: ``act(input @ weight + bias)``.

    Each input of a list has a weight of its own, and the products are added.

    Args:
        input: rank 2 or more, or a list of such variables; dimensions from
            ``num_flatten_dims`` on are flattened, and their sizes must be
            known.
        size: number of outputs.
        num_flatten_dims: leading dimensions that are kept; -1 for all but the
            last.
        param_attr: for the weight [inputs, size]; Xavier by default. A list
            has one for each input.
        bias_attr: for the bias [size]; zeros by default, False for none.
        act: an op with input X and output Out, such as ``"relu"``.
        name: the layer's name.

    Returns:
        [leading dimensions of input..., size].

    Raises:
        InvalidArgumentError: a size is unknown, the rank too small, or lists
            differ in length or are empty.
    """
    several = isinstance(input, (list, tuple))
    inputs = list(input) if several else [input]
    attrs = param_attr
    if not isinstance(param_attr, (list, tuple)):
        attrs = [param_attr] * len(inputs)
    if not inputs or len(attrs) != len(inputs):
        raise argument_error(
            "fc: expected one input or more, and as many of param_attr if it "
            f"is a list, got {len(inputs)} and {len(attrs)}",
            "python.fc_inputs",
        )
    for i, each in enumerate(inputs):
        require_variable(f"fc: input[{i}]" if several else "fc: input", each)
    size = positive("fc: size", size)
    helper = LayerHelper("fc", name, inputs[0].program)
    products = [
        _product(helper, each, attr, size, num_flatten_dims)
        for each, attr in zip(inputs, attrs, strict=True)
    ]
    out = products[0]
    if several and len(products) > 1:
        out = helper.append_op("sum", {"X": products})["Out"]
    bias = helper.create_parameter(bias_attr, [size], out.dtype, is_bias=True)
    return helper.append_activation(helper.append_bias(out, bias), act)


def _product(
    helper: LayerHelper, x: Variable, attr: Any, size: int, leading: int
) -> Variable:
    """``x``, flattened from dim ``leading`` on, times a weight of its own."""
    shape = x.shape or ()
    if leading == -1:
        leading = len(shape) - 1
    if not 0 < leading < len(shape):
        raise argument_error(
            "fc: num_flatten_dims must be between 1 and the input's rank less "
            f"one, got {leading} for {x!r}",
            "python.num_flatten_dims",
        )
    rows = shape[leading:]
    inputs = None if None in rows else math.prod(rows)  # type: ignore[arg-type]
    weight = helper.create_parameter(attr, [inputs, size], x.dtype)  # type: ignore[list-item]
    attrs = {"x_num_col_dims": leading, "y_num_col_dims": 1}
    return helper.append_op("mul", {"X": x, "Y": weight}, attrs=attrs)["Out"]


def dropout(
    x: Variable,
    dropout_prob: float = 0.5,
    is_test: bool | None = False,
    seed: int | None = 0,
    name: str | None = None,
    dropout_implementation: str = "upscale_in_train",
) -> Variable:
    """Set elements to zero at random while training.

    Args:
        x: a variable of any shape.
        dropout_prob: the share that becomes zero.
        is_test: disable it; ``clone(for_test=True)`` sets this. None is False.
        seed: the seed of the random numbers; None is 0, for the program's.
        name: the output's name.
        dropout_implementation: ``"upscale_in_train"`` divides kept elements by
            ``1 - dropout_prob``; ``"downgrade_in_infer"``, which is Fluid's
            default, multiplies by it in tests.

    Returns:
        A variable of the shape of x.
    """
    require_variable("dropout: x", x)
    attrs = {
        "dropout_prob": dropout_prob,
        "is_test": False if is_test is None else is_test,
        "seed": 0 if seed is None else seed,
        "dropout_implementation": dropout_implementation,
    }
    outputs = {"Out": name} if name else None
    return x.program.append_op("dropout", {"X": x}, outputs, attrs)["Out"]


def embedding(
    input: Variable,
    size: Sequence[int],
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
    name: str | None = None,
    is_sparse: bool = False,
) -> Variable:
    """Look up rows of a table of parameters by index.

    Args:
        input: row indices, int64.
        size: [rows, columns] of the table.
        padding_idx: a row index that yields zeros; a negative one counts from
            the end, as in Fluid.
        param_attr: attribute of the table.
        dtype: element type of the table.
        name: the layer's name.
        is_sparse: the table's gradient has a row for each index, and updates
            touch only these (see :mod:`sluice.sparse`).

    Returns:
        [shape of input..., columns] (a last dimension of 1 is removed).

    Raises:
        OutOfRangeError: at run time, for an index outside of the table.
        InvalidArgumentError: size is not a pair of integers above 0, or
            padding_idx is not a row.
    """
    require_variable("embedding: input", input)
    rows, columns = _table_size(size)
    attrs: dict[str, Any] = {}
    if one_of("embedding: is_sparse", is_sparse, [True, False]):
        attrs["is_sparse"] = True
    if padding_idx is not None:
        attrs["padding_idx"] = index_of(
            "embedding: padding_idx", padding_idx, rows
        )
    helper = LayerHelper("embedding", name, input.program)
    limit = 1.0 / math.sqrt(columns)
    table = helper.create_parameter(
        param_attr, [rows, columns], dtype, Uniform(-limit, limit)
    )
    inputs = {"W": table, "Ids": input}
    return helper.append_op("lookup_table", inputs, attrs=attrs)["Out"]


def _table_size(size: Any) -> list[int]:
    if not isinstance(size, (list, tuple)) or len(size) != 2:
        raise argument_error(
            "embedding: size: expected [rows, columns], got "
            f"{_core._shown(size)}",
            "python.embedding_size",
        )
    return [positive(f"embedding: size {list(size)}", each) for each in size]


def prelu(
    x: Variable, mode: str, param_attr: Any = None, name: str | None = None
) -> Variable:
    """``x`` where it is not negative, and elsewhere x times a learned slope.

    From "Delving Deep into Rectifiers" (He et al., 2015). The op alone, which
    takes slopes as a variable, is ``sluice.layers.ops.prelu``.

    Args:
        x: of any shape with ``"all"``; [N, C, ...] with ``"channel"``; with
            ``"element"`` its sizes after the first are known.
        mode: ``"all"``: one slope; ``"channel"``: one for each channel, of
            shape [1, C, 1, ...]; ``"element"``: one for each element of an
            example.
        param_attr: for the slopes; 0.25 by default.
        name: the layer's name.

    Returns:
        A variable of the shape of x.

    Raises:
        InvalidArgumentError: a size is unknown, or mode is none of these.
    """
    require_variable("prelu: x", x)
    one_of("prelu: mode", mode, ["all", "channel", "element"])
    shape: list[Any] = [1]
    if mode == "channel":
        channels = channels_of("prelu: x", x)
        shape = [1, channels, *[1] * (x.ndim - 2)]
    elif mode == "element":
        shape = list(x.shape or ())[1:]
    helper = LayerHelper("prelu", name, x.program)
    slopes = helper.create_parameter(param_attr, shape, x.dtype, Constant(0.25))
    return helper.append_op("prelu", {"X": x, "Y": slopes})["Out"]


def bilinear_tensor_product(
    x: Variable,
    y: Variable,
    size: int,
    act: str | None = None,
    name: str | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
) -> Variable:
    """``act(x W_i y + b_i)`` for each output i, row by row.

    Args:
        x: [N, M].
        y: [N, K].
        size: number of outputs.
        act: an op with input X and output Out, such as ``"relu"``.
        name: the layer's name.
        param_attr: for the weight [size, M, K]; Xavier by default.
        bias_attr: for the bias [1, size]; zeros by default, False for none.

    Returns:
        [N, size].

    Raises:
        InvalidArgumentError: x or y is no matrix, or its columns are unknown.
    """
    size = positive("bilinear_tensor_product: size", size)
    columns = [
        channels_of(f"bilinear_tensor_product: {what}", each, 2)
        for what, each in (("x", x), ("y", y))
    ]
    helper = LayerHelper("bilinear_tensor_product", name, x.program)
    weight = helper.create_parameter(param_attr, [size, *columns], x.dtype)
    bias = helper.create_parameter(bias_attr, [1, size], x.dtype, is_bias=True)
    out = einsum("nm,smk,nk->ns", x, weight, y)
    return helper.append_activation(helper.append_bias(out, bias), act)


def maxout(
    x: Variable, groups: int, name: str | None = None, axis: int = 1
) -> Variable:
    """The maximum over each run of ``groups`` channels.

    Args:
        x: [N, C, H, W], or [N, H, W, C] for axis 3.
        groups: how many neighbouring channels become one; a divisor of C.
        name: the output's name.
        axis: the dim of the channels: 1, 3 or -1.

    Returns:
        The shape of x with C / groups channels.
    """
    require_variable("maxout: x", x)
    helper = LayerHelper("maxout", program=x.program)
    attrs = {"groups": positive("maxout: groups", groups)}
    if one_of("maxout: axis", axis, [1, 3, -1]) == 1:
        outputs = {"Out": name} if name else None
        return helper.append_op("maxout", {"X": x}, outputs, attrs)["Out"]
    first = move_axis(x, -1, 1)
    out = helper.append_op("maxout", {"X": first}, attrs=attrs)["Out"]
    return move_axis(out, 1, -1, name)
