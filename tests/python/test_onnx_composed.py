"""Nodes that are imported as several ops, beside ONNX's own reference."""

import numpy as np
import pytest

import sluice as sl

pytest.importorskip("onnx")
from onnx import TensorProto  # noqa: E402
from onnx_reference import check, floats, node  # noqa: E402

either = pytest.mark.parametrize("known", [True, False], ids=["known", "late"])


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("bhid,bhjd->bhij", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("abc,cde->ebad", [(2, 3, 4), (4, 5, 6)]),
        ("abc,bcd", [(2, 3, 4), (3, 4, 5)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 6)]),
        ("...i->...", [(2, 3, 4)]),
        ("i,j,k->kij", [(2,), (3,), (4,)]),
        ("ii->i", [(3, 3)]),
        ("...ii->...i", [(2, 3, 3)]),
        ("ij->", [(2, 3)]),
        ("ba", [(2, 3)]),
        ("i,i", [(4,), (4,)]),
        (",i -> i", [(), (3,)]),
        ("ij,ij->ij", [(2, 3), (2, 3)]),
    ],
)
def test_einsum(equation, shapes, rng):
    check("Einsum", [floats(rng, *s) for s in shapes], equation=equation)


def test_einsum_of_sizes_that_are_not_known(rng):
    for equation, shapes in [
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("abc,cde->abde", [(2, 3, 4), (4, 5, 6)]),
    ]:
        inputs = [floats(rng, *shape) for shape in shapes]
        check("Einsum", inputs, equation=equation, known=False)


def test_einsum_of_integers(rng):
    inputs = [rng.integers(-9, 9, s) for s in ((2, 3), (3, 4))]
    check("Einsum", inputs, equation="ij,jk->ki")


@either
@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("op", ["BlackmanWindow", "HammingWindow", "HannWindow"])
def test_windows_of_signals(op, periodic, known):
    check(op, [np.int64(9)], periodic=periodic, known=known)


def test_a_window_of_float64():
    check("HannWindow", [np.int64(6)], output_datatype=TensorProto.DOUBLE)


@either
@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding(interleaved, known, rng):
    cache = [floats(rng, 7, 2), floats(rng, 7, 2)]
    positions = rng.integers(0, 7, (2, 3))
    check(
        "RotaryEmbedding",
        [floats(rng, 2, 5, 3, 6), *cache, positions],
        opset=23,
        interleaved=interleaved,
        rotary_embedding_dim=4,
        known=known,
    )


def test_rotary_embedding_of_three_dims(rng):
    caches = [floats(rng, 2, 3, 2), floats(rng, 2, 3, 2)]
    check(
        "RotaryEmbedding", [floats(rng, 2, 3, 20), *caches], opset=23, num_heads=5
    )


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("activation", ["none", "silu"])
def test_causal_convolution_with_state(size, activation, rng):
    inputs = [floats(rng, 2, 4, 5), floats(rng, 4, 1, size), floats(rng, 4)]
    for before in ([], [floats(rng, 2, 4, size - 1)]):
        check(
            "CausalConvWithState",
            inputs + before,
            opset=27,
            outputs=2,
            activation=activation,
        )


def test_convolutions_of_signals(rng):
    x, filters, bias = floats(rng, 2, 4, 9), floats(rng, 6, 2, 3), floats(rng, 6)
    check(
        "Conv",
        [x, filters, bias],
        group=2,
        strides=[2],
        pads=[1, 2],
        dilations=[2],
    )
    check("Conv", [x, filters], group=2, auto_pad="SAME_LOWER", strides=[2])
    check(
        "ConvTranspose",
        [x, floats(rng, 4, 3, 3)],
        strides=[2],
        pads=[1, 0],
        output_padding=[1],
    )
    check(
        "ConvTranspose", [x, floats(rng, 4, 3, 3)], strides=[2], output_shape=[20]
    )


def test_pools_of_signals(rng):
    x = floats(rng, 2, 3, 9)
    check("MaxPool", [x], kernel_shape=[3], strides=[2], pads=[1, 0])
    check("AveragePool", [x], kernel_shape=[2], pads=[1, 1])
    check(
        "AveragePool", [x], kernel_shape=[2], pads=[1, 1], count_include_pad=1
    )
    check("LpPool", [x], kernel_shape=[3], p=3)


# The reference leaves dims out.
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5, 6)])
@pytest.mark.parametrize("op, of", [("Average", np.mean), ("Max", np.max)])
def test_global_pools_of_any_rank(op, of, shape, rng):
    x = floats(rng, *shape)
    proto = node(f"Global{op}Pool", {"x": x}, ["y"], 18, True)
    (result,) = sl.onnx.load(proto.SerializeToString()).run({"x": x})
    expected = of(x, axis=tuple(range(2, len(shape))), keepdims=True)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=2e-5)


def test_pools_of_small_integers(rng):
    x = rng.integers(-128, 128, (1, 2, 5, 5)).astype("int8")
    check("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2])


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("op", ["Max", "Min"])
def test_the_largest_and_smallest_of_any_number(op, count, rng):
    check(op, [floats(rng, 2, 3) for _ in range(count)], opset=13)


@pytest.mark.parametrize("negative", [0, 1])
@pytest.mark.parametrize("positive", [0, 1])
def test_infinities_of_either_sign(negative, positive):
    check(
        "IsInf",
        [np.array([-np.inf, 0, np.inf, np.nan], "float32")],
        opset=20,
        detect_negative=negative,
        detect_positive=positive,
    )


@pytest.mark.parametrize(
    "base, exponent",
    [("float32", "int64"), ("int32", "float32"), ("float64", "float32")],
)
def test_powers_of_two_dtypes(base, exponent, rng):
    inputs = [rng.integers(1, 5, 6).astype(base), np.arange(6).astype(exponent)]
    check("Pow", inputs, opset=15)


def test_gelu_and_its_kin(rng):
    x, y = floats(rng, 3, 4), floats(rng, 3, 4)
    check("Gelu", [x], opset=20)
    check("Gelu", [x], opset=20, approximate="tanh")
    check("SwiGLU", [x, y], opset=28, alpha=1.5)


def test_dropout_that_drops_nothing_has_a_mask(rng):
    check("Dropout", [np.array([1, np.nan], "float32")], opset=13, outputs=2)


def test_selu_of_float64_has_the_defaults_of_onnx():
    x = np.array([1.0, -40.0])
    proto = node("Selu", {"x": x}, ["y"], 18, True)
    (y,) = sl.onnx.load(proto.SerializeToString()).run({"x": x})
    scale, alpha = 1.0507010221481323, 1.6732631921768188
    np.testing.assert_allclose(y, [scale, -scale * alpha], rtol=1e-14)
