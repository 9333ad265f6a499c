"""Layers with parameters: their values and the gradients of their parameters
against formulas in NumPy, differentiated numerically in float64.
"""

import math

import numpy as np
import pytest
import refusals
from formulas.of_ops import outputs_of

import sluice as sl

L = sl.layers


def parameters():
    return sl.default_main_program().all_parameters()


def shapes():
    return {p.name: list(p.shape) for p in parameters()}


def randomize(rng):
    """Give all parameters random values, instead of ones and zeros."""
    values = [rng.normal(size=p.shape) for p in parameters()]
    for parameter, value in zip(parameters(), values, strict=True):
        sl.global_scope().set(parameter.name, value)
    return values


def check(exe, rng, build, formula, known=False, **inputs):
    """Compare a layer with a formula of its inputs and its parameters."""
    feed = {n: rng.normal(size=size) for n, size in inputs.items()}
    given = [
        sl.data(n, [*(size[:1] if known else [None]), *size[1:]], "float64")
        for n, size in inputs.items()
    ]
    y = build(*given)
    exe.run(sl.default_startup_program())
    values = randomize(rng)
    want = formula(*feed.values(), *values)
    assert y.shape[1:] == want.shape[1:]
    feed["weights"] = rng.normal(size=want.shape)
    weights = sl.data("weights", want.shape, "float64")
    grads = dict(
        (p.name, g) for p, g in sl.append_backward(L.reduce_sum(y * weights))
    )
    fetched = [y, *(grads[p.name] for p in parameters())]
    got, *grads = exe.run(feed=feed, fetch_list=fetched)
    np.testing.assert_allclose(got, want, 1e-10, 1e-10)
    *arrays, weights = feed.values()
    for i, grad in enumerate(grads):
        direction = rng.normal(size=grad.shape)
        ends = []
        for step in (1e-6, -1e-6):
            moved = list(values)
            moved[i] = values[i] + step * direction
            ends.append((formula(*arrays, *moved) * weights).sum())
        slope = (ends[0] - ends[1]) / 2e-6
        assert abs(slope) > 1e-3
        assert (grad * direction).sum() == pytest.approx(slope, 1e-6, 1e-6)
    return values


def trains(exe, y, feed):
    """Steps of SGD lower a loss, and change every parameter."""
    loss = L.mean(L.square(y - 1.0))
    sl.optimizer.SGD(0.05).minimize(loss)
    exe.run(sl.default_startup_program())
    scope = sl.global_scope()
    before = [scope[p.name].numpy().copy() for p in parameters()]
    losses = [exe.run(feed=feed, fetch_list=[loss])[0] for _ in range(5)]
    assert losses[-1] < losses[0]
    for parameter, old in zip(parameters(), before, strict=True):
        assert (scope[parameter.name].numpy() != old).any(), parameter.name


