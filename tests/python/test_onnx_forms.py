"""Forms of models and operators that exporters write, some of them long ago."""

import numpy as np
import pytest

import sluice as sl

onnx = pytest.importorskip("onnx")
import onnx_reference  # noqa: E402
from onnx_reference import compare, floats, loaded, parsed, run  # noqa: E402


def close(got, want):
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


# Sizes that are known only when the model runs.


@pytest.mark.parametrize("size", [6, 7])
@pytest.mark.parametrize(
    "opset, options", [(2, {}), (11, {}), (13, {}), (18, {"num_outputs": 3})]
)
def test_an_open_size_is_split_into_equal_parts(opset, options, size, rng):
    x = floats(rng, 2, size)
    outputs = ("a", "b", "c")
    parts = run("Split", [x], opset, outputs, False, axis=1, **options)
    chunk = -(-size // 3)
    for number, part in enumerate(parts):
        close(part, x[:, number * chunk : (number + 1) * chunk])


def test_fewer_outputs_than_parts_are_split_from_an_open_size(rng):
    x = floats(rng, 8, 3)
    (a, b) = run("Split", [x], 18, ("a", "b"), False, num_outputs=4)
    close(a, x[:2])
    close(b, x[2:4])


STFT = """(float[batch, length{last}] x) => (y)
<int64 step = {{3}}, int64 size = {{8}}, float[8] window = {{1, 2, 3, 4, 4, 3, 2, 1}}>
{{ y = STFT (x, step, {more}) }}"""


@pytest.mark.parametrize("more", ["window", "window, size", ", size"])
def test_a_signal_of_open_length_is_transformed(more, rng):
    x = floats(rng, 2, 21, 1)
    proto = parsed(STFT.format(last=", 1", more=more))
    (y,) = compare(proto, {"x": x}, atol=1e-5)
    (flat,) = loaded(STFT.format(last="", more=more)).run({"x": x[..., 0]})
    np.testing.assert_array_equal(flat, y)


def test_a_step_and_a_length_may_be_fed(rng):
    x = floats(rng, 1, 20, 1)
    step, length = np.array(4), np.array(8)
    (y,) = run("STFT", [x, step, None, length], 17, known=False)
    (z,) = run("STFT", [x, step, None, length], 17)
    assert y.shape == (1, 4, 5, 2)
    np.testing.assert_array_equal(y, z)


def nearest(x, scale, place):
    """The elements of dims 2 and 3 that `place(index, scale)` names."""
    for axis, by in zip((2, 3), scale):
        size = int(x.shape[axis] * by)
        index = place(np.arange(size), by).astype(int)
        x = np.take(x, index.clip(0, x.shape[axis] - 1), axis)
    return x


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    "rounding, rounded",
    [
        ("floor", np.floor),
        ("round_prefer_floor", lambda at: np.ceil(at - 0.5)),
    ],
)
def test_tensorflows_half_pixels(rounding, rounded, known, rng):
    x = floats(rng, 1, 2, 4, 5)
    for scale in [2, 3], [1.5, 0.5]:
        scales = np.array([1, 1, *scale], "float32")
        (y,) = run(
            "Resize",
            [x, np.zeros(0, "float32"), scales],
            11,
            known=known,
            mode="nearest",
            nearest_mode=rounding,
            coordinate_transformation_mode="tf_half_pixel_for_nn",
        )
        close(y, nearest(x, scale, lambda j, by: rounded((j + 0.5) / by)))


@pytest.mark.parametrize("scale", [[2, 3], [0.5, 0.75], [2, 0.5], [0.6, 1.5]])
@pytest.mark.parametrize("constants", [("x1",), ()])
def test_early_resizes_by_scales(scale, constants, rng):
    x = floats(rng, 1, 2, 4, 5)
    scales = np.array([1, 1, *scale], "float32")
    inputs = {"x0": x, "x1": scales}
    model = onnx_reference.node(
        "Resize", inputs, opset=10, known=False, constants=constants
    )
    feed = {name: inputs[name] for name in inputs if name not in constants}
    (y,) = sl.onnx.load(model).run(feed)

    def place(j, by):
        return np.ceil(j / by) if by < 1 else np.floor(j / by)

    close(y, nearest(x, np.float32(scale), place))


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("size", [6, 7])
def test_windows_that_keep_an_open_size(auto_pad, size, rng):
    x, w = floats(rng, 1, 2, size, size + 1), floats(rng, 3, 2, 3, 3)
    sums = np.array([(-n % 2) + 1 for n in x.shape[2:]])
    pads = sums // 2, sums - sums // 2
    if auto_pad == "SAME_LOWER":
        pads = pads[::-1]
    windows = {"kernel_shape": [3, 3], "strides": [2, 2]}
    for op, inputs in ("Conv", [x, w]), ("MaxPool", [x]):
        (open_,) = run(op, inputs, known=False, auto_pad=auto_pad, **windows)
        (known,) = run(op, inputs, pads=np.concatenate(pads), **windows)
        close(open_, known)


