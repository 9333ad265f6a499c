"""Writes models as PaddlePaddle saves them, from ops said in Fluid's names."""

import pathlib

import numpy as np

from sluice.fluid import parameters, program_file
from sluice.fluid.translate import CODES

# Type codes of attributes.
INT, FLOAT, STRING, INTS, FLOATS, BOOL, LONG = 0, 1, 2, 3, 4, 6, 9


def attribute(value):
    """A value with the type that PaddlePaddle writes."""
    if isinstance(value, tuple):
        return value
    kinds = {bool: BOOL, int: INT, float: FLOAT, str: STRING}
    if type(value) in kinds:
        return kinds[type(value)], value
    return (FLOATS if value and isinstance(value[0], float) else INTS), value


def op(type, inputs, outputs, **attrs):
    """An op; slots are names or lists of names."""

    def slots(given):
        return {k: [v] if isinstance(v, str) else v for k, v in given.items()}

    return {
        "type": type,
        "inputs": slots(inputs),
        "outputs": slots(outputs),
        "attrs": {name: attribute(value) for name, value in attrs.items()},
    }


def variable(name, dtype="float32", dims=(), **more):
    """A declaration."""
    made = {
        "name": name, "kind": 7, "dtype": CODES.get(dtype, dtype),
        "dims": list(dims), "lod_level": 0, "persistable": False,
    }  # fmt: skip
    return {**made, **more}


def program(feeds, ops, fetches, values, version=1008005):
    """A program: feeds are variables, parameters arrays by name."""
    variables = [
        variable("feed", 0, kind=9, persistable=True),
        variable("fetch", 0, kind=10, persistable=True),
        *feeds,
        *(
            variable(name, value.dtype.name, value.shape, persistable=True)
            for name, value in values.items()
        ),
    ]
    known = {each["name"] for each in variables}
    names = [n for each in ops for s in each["outputs"].values() for n in s]
    for name in dict.fromkeys(names):
        if name not in known:
            variables.append(variable(name))
    # Feeds stand in front in reversed order, as PaddlePaddle puts them there.
    before = [
        op("feed", {"X": "feed"}, {"Out": each["name"]}, col=col)
        for col, each in enumerate(feeds)
    ]
    after = [
        op("fetch", {"X": name}, {"Out": "fetch"}, col=col)
        for col, name in enumerate(fetches)
    ]
    block = {"parent": -1, "vars": variables, "ops": before[::-1] + ops + after}
    return {"version": version, "blocks": [block]}


def write(folder, desc, values, combined=False):
    """Write a model; return what to load."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ("inference.pdmodel" if combined else "__model__")
    path.write_bytes(program_file.serialize_program(desc))
    file = folder / "inference.pdiparams" if combined else None
    parameters.write(folder, file, values)
    return path if combined else folder


def tagger(seed=0):
    """LAC in small: ids by a table, a gru and a CRF; and its parameters."""
    generator = np.random.default_rng(seed)
    shapes = {
        "word_emb": (20, 6), "fc_0.w_0": (6, 12), "fc_0.b_0": (12,),
        "gru_0.w_0": (4, 12), "gru_0.b_0": (1, 12), "fc_1.w_0": (4, 5),
        "crfw": (7, 5),
    }  # fmt: skip
    values = {
        name: generator.normal(size=shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    words = variable("words", "int64", [-1, 1], lod_level=1)
    ops = [
        op("lookup_table", {"W": "word_emb", "Ids": "words"}, {"Out": "emb"},
           padding_idx=(LONG, -1)),
        op("mul", {"X": "emb", "Y": "fc_0.w_0"}, {"Out": "a"}, x_num_col_dims=1),
        op("elementwise_add", {"X": "a", "Y": "fc_0.b_0"}, {"Out": "b"}, axis=1),
        op("gru", {"Input": "b", "Weight": "gru_0.w_0", "Bias": "gru_0.b_0",
                   "H0": []},
           {"Hidden": "h", "BatchGate": "g", "BatchHidden": "bh",
            "BatchResetHiddenPrev": "r"},
           is_reverse=False, activation="tanh", gate_activation="sigmoid"),
        op("mul", {"X": "h", "Y": "fc_1.w_0"}, {"Out": "e"}),
        op("crf_decoding", {"Emission": "e", "Transition": "crfw", "Label": []},
           {"ViterbiPath": "path"}),
    ]  # fmt: skip
    return program([words], ops, ["path", "e"], values), values
