"""Answers the harness: reads questions on stdin, writes answers on stdout.

A question and an answer are a line of JSON, then arrays of float64, whose
shapes the line says. With --list it writes its Python, its folder and a line
about each case, and ends.
"""

import sys

# Modules here may have names of the standard library's.
sys.path[0] = sys.path[0].rpartition("/")[0]

import importlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import pathlib  # noqa: E402
import traceback  # noqa: E402
import warnings  # noqa: E402

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # tests run side by side

import numpy as np  # noqa: E402

from cases.case import CASES, Maker, compute, tensors  # noqa: E402

FLOATS = "float16", "bfloat16", "float32", "float64"
FOLDER = pathlib.Path(__file__).resolve().parent
for path in sorted(FOLDER.glob("*.py")):
    if not path.stem.startswith("__"):
        importlib.import_module(f"cases.{path.stem}")


def examples(question):
    """Descriptions as of laboratory/op_example.h, and arrays; if it asks for
    ranges, these in place of the arrays."""
    op = question["op"]
    lines, arrays = [], []
    for example in CASES[op].examples(Maker(question["dtype"], question)):
        inputs = list(tensors(example))
        names = {name for name, _ in inputs}
        line = {
            "op": op,
            "inputs": [
                [name, tensor.dtype, tensor.values.shape, 0, 0]
                for name, tensor in inputs
            ],
            "attributes": {
                name: _encoded(value)
                for name, value in example.items()
                if name not in names
            },
        }
        lines.append(line)
        arrays += [tensor.values for _, tensor in inputs]
    if question["ranges"]:
        _set_ranges(question, lines, arrays)
        arrays = []
    return {"examples": lines}, arrays


def _set_ranges(question, lines, arrays):
    """Writes the range of its numbers into each input of the descriptions.

    Floats have the range over all examples of the argument, because tensors of
    one element or none do not show it; others, such as indices, their own."""
    whole = {}
    inputs = [
        (described, question["dtype"] if described[1] == "T" else described[1])
        for line in lines
        for described in line["inputs"]
    ]
    for (described, dtype), array in zip(inputs, arrays):
        finite = array[np.isfinite(array)]
        own = (float(finite.min()), float(finite.max())) if finite.size else (0, 0)
        low, high = whole.get((described[0], dtype), own)
        if array.size:
            whole[described[0], dtype] = min(low, own[0]), max(high, own[1])
            described[3:] = own
    for (described, dtype), array in zip(inputs, arrays):
        if array.size == 0 or dtype in FLOATS:
            described[3:] = whole.get((described[0], dtype), (0, 0))


def outputs(question):
    """The outputs by the reference, or by the alternative."""
    inputs = {}
    for name, dtype, dims in question["inputs"]:
        values = np.frombuffer(sys.stdin.buffer.read(8 * int(np.prod(dims))))
        values = values.reshape(dims)
        if dtype.lstrip("u") in ("bool", "int8", "int16", "int32", "int64"):
            values = values.astype(dtype)
        argument, _, number = name.partition("[")  # X, X[1], X[2], ...
        inputs.setdefault(argument, {})[int(number[:-1] or 0)] = values
    for name, values in inputs.items():
        many = [values[number] for number in sorted(values)]
        inputs[name] = many if len(many) > 1 else many[0]
    attributes = {k: _decoded(v) for k, v in question["attributes"].items()}
    case = CASES[question["op"]]
    found = compute(
        case.alternative if question["alternative"] else case.reference,
        inputs,
        attributes,
        {name: dtype for name, dtype, _ in question["inputs"]},
    )
    return {"outputs": list(found)}, list(found.values())


def _encoded(value):
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": str(value)}
    return value


def _decoded(value):
    if not isinstance(value, dict):
        return value
    return float(value["float"]) if "float" in value else value["dtype"]


def _message(error):
    """`FILE:LINE: ValueError: what`, the line being one of a case."""
    frames = traceback.extract_tb(error.__traceback__)
    here = [f for f in frames if pathlib.Path(f.filename).parent == FOLDER]
    frame = (here or frames)[-1]
    return f"{frame.filename}:{frame.lineno}: {type(error).__name__}: {error}"


def main():
    if sys.argv[1:] == ["--list"]:
        print(sys.executable, FOLDER, sep="\n")
        for op, case in sorted(CASES.items()):
            line = {
                "op": op,
                "slack": case.slack,
                "more_slack": case.more_slack,
                "alternative": case.alternative is not None,
            }
            print(json.dumps(line))
        return
    # Of means of nothing, and the like.
    warnings.simplefilter("ignore", RuntimeWarning)
    out = sys.stdout.buffer
    while line := sys.stdin.buffer.readline():
        question = json.loads(line)
        try:
            answer = examples if "dtype" in question else outputs
            reply, arrays = answer(question)
            reply["dims"] = [np.shape(array) for array in arrays]
            arrays = [np.ascontiguousarray(a, np.float64) for a in arrays]
        except Exception as error:
            reply, arrays = {"error": _message(error)}, []
        out.write(json.dumps(reply).encode() + b"\n")
        for array in arrays:
            out.write(array)
        out.flush()


if __name__ == "__main__":
    main()
