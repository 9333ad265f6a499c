"""Sequence layers against the cases of their ops, with gradients by differences."""

import numpy as np
import pytest
from formulas.differences import gradient_error
from formulas.of_ops import outputs_of

import sluice as sl

layers = sl.layers
LENGTHS = [3, 0, 1, 4]


def sequences(rng, width=3, lengths=LENGTHS):
    return [rng.standard_normal((length, width)) for length in lengths]


def ragged(name, width=3, dtype="float64", levels=1):
    x = sl.data(name, [None, width], dtype, lod_level=levels)
    x.stop_gradient = not x.dtype.is_floating
    return x


def by_case(op, x, inputs=None, **attributes):
    """What the op's case computes of sequences, or of an array: sequences, if
    the op keeps the rows or makes offsets."""
    given = {"X": x} | (inputs or {})
    ends = []
    if isinstance(x, list):
        ends = np.cumsum([0, *map(len, x)])
        given |= {"X": np.concatenate(x), "Offsets": ends}
    found = outputs_of(op, given, attributes)
    out = found["Out"]
    if "OutOffsets" not in found and len(out) != len(given["X"]):
        return out
    return np.split(out, found.get("OutOffsets", ends)[1:-1])


def check(exe, out, feed, expected, gradients=()):
    """Compare sequences with the formula's, and gradients with differences."""
    (got,) = exe.run(feed=feed, fetch_list=[out])
    if isinstance(expected, list):
        assert len(got.sequences()) == len(expected)
        for one, other in zip(got.sequences(), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    if not gradients:
        return
    # Different numbers for all elements, so that none are interchanged.
    loss = layers.reduce_sum(layers.square(layers.sin(out)))
    assert gradient_error(exe, loss, dict(feed), gradients) < 1e-7


LAYERS = {  # a layer of x, its op and attributes
    "reverse": (layers.sequence_reverse, "sequence_reverse", {}),
    "softmax": (layers.sequence_softmax, "sequence_softmax", {}),
    "reshape": (
        lambda x: layers.sequence_reshape(x, 1), "sequence_reshape", {"new_dim": 1}
    ),
    "first": (
        layers.sequence_first_step, "sequence_pool",
        {"pooltype": "FIRST", "pad_value": 0.0},
    ),
    "last": (
        layers.sequence_last_step, "sequence_pool",
        {"pooltype": "LAST", "pad_value": 0.0},
    ),
}  # fmt: skip
for _kind in ("sum", "average", "sqrt", "max", "first", "last"):
    LAYERS[f"pool {_kind}"] = (
        lambda x, kind=_kind: layers.sequence_pool(x, kind, pad_value=-1.5),
        "sequence_pool",
        {"pooltype": _kind.upper(), "pad_value": -1.5},
    )


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_one_input(exe, rng, name):
    layer, op, attributes = LAYERS[name]
    x = ragged("x", 1 if name == "softmax" else 3)
    fed = sequences(rng, x.shape[1])
    out = layer(x)
    assert out.lod_level == (op != "sequence_pool")
    check(exe, out, {"x": fed}, by_case(op, fed, **attributes), [x])


@pytest.mark.parametrize(("size", "start"), [(3, None), (2, 0), (4, -3)])
def test_convolution(exe, rng, size, start):
    x = ragged("x")
    fed = sequences(rng)
    out = layers.sequence_conv(
        x, 2, size, padding_start=start, bias_attr=False, param_attr="w"
    )
    exe.run(sl.default_startup_program())
    weight = rng.standard_normal((size * 3, 2))
    sl.global_scope().set("w", weight)
    start = -(size // 2) if start is None else start
    windows = by_case("sequence_context", fed, start=start, length=size)
    check(exe, out, {"x": fed}, [rows @ weight for rows in windows], [x])


def test_row_convolution(exe, rng):
    x = ragged("x")
    fed = sequences(rng)
    out = layers.row_conv(x, 2, param_attr="w")
    exe.run(sl.default_startup_program())
    weight = rng.standard_normal((3, 3))
    sl.global_scope().set("w", weight)
    windows = by_case("sequence_context", fed, start=0, length=3)
    expected = [(rows.reshape(-1, 3, 3) * weight).sum(1) for rows in windows]
    check(exe, out, {"x": fed}, expected, [x])


def test_expand_as(exe, rng):
    x = sl.data("x", [None, 3], "float64")
    x.stop_gradient = False
    y = ragged("y", 1)
    rows = rng.standard_normal((4, 3))
    feed = {"x": rows, "y": sequences(rng, 1)}
    expected = [
        np.repeat(rows[b : b + 1], length, 0)
        for b, length in enumerate(LENGTHS)
    ]
    check(exe, layers.sequence_expand_as(x, y), feed, expected, [x])


def test_expand_repeats_sequences(exe, rng):
    x, y = ragged("x"), ragged("y", 1)
    fed = sequences(rng)
    times = [2, 3, 0, 1]
    feed = {"x": fed, "y": sequences(rng, 1, times)}
    out = layers.sequence_expand(x, y)
    assert out.lod_level == 2
    (got,) = exe.run(feed=feed, fetch_list=[out])
    copies = [
        rows for rows, n in zip(fed, times, strict=True) for _ in range(n)
    ]
    assert got.recursive_sequence_lengths() == [
        times,
        [len(rows) for rows in copies],
    ]
    np.testing.assert_array_equal(got, np.concatenate(copies))
    check(exe, out, feed, np.concatenate(copies), [x])


def test_expand_by_the_outer_level_as_in_fluids_documentation(exe):
    x, y = ragged("x", 1), ragged("y", 1, levels=2)
    fed = {
        "x": [np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])],
        "y": (np.ones((8, 1)), [[2, 2], [3, 3, 1, 1]]),
    }
    (got,) = exe.run(
        feed=fed, fetch_list=[layers.sequence_expand(x, y, ref_level=0)]
    )
    assert got.ravel().tolist() == [1, 2, 1, 2, 3, 4, 3, 4]
    assert got.recursive_sequence_lengths() == [[2, 2], [2, 2, 2, 2]]


