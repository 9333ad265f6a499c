"""Each layer is built and run: what it computes, or at least its shape.

A line of ``layer_cases.txt`` is a call of a layer, or as ``op.NAME`` of an op,
or of ``F``, fluid; and what NumPy computes of the same arrays, or the shape of
the result.
"""

import pathlib
import re

import numpy as np
import pytest
from fluid_runs import run

import sluice.fluid as fluid
from sluice.fluid import conditions, control_flow, distributions
from sluice.fluid.layer_helper import LayerHelper
from sluice.fluid.layers import LEFT_OUT
from sluice.fluid.translate import ROWS

CASES = (
    (pathlib.Path(__file__).parent / "layer_cases.txt").read_text().splitlines()
)
rng = np.random.default_rng(5)


def f32(*values):
    return np.array(values, np.float32)


def i64(*values):
    return np.array(values, np.int64)


def image(*values):
    """A row of pixels, [1, 1, 1, N]."""
    return f32(*values)[None, None, None]


BIG = 2**53 + 1  # which float64 does not have
NUMPY = {"np": np, "f32": f32, "i64": i64, "image": image, "BIG": BIG}
X = f32([-1.5, 0.25, 2.0], [0.75, -0.5, 3.0])
IMAGE = np.arange(64, dtype=np.float32).reshape(1, 4, 4, 4) / 10
ONCE = np.eye(3, dtype=np.float32)[[1, 1, 0, 2, 0, 0, 1]]  # steps of CTC
ARRAYS = {
    "x": X,
    "y": f32([1, 2, 4], [0.5, 2, -1]),
    "y1": X[:1],
    "y3": X.T.copy(),
    "p": f32([0.1, 0.5, 0.9], [0.3, 0.7, 0.2]),
    "u": X / 4,
    "probs": f32([0.2, 0.7, 0.1], [0.5, 0.2, 0.3]),
    "k": i64([1], [2]),
    "k0": np.array([[0], [1]], np.int32),
    "k01": i64([0], [1]),
    "k1": i64([1], [1]),
    "k2": i64([1, 2]),
    "k3": i64([2, 0], [1, 1]),
    "k32": np.array([[1], [2]], np.int32),
    "kf": f32(1, 2),
    "one32": np.array([1], np.int32),
    "n": i64(1, 0),
    "n1": i64([2], [2]),
    "n1v": i64(3, 1),
    "n1k": i64(2, 1),
    "big": i64(BIG, 1),
    "n3": np.array([2, 3, 3, 1, 3], np.int32),
    "v": f32(3, 1, 2),
    "v6": f32(6, 5, 4, 3, 2, 1),
    "b": np.array([[True, False, True], [False, False, True]]),
    "g": f32(7),
    "sq": f32([1, 2], [3, 4]),
    "x4": f32([2, 1, 3, 4], [5, 4, 3, 2]),
    "x2": f32([2, 1], [5, 4]),
    "h1": f32([2], [4]),
    "s3": np.zeros((2, 3), np.float32),
    "half1": np.full((2, 3), 0.5, np.float32),
    "halfc": np.full((2, 1), 0.5, np.float32),
    "c4": f32(1, 2, 3, 4),
    "m": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "m4": np.arange(16, dtype=np.float32).reshape(2, 4, 2),
    "img": IMAGE,
    "img2": rng.normal(size=(2, 4, 2, 2)).astype(np.float32),
    "vol": rng.normal(size=(1, 2, 4, 4, 4)).astype(np.float32),
    "theta": f32([[1, 0, 0], [0, 1, 0]]),
    "grid": np.zeros((1, 2, 2, 2), np.float32),
    "beams": i64([[1, 2]], [[3, 4]]),
    "beams0": i64([[0, 1]], [[0, 1]]),
    "steps3": np.stack([ONCE[[0, 1, 2, 3]], ONCE[[0, 0, 4, 0]]]),
    "lens": i64([4], [2]),
}
LENGTHS = [2, 3]
RAGGED = {
    "s": (rng.normal(size=(5, 3)).astype(np.float32), LENGTHS),
    "s4": (rng.normal(size=(5, 4)).astype(np.float32), LENGTHS),
    "w": (i64([3], [4], [5], [6], [7]), LENGTHS),
    "w2": (i64([3], [9], [5], [6], [7]), LENGTHS),
    "tags": (i64([0], [1], [0], [1], [2]), LENGTHS),
    "w01": (i64([0], [2], [1]), [1, 2]),
    "w01f": (f32([1], [2], [3]), [1, 2]),
    "steps": (ONCE, [4, 3]),
    "ctc_labels": (np.array([[1], [2], [1]], np.int32), [2, 1]),
}
INITIALIZERS = {
    "half": fluid.initializer.Constant(0.5),
    "one": fluid.initializer.Constant(1.0),
    "zero": fluid.initializer.Constant(0.0),
}