def test_a_computed_shape_may_have_zeros():
    model = parsed(
        """(float[n, m] x, int64[2] shape) => (y) {
            y = Reshape <allowzero = 1> (x, shape)
        }"""
    )
    feed = {"x": np.zeros((0, 3), "float32"), "shape": np.array([7, 0])}
    assert sl.onnx.load(model).run(feed)[0].shape == (7, 0)
    feed = {"x": np.zeros((2, 3), "float32"), "shape": np.array([3, 2])}
    assert sl.onnx.load(model).run(feed)[0].shape == (3, 2)


# Ranks that differ.

BRANCHES = """(float[n, 1, 4] x, float[4, 2] w, float[4] scale) => (y)
<int64 zero = {{0}}, int64 one = {{1}}, int64[2] flat = {{-1, 4}}{more}> {{
    shape = Shape (x)
    size = Gather (shape, zero)
    single = Equal (size, one)
    h = If (single) <
        then_branch = same () => (float[a, b, c] r) {{ r = Identity (x) }},
        else_branch = flatten () => (float[d, e] s) {{ s = Reshape (x, flat) }}
    >
    y = {last}
}}"""


def branch_feed(rng):
    return {
        "x": floats(rng, 3, 1, 4),
        "w": floats(rng, 4, 2),
        "scale": floats(rng, 4),
    }


def test_an_operator_of_one_rank_may_follow_branches_of_several(rng):
    feed = branch_feed(rng)
    text = BRANCHES.format(more="", last="Gemm (h, w)")
    (y,) = loaded(text).run(feed)
    close(y, feed["x"][:, 0] @ feed["w"])
    with pytest.raises(sl.InvalidArgumentError, match="Gemm"):
        loaded(text).run(feed | {"x": floats(rng, 1, 1, 4)})


@pytest.mark.parametrize(
    "last",
    ["LayerNormalization (h, scale)", "SimplifiedLayerNormalization (h, scale)"],
)
def test_rows_of_any_rank_are_normalized(last, rng):
    text = BRANCHES.format(more="", last=last)
    feed = branch_feed(rng)
    (y,) = loaded(text).run(feed)
    rows = feed["x"].reshape(3, 4)
    if last.startswith("Layer"):
        rows = rows - rows.mean(-1, keepdims=True)
    means = (rows**2).mean(-1, keepdims=True)
    close(y, rows / np.sqrt(means + 1e-5) * feed["scale"])
    feed["x"] = floats(rng, 1, 1, 4)
    assert loaded(text).run(feed)[0].shape == (1, 1, 4)


def test_a_rank_that_the_model_states_is_checked(rng):
    feed = branch_feed(rng)
    last = "Hardmax (h)"
    with pytest.raises(sl.UnimplementedError, match="rank of input 0"):
        loaded(BRANCHES.format(more="", last=last))
    compare(parsed(BRANCHES.format(more=", float[n, 4] h", last=last)), feed)
    wrong = loaded(BRANCHES.format(more=", float[n, 1, 4] h", last=last))
    with pytest.raises(sl.InvalidArgumentError, match="Hardmax"):
        wrong.run(feed)


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_a_loop_may_begin_with_a_placeholder(trips, rng):
    model = loaded(
        """(float[3] x, int64 trips) => (y) <float zero = {0}> {
            y = Loop (trips, , zero) <
                body = body (int64 i, bool yes, float[n] carried)
                    => (bool no, float[m] next) {
                    next = Add (carried, x)
                    no = Identity (yes)
                }
            >
        }"""
    )
    x = floats(rng, 3)
    (y,) = model.run({"x": x, "trips": np.array(trips)})
    close(y, trips * x if trips else np.float32(0))


