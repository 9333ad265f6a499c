"""Models from files: those of the package `onnx`, or written by it."""

import pathlib

import numpy as np
import pytest

import sluice as sl

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, inliner, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
import onnx_reference  # noqa: E402
from onnx_reference import compare, loaded, parsed, run  # noqa: E402

LIGHT = (
    pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
)


def with_random_weights(model):
    """The light models' weights are constants: one answer for every input."""
    rng = np.random.default_rng(0)
    sizes = {
        t.name: numpy_helper.to_array(t) for t in model.graph.initializer
    }
    users = {
        name: (node.op_type, i)
        for node in model.graph.node
        for i, name in enumerate(node.input)
    }
    nodes = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            nodes.append(node)
            continue
        shape = [int(size) for size in sizes[node.input[0]]]
        user, place = users[node.output[0]]
        if user in ("Conv", "Gemm") and place == 1:
            scale = np.sqrt(2 / np.prod(shape[1:]))
            values = rng.standard_normal(shape) * scale
        elif user == "BatchNormalization" and place in (1, 4):
            values = rng.uniform(0.5, 1.5, shape)
        else:
            values = rng.uniform(-0.1, 0.1, shape)
        model.graph.initializer.append(
            numpy_helper.from_array(values.astype("float32"), node.output[0])
        )
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.ir_version = 4
    return model


@pytest.mark.parametrize(
    "path", sorted(LIGHT.glob("light_*.onnx")), ids=lambda path: path.stem
)
def test_light_networks_give_the_answers_that_come_with_them(path, rng):
    model = sl.onnx.load(path)
    (value,) = model.inputs
    feed = rng.standard_normal(value.shape).astype("float32")
    (result,) = model.run({value.name: feed})
    stored = TensorProto()
    stored.ParseFromString(
        path.with_name(path.stem + "_output_0.pb").read_bytes()
    )
    expected = numpy_helper.to_array(stored)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-4)


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_light_networks_with_random_weights_equal_the_reference(name, rng):
    proto = with_random_weights(onnx.load(LIGHT / f"light_{name}.onnx"))
    # Without the softmax, which hides errors; and as opset 15, because older
    # reference BatchNormalization trains.
    assert proto.graph.node[-1].op_type == "Softmax"
    proto.graph.output[0].name = proto.graph.node[-1].input[0]
    del proto.graph.node[-1]
    proto.opset_import[0].version = 15
    for node in proto.graph.node:
        if node.op_type == "Dropout":  # the ratio is an input then
            del node.attribute[:], node.output[1:]
    model = sl.onnx.load(proto, name=name)
    (value,) = model.inputs
    feed = {value.name: rng.standard_normal(value.shape).astype("float32")}
    (result,) = model.run(feed)
    (expected,) = ReferenceEvaluator(proto).run(None, feed)
    scale = np.abs(expected).max()
    assert np.ptp(expected) > 0.1 * scale
    np.testing.assert_allclose(result / scale, expected / scale, atol=1e-5)


def one_node(op, inputs, opset=13, constants=(), **attributes):
    """A model with one node, whose last inputs are constants."""
    constants = dict(constants)
    arrays = inputs | {name: np.array(x) for name, x in constants.items()}
    return onnx_reference.node(
        op, arrays, opset=opset, constants=constants, **attributes
    )


