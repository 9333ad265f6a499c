"""Models of one node, from lines of text, for bench_sweep.py.

A line has an ONNX operator, its inputs, its attributes, and `->N` if it has N
outputs. Inputs:

- `f4[2,3]`: random numbers of NumPy's dtype of that code, each time fed; `f4+`
  positive ones, `i8<9` integers from 0 to 8;
- `*f4[2,3]`: the same as a weight of the model, of about the size that a
  trained one has;
- `=1,2`: the int64 weight [1, 2]; `=f4:0.5` one number of that dtype, and
  `=f4:0,1` a list;
- `-`: an optional input that is absent.

Braces stand for alternatives. `{a,b}` makes a case of each; equal braces of a
line choose alike. Of `{1,2;3,4}` all of a line are taken together: the first of
each, then the second of each.
"""

import itertools
import pathlib
import re

import numpy as np
import onnx
from onnx import helper, numpy_helper

FILE = pathlib.Path(__file__).with_suffix(".txt")
OPSET = 23


def expanded(line):
    """The cases of a line."""
    braces = list(dict.fromkeys(re.findall(r"{[^}]*}", line)))
    tied = [each for each in braces if ";" in each]
    free = [each for each in braces if ";" not in each]
    of = {each: each[1:-1].split(";" if each in tied else ",") for each in braces}
    steps = list(zip(*(of[each] for each in tied), strict=True)) if tied else [()]
    for chosen in itertools.product(steps, *(of[each] for each in free)):
        text = line
        for brace, word in zip(tied + free, chosen[0] + chosen[1:], strict=True):
            text = text.replace(brace, word)
        yield text


def cases():
    """The cases of FILE."""
    lines = FILE.read_text().splitlines()
    rows = [line for line in lines if line and not line.startswith("#")]
    return [case for row in rows for case in expanded(row)]


def number_or_list(word):
    """1, 0.5, [1, 2] or the word."""
    try:
        found = [float(each) if re.search(r"[.e]", each) else int(each)
                 for each in word.split(",")]
    except ValueError:
        return word
    return found if len(found) > 1 else found[0]


def drawn(word, rng):
    """Numbers of `f4[2,3]`, `f4+[2]` or `i8<9[2]`."""
    code, sign, below, shape = re.fullmatch(
        r"(\w\d)(\+?)(?:<(\d+))?\[([\d,]*)\]", word).groups()
    shape = [int(size) for size in shape.split(",") if size]
    dtype = np.dtype(bool if code == "b1" else code)
    if dtype.kind == "f":
        found = rng.standard_normal(shape, np.float32)
        found = np.abs(found) + np.float32(0.1) if sign else found
    else:
        low = 1 if sign else 0 if below or dtype.kind != "i" else -100
        high = int(below) if below else 2 if code == "b1" else 100
        found = rng.integers(low, high, shape)
    return found.astype(dtype)


def literal(word):
    """The weight of `1,2` or `f4:0.5`."""
    code, _, numbers = word.rpartition(":")
    values = [float(each) for each in numbers.split(",")]
    if code and len(values) == 1:
        values = values[0]
    return np.array(values).astype(code or "i8")


def model_of(case):
    """The bytes of a case's model, and its feeds."""
    operator, *words = case.split(" ")
    rng = np.random.default_rng(0)
    inputs, weights, feeds, attributes, outputs = [], [], {}, {}, 1
    for i, word in enumerate(words):
        name = f"x{i}"
        if word.startswith("->"):
            outputs = int(word[2:])
        elif re.match(r"\w+=", word):
            key, _, value = word.partition("=")
            attributes[key] = number_or_list(value)
        elif word == "-":
            inputs.append("")
        else:
            inputs.append(name)
            if word[0] == "=":
                weights.append(numpy_helper.from_array(literal(word[1:]), name))
            elif word[0] == "*":
                value = drawn(word[1:], rng)
                if value.dtype.kind == "f" and value.ndim > 1:
                    value /= np.sqrt(value[0].size).astype(value.dtype)
                weights.append(numpy_helper.from_array(value, name))
            else:
                feeds[name] = drawn(word, rng)
    if operator in ("LSTM", "GRU", "RNN"):  # their states; attributes are lists
        inputs += [""] * (3 - len(inputs))
    lists = {"pads", "strides", "dilations", "kernel_shape", "axes"} & set(attributes)
    for key in lists:
        if not isinstance(attributes[key], list):
            attributes[key] = [attributes[key]]
    names = [f"y{i}" for i in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(operator, inputs, names, **attributes)], "case",
        [helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
         for name, value in feeds.items()],
        [onnx.ValueInfoProto(name=name) for name in names], weights)
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, ir_version=10, opset_imports=opsets)
    found = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    return found.SerializeToString(), feeds