def padded_by_case(rows, length, value=0.0):
    given = {"PadValue": np.array([value])}
    return by_case("sequence_pad", rows, given, padded_length=length)


@pytest.mark.parametrize("maxlen", [None, 5])
def test_pad_and_unpad(exe, rng, maxlen):
    x = ragged("x")
    fed = sequences(rng)
    value = layers.fill_constant([1], "float64", value=7.0)
    padded = layers.sequence_pad(x, value, maxlen)
    back = layers.sequence_unpad(padded.out, padded.length)
    out, length, same = exe.run(
        feed={"x": fed}, fetch_list=[padded.out, padded.length, back]
    )
    np.testing.assert_array_equal(out, padded_by_case(fed, maxlen or 4, 7.0))
    assert length.tolist() == LENGTHS
    np.testing.assert_array_equal(same, np.concatenate(fed))
    assert same.recursive_sequence_lengths() == [LENGTHS]
    check(exe, back, {"x": fed}, fed, [x])


def test_concat(exe, rng):
    x, y = ragged("x"), ragged("y")
    feed = {"x": sequences(rng), "y": sequences(rng, 3, [1, 2, 0, 2])}
    expected = [
        np.concatenate(pair) for pair in zip(feed["x"], feed["y"], strict=True)
    ]
    check(exe, layers.sequence_concat([x, y]), feed, expected, [x, y])


def test_slice(exe, rng):
    x = ragged("x")
    fed = sequences(rng)
    offset = sl.data("offset", [None, 1], "int64")
    length = sl.data("length", [None, 1], "int64")
    feed = {
        "x": fed,
        "offset": np.array([[1], [0], [0], [2]]),
        "length": np.array([[2], [0], [1], [1]]),
    }
    expected = [fed[0][1:3], fed[1], fed[2], fed[3][2:3]]
    check(exe, layers.sequence_slice(x, offset, length), feed, expected, [x])


def test_enumerate_and_erase(exe, rng):
    x = ragged("x", 1, "int64")
    fed = [rng.integers(0, 5, (length, 1)) for length in LENGTHS]
    out = layers.sequence_enumerate(x, 2, pad_value=9)
    expected = by_case("sequence_enumerate", fed, win_size=2, pad_value=9)
    check(exe, out, {"x": fed}, expected)
    expected = [rows[~np.isin(rows[:, 0], [4, 1])] for rows in fed]
    check(exe, layers.sequence_erase(x, [4, 1]), {"x": fed}, expected)


