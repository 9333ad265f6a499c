"""Compares operators for images and signals with ONNX's reference, beyond what
its suite has."""

import io

import numpy as np
import pytest

import sluice as sl

pytest.importorskip("onnx")
from onnx_reference import (  # noqa: E402
    check,
    compare,
    floats,
    named,
    node,
    parsed,
    run,
)

NONE = np.zeros(0, "float32")


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
    inputs = floats(rng, 1, 2, 4, 5), floats(rng, 1, 3, 2, 2)
    (y,) = run("GridSample", inputs, 16, mode=old)
    (z,) = run("GridSample", inputs, 20, mode=new)
    np.testing.assert_array_equal(y, z)


# Of an odd padding the larger part is at the end for SAME_UPPER alone.
@pytest.mark.parametrize(
    "auto_pad, first", [("NOTSET", 1), ("SAME_LOWER", 1), ("SAME_UPPER", 0)]
)
def test_transposed_convolutions_are_padded_to_a_size(auto_pad, first, rng):
    inputs = floats(rng, 1, 2, 3, 3), floats(rng, 2, 1, 3, 3)
    (whole,) = run("ConvTranspose", inputs, 11, strides=[2, 2])
    (part,) = run(
        "ConvTranspose", inputs, 11, strides=[2, 2], output_shape=[6, 6], auto_pad=auto_pad
    )
    rows = slice(first, first + 6)
    np.testing.assert_allclose(part, whole[:, :, rows, rows], 1e-5)


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
        inputs = [x, NONE, NONE, np.array(sizes)]
        options = {"antialias": 1, "exclude_outside": exclude}
        check("Resize", inputs, mode=mode, **options)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_parts_of_images_are_resized(mode, rng):
    x = floats(rng, 1, 1, 6, 7)
    roi = np.array([0, 0, 0.25, -0.2, 1, 1, 0.8, 1.3], "float32")
    check(
        "Resize",
        [x, roi, NONE, np.array([1, 1, 4, 5])],
        mode=mode,
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=3.5,
    )


# The nodes that torch.onnx.export writes for ZeroPad2d((left, right, top,
# bottom)) before a Conv2d: the pads are reversed at run time.
PADDED = """(float[batch, 3, 9, 8] x) => (float[batch, 4, 5, 4] y) {
    given = Constant <value = int64[4] {0, 1, 0, 2}> ()
    missing = Constant <value = int64[1] {4}> ()
    pairs = Constant <value = int64[2] {-1, 2}> ()
    start = Constant <value = int64[1] {-1}> ()
    end = Constant <value = int64[1] {-9223372036854775807}> ()
    axis = Constant <value = int64[1] {0}> ()
    flat = Constant <value = int64[1] {-1}> ()
    zeros = ConstantOfShape <value = int64[1] {0}> (missing)
    all = Concat <axis = 0> (given, zeros)
    rows = Reshape (all, pairs)
    turned = Slice (rows, start, end, axis, start)
    columns = Transpose <perm = [1, 0]> (turned)
    row = Reshape (columns, flat)
    pads = Cast <to = 7> (row)
    padded = Pad <mode = "constant"> (x, pads)
    y = Conv <kernel_shape = [3, 3], pads = [0, 0, 0, 0], strides = [2, 2]>
        (padded, filters)
}"""


def test_a_pad_goes_into_the_convolution_after_it(rng):
    proto = parsed(PADDED, 17, filters=floats(rng, 4, 3, 3, 3))
    x = floats(rng, 2, 3, 9, 8)
    compare(proto, {"x": x})
    model = sl.onnx.load(proto)
    model.run({"x": x})
    assert "fold_pad: 1 change" in model.executor.explain(model.program, all=True)


@pytest.mark.parametrize("constants", [(), ("x1",), ("x2",), ("x1", "x2")])
@pytest.mark.parametrize(
    "image, block, attributes",
    [
        ((5,), (3,), {}),
        ((4, 5), (2, 3), {"strides": [2, 1], "pads": [1, 0, 1, 2]}),
        ((5, 4), (2, 2), {"dilations": [3, 1], "pads": [0, 3, 2, 0]}),
        ((3, 4, 3), (2, 1, 3), {"strides": [1, 2, 1]}),
        ((2, 2, 1, 2, 2), (1, 2, 1, 1, 2), {}),
    ],
)
def test_col2im(image, block, attributes, constants, rng):
    rank = len(image)
    dilations = attributes.get("dilations", [1] * rank)
    strides = attributes.get("strides", [1] * rank)
    pads = np.reshape(attributes.get("pads", [0] * 2 * rank), (2, rank))
    padded = np.add(image, pads.sum(0))
    extents = (np.array(block) - 1) * dilations
    counts = (padded - 1 - extents) // strides + 1
    x = floats(rng, 2, 3 * np.prod(block), np.prod(counts))
    inputs = named([x, np.int64(image), np.int64(block)])
    proto = node("Col2Im", inputs, ("y",), 18, True, constants, **attributes)
    feed = {n: v for n, v in inputs.items() if n not in constants}
    (y,) = sl.onnx.load(proto).run(feed)
    expected = np.zeros((2, 3, *padded))
    blocks = x.reshape(2, 3, *block, *counts)
    for element in np.ndindex(*block):
        begin = np.array(element) * dilations
        places = tuple(
            slice(b, b + (c - 1) * s + 1, s)
            for b, c, s in zip(begin, counts, strides, strict=True)
        )
        expected[(..., *places)] += blocks[(slice(None), slice(None), *element)]
    inside = tuple(slice(b, b + n) for b, n in zip(pads[0], image, strict=True))
    np.testing.assert_allclose(
        y, expected[(..., *inside)], rtol=1e-5, atol=1e-6
    )


def test_col2im_refuses_blocks_that_are_not_its_image(rng):
    for count in (3, 6):  # expected: 2 * 2 blocks
        x = floats(rng, 2, 4, count)
        with pytest.raises(sl.InvalidArgumentError):
            run("Col2Im", [x, np.int64([3, 3]), np.int64([2, 2])])
