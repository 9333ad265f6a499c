"""Compares operators for images, volumes and signals with ONNX's reference."""

import io

import numpy as np
import pytest

import sluice as sl

pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_reference import check, floats, node, run, small_model  # noqa: E402


def test_convolutions_of_volumes(rng):
    x, filters = floats(rng, 2, 4, 5, 6, 7), floats(rng, 6, 2, 2, 3, 1)
    check(
        "Conv",
        [x, filters, floats(rng, 6)],
        group=2,
        strides=[2, 1, 3],
        pads=[1, 0, 2, 0, 1, 1],
        dilations=[1, 2, 1],
    )
    check("Conv", [x, filters], group=2, auto_pad="SAME_UPPER")
    check("ConvTranspose", [x, floats(rng, 4, 3, 2, 2, 3)], strides=[2, 1, 2])


@pytest.mark.parametrize("shape", [(2, 3, 9), (2, 3, 9, 8), (1, 2, 7, 8, 9)])
def test_pools_with_dilations(shape, rng):
    x, dims = floats(rng, *shape), len(shape) - 2
    how = {
        "kernel_shape": [2, 3, 2][:dims],
        "dilations": [3, 1, 2][:dims],
        "pads": [1, 0, 1][:dims] * 2,
    }
    check("MaxPool", [x], **how)
    check("AveragePool", [x], opset=19, count_include_pad=1, **how)
    check("LpPool", [x], p=3, **how)


def test_dilated_pools_of_small_integers(rng):
    x = rng.integers(-128, 128, (1, 2, 5, 5)).astype("int8")
    check("MaxPool", [x], kernel_shape=[2, 2], dilations=[2, 3])


@pytest.mark.parametrize("order", [0, 1])
def test_where_maxima_are(order, rng):
    x = rng.permutation(60).reshape(1, 1, 10, 6).astype("float32")
    check(
        "MaxPool",
        [x],
        outputs=2,
        kernel_shape=[3, 2],
        strides=[2, 1],
        storage_order=order,
    )


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


def positions(rng, *shape):
    """Points, some of them outside; the reference has them in float32."""
    return (rng.integers(-13, 14, shape) / 8 + 1 / 64).astype("float32")


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [0, 1])
def test_grid_sample(padding, corners, rng):
    how = {"padding_mode": padding, "align_corners": corners}
    image, points = floats(rng, 2, 3, 4, 5), positions(rng, 2, 3, 2, 2)
    for mode in ("linear", "nearest", "cubic"):
        check("GridSample", [image, points], opset=20, mode=mode, **how)
    volume = floats(rng, 1, 2, 3, 4, 5)
    points = positions(rng, 1, 2, 3, 2, 3)
    check("GridSample", [volume, points], opset=20, mode="linear", **how)


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


@pytest.mark.parametrize("size", [(2, 1, 3, 4), (2, 1, 3, 4, 5)])
def test_affine_grid(size, rng):
    dims = len(size) - 2
    theta = floats(rng, 2, dims, dims + 1)
    check("AffineGrid", [theta, np.array(size)], opset=20)
    check("AffineGrid", [theta, np.array(size)], opset=20, align_corners=1)


@pytest.mark.parametrize("parts", [1, 2])
def test_transforms(parts, rng):
    x = floats(rng, 2, 7, 4, parts)
    for inverse in (0, 1):
        check("DFT", [x], opset=17, inverse=inverse)
        check("DFT", [x, np.array(5)], opset=17, axis=2, inverse=inverse)
        inputs = [x, np.array(9), np.array(-3)]
        check("DFT", inputs, opset=20, inverse=inverse)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_resizes_to_fed_sizes_keep_the_ratio(policy, rng):
    x = floats(rng, 1, 2, 6, 5)
    none = np.zeros(0, "float32")
    check(
        "Resize",
        [x, none, none, np.array([9, 7])],
        axes=[2, 3],
        keep_aspect_ratio_policy=policy,
    )


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    "image, block, attributes",
    [
        ((5,), (2,), {}),
        ((5, 6), (2, 3), {"pads": [1, 0, 2, 1], "strides": [2, 1]}),
        ((6, 5), (2, 2), {"dilations": [2, 1], "strides": [1, 3]}),
        ((4, 3, 3), (1, 2, 3), {"pads": [0, 1, 0, 0, 1, 0]}),
    ],
)
def test_images_of_overlapping_blocks(image, block, attributes, known, rng):
    rank = len(image)
    pads = attributes.get("pads", [0] * 2 * rank)
    strides, dilations = (
        attributes.get(name, [1] * rank) for name in ("strides", "dilations")
    )
    blocks = [
        (size + pads[i] + pads[rank + i] - dilations[i] * (block[i] - 1) - 1)
        // strides[i]
        + 1
        for i, size in enumerate(image)
    ]
    x = floats(rng, 2, 3 * np.prod(block), np.prod(blocks))
    want = np.zeros((2, 3, *image), "float32")
    columns = x.reshape(2, 3, *block, *blocks)
    for at in np.ndindex(*block, *blocks):
        place = [
            at[rank + i] * strides[i] + at[i] * dilations[i] - pads[i]
            for i in range(rank)
        ]
        if all(0 <= i < size for i, size in zip(place, image)):
            want[(slice(None), slice(None), *place)] += columns[
                (slice(None), slice(None), *at)
            ]
    constants = {"image": np.array(image), "block": np.array(block)}
    model = small_model(
        [
            helper.make_node(
                "Col2Im", ["x", "image", "block"], ["y"], **attributes
            )
        ],
        {
            "x": (
                TensorProto.FLOAT,
                [2 if known else "n", x.shape[1], x.shape[2] if known else "l"],
            )
        },
        ["y"],
        constants,
    )
    (y,) = model.run({"x": x})
    np.testing.assert_allclose(y, want, rtol=1e-6)


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