@pytest.mark.parametrize("yes", [True, False])
def test_conditions_of_one_element_may_have_a_dim(yes):
    model = loaded(
        """(float[2] x, bool[1] yes, int64[1] trips) => (y, z) {
            y = If (yes) <
                then_branch = t () => (float[2] a) { a = Neg (x) },
                else_branch = e () => (float[2] b) { b = Abs (x) }
            >
            z = Loop (trips, yes, x) <
                body = body (int64[1] i, bool[1] c, float[2] carried)
                    => (bool[1] d, float[2] next) {
                    next = Add (carried, x)
                    d = Identity (c)
                }
            >
        }"""
    )
    x = np.float32([1, -2])
    feed = {"x": x, "yes": np.array([yes]), "trips": np.array([2])}
    y, z = model.run(feed)
    close(y, -x if yes else np.abs(x))
    close(z, 3 * x if yes else x)


# Models as a whole.


def test_of_several_opsets_the_last_one_counts(rng):
    model = parsed("(float[2, 3, 4] x) => (y) { y = Softmax (x) }", 13)
    x = floats(rng, 2, 3, 4)
    (rows,) = sl.onnx.load(model).run({"x": x})
    close(rows.sum(-1), np.ones((2, 3), "float32"))
    model.opset_import.add(domain="ai.onnx", version=11)
    (wholes,) = sl.onnx.load(model).run({"x": x})
    close(wholes.sum((1, 2)), np.ones(2, "float32"))


def test_a_function_keeps_its_opset(rng):
    model = parsed(
        """
        <ir_version: 8, opset_import: ["": 13, "mine": 1]>
        net (float[2, 3, 4] x) => (y, z) {
            y = mine.wholes (x)
            z = Softmax (x)
        }
        <domain: "mine", opset_import: ["": 11]>
        wholes (x) => (y) { y = Softmax (x) }
        """
    )
    y, z = sl.onnx.load(model).run({"x": floats(rng, 2, 3, 4)})
    close(y.sum((1, 2)), np.ones(2, "float32"))
    close(z.sum(-1), np.ones((2, 3), "float32"))


def test_nodes_in_any_order_and_initialisers_that_are_inputs(rng):
    model = parsed(
        """(float[3] x, float[3] w) => (y) {
            y = Add (h, w)
            h = Neg (x)
        }""",
        w=np.float32([1, 2, 3]),
    )
    x = floats(rng, 3)
    (y,) = sl.onnx.load(model).run({"x": x})
    close(y, np.float32([1, 2, 3]) - x)


def test_all_that_is_missing_is_in_one_error():
    model = parsed(
        """(seq(float[2]) list, sparse_tensor(float[2]) text, float[2] x) => (y, z) {
            y = SequenceAt (list, text)
            [odd] z = ImageDecoder (x)
        }"""
    )
    with pytest.raises(sl.UnimplementedError) as raised:
        sl.onnx.load(model)
    for part in (
        "2 of the inputs and 1 of the nodes",
        "input list of the graph is a sequence",
        "input text",
        "node odd (ImageDecoder): there is no such operator",
        "1 node after them not tried",
    ):
        assert part in str(raised.value)


def test_a_sequence_may_be_fed_and_fetched(rng):
    model = parsed(
        """(seq(float[n]) list, float[m] x) => (y, seq(float[k]) all) {
            all = SequenceInsert (list, x)
            y = ConcatFromSequence <axis = 0> (all)
        }"""
    )
    model = sl.onnx.load(model, sequence_lengths={"list": 2})
    parts, x = [floats(rng, 2), floats(rng, 3)], floats(rng, 1)
    y, *rest = model.run({"list": parts, "x": x})
    close(y, np.concatenate([*parts, x]))
    assert [value.name for value in model.outputs][1:] == [
        f"all[{i}]" for i in range(3)
    ]
    for got, want in zip(rest, [*parts, x], strict=True):
        close(got, want)


# Operators before opset 7.

