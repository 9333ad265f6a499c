"""Operators of ai.onnx.ml that prepare features: compared with formulas, and where it
computes the same with ONNX's own reference."""

import numpy as np
import pytest

import sluice as sl
import sluice.onnxruntime as ort

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402
from onnx_classical import (  # noqa: E402
    DOMAIN, check, ml, near, results, transformed,
)
from onnx_reference import floats  # noqa: E402

either = pytest.mark.parametrize("known", [True, False], ids=["known", "late"])
NAN = np.nan


@either
def test_scaler(known, rng):
    x = floats(rng, 4, 3)
    check("Scaler", [x], 1, known, offset=[1.0, 2.0, 3.0], scale=[0.5, 2.0, 1.0])
    check("Scaler", [x], 1, known, offset=[1.0], scale=[0.5])
    whole = rng.integers(-9, 9, (4, 3))
    (y,) = results("Scaler", [whole], 1, known, offset=[0.5], scale=[2.0])
    assert y.dtype == np.float32
    near(y, 2 * (whole - 0.5))


@either
def test_normalizer(known, rng):
    x = floats(rng, 5, 3)
    x[2] = 0
    for norm in "L1", "L2":
        check("Normalizer", [x], 1, known, norm=norm)
    (y,) = results("Normalizer", [x], 1, known, norm="MAX")
    most = x.max(1, keepdims=True)
    near(y, x / np.where(most == 0, 1, most))


@either
def test_binarizer(known, rng):
    x = floats(rng, 5, 3)
    x[0, 0] = NAN
    check("Binarizer", [x], 1, known, threshold=0.3)
    whole = rng.integers(-2, 3, (5, 3))
    (y,) = results("Binarizer", [whole], 1, known, threshold=0.5)
    assert y.dtype == np.int64
    np.testing.assert_array_equal(y, whole > 0.5)


@either
def test_imputer(known, rng):
    x = floats(rng, 5, 3)
    x[1, 2] = x[3, 0] = NAN
    values = {"imputed_value_floats": [1.0, 2.0, 3.0], "replaced_value_float": NAN}
    check("Imputer", [x], 1, known, **values)
    x[1, 2] = x[3, 0] = -1
    values = {"imputed_value_floats": [7.0], "replaced_value_float": -1.0}
    check("Imputer", [x], 1, known, **values)
    whole = rng.integers(0, 3, (5, 3))
    values = {"imputed_value_int64s": [2**60, 8, 9], "replaced_value_int64": 1}
    check("Imputer", [whole], 1, known, **values)


@either
def test_array_feature_extractor(known, rng):
    index = np.array([3, 0, 3])
    check("ArrayFeatureExtractor", [floats(rng, 5, 4), index], 1, known)
    check("ArrayFeatureExtractor", [floats(rng, 4), index[None]], 1, known)


def test_feature_vectorizer(rng):
    inputs = [floats(rng, 5, 2), floats(rng, 5, 3), floats(rng, 5, 4)]
    check("FeatureVectorizer", inputs, inputdimensions=[2, 4, 3])
    inputs = [rng.integers(0, 9, (5, 2)), rng.integers(0, 9, (5, 1))]
    (y,) = results(
        "FeatureVectorizer", inputs, 1, False, inputdimensions=[2, 1]
    )
    near(y, np.hstack(inputs))


@either
@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_one_hot_encoder(dtype, known, rng):
    x = rng.integers(0, 6, (4, 3)).astype(dtype)
    check("OneHotEncoder", [x], 1, known, cats_int64s=[4, 0, 9, 1], zeros=1)
    check("OneHotEncoder", [x[0]], 1, known, cats_int64s=[4, 0], zeros=1)
    cats = [5, 4, 3, 2, 1, 0]
    check("OneHotEncoder", [x], 1, known, cats_int64s=cats, zeros=0)


def test_a_number_that_is_no_category_is_refused():
    with pytest.raises(sl.SluiceError, match="the_node .OneHotEncoder") as error:
        results("OneHotEncoder", [np.array([1, 7])], cats_int64s=[1, 2], zeros=0)
    assert "2" in str(error.value)