I64 = np.int64
F32 = np.float32
NO_ROI, NO_SCALES = ("roi", F32([])), ("scales", F32([]))
# What ONNX's suite (test_onnx_suite.py) does not have: older opsets, and other
# attributes together.
CASES = [
    *(("Pow", [(2, 3)], {"constants": [("e", F32(e))]}) for e in (1, 2, 3)),
    ("Squeeze", [(1, 3, 1)], {"axes": [0], "opset": 11}),
    ("Unsqueeze", [(3, 2)], {"axes": [1], "opset": 11}),
    ("ReduceSum", [(2, 3, 4)], {"constants": [("a", I64([1]))]}),
    ("ReduceSum", [(2, 3, 4)], {"keepdims": 0}),
    ("ReduceMean", [(2, 3, 4)], {"axes": [-1], "keepdims": 0}),
    ("ReduceMean", [(2, 3)], {"opset": 18, "constants": [("a", I64([0]))]}),
    ("ReduceMean", [(2, 3)], {"opset": 18, "noop_with_empty_axes": 1}),
    ("ReduceMax", [(2, 3, 4)], {"axes": [0, 2]}),
    ("ReduceMax", [(2, 3)], {"opset": 18, "keepdims": 0}),
    ("ReduceMin", [(2, 3)], {"opset": 18, "constants": [("a", I64([-1]))]}),
    ("ReduceProd", [(2, 3, 4)], {"axes": [1], "keepdims": 0}),
    ("ReduceL1", [(2, 3)], {}),
    ("ReduceL2", [(2, 3)], {"axes": [1]}),
    ("ReduceLogSumExp", [(2, 3)], {"axes": [1]}),
    ("ReduceSumSquare", [(2, 3)], {"axes": [0]}),
    ("Add", [(2, 3)], {"constants": [("c", F32(0.3))]}),
    ("Mul", [(2, 3)], {"constants": [("c", F32([0.3]))]}),
    ("Softmax", [(2, 3, 4)], {"axis": 2, "opset": 9}),
    ("LogSoftmax", [(2, 3, 4)], {"axis": 2, "opset": 9}),
    ("MeanVarianceNormalization", [(2, 3, 4, 5)], {}),
    ("MeanVarianceNormalization", [(2, 3, 4, 5)], {"axes": [2, -1]}),
    ("Conv", [(1, 4, 7, 8), (6, 2, 3, 2), (6,)], {"group": 2,
     "strides": [2, 1], "pads": [1, 0, 2, 1], "dilations": [1, 2]}),
    ("Conv", [(1, 2, 7, 8), (3, 2, 3, 2)], {"auto_pad": "SAME_UPPER",
     "strides": [2, 2]}),
    ("Conv", [(1, 2, 7, 8), (3, 2, 4, 2)], {"auto_pad": "SAME_LOWER"}),
    ("ConvTranspose", [(1, 3, 4, 5), (3, 2, 3, 2), (2,)], {"strides": [2, 1],
     "pads": [1, 0, 0, 1], "dilations": [1, 2], "output_padding": [1, 0]}),
    ("ConvTranspose", [(1, 2, 4, 5), (2, 1, 3, 2)], {"group": 2,
     "strides": [2, 2]}),
    ("ConvTranspose", [(1, 3, 4, 5), (3, 2, 2, 2), (2,)], {"strides": [2, 2]}),
    ("ConvTranspose", [(1, 3, 4, 5), (3, 2, 3, 4)], {"strides": [2, 1],
     "auto_pad": "SAME_UPPER"}),
    ("ConvTranspose", [(1, 3, 4, 5), (3, 2, 3, 4)], {"strides": [2, 1],
     "auto_pad": "SAME_LOWER"}),
    ("Resize", [(1, 2, 4, 5)], {"constants": [NO_ROI,
     ("s", F32([1, 1, 2, 1.5]))], "mode": "linear"}),
    ("Resize", [(1, 2, 4, 5)], {"constants": [NO_ROI, NO_SCALES,
     ("s", I64([1, 2, 3, 9]))], "mode": "cubic", "exclude_outside": 1}),
    ("Resize", [(1, 2, 4, 5)], {"constants": [NO_ROI,
     ("s", F32([2, 3]))], "axes": [2, 3], "opset": 19,
     "coordinate_transformation_mode": "half_pixel_symmetric"}),
    ("Resize", [(1, 2, 6, 5)], {"constants": [NO_ROI, NO_SCALES,
     ("s", I64([9, 7]))], "axes": [2, 3], "opset": 18, "mode": "linear",
     "keep_aspect_ratio_policy": "not_larger"}),
    ("BatchNormalization", [(2, 3, 4), (3,), (3,), (3,), (3,)],
     {"epsilon": 1e-3, "opset": 15}),
    ("Slice", [(4, 5)], {"starts": [1], "ends": [3], "axes": [1], "opset": 9}),
]  # fmt: skip