X = np.arange(24, dtype="float32").reshape(2, 3, 4) - 7
CHANNELS = np.float32([2, 3, 5])
OLD = [
    ("Add", 6, [X, CHANNELS], {"broadcast": 1, "axis": 1}, X + CHANNELS[:, None]),
    ("Mul", 1, [X, X[0, 0]], {"broadcast": 1, "consumed_inputs": [0, 0]}, X * X[0, 0]),
    ("Div", 6, [np.array([-7]), np.array([2])], {}, np.array([-3])),
    ("Greater", 6, [X, CHANNELS], {"broadcast": 1, "axis": -2}, X > CHANNELS[:, None]),
    ("Sub", 6, [X, X], {}, X - X),
    ("PRelu", 6, [X, CHANNELS], {}, np.where(X < 0, X * CHANNELS[:, None], X)),
    ("PRelu", 6, [X, CHANNELS[:1]], {}, np.where(X < 0, X * 2, X)),
    ("Gemm", 6, [X[0], X[0].T, CHANNELS], {"broadcast": 1}, X[0] @ X[0].T + CHANNELS),
    ("Dropout", 6, [X], {"is_test": 1}, X),
    ("Relu", 1, [X], {"consumed_inputs": [0]}, np.maximum(X, 0)),
    ("Cast", 1, [X], {"to": "INT32"}, X.astype("int32")),
    ("Cast", 6, [X], {"to": 6}, X.astype("int32")),
    ("Concat", 1, [X, X], {}, np.concatenate([X, X], 1)),
    ("Concat", 4, [X, X], {"axis": 0}, np.concatenate([X, X], 0)),
    ("Reshape", 1, [X], {"shape": [0, -1]}, X.reshape(2, -1)),
    ("Pad", 1, [X[0]], {"paddings": [0, 1, 2, 0]}, np.pad(X[0], [(0, 2), (1, 0)])),
    ("Max", 1, [X, -X], {}, np.abs(X)),
    ("Sum", 6, [X, X], {}, 2 * X),
    ("Selu", 1, [X], {}, np.where(X > 0, 1.0507 * X, 1.0507 * 1.6732 * np.expm1(X))),
    ("Affine", 1, [X], {"alpha": 2.0, "beta": 1.0}, 2 * X + 1),
    ("ScaledTanh", 1, [X], {"alpha": 2.0, "beta": 0.5}, 2 * np.tanh(X / 2)),
    ("ImageScaler", 1, [X[None]], {"scale": 2.0, "bias": [1.0, 2.0]}, 2 * X[None] + np.float32([1, 2])[:, None, None]),
    ("Upsample", 1, [X[None]], {"height_scale": 2.0, "width_scale": 3.0}, X[None].repeat(2, 2).repeat(3, 3)),
]  # fmt: skip


@pytest.mark.parametrize(
    "op, opset, inputs, options, expected",
    OLD,
    ids=[f"{row[0]}{row[1]}_{i}" for i, row in enumerate(OLD)],
)
def test_operators_of_old_opsets(op, opset, inputs, options, expected):
    (y,) = run(op, inputs, opset, **options)
    assert y.dtype == expected.dtype or y.dtype.kind == "f"
    close(y, expected)


def test_tiles_of_opset_1_are_floats():
    inputs = {"x": X, "tiles": np.float32(2), "axis": np.float32(1)}
    model = onnx_reference.node("Tile", inputs, opset=1, constants=["tiles", "axis"])
    close(sl.onnx.load(model).run({"x": X})[0], np.tile(X, (1, 2, 1)))


def test_a_batch_norm_of_an_old_opset_does_not_train(rng):
    x = floats(rng, 2, 3, 4)
    scale, bias, mean = (floats(rng, 3) for _ in range(3))
    variance = rng.uniform(0.5, 2, 3).astype("float32")
    (y,) = run("BatchNormalization", [x, scale, bias, mean, variance], 6)
    columns = (v[:, None] for v in (scale, bias, mean, variance))
    scale, bias, mean, variance = columns
    close(y, (x - mean) / np.sqrt(variance + 1e-5) * scale + bias)


# Operators of their own.


@pytest.mark.parametrize("known", [True, False, None])
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("moved", [True, False])
def test_regions_are_resized(moved, mode, known, rng):
    inputs = {
        "x": floats(rng, 2, 3, 9, 12),
        "rois": np.float32(
            [[1, 2, 8, 7], [0, 0, 30, 20], [5.5, 3, 5.75, 3.25]]
        ),
        "images": np.array([0, 1, 1]),
    }
    options = {
        "mode": mode,
        "output_height": 3,
        "output_width": 2,
        "sampling_ratio": 2,
        "spatial_scale": 0.5,
    }
    coordinates = "half_pixel" if moved else "output_half_pixel"
    model = onnx_reference.node(
        "RoiAlign",
        inputs,
        opset=16,
        known=known,
        coordinate_transformation_mode=coordinates,
        **options,
    )
    (y,) = compare(model, inputs)
    if not moved:  # the only coordinates before opset 16
        (z,) = run("RoiAlign", inputs.values(), 10, known=known, **options)
        np.testing.assert_array_equal(y, z)


