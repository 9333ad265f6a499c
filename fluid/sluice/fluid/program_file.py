"""PaddlePaddle's program files as plain values.

``__model__`` (Fluid 1.x) and ``*.pdmodel`` (2.x) are a message ``Program`` of
Protocol Buffers; the description of a tensor in a file of parameters is a
``TensorDesc``. What ops mean is the business of ``translate/``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NoReturn

from ..errors import (
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
)

# The fields of each message: name, number, type, and "*" if it is repeated.
# Names of variables may be any bytes, hence no "string". Fields that no program
# needs here are left out; readers skip them.
_MESSAGES = {
    "Program": [("blocks", 1, "*Block"), ("version", 4, "Version")],
    # Of the PaddlePaddle that wrote it: major * 1e6 + minor * 1e3 + patch.
    "Version": [("version", 1, "int64")],
    "Block": [
        ("idx", 1, "int32"),
        ("parent_idx", 2, "int32"),  # -1 for block 0
        ("vars", 3, "*Variable"),
        ("ops", 4, "*Op"),
    ],
    "Variable": [
        ("name", 1, "bytes"),
        ("type", 2, "VariableType"),
        ("persistable", 3, "bool"),
    ],
    "VariableType": [
        ("type", 1, "int32"),  # as TensorDesc.data_type, or a kind from 7 on
        ("selected_rows", 2, "TensorDesc"),
        ("lod_tensor", 3, "LodTensorDesc"),
        ("tensor_array", 4, "LodTensorDesc"),
    ],
    "LodTensorDesc": [("tensor", 1, "TensorDesc"), ("lod_level", 2, "int32")],
    # Sizes that are not known are -1.
    "TensorDesc": [("data_type", 1, "int32"), ("dims", 2, "*int64")],
    "Op": [
        ("inputs", 1, "*Slot"),
        ("outputs", 2, "*Slot"),
        ("type", 3, "bytes"),
        ("attrs", 4, "*Attribute"),
    ],
    "Slot": [("parameter", 1, "bytes"), ("arguments", 2, "*bytes")],
    # The type says which of the fields after it has the value: _VALUES.
    "Attribute": [
        ("name", 1, "bytes"),
        ("type", 2, "int32"),
        ("i", 3, "int32"),
        ("f", 4, "float"),
        ("s", 5, "bytes"),
        ("ints", 6, "*int32"),
        ("floats", 7, "*float"),
        ("strings", 8, "*bytes"),
        ("b", 10, "bool"),
        ("bools", 11, "*bool"),
        ("block_idx", 12, "int32"),
        ("l", 13, "int64"),
        ("blocks_idx", 14, "*int32"),
        ("longs", 15, "*int64"),
        ("float64s", 16, "*double"),
        ("var_name", 17, "bytes"),
        ("vars_name", 18, "*bytes"),
        ("float64", 19, "double"),
    ],
}

# The field of each type of attribute, AttrType of PaddlePaddle.
_VALUES = [
    "i", "f", "s", "ints", "floats", "strings", "b", "bools", "block_idx",
    "l", "blocks_idx", "longs", "float64s", "var_name", "vars_name", "float64",
]  # fmt: skip
BLOCK, _BLOCKS = 8, 10

# The field of a variable's type that describes its tensor, by the kind.
_TENSORS = {7: "lod_tensor", 8: "selected_rows", 13: "tensor_array"}

_MOST_BLOCKS = 10_000  # that lie in one another
MOST_BYTES = 2**31 - 1  # of a message


@cache
def _messages() -> dict[str, Any]:
    """The class of each message."""
    try:
        from google.protobuf import (
            descriptor_pb2,
            descriptor_pool,
            message_factory,
        )
    except ImportError:
        raise NotFoundError(
            "PaddlePaddle's files are read and written by the package "
            "protobuf, which is not installed: pip install protobuf",
            "fluid.no_protobuf",
        ) from None
    of = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="sluice/fluid/program.proto", package="sluice.fluid"
    )
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for name, number, type in fields:
            element = type.lstrip("*")
            label = "REPEATED" if type != element else "OPTIONAL"
            field = described.field.add(
                name=name, number=number, label=f"LABEL_{label}"
            )
            if element in _MESSAGES:
                field.type = of.TYPE_MESSAGE
                field.type_name = f".{file.package}.{element}"
            else:
                field.type = of.Type.Value(f"TYPE_{element.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        message: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{file.package}.{message}")
        )
        for message in _MESSAGES
    }


def _decode_error() -> type[Exception]:
    from google.protobuf.message import DecodeError

    return DecodeError


def _text(name: bytes) -> str:
    return name.decode(errors="surrogateescape")


def _bytes(name: str) -> bytes:
    return name.encode(errors="surrogateescape")


def _value(of: Any) -> Any:
    """The value of an attribute, or of one element of it."""
    return _text(of) if isinstance(of, bytes) else of


def _refuse(where: str, what: str, check: str) -> NoReturn:
    raise InvalidArgumentError(f"{where}{what}", f"fluid.{check}")


def parse_program(bytes: bytes, name: str) -> dict[str, Any]:
    """Parse a program.

    Args:
        bytes: the message.
        name: of the file, for errors.

    Returns:
        ``version``, and ``blocks``, each with ``parent`` (-1 for the first),
        ``vars`` and ``ops``. A variable has ``name``, ``kind``, ``dtype``,
        ``dims``, ``lod_level`` and ``persistable``; an op ``type``, ``inputs``
        and ``outputs`` (names by slot), and ``attrs``, by name the code of the
        type and the value.

    Raises:
        DataLossError: the bytes are damaged or cut off.
        UnimplementedError: an attribute has an unknown type.
        InvalidArgumentError: there is no block, a block does not lie in an
            earlier one, an op runs a block that is not inside its own or has
            no type, or a variable has no name or is declared twice.
        NotFoundError: the package protobuf is not installed.
    """
    message = _messages()["Program"]()
    try:
        message.ParseFromString(bytes)
    except _decode_error():
        raise DataLossError(
            f"{name} is no program of PaddlePaddle: its {len(bytes)} bytes are "
            "damaged, cut off or of another format",
            "fluid.not_a_program",
        ) from None
    if not 0 < len(message.blocks) < _MOST_BLOCKS:
        _refuse(
            name,
            f" has {len(message.blocks)} blocks; a program of PaddlePaddle has "
            "one or more",
            "no_block",
        )
    blocks = [
        _parse_block(block, at, name) for at, block in enumerate(message.blocks)
    ]
    for at, block in enumerate(blocks):
        for op in block["ops"]:
            _check_blocks(op, at, blocks, name)
    return {"version": message.version.version, "blocks": blocks}


def _parse_block(block: Any, at: int, name: str) -> dict[str, Any]:
    parent = block.parent_idx
    if block.idx != at or parent >= at or (parent < 0 < at):
        _refuse(
            name,
            f": block {at} says that it is block {block.idx} inside block "
            f"{parent}; expected an earlier one",
            "block_parent",
        )
    names = set()
    for variable in block.vars:
        if not variable.name or variable.name in names:
            _refuse(
                name,
                f": block {at} declares variable {_text(variable.name)!r} "
                "twice, or without a name",
                "variable_name",
            )
        names.add(variable.name)
    return {
        "parent": parent,
        "vars": [*map(_parse_variable, block.vars)],
        "ops": [_parse_op(op, name) for op in block.ops],
    }


def _parse_variable(variable: Any) -> dict[str, Any]:
    type, tensor, levels = variable.type, None, 0
    for field in _TENSORS.values():
        if type.HasField(field):
            tensor = getattr(type, field)
            if field != "selected_rows":
                levels, tensor = tensor.lod_level, tensor.tensor
    return {
        "name": _text(variable.name),
        "kind": type.type,
        "dtype": 0 if tensor is None else tensor.data_type,
        "dims": [] if tensor is None else [*tensor.dims],
        "lod_level": levels,
        "persistable": variable.persistable,
    }


def _parse_slots(slots: Iterable[Any]) -> dict[str, list[str]]:
    return {
        _text(slot.parameter): [*map(_text, slot.arguments)] for slot in slots
    }


def _parse_op(op: Any, name: str) -> dict[str, Any]:
    if not op.type:
        _refuse(name, ": an op has no type", "op_type")
    attrs = {}
    for each in op.attrs:
        if not 0 <= each.type < len(_VALUES):
            raise UnimplementedError(
                f"{name}: attribute {_text(each.name)} of op {_text(op.type)} "
                f"has type {each.type}; Sluice knows 0 to {len(_VALUES) - 1}",
                "fluid.attribute_type",
            )
        value = getattr(each, _VALUES[each.type])
        one = isinstance(value, (bytes, bool, int, float))
        value = _value(value) if one else [*map(_value, value)]
        attrs[_text(each.name)] = (each.type, value)
    return {
        "type": _text(op.type),
        "inputs": _parse_slots(op.inputs),
        "outputs": _parse_slots(op.outputs),
        "attrs": attrs,
    }


def _check_blocks(
    op: dict[str, Any], at: int, blocks: Sequence[Any], name: str
) -> None:
    """Raise unless the blocks that an op runs are inside its own."""
    for type, value in op["attrs"].values():
        runs = {BLOCK: [value], _BLOCKS: value}.get(type, [])
        for block in runs:
            if not at < block < len(blocks) or blocks[block]["parent"] != at:
                _refuse(
                    name,
                    f": op {op['type']} of block {at} runs block {block}, "
                    "which is not inside its block",
                    "block_of_op",
                )


def serialize_program(program: dict[str, Any]) -> bytes:
    """Serialize what :func:`parse_program` returns.

    Raises:
        InvalidArgumentError: a number does not fit its type, or there are
            2 GiB and more.
        NotFoundError: the package protobuf is not installed.
    """
    message = _messages()["Program"]()
    message.version.version = program["version"]
    for at, block in enumerate(program["blocks"]):
        written = message.blocks.add(idx=at, parent_idx=block["parent"])
        for variable in block["vars"]:
            _write_variable(variable, written.vars.add())
        for op in block["ops"]:
            _write_op(op, written.ops.add())
    check_size(message.ByteSize())
    return message.SerializeToString()


def check_size(bytes: int) -> None:
    """Raise InvalidArgumentError for 2 GiB and more."""
    if bytes > MOST_BYTES:
        _refuse(
            "the program",
            f" has {bytes} bytes; a file of PaddlePaddle has less than 2 GiB",
            "too_large",
        )


def _write_variable(variable: dict[str, Any], out: Any) -> None:
    out.name = _bytes(variable["name"])
    out.persistable = variable["persistable"]
    out.type.type = kind = variable["kind"]
    if kind not in _TENSORS:
        return
    tensor = getattr(out.type, _TENSORS[kind])
    if _TENSORS[kind] != "selected_rows":
        tensor.lod_level = variable["lod_level"]
        tensor = tensor.tensor
    tensor.data_type = variable["dtype"]
    tensor.dims.extend(variable["dims"])


def _write_op(op: dict[str, Any], out: Any) -> None:
    out.type = _bytes(op["type"])
    for slots in ("inputs", "outputs"):
        for slot, names in op[slots].items():
            getattr(out, slots).add(
                parameter=_bytes(slot), arguments=[*map(_bytes, names)]
            )
    for name, (type, value) in op["attrs"].items():
        many = isinstance(value, (list, tuple))
        values = [
            _bytes(each) if isinstance(each, str) else each
            for each in (value if many else [value])
        ]
        attribute = out.attrs.add(name=_bytes(name), type=type)
        try:
            if many:
                getattr(attribute, _VALUES[type]).extend(values)
            else:
                setattr(attribute, _VALUES[type], values[0])
        except (IndexError, TypeError, ValueError, AttributeError):
            _refuse(
                f"attribute {name} of op {op['type']}",
                f": {value!r} is no value of type {type}",
                "attribute_value",
            )


def parse_tensor_desc(bytes: bytes, name: str) -> tuple[int, list[int]]:
    """Parse the description before the data in a file of parameters.

    Returns:
        The code of the dtype, and the dims.

    Raises:
        DataLossError: the bytes are damaged.
        NotFoundError: the package protobuf is not installed.
    """
    message = _messages()["TensorDesc"]()
    try:
        message.ParseFromString(bytes)
    except _decode_error():
        raise DataLossError(
            f"{name} has a damaged description of a tensor", "fluid.tensor_desc"
        ) from None
    return message.data_type, [*message.dims]


def serialize_tensor_desc(dtype: int, dims: Sequence[int]) -> bytes:
    """Serialize the description of a tensor."""
    message = _messages()["TensorDesc"](data_type=dtype, dims=dims)
    return message.SerializeToString()