def test_scatter(exe, rng):
    x = sl.data("x", [None, 5], "float64")
    index, updates = ragged("index", 1, "int64"), ragged("updates", 1)
    x.stop_gradient = False
    feed = {
        "x": rng.standard_normal((4, 5)),
        "index": [rng.integers(0, 5, (length, 1)) for length in LENGTHS],
        "updates": sequences(rng, 1),
    }
    expected = feed["x"].copy()
    for b, ids in enumerate(feed["index"]):
        np.add.at(expected[b], ids[:, 0], feed["updates"][b][:, 0])
    out = layers.sequence_scatter(x, index, updates)
    check(exe, out, feed, expected, [x, updates])


def test_mask(exe):
    x = sl.data("x", [None], "int64")
    feed = {"x": np.array([2, 0, 3])}
    expected = np.array([[1, 1, 0], [0, 0, 0], [1, 1, 1]])
    check(exe, layers.sequence_mask(x), feed, expected)
    wide = np.pad(expected, ((0, 0), (0, 1)))
    out = layers.sequence_mask(x, 4, "float32")
    assert out.dtype == sl.float32
    check(exe, out, feed, wide)


def test_lod_reset(exe, rng):
    x = ragged("x")
    fed = sequences(rng)
    rows = np.concatenate(fed)
    check(
        exe,
        layers.lod_reset(x, target_lod=[0, 5, 8]),
        {"x": fed},
        [rows[:5], rows[5:]],
        [x],
    )
    y = sl.data("y", [None], "int32")
    feed = {"x": fed, "y": np.array([0, 1, 8], "int32")}
    check(exe, layers.lod_reset(x, y), feed, [rows[:1], rows[1:]])
    with pytest.raises(sl.InvalidArgumentError, match="end at 7; X has 8"):
        exe.run(
            feed=feed | {"y": np.array([0, 7], "int32")},
            fetch_list=[layers.lod_reset(x, y)],
        )


def test_images_as_sequences(exe, rng):
    x = sl.data("x", [None, 3, 5, 4], "float64")
    x.stop_gradient = False
    images = rng.standard_normal((2, 3, 5, 4))
    out = layers.im2sequence(x, [3, 2], [2, 1], [1, 0, 2, 1])
    sizes = {"kernels": [3, 2], "strides": [2, 1], "paddings": [1, 0, 2, 1]}
    expected = by_case("im2sequence", images, **sizes)
    check(exe, out, {"x": images}, expected, [x])


def test_crf_of_rows_is_that_of_padded_sequences(exe, rng):
    emission = ragged("emission", 4)
    label = ragged("label", 1, "int64")
    dense = sl.data("dense", [None, None, 4], "float64")
    tags = sl.data("tags", [None, None], "int64")
    length = sl.data("length", [None], "int64")
    cost = layers.linear_chain_crf(emission, label, param_attr="w")
    same = layers.linear_chain_crf(dense, tags, length, "w")
    path = layers.crf_decoding(emission, param_attr="w")
    padded_path = layers.crf_decoding(dense, length, "w")
    exe.run(sl.default_startup_program())
    fed = {
        "emission": sequences(rng, 4),
        "label": [rng.integers(0, 4, (n, 1)) for n in LENGTHS],
        "length": np.array(LENGTHS),
    }
    fed["dense"] = padded_by_case(fed["emission"], 4)
    fed["tags"] = padded_by_case(fed["label"], 4)[..., 0]
    got = exe.run(feed=fed, fetch_list=[cost, same, path, padded_path])
    np.testing.assert_array_equal(got[0], got[1])
    assert got[0][1] == 0  # of an empty sequence
    for b, tags_of_one in enumerate(got[2].sequences()):
        np.testing.assert_array_equal(
            tags_of_one[:, 0], got[3][b, : LENGTHS[b]]
        )
    check(exe, cost, fed, got[1], [emission])


def test_two_levels(exe, rng):
    x = ragged("x", 2, levels=2)
    fed = [
        [rng.standard_normal((2, 2)), rng.standard_normal((1, 2))],
        [],
        [rng.standard_normal((3, 2))],
    ]
    inner = layers.sequence_pool(x, "sum")
    assert (x.lod_level, inner.lod_level) == (2, 1)
    outer = layers.sequence_pool(inner, "sum")
    got, total = exe.run(feed={"x": fed}, fetch_list=[inner, outer])
    np.testing.assert_allclose(
        got, [rows.sum(0) for group in fed for rows in group]
    )
    assert got.lod == [[0, 2, 2, 3]]
    np.testing.assert_allclose(
        total, [sum((r.sum(0) for r in g), np.zeros(2)) for g in fed]
    )