def normal(x, axes, epsilon=1e-5):
    mean = x.mean(axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(variance + epsilon)


EPSILON = 0.25  # of the ops' cases


def by_case(op, layout="NCHW", **attributes):
    """The formula of the op's case, of X, scale and bias."""

    def formula(x, scale, bias):
        given = {"X": x if layout == "NCHW" else np.moveaxis(x, -1, 1)}
        given |= {"Scale": scale, "Bias": bias}
        if op == "batch_norm":
            attributes["data_format"] = "NCHW"
            given |= {"Mean": 0 * bias, "Variance": 1 + 0 * bias}
        y = outputs_of(op, given, attributes)["Y"]
        return y if layout == "NCHW" else np.moveaxis(y, 1, -1)

    return formula


@pytest.mark.parametrize("axis", [1, 2, -1])
def test_layer_norm(exe, rng, axis):
    def build(x):
        return L.layer_norm(x, begin_norm_axis=axis, epsilon=EPSILON)

    formula = by_case("layer_norm", begin_norm_axis=axis)
    check(exe, rng, build, formula, x=(4, 3, 5))
    size = math.prod((4, 3, 5)[axis:])
    assert shapes() == {"layer_norm_0.w_0": [size], "layer_norm_0.b_0": [size]}


def test_layer_norm_without_scale_or_shift(exe, rng):
    x = sl.data("x", [None, 6])
    plain = L.layer_norm(x, False, False)
    assert shapes() == {}
    positive = L.layer_norm(x, scale=False, act="relu", name="half")
    assert shapes() == {"half.b_0": [6]}
    exe.run(sl.default_startup_program())
    array = rng.random((3, 6), "f4")
    one, two = exe.run(feed={"x": array}, fetch_list=[plain, positive])
    np.testing.assert_allclose(one, normal(array, 1), 1e-4, 1e-5)
    np.testing.assert_array_equal(two, np.maximum(one, 0))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("places", [(), (5,), (3, 2), (2, 3, 2)])
@pytest.mark.parametrize(
    "op, attributes", [("group_norm", {"groups": 2}), ("batch_norm", {})]
)
def test_norms_of_any_rank(exe, rng, op, attributes, places, layout):
    def build(x):
        norm = getattr(L, op)
        return norm(x, epsilon=EPSILON, data_layout=layout, **attributes)

    size = (7, 6, *places) if layout == "NCHW" else (7, *places, 6)
    check(exe, rng, build, by_case(op, layout, **attributes), x=size)
    assert shapes() == {f"{op}_0.w_0": [6], f"{op}_0.b_0": [6]}


@pytest.mark.parametrize("places", [(5,), (3, 2), (2, 3, 2)])
def test_instance_norm(exe, rng, places):
    def build(x):
        return L.instance_norm(x, EPSILON)

    check(exe, rng, build, by_case("instance_norm"), x=(3, 4, *places))
    assert shapes() == {"instance_norm_0.w_0": [4], "instance_norm_0.b_0": [4]}


def test_norms_add_1e_5_to_the_variance(exe):
    x = sl.data("x", [None, 1, 2], "float64")
    norms = [L.batch_norm(x), L.group_norm(x, 1), L.instance_norm(x)]
    exe.run(sl.default_startup_program())
    found = exe.run(feed={"x": np.array([[[0, 0.004]]])}, fetch_list=norms)
    for norm in found:
        np.testing.assert_allclose(norm.ravel()[1], 0.002 / 1.4e-5**0.5, 1e-10)


def test_norms_leave_out_parameters(exe):
    x = sl.data("x", [None, 4, 3])
    L.group_norm(x, 2, param_attr=False, bias_attr=False)
    L.instance_norm(x, param_attr=False, bias_attr=False)
    L.layer_norm(x, param_attr=False, bias_attr=False)
    assert shapes() == {}
    L.group_norm(x, 1, param_attr="shared", bias_attr=False)
    L.group_norm(x, 4, param_attr="shared", bias_attr=False)
    assert shapes() == {"shared": [4]}


def test_batch_norm_keeps_averages_under_given_names(exe, rng):
    names = {"moving_mean_name": "mean", "moving_variance_name": "variance"}
    y = L.batch_norm(sl.data("x", [None, 3]), **names)
    exe.run(sl.default_startup_program())
    feed = {"x": rng.random((8, 3), "f4")}
    exe.run(feed=feed, fetch_list=[y])
    mean, variance = 0.1 * feed["x"].mean(0), 0.9 + 0.1 * feed["x"].var(0)
    with sl.program_guard(sl.Program(), sl.Program()), sl.unique_name.guard():
        x = sl.data("x", [None, 3])
        y = L.batch_norm(x, **names, use_global_stats=True)
        (value,) = exe.run(sl.default_main_program(), feed, [y])
    want = (feed["x"] - mean) / np.sqrt(variance + 1e-5)
    np.testing.assert_allclose(value, want, 1e-4, 1e-5)
    kept = [sl.global_scope()[name].numpy() for name in ("mean", "variance")]
    np.testing.assert_allclose(kept, [mean, variance], 1e-5)


def test_batch_norm_trains_with_averages_that_stay(exe, rng):
    x = sl.data("x", [None, 3])
    y = L.batch_norm(L.fc(x, 4), use_global_stats=True)
    trains(exe, y, {"x": rng.random((8, 3), "f4")})
    assert (sl.global_scope()["batch_norm_0.mean"].numpy() == 0).all()


@pytest.mark.parametrize(
    "mode, places, size",
    [
        ("all", (2, 5), [1]),
        ("element", (2, 5), [3, 2, 5]),
        ("channel", (), [1, 3]),
        ("channel", (5,), [1, 3, 1]),
        ("channel", (2, 5), [1, 3, 1, 1]),
        ("channel", (2, 3, 2), [1, 3, 1, 1, 1]),
    ],
)
def test_prelu(exe, rng, mode, places, size):
    def formula(x, slope):
        return np.where(x < 0, x * slope, x)

    check(exe, rng, lambda x: L.prelu(x, mode), formula, x=(4, 3, *places))
    assert shapes() == {"prelu_0.w_0": size}


def test_prelu_begins_with_a_quarter(exe):
    y = L.prelu(sl.data("x", [None, 2]), "all")
    exe.run(sl.default_startup_program())
    (value,) = exe.run(feed={"x": [[-4, 4]]}, fetch_list=[y])
    np.testing.assert_array_equal(value, [[-1, 4]])


def transposed(x, weight, bias, stride, padding, dilation, groups, output):
    """A transposed convolution whose output has these sizes."""
    sizes = zip(output, x.shape[2:], weight.shape[2:], stride, padding, dilation)
    more = [o - (n - 1) * s + 2 * p - d * (k - 1) - 1 for o, n, k, s, p, d in sizes]
    return outputs_of(
        f"conv{x.ndim - 2}d_transpose",
        {"Input": x, "Filter": weight, "Bias": bias},
        {
            "strides": stride, "paddings": padding, "dilations": dilation,
            "output_padding": more, "groups": groups,
        },
    )["Output"]  # fmt: skip


TRANSPOSED = {
    "plain": ({"filter_size": 3}, (6, 4)),
    "stride": ({"filter_size": (3, 2), "stride": (2, 3)}, (9, 5)),
    "padded": ({"filter_size": 3, "stride": 2, "padding": (1, 0)}, (7, 5)),
    "dilated": ({"filter_size": 2, "dilation": (2, 3)}, (6, 5)),
    "larger": (
        {"filter_size": 3, "stride": 2, "padding": 1, "output_size": (8, 3)},
        (8, 3),
    ),
    "by size": ({"output_size": (9, 5), "stride": 2, "padding": 1}, (9, 5)),
    "by size, dilated": ({"output_size": 9, "dilation": 2, "stride": 2}, (9, 9)),
    "groups": ({"filter_size": 2, "groups": 2}, (5, 3)),
}


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("which", TRANSPOSED)
def test_conv2d_transpose(exe, rng, which, layout):
    options, output = TRANSPOSED[which]
    stride, padding, dilation = (
        np.broadcast_to(options.get(what, default), 2).tolist()
        for what, default in (("stride", 1), ("padding", 0), ("dilation", 1))
    )
    last = layout == "NHWC"

    def formula(x, weight, bias):
        x = np.moveaxis(x, -1, 1) if last else x
        groups = options.get("groups", 1)
        y = transposed(
            x, weight, bias, stride, padding, dilation, groups, output
        )
        return np.moveaxis(y, 1, -1) if last else y

    def build(x):
        return L.conv2d_transpose(x, 6, **options, data_format=layout)

    size = (2, 4, 2, 4) if last else (2, 4, 4, 2)
    weight, _ = check(exe, rng, build, formula, x=size)
    assert list(shapes()) == ["conv2d_transpose_0.w_0", "conv2d_transpose_0.b_0"]
    assert weight.shape[:2] == (4, 6 // options.get("groups", 1))


def test_conv3d_transpose(exe, rng):
    def formula(x, weight, bias):
        windows = (2, 1, 2), (1, 0, 1), [1] * 3
        return transposed(x, weight, bias, *windows, 2, (4, 4, 4))

    def build(x):
        return L.conv3d_transpose(
            x, 4, (4, 4, 4), (3, 3, 2), (1, 0, 1), (2, 1, 2), groups=2
        )

    check(exe, rng, build, formula, x=(2, 4, 2, 2, 3))
    assert shapes()["conv3d_transpose_0.w_0"] == [4, 2, 3, 3, 2]


def test_transposed_convolutions_invert_the_shapes_of_convolutions():
    x = sl.data("x", [None, 3, 11, 8])
    y = L.conv2d(x, 5, 4, stride=3, padding=1)
    assert L.conv2d_transpose(y, 3, (11, 8), 4, 1, 3).shape == x.shape
    z = sl.data("z", [None, 3, 7, 5, 6])
    y = L.conv3d(z, 5, 2, stride=2)
    assert L.conv3d_transpose(y, 3, (7, 5, 6), 2, 0, 2).shape == z.shape


def test_pool3d_over_everything(exe, rng):
    x = sl.data("x", [None, 2, 3, 4, 2])
    y = L.pool3d(x, pool_type="avg", global_pooling=True, pool_padding=1)
    array = rng.random((2, 2, 3, 4, 2), "f4")
    (value,) = exe.run(feed={"x": array}, fetch_list=[y])
    want = array.mean((2, 3, 4), keepdims=True)
    np.testing.assert_allclose(value, want, 1e-6)


def test_bilinear_tensor_product(exe, rng):
    def formula(x, y, weight, bias):
        columns = [(x @ w * y).sum(1) for w in weight]
        return np.tanh(np.stack(columns, 1) + bias)

    def build(x, y):
        return L.bilinear_tensor_product(x, y, 4, act="tanh")

    check(exe, rng, build, formula, x=(5, 3), y=(5, 2))
    assert shapes() == {
        "bilinear_tensor_product_0.w_0": [4, 3, 2],
        "bilinear_tensor_product_0.b_0": [1, 4],
    }


def test_fc_adds_the_products_of_a_list(exe, rng):
    def formula(x, y, first, second, bias):
        return x.reshape(5, 6) @ first + y @ second + bias

    check(exe, rng, lambda x, y: L.fc([x, y], 4), formula, x=(5, 3, 2), y=(5, 2))
    assert shapes() == {"fc_0.w_0": [6, 4], "fc_0.w_1": [2, 4], "fc_0.b_0": [4]}


def test_fc_keeps_all_dims_but_the_last(exe, rng):
    def build(x):
        return L.fc([x], 4, num_flatten_dims=-1, bias_attr=False)

    check(exe, rng, build, lambda x, weight: x @ weight, x=(5, 3, 2))


def test_fc_of_a_list_takes_an_attribute_for_each():
    x = sl.data("x", [None, 3])
    L.fc([x, x], 4, param_attr=["one", "two"], bias_attr=False)
    assert shapes() == {"one": [3, 4], "two": [3, 4]}
    L.fc([x, x], 4, param_attr="both", bias_attr=False)
    assert list(shapes()) == ["one", "two", "both"]


@pytest.mark.parametrize("axis", [1, 3, -1])
def test_maxout_along_an_axis(exe, rng, axis):
    x = sl.data("x", [None, 6, 2, 6])
    y = L.maxout(x, 3, name="largest", axis=axis)
    assert y.name == "largest"
    array = rng.random((2, 6, 2, 6), "f4")
    (value,) = exe.run(feed={"x": array}, fetch_list=[y])
    first = np.moveaxis(array, axis, 1)
    want = first.reshape(2, 2, 3, *first.shape[2:]).max(2)
    np.testing.assert_array_equal(value, np.moveaxis(want, 1, axis))


@pytest.mark.parametrize("how", ["upscale_in_train", "downgrade_in_infer"])
def test_dropout_scales_in_training_or_in_tests(exe, how):
    x = sl.data("x", [1000])
    y = L.dropout(x, 0.25, None, None, dropout_implementation=how)
    test = sl.default_main_program().clone(for_test=True)
    feed = {"x": np.ones(1000, "f4")}
    (trained,) = exe.run(feed=feed, fetch_list=[y])
    (tested,) = exe.run(test, feed, [y])
    up = how == "upscale_in_train"
    kept = np.float32(1 / 0.75 if up else 1)
    assert set(np.unique(trained)) == {0, kept}
    assert (trained > 0).mean() == pytest.approx(0.75, abs=0.06)
    np.testing.assert_allclose(tested, np.full(1000, 1 if up else 0.75), 1e-6)


def test_a_row_for_padding_learns_nothing(exe):
    ids = sl.data("ids", [None], "int64")
    ones = sl.initializer.Constant(1.0)
    y = L.embedding(ids, [3, 2], -1, ones, is_sparse=False)
    loss = L.reduce_sum(y)
    sl.optimizer.SGD(0.5).minimize(loss)
    exe.run(sl.default_startup_program())
    exe.run(feed={"ids": [0, 2, 0]}, fetch_list=[loss])
    table = sl.global_scope()["embedding_0.w_0"].numpy()
    np.testing.assert_array_equal(table, [[0, 0], [1, 1], [1, 1]])


def test_a_network_of_these_layers_trains(exe, rng):
    x = sl.data("x", [None, 4, 4, 4])
    y = L.prelu(L.group_norm(L.conv2d_transpose(x, 6, filter_size=3), 3), "all")
    y = L.prelu(L.instance_norm(y), "channel")
    rows = L.layer_norm(L.fc(y, 5))
    rows = L.batch_norm(L.fc([rows, x], 4))
    y = L.bilinear_tensor_product(rows, L.prelu(rows, "element"), 3)
    assert len(parameters()) == 20
    trains(exe, y, {"x": rng.random((8, 4, 4, 4), "f4")})


def test_ops_of_the_same_names_take_parameters(exe, rng):
    x, scale = sl.data("x", [None, 4, 3]), sl.data("scale", [4])
    y = L.ops.group_norm(x, 2, scale=scale, hint="require variant=plain")
    z = L.ops.prelu(x, scale, axis=1)
    assert shapes() == {}
    feed = {"x": rng.normal(size=(2, 4, 3)).astype("f4"), "scale": [1, 2, 3, 4]}
    group, slope = exe.run(feed=feed, fetch_list=[y, z])
    array, scales = feed["x"], np.arange(1, 5).reshape(4, 1)
    want = normal(array.reshape(2, 2, 6), 2).reshape(2, 4, 3) * scales
    np.testing.assert_allclose(group, want, 1e-4, 1e-5)
    np.testing.assert_allclose(slope, np.where(array < 0, array * scales, array))


def image():
    return sl.data("image", [None, 4, 5, 5])


def open_image():
    return sl.data("open", [None, 4, None, 5])


WRONG = [
    (lambda: L.layer_norm(image(), scale=sl.data("scale", [5])),
     "layer_norm: scale: expected True or False", "ops.layer_norm takes"),
    (lambda: L.layer_norm(image(), shift="no"),
     "layer_norm: shift: expected True or False, got 'no'"),
    (lambda: L.layer_norm(image(), begin_norm_axis=4),
     "layer_norm: begin_norm_axis", "from -4 to 3", "4 (int)"),
    (lambda: L.layer_norm(open_image()),
     "layer_norm_0.w_0 needs a shape that is known", "[None]"),
    (lambda: L.group_norm(image(), 3), "group_norm", "3", "4"),
    (lambda: L.group_norm(image(), 0), "group_norm: groups"),
    (lambda: L.group_norm(image(), 2, data_layout="NCDHW"),
     "group_norm: data_layout: expected 'NCHW' or 'NHWC', got 'NCDHW'"),
    (lambda: L.batch_norm(image(), data_layout="nchw"),
     "batch_norm: data_layout: expected 'NCHW' or 'NHWC', got 'nchw'"),
    (lambda: L.batch_norm(sl.data("x", [None, None, 3])),
     "batch_norm: input: the number of channels must be known"),
    (lambda: L.instance_norm(sl.data("x", [3])),
     "instance_norm: input must have rank 2 or more"),
    (lambda: L.prelu(image(), "every"),
     "prelu: mode: expected 'all', 'channel' or 'element', got 'every'"),
    (lambda: L.prelu(image(), sl.data("slope", [1])),
     "prelu: mode", "sl.layers.ops.prelu takes variables"),
    (lambda: L.prelu(open_image(), "element"),
     "prelu_0.w_0 needs a shape that is known, got [4, None, 5]"),
    (lambda: L.conv2d_transpose(image(), 3),
     "conv2d_transpose: expected filter_size or output_size"),
    (lambda: L.conv2d_transpose(image(), 3, [9, 13], 3, stride=2),
     "conv2d_transpose: output_size[0]: expected from 11 to 12, got 9"),
    (lambda: L.conv2d_transpose(image(), 3, [9, 8], stride=2),
     "conv2d_transpose: output_size[1]: expected 9 or more, got 8"),
    (lambda: L.conv2d_transpose(image(), 3, [6, 5], dilation=2),
     "conv2d_transpose: output_size[0]: expected from 5 to 5, got 6"),
    (lambda: L.conv2d_transpose(open_image(), 3, 9),
     "conv2d_transpose: output_size needs an input of known sizes", "open"),
    (lambda: L.conv2d_transpose(image(), 3, filter_size=[3, 3, 3]),
     "filter_size: expected an integer above 0 or [height", "[3, 3, 3]"),
    (lambda: L.conv2d_transpose(image(), 3, filter_size=3, stride=0),
     "conv2d_transpose: stride: expected an integer above 0", "[0, 0]"),
    (lambda: L.conv2d_transpose(image(), 3, 5, padding=[0]),
     "conv2d_transpose: attribute paddings has 1 entries"),
    (lambda: L.conv2d_transpose(image(), 3, filter_size=3, groups=2),
     "conv2d_transpose: 3 filters cannot be divided into 2 groups"),
    (lambda: L.conv3d_transpose(image(), 3, filter_size=3),
     "conv3d_transpose: input must have rank 5"),
    (lambda: L.pool3d(sl.data("x", [1, 2, 3, None, 4]), global_pooling=True),
     "pool3d: the input's volume", "[3, None, 4]"),
    (lambda: L.bilinear_tensor_product(sl.data("x", [2, 3]), image(), 3),
     "bilinear_tensor_product: y must have rank 2", "image"),
    (lambda: L.fc([], 3), "fc: expected one input or more", "got 0"),
    (lambda: L.fc([image()] * 2, 3, param_attr=["one"]),
     "fc: expected one input or more", "got 2 and 1"),
    (lambda: L.maxout(image(), 2, axis=2),
     "maxout: axis: expected 1, 3 or -1, got 2"),
    (lambda: L.embedding(sl.data("i", [3], "int64"), [5, 2], True),
     "embedding: padding_idx", "True (bool)"),
]  # fmt: skip


test_wrong_arguments_are_named = refusals.rows(WRONG)