@pytest.mark.parametrize(
    "op, shapes, options", CASES, ids=[f"{c[0]}{i}" for i, c in enumerate(CASES)]
)
def test_a_node_equals_the_reference(op, shapes, options, rng):
    inputs = {
        f"x{i}": rng.uniform(0.1, 2, shape).astype("float32")
        for i, shape in enumerate(shapes)
    }
    compare(one_node(op, inputs, **options), inputs)


# Results for which the reference differs from the specification.


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_softmax_takes_all_dims_behind_the_axis_up_to_opset_12(axis, rng):
    x = rng.standard_normal((2, 3, 4)).astype("float32")
    rows = np.exp(x.reshape(int(np.prod(x.shape[:axis])), -1))
    expected = (rows / rows.sum(axis=1, keepdims=True)).reshape(x.shape)
    (result,) = run("Softmax", [x], opset=11, axis=axis)
    np.testing.assert_allclose(result, expected, rtol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 9])
def test_lrn(size, rng):
    x = rng.standard_normal((2, 5, 3, 4)).astype("float32")
    sums = np.zeros(x.shape)
    for c in range(5):
        first, last = c - (size - 1) // 2, c + size // 2
        sums[:, c] = (x[:, max(first, 0) : last + 1] ** 2).sum(axis=1)
    expected = x / (2 + 0.5 / size * sums) ** 0.6
    options = {"size": size, "alpha": 0.5, "beta": 0.6, "bias": 2.0}
    (result,) = run("LRN", [x], **options)
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_resize_takes_sizes_that_are_computed(rng):
    model = loaded(
        """(float[n, c, hx, wx] x, float[n, c, hlike, wlike] like) => (y)
        <int64[1] two = {2}, int64[1] four = {4}> {
            shape = Shape (like)
            sizes = Slice (shape, two, four)
            y = Resize <axes = [2, 3]> (x, , , sizes)
        }"""
    )
    x = rng.standard_normal((1, 3, 4, 5)).astype("float32")
    (result,) = model.run({"x": x, "like": np.zeros((1, 3, 8, 15), "float32")})
    np.testing.assert_array_equal(result, x.repeat(2, axis=2).repeat(3, axis=3))


def test_names_shapes_and_metadata_survive():
    proto = one_node("Relu", {"x": np.zeros((1, 3), "float32")})
    proto.producer_name = "somebody"
    dim = proto.graph.input[0].type.tensor_type.shape.dim[0]
    dim.dim_param = "batch"
    helper.set_model_props(proto, {"character": "äb\nc"})
    model = sl.onnx.load(proto)
    assert model.inputs == [("x", sl.float32, ("batch", 3))]
    assert model.outputs[0].name == "y"
    assert model.metadata.producer_name == "somebody"
    assert model.metadata.opsets == {"": 13}
    assert model.metadata.properties == {"character": "äb\nc"}
    (op,) = model.program._blocks()[0]["ops"]
    assert op["file"] == "node the_node (Relu) of the ONNX model"
    for rows in (1, 5):
        (y,) = model.run({"x": np.full((rows, 3), -1, "float32")})
        assert y.shape == (rows, 3) and not y.any()


