"""The process that answers the harness of operators, and its errors."""

import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "operators"
KIND = {"dtype": "float64", "float": True, "signed": True, "bits": 64}
KIND |= {"ranges": False}


def answers(*questions):
    """(line, arrays) for each (question, arrays)."""
    text = b""
    for question, arrays in questions:
        text += json.dumps(question).encode() + b"\n"
        text += b"".join(np.array(a, "f8").tobytes() for a in arrays)
    command = [sys.executable, "-B", FOLDER / "cases"]
    rest = subprocess.run(command, input=text, capture_output=True, check=True).stdout
    found = []
    while rest:
        line, rest = rest.split(b"\n", 1)
        answer, arrays = json.loads(line), []
        for dims in answer.get("dims", []):
            size = int(np.prod(dims))
            arrays.append(np.frombuffer(rest, count=size).reshape(dims))
            rest = rest[8 * size :]
        found.append((answer, arrays))
    return found


def outputs_of(op, inputs, **attributes):
    lines = [[name, "float64", np.shape(array)] for name, array in inputs.items()]
    question = {"op": op, "attributes": attributes, "alternative": False}
    return question | {"inputs": lines}, list(inputs.values())


def test_examples_and_outputs_are_answered():
    concat = outputs_of("concat", {"X": [1.0], "X[1]": [2.0, 3.0]}, axis=0)
    (examples, arrays), (names, out) = answers(({"op": "trilu"} | KIND, []), concat)
    lines = examples["examples"]
    assert [line["inputs"][0][2] for line in lines[:2]] == [[3, 5], [5, 3]]
    assert lines[0]["attributes"] == {"upper": True, "k": 0}
    assert len(np.unique(arrays[0])) == 15
    assert names["outputs"] == ["Out"] and out[0].tolist() == [1, 2, 3]


def test_ranges_stand_in_place_of_arrays():
    question = {"op": "trilu"} | KIND
    (_, arrays), (ranges, none) = answers(
        (question, []), (question | {"ranges": True}, [])
    )
    values = np.concatenate([array.ravel() for array in arrays])
    assert none == []
    for line in ranges["examples"]:
        assert line["inputs"][0][3:] == [values.min(), values.max()]


def test_an_error_of_a_case_names_its_file_and_line_and_the_next_is_answered():
    wrong = outputs_of("transpose", {"X": [[1.0]]}, axis=[5, 0])
    right = outputs_of("transpose", {"X": [[1.0, 2.0]]}, axis=[1, 0])
    (error, _), (_, (out,)) = answers(wrong, right)
    assert re.search(r"cases/movement\.py:\d+: AxisError: axis 5", error["error"])
    assert out.tolist() == [[1], [2]]


def test_an_op_has_one_case():
    sys.path.append(str(FOLDER))
    from cases.case import case

    with pytest.raises(ValueError, match="two cases for wrap"):
        case("wrap", None)(case("wrap", None)(None))