class Ops:
    """A function for each op, of its slots, which may be arrays, and attributes:
    the output ``out``, or its first one.
    """

    def __init__(self, feed):
        self.feed = feed

    def variable(self, value):
        if not isinstance(value, np.ndarray):
            return value
        name = f"given_{len(self.feed)}"
        self.feed[name] = value
        return fluid.data(name, value.shape, value.dtype)

    def __getattr__(self, type):
        def append(out=None, **arguments):
            row, attrs = ROWS[type], dict(arguments)
            slots = {s: attrs.pop(s) for s in arguments if s in row.slots}
            for slot, value in slots.items():
                many = isinstance(value, list)
                made = [self.variable(v) for v in (value if many else [value])]
                slots[slot] = made if many else made[0]
            out = out or row.outputs[0]
            return LayerHelper(type).append(type, slots, attrs, out)

        return append


def computed(text):
    """What the call of a line computes, as an array."""
    block = fluid.default_main_program().global_block()
    words = set(re.findall(r"\b\w+\b(?!=)", text))
    feed, names = {}, {"F": fluid, **NUMPY, **INITIALIZERS}
    for name, array in ARRAYS.items():
        if name in words:
            names[name] = block.data(name, array.shape, array.dtype, 0)
            feed[name] = array
    for name, (array, lengths) in RAGGED.items():
        if name in words:
            shape = [None, *array.shape[1:]]
            names[name] = block.data(name, shape, array.dtype, 1)
            feed[name] = fluid.create_lod_tensor(array, [lengths])
    layers = {
        name: getattr(fluid.layers, name) for name in fluid.layers.__all__
    }
    out = eval(text, {**layers, **names, "op": Ops(feed)})
    return np.asarray(run([out], feed)[0])


@pytest.mark.parametrize("case", CASES)
def test_a_layer_computes(case):
    text, sign, wanted = case.partition(" == ")
    if not sign:
        text, _, shape = case.rpartition(" shape ")
        value = computed(text)
        assert list(value.shape) == [int(each) for each in shape.split()]
        assert np.isfinite(value).all()
        return
    value = computed(text)
    flat = {name: array for name, (array, _) in RAGGED.items()}
    expected = np.asarray(eval(wanted, {**NUMPY, **ARRAYS, **flat}))
    assert value.shape == expected.shape
    if expected.dtype in (np.int8, np.uint8):
        assert value.dtype == expected.dtype
    if expected.dtype.kind == value.dtype.kind == "i":  # not by float64
        np.testing.assert_array_equal(value, expected)
    np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-5)


def test_no_layer_is_left_out():
    called = {each[1] for case in CASES if (each := re.match(r"(\w+)\(", case))}
    loops = "Print array_length array_read beam_search beam_search_decode tensor_array_to_tensor"
    others = {*control_flow.__all__, *conditions.__all__, *distributions.__all__, *loops.split()}
    fed = {"data", "create_tensor", "py_reader", "create_py_reader_by_data",
           "read_file", "double_buffer"}  # fmt: skip
    assert set(fluid.layers.__all__) - others - fed == called
    assert not called & LEFT_OUT.keys()
