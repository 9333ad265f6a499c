"""Compares operators for images and signals with ONNX's reference, beyond what
its suite has."""

import io

import numpy as np
import pytest

import sluice as sl

pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_reference import check, floats, node, run  # noqa: E402


def test_dilated_pools_of_small_integers(rng):
    x = rng.integers(-128, 128, (1, 2, 5, 5)).astype("int8")
    check("MaxPool", [x], kernel_shape=[2, 2], dilations=[2, 3])


def test_where_maxima_are_is_exported(rng):
    program = sl.Program()
    x = program.data("x", [1, 2, 3, 4, 5])
    outputs = ["largest", "where"]
    program.append_op(
        "pool3d",
        {"X": x},
        dict(zip(["Out", "Mask"], outputs)),
        {"ksize": [2, 2, 2]},
    )
    feed = {"x": floats(rng, 1, 2, 3, 4, 5)}
    expected = sl.Executor().run(program, feed, outputs)
    file = io.BytesIO()
    sl.onnx.save(program, file, outputs)
    for got, want in zip(sl.onnx.load(file.getvalue()).run(feed), expected):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    "old, new", [("bilinear", "linear"), ("bicubic", "cubic")]
)
def test_grid_samples_had_other_names_of_modes(old, new, rng):
    feed = {"x": floats(rng, 1, 2, 4, 5), "g": floats(rng, 1, 3, 2, 2)}
    results = []
    for opset, mode in [(16, old), (20, new)]:
        proto = node("GridSample", feed, ["y"], opset, True, mode=mode)
        results += sl.onnx.load(proto.SerializeToString()).run(feed)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("parts", [1, 2])
def test_transforms(parts, rng):
    x = floats(rng, 2, 7, 4, parts)
    for inverse in (0, 1):
        check("DFT", [x], opset=17, inverse=inverse)
        check("DFT", [x, np.array(5)], opset=17, axis=2, inverse=inverse)
        inputs = [x, np.array(9), np.array(-3)]
        check("DFT", inputs, opset=20, inverse=inverse)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize(
    "shape", [(2, 3), (2, 3, 5), (1, 2, 3, 4), (1, 2, 2, 3, 2)]
)
def test_norms_of_whole_images(p, shape, rng):
    x = floats(rng, *shape) * np.float32(1e25)
    (y,) = run("GlobalLpPool", [x], p=p)
    axes = tuple(range(2, len(shape)))
    want = np.sum(np.abs(x.astype("float64")) ** p, axes, keepdims=True) ** (
        1 / p
    )
    assert y.dtype == x.dtype
    np.testing.assert_allclose(y, want, rtol=1e-6)


def test_norms_of_windows_do_not_overflow():
    x = np.array([[[3e30, 4e30, 0]]], "float32")
    (y,) = run("LpPool", [x], kernel_shape=[2])
    np.testing.assert_allclose(y, [[[5e30, 4e30]]], rtol=1e-6)


@pytest.mark.parametrize("exclude", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_downsampling_with_a_filter(mode, exclude, rng):
    x = floats(rng, 1, 2, 7, 9)
    for sizes in ([1, 2, 3, 4], [1, 2, 9, 2]):
        check(
            "Resize",
            [
                x,
                np.zeros(0, "float32"),
                np.zeros(0, "float32"),
                np.array(sizes),
            ],
            opset=18,
            mode=mode,
            antialias=1,
            exclude_outside=exclude,
        )


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_parts_of_images_are_resized(mode, rng):
    x = floats(rng, 1, 1, 6, 7)
    roi = np.array([0, 0, 0.25, -0.2, 1, 1, 0.8, 1.3], "float32")
    check(
        "Resize",
        [x, roi, np.zeros(0, "float32"), np.array([1, 1, 4, 5])],
        opset=18,
        mode=mode,
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=3.5,
    )


# The nodes that torch.onnx.export writes for ZeroPad2d((left, right, top,
# bottom)) before a Conv2d: the pads are reversed at run time.
def padded_convolution(pads, filters):
    numbers = {
        "given": pads,
        "missing": [4],
        "pairs": [-1, 2],
        "start": [-1],
        "end": [-(2**63) + 1],
        "axis": [0],
        "flat": [-1],
    }
    nodes = [
        helper.make_node(
            "Constant",
            [],
            [name],
            value=numpy_helper.from_array(np.array(value, "int64")),
        )
        for name, value in numbers.items()
    ]
    nodes += [
        helper.make_node(
            "ConstantOfShape",
            ["missing"],
            ["zeros"],
            value=numpy_helper.from_array(np.array([0], "int64")),
        ),
        helper.make_node("Concat", ["given", "zeros"], ["all"], axis=0),
        helper.make_node("Reshape", ["all", "pairs"], ["rows"]),
        helper.make_node(
            "Slice", ["rows", "start", "end", "axis", "start"], ["turned"]
        ),
        helper.make_node("Transpose", ["turned"], ["columns"], perm=[1, 0]),
        helper.make_node("Reshape", ["columns", "flat"], ["row"]),
        helper.make_node("Cast", ["row"], ["pads"], to=TensorProto.INT64),
        helper.make_node("Pad", ["x", "pads"], ["padded"], mode="constant"),
        helper.make_node(
            "Conv",
            ["padded", "filters"],
            ["y"],
            kernel_shape=filters.shape[2:],
            pads=[0, 0, 0, 0],
            strides=[2, 2],
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "main_graph",
        [
            helper.make_tensor_value_info(
                "x", TensorProto.FLOAT, ["batch", 3, 9, 8]
            )
        ],
        [
            helper.make_tensor_value_info(
                "y", TensorProto.FLOAT, ["batch", 4, 5, 4]
            )
        ],
        [numpy_helper.from_array(filters, "filters")],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )


def test_a_pad_goes_into_the_convolution_after_it(rng):
    proto = padded_convolution([0, 1, 0, 2], floats(rng, 4, 3, 3, 3))
    x = floats(rng, 2, 3, 9, 8)
    model = sl.onnx.load(proto.SerializeToString())
    (y,) = model.run({"x": x})
    (want,) = ReferenceEvaluator(proto).run(None, {"x": x})
    np.testing.assert_allclose(y, want, rtol=2e-5, atol=1e-6)
    assert "fold_pad: 1 change" in model.executor.explain(model.program, all=True)