@either
def test_label_encoder(known, rng):
    x = rng.integers(-3, 9, (4, 5))
    given = {"keys_int64s": [5, 2**60, 0, 3], "values_int64s": [1, 2, 3, 4]}
    check("LabelEncoder", [x], 1, known, default_int64=-7, **given)
    given = {"keys_int64s": [5, 0, 3], "values_floats": [0.5, 2.0, 3.0]}
    check("LabelEncoder", [x], 1, known, default_float=-1.5, **given)
    given = {"keys_floats": [5.0, 0.5, 3.0], "values_int64s": [10, 20, 30]}
    floats = x.astype("f4") / 2
    check("LabelEncoder", [floats], 1, known, default_int64=1, **given)


def test_label_encoder_of_nan_and_of_tensors():
    x = np.array([1, NAN, 3], "f4")
    (y,) = results(
        "LabelEncoder", [x], keys_floats=[NAN, 1.0], values_floats=[7.0, 8.0],
        default_float=9.0,
    )  # fmt: skip
    np.testing.assert_array_equal(y, [8, 7, 9])
    tensor = lambda x, t: helper.make_tensor("t", t, [len(x)], x)  # noqa: E731
    (y,) = results(
        "LabelEncoder", [np.array([1, 2, 5], "f8")], version=4,
        keys_tensor=tensor([1.0, 2.0], TensorProto.DOUBLE),
        values_tensor=tensor([3, 4], TensorProto.INT32),
        default_tensor=tensor([-2], TensorProto.INT32),
    )  # fmt: skip
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y, [3, 4, -2])


def zipped(rng):
    x = rng.uniform(0, 1, (3, 2)).astype("f4")
    return ml("ZipMap", [x], classlabels_int64s=[9, -4])


def test_maps(rng):
    model, feed = zipped(rng)
    want = [{-4: row[1], 9: row[0]} for row in feed["x0"].tolist()]
    loaded = sl.onnx.load(model)
    (maps,) = loaded.run(feed)
    assert maps == want
    assert [list(row) for row in maps] == [[-4, 9]] * 3
    assert loaded.run(feed, ["y0"]) == [want]
    assert loaded.map_keys == {"y0": [9, -4]}
    session = ort.InferenceSession(model.SerializeToString())
    (value,) = session.run_with_ort_values(None, feed)
    assert value.has_value() and not value.is_tensor()
    with pytest.raises(RuntimeError, match="this one is a list"):
        value.numpy()


def test_a_session_gives_maps(rng):
    model, feed = zipped(rng)
    session = ort.InferenceSession(model.SerializeToString())
    (maps,) = session.run(None, feed)
    assert maps == [{-4: row[1], 9: row[0]} for row in feed["x0"].tolist()]
    (output,) = session.get_outputs()
    assert output.type == "seq(map(int64,tensor(float)))"
    assert output.shape == []


def test_a_pipeline(rng):
    """What skl2onnx writes of a scaler and a classifier."""
    weights, offset = rng.normal(size=(3, 4)), rng.normal(size=4)
    make = lambda *given, **more: helper.make_node(*given, domain=DOMAIN, **more)  # noqa: E731
    graph = helper.make_graph(
        [
            make("Scaler", ["x"], ["scaled"], offset=offset, scale=[2.0] * 4),
            make(
                "LinearClassifier", ["scaled"], ["label", "raw"],
                classlabels_ints=[0, 1, 2], coefficients=weights.ravel(),
                intercepts=[0.1, 0.2, 0.3], post_transform="SOFTMAX",
            ),
            make("Normalizer", ["raw"], ["shares"], norm="L1"),
            helper.make_node("Cast", ["label"], ["output_label"], to=7),
            make(
                "ZipMap", ["shares"], ["output_probability"],
                classlabels_int64s=[0, 1, 2],
            ),
        ],
        "pipeline",
        [helper.make_tensor_value_info("x", 1, [None, 4])],
        [
            helper.make_tensor_value_info("output_label", 7, [None]),
            onnx.ValueInfoProto(name="output_probability"),
        ],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    x = floats(rng, 5, 4)
    labels, maps = sl.onnx.load(model).run({"x": x})
    scores = (x - offset) * 2 @ weights.T + [0.1, 0.2, 0.3]
    np.testing.assert_array_equal(labels, scores.argmax(1))
    shares = transformed(scores, "SOFTMAX")
    near([list(row.values()) for row in maps], shares)