@pytest.mark.parametrize("known", [True, False])
def test_deformed_windows(known, rng):
    inputs = {
        "x": floats(rng, 2, 4, 6, 7),
        "w": floats(rng, 6, 2, 3, 2),
        "offset": floats(rng, 2, 24, 3, 8),
        "bias": floats(rng, 6),
        "mask": floats(rng, 2, 12, 3, 8),
    }
    model = onnx_reference.node(
        "DeformConv",
        inputs,
        opset=19,
        known=known,
        group=2,
        offset_group=2,
        pads=[0, 1, 1, 1],
        strides=[2, 1],
        kernel_shape=[3, 2],
    )
    compare(model, inputs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("axis", [-2, 1])
def test_caches_are_written(axis, mode, known, rng):
    cache, update = floats(rng, 2, 6, 6, 3), floats(rng, 2, 6, 2, 3)
    if axis == 1:
        cache, update = cache.swapaxes(1, 2), update.swapaxes(1, 2)
    first = np.array([5, 3] if mode == "circular" else [4, 1])
    inputs = {"cache": cache, "update": update, "first": first}
    model = onnx_reference.node(
        "TensorScatter", inputs, opset=24, known=known, mode=mode, axis=axis
    )
    compare(model, inputs)
    del inputs["first"]
    model = onnx_reference.node(
        "TensorScatter", inputs, opset=24, known=known, mode=mode, axis=axis
    )
    compare(model, inputs)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("size", [None, [2, 3, 11, 9]])
def test_maxima_are_put_back(size, known, rng):
    x = floats(rng, 2, 3, 9, 8)
    options = {"kernel_shape": [3, 2], "strides": [2, 3], "pads": [1, 0, 1, 0]}
    y, where = run("MaxPool", [x], 12, ("y", "where"), **options)
    inputs = {"y": y, "where": where}
    if size:
        inputs["size"] = np.array(size)
    model = onnx_reference.node(
        "MaxUnpool", inputs, ("z",), 11, known, [], **options
    )
    compare(model, inputs)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_random_numbers(dtype, rng):
    number = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    options = {"shape": [100, 200], "dtype": number, "seed": 3.5}
    model = onnx_reference.node("RandomNormal", {}, mean=2.0, scale=3.0, **options)
    model = sl.onnx.load(model)
    (x,), (again,) = model.run({}), model.run({})
    assert x.dtype == dtype and x.shape == (100, 200)
    assert not np.array_equal(x, again)
    wide = x.astype("float64")
    assert abs(wide.mean() - 2) < 0.1 and abs(wide.std() - 3) < 0.1
    (x,) = run("RandomUniformLike", [x], known=False, low=-1.0, high=3.0)
    assert x.dtype == dtype and x.shape == (100, 200)
    assert x.min() >= -1 and x.max() <= 3
    assert abs(x.astype("float64").mean() - 1) < 0.05


def test_draws():
    p = np.float32([[0, 0.25, 1]]).repeat(4000, 0)
    (drawn,) = run("Bernoulli", [p], known=False, dtype=6)
    assert drawn.dtype == "int32"
    shares = drawn.mean(0)
    assert shares[0] == 0 and shares[2] == 1 and abs(shares[1] - 0.25) < 0.05
    logs = np.log(np.float32([[0.1, 0.6, 0.3], [1e-9, 1e-9, 1]]))
    (classes,) = run("Multinomial", [logs], sample_size=4000)
    assert classes.dtype == "int32" and classes.shape == (2, 4000)
    shares = np.bincount(classes[0], minlength=3) / 4000
    np.testing.assert_allclose(shares, [0.1, 0.6, 0.3], atol=0.05)
    assert (classes[1] == 2).all()


def test_optional_values_of_a_graph(rng):
    model = loaded(
        """(float[3] x) => (y, yes, no) {
            some = Optional (x)
            y = OptionalGetElement (some)
            yes = OptionalHasElement (some)
            no = OptionalHasElement ()
        }"""
    )
    x = floats(rng, 3)
    y, yes, no = model.run({"x": x})
    close(y, x)
    assert yes and not no
