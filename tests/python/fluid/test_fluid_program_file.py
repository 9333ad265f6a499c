"""PaddlePaddle's program files, read and written: damage, blocks, attributes."""

import subprocess
import sys

import pytest
import saved
from sluice.errors import DataLossError, InvalidArgumentError, UnimplementedError
from sluice.fluid import program_file

ATTRIBUTES = {
    "int": (0, -7),
    "float": (1, 0.5),
    "string": (2, "text"),
    "any_bytes": (2, b"\xff\x00".decode(errors="surrogateescape")),
    "ints": (3, [1, -1]),
    "floats": (4, [0.25, 4.0]),
    "strings": (5, ["a", ""]),
    "bool": (6, True),
    "bools": (7, [True, False]),
    "long": (9, 1 << 40),
    "longs": (11, [-5, 1 << 50]),
    "float64s": (12, [0.1]),
    "variable": (13, "x"),
    "variables": (14, ["x"]),
    "float64": (15, 0.1),
}  # fmt: skip


def one_op(**attributes):
    variables = [
        saved.variable("x", dims=[-1, 3], lod_level=1, persistable=True),
        saved.variable("a", "int64", [2], kind=13),
        saved.variable("s", "float64", [4, 2], kind=8),
        saved.variable("\udcff", 0, kind=10),
    ]
    op = saved.op("relu", {"X": "x", "None": []}, {"Out": "x"}, **attributes)
    block = {"parent": -1, "vars": variables, "ops": [op]}
    return {"version": 1008005, "blocks": [block]}


def two_blocks(parent, type, value):
    """The op of the first block runs blocks, the second has a parent."""
    program = one_op(sub_block=(type, value))
    program["blocks"].append({"parent": parent, "vars": [], "ops": []})
    return program


def again(program):
    text = program_file.serialize_program(program)
    return program_file.parse_program(text, "the file")


def refused(error, check, text, program):
    with pytest.raises(error, match=text) as raised:
        again(program)
    assert raised.value.check_id == f"fluid.{check}"


def test_a_program_is_read_as_it_was_written():
    program = one_op(**ATTRIBUTES)
    assert again(program) == program
    for type, value in ((8, 1), (10, [1])):
        nested = two_blocks(0, type, value)
        assert again(nested) == nested
    tagger, _ = saved.tagger()
    assert again(tagger) == tagger


def test_floats_are_those_of_the_file():
    op = again(one_op(x=(1, 0.1)))["blocks"][0]["ops"][0]
    assert op["attrs"]["x"] == (1, pytest.approx(0.1, rel=1e-7))
    assert op["attrs"]["x"][1] != 0.1


def test_blocks_that_do_not_lie_in_each_other():
    for parent in (1, -1, 7):
        refused(InvalidArgumentError, "block_parent", "block 1 says",
                two_blocks(parent, 8, 1))  # fmt: skip
    for block in (0, 2, -1):
        refused(InvalidArgumentError, "block_of_op",
                "op relu of block 0 runs block", two_blocks(0, 8, block))  # fmt: skip
    inner = two_blocks(0, 8, 2)  # block 2 is inside block 1
    inner["blocks"].append({"parent": 1, "vars": [], "ops": []})
    refused(InvalidArgumentError, "block_of_op", "runs block 2, which", inner)


def test_damaged_bytes():
    whole = program_file.serialize_program(one_op())
    for text in (whole[:-1], b"\xff" + whole, b"PK\x03\x04"):
        with pytest.raises(DataLossError, match="the file is no program") as raised:
            program_file.parse_program(text, "the file")
        assert raised.value.check_id == "fluid.not_a_program"
    refused(InvalidArgumentError, "no_block", "has 0 blocks",
            {"version": 0, "blocks": []})  # fmt: skip
    with pytest.raises(DataLossError, match="the file") as raised:
        program_file.parse_tensor_desc(b"\xff\xff", "the file")
    assert raised.value.check_id == "fluid.tensor_desc"


def test_what_has_no_name_or_type():
    program = one_op()
    program["blocks"][0]["ops"][0]["type"] = ""
    refused(InvalidArgumentError, "op_type", "an op has no type", program)
    for name in ("", "x"):
        program = one_op()
        program["blocks"][0]["vars"][1]["name"] = name
        refused(InvalidArgumentError, "variable_name", "declares variable", program)


def test_an_unknown_type_of_attribute():
    text = program_file.serialize_program(one_op(int=(0, 5)))
    # The name, then field 2, the type, which is 0.
    assert text.count(b"int\x10\x00") == 1
    with pytest.raises(UnimplementedError, match="int of op relu has type 40") as raised:
        program_file.parse_program(text.replace(b"int\x10\x00", b"int\x10\x28"), "it")
    assert raised.value.check_id == "fluid.attribute_type"


def test_values_that_an_attribute_cannot_have():
    for type, value in ((0, 1 << 31), (0, "x"), (3, 1), (0, [1]), (40, 1), (6, "x")):
        refused(InvalidArgumentError, "attribute_value",
                "attribute a of op relu: .* is no value of type",
                one_op(a=(type, value)))  # fmt: skip


def test_a_program_has_less_than_2_gib():
    program_file.check_size((1 << 31) - 1)
    with pytest.raises(InvalidArgumentError, match="2147483648") as raised:
        program_file.check_size(1 << 31)
    assert raised.value.check_id == "fluid.too_large"


def test_descriptions_of_tensors_are_read_as_they_were_written():
    dims = [4, 0, -1, 1 << 40]
    text = program_file.serialize_tensor_desc(5, dims)
    assert program_file.parse_tensor_desc(text, "the file") == (5, dims)


def test_without_protobuf():
    code = """
import sys
sys.modules["google.protobuf"] = None
import sluice.fluid.program_file as file
try:
    file.serialize_tensor_desc(5, [])
except file.NotFoundError as error:
    print(error.check_id, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "fluid.no_protobuf" in done.stdout, done
    assert "pip install protobuf" in done.stdout