def test_functions_of_the_model_equal_the_reference(rng):
    model = parsed(
        """
        <ir_version: 8, opset_import: ["": 18, "mine": 1]>
        net (float[N, 4] x, float[4, 3] w, float[3] b) => (float[N, 3] y, float[N, 3] z)
        {
            h = mine.dense <alpha = 0.3> (x, w, b)
            y, z = mine.twice (h, b)
        }
        <domain: "mine", opset_import: ["": 18]>
        dense <alpha: float = 0.01> (x, w, b) => (y) {
            h = MatMul(x, w)
            s = Add(h, b)
            y = LeakyRelu <alpha: float = @alpha> (s)
        }
        <domain: "mine", opset_import: ["": 18, "mine": 1]>
        twice (x, b) => (y, z) {
            eye = Constant <value = float[3, 3] {1, 0, 0, 0, 1, 0, 0, 0, 1}> ()
            h = mine.dense (x, eye, b)
            y = mine.dense (h, eye, b)
            least = ReduceMin <keepdims = 0> (h)
            zero = Constant <value_float = 0.0> ()
            positive = Greater(least, zero)
            z = If (positive) <
                then_branch = t () => (float[N, 3] h1) { h1 = Neg(h) },
                else_branch = e () => (float[N, 3] h1) {
                    h1 = mine.dense <alpha = 0.5> (h, eye, b)
                }
            >
        }
        """
    )
    feeds = {
        name: rng.standard_normal(shape).astype("float32")
        for name, shape in [("x", (5, 4)), ("w", (4, 3)), ("b", (3,))]
    }
    # The reference cannot run functions with graphs in them.
    inlined = inliner.inline_local_functions(model)
    wanted = ReferenceEvaluator(inlined).run(None, feeds)
    loaded = sl.onnx.load(model)  # as its bytes
    for got, want in zip(loaded.run(feeds), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_unsupported_nodes_are_listed_all_at_once():
    with pytest.raises(sl.UnimplementedError) as raised:
        loaded(
            """(float[1, 3] x) => (y) {
                y = Relu (x)
                [my_split] z = StringSplit (x)
                [my_concat] t = StringConcat (x)
            }"""
        )
    for fragment in (
        "2 of the nodes", "my_split (StringSplit)", "my_concat (StringConcat)"
    ):  # fmt: skip
        assert fragment in str(raised.value)


def test_a_refused_model_leaves_nothing_behind():
    scope = sl.Scope()
    x, w = np.zeros((1, 3), "float32"), np.zeros((4, 2), "float32")
    proto = one_node("Add", {"x": x}, constants={"w": w})
    with pytest.raises(sl.InvalidArgumentError, match="the_node"):
        sl.onnx.load(proto, scope=scope)
    assert scope.names() == []


def test_limits_are_those_of_the_caller():
    with pytest.raises(sl.ResourceExhaustedError, match="memory_bytes"):
        loaded(
            """(float[1000000, 1000] x) => (int64 n) {
                list = SplitToSequence (x)
                n = SequenceLength (list)
            }"""
        )
    small = parsed("(float[2] x) => (float[2] y) { y = Relu (x) }")
    none = {"memory_bytes": 0, "memory_bytes_per_file_byte": 0}
    with pytest.raises(sl.ResourceExhaustedError, match="0 are left of the 0"):
        sl.onnx.load(small, limits=none)
    assert sl.onnx.load(small, limits={"folded_operations": 0.0}).outputs
    for limits in ({"memory": 1}, {"memory_bytes": -1}, {1: 1}, "none"):
        with pytest.raises(sl.InvalidArgumentError, match="limits"):
            sl.onnx.load(small, limits=limits)
    with pytest.raises(sl.InvalidArgumentError, match="limits: memory_bytes"):
        sl.onnx.load(small, limits={"memory_bytes": "all"})


def test_external_data_is_read_beside_the_model(tmp_path):
    x = {"x": np.ones((1, 3), "float32")}
    weights = np.arange(6, dtype="float32").reshape(2, 3)
    proto = one_node("Add", x, constants={"w": weights})
    path = tmp_path / "net.onnx"
    options = {"save_as_external_data": True, "size_threshold": 0}
    onnx.save(proto, path, location="w.bin", **options)
    (result,) = sl.onnx.load(path).run(x)
    np.testing.assert_array_equal(result, weights + 1)
    data = path.read_bytes()
    (result,) = sl.onnx.load(data, folder=tmp_path).run(x)
    with pytest.raises(sl.InvalidArgumentError, match="folder"):
        sl.onnx.load(data)


@pytest.mark.parametrize(
    "source, error",
    [
        (b"", sl.InvalidArgumentError),
        (b"no model", sl.DataLossError),
        ("/nonexistent.onnx", sl.NotFoundError),
        (3, sl.InvalidArgumentError),
    ],
)
def test_what_is_no_model_is_refused(source, error):
    with pytest.raises(error):
        sl.onnx.load(source)
