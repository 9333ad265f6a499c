"""Models that take or give strings."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_classical import DOMAIN  # noqa: E402

import sluice as sl  # noqa: E402
import sluice.onnxruntime as ort  # noqa: E402

STRING, INT64, FLOAT = TensorProto.STRING, TensorProto.INT64, TensorProto.FLOAT
PETS = ["cat", "dog", "ähre", ""]


def node(op, inputs, outputs, **attributes):
    ml = op in ("LabelEncoder", "OneHotEncoder", "CategoryMapper", "ZipMap", "LinearClassifier")
    return helper.make_node(op, inputs, outputs, domain=DOMAIN if ml else "", **attributes)


def model(nodes, inputs, outputs, initializers=(), version=2):
    def values(types):
        return [helper.make_tensor_value_info(name, t, shape) for name, (t, shape) in types.items()]

    graph = helper.make_graph(nodes, "texts", values(inputs), values(outputs), list(initializers))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def texts(*values):
    return np.array(values, dtype=object)


def encoder(**attributes):
    of_texts = "keys_strings" in attributes
    given = "values_strings" in attributes
    return model(
        [node("LabelEncoder", ["x"], ["y"], **attributes)],
        {"x": (STRING if of_texts else INT64, [None])},
        {"y": (STRING if given else INT64, [None])},
    )


def test_labels_of_strings():
    to_numbers = encoder(keys_strings=PETS, values_int64s=[4, 2, 7, 1], default_int64=-3)
    x = texts("dog", "", "ähre", "new", "cat", "Dog")
    (y,) = sl.onnx.load(to_numbers).run({"x": x})
    assert y.tolist() == [2, 1, 7, -3, 4, -3]
    np.testing.assert_array_equal(y, ReferenceEvaluator(to_numbers).run(None, {"x": x})[0])
    # Arrays of numpy's strings, lists, and bytes.
    for same in (x.astype("U"), x.tolist(), texts(*(s.encode() for s in x))):
        np.testing.assert_array_equal(sl.onnx.load(to_numbers).run({"x": same})[0], y)

    back = encoder(keys_int64s=[4, 2], values_strings=["cat", "dog"], default_string="none")
    (names,) = sl.onnx.load(back).run({"x": np.array([2, 4, 9])})
    assert names.dtype == object and names.tolist() == ["dog", "cat", "none"]

    same = encoder(keys_strings=["cat"], values_strings=["Katze"])
    (names,) = sl.onnx.load(same).run({"x": texts("cat", "dog")})
    assert names.tolist() == ["Katze", "_Unused"]


def test_strings_that_the_model_lacks_are_told_apart():
    equal = model(
        [node("Equal", ["x", "y"], ["same"]), node("Where", ["same", "x", "pet"], ["z"])],
        {"x": (STRING, [None]), "y": (STRING, [None])},
        {"same": (TensorProto.BOOL, [None]), "z": (STRING, [None])},
        [helper.make_tensor("pet", STRING, [1], [b"pet"])],
    )
    loaded = sl.onnx.load(equal)
    assert loaded.of_texts == ["x", "y", "z"] and loaded.texts == ["pet"]
    for _ in range(2):  # a run does not remember those of the one before
        same, z = loaded.run({"x": texts("a", "b", "pet"), "y": texts("a", "c", "pet")})
        assert same.tolist() == [True, False, True]
        assert z.tolist() == ["a", "pet", "pet"]
    assert loaded.texts == ["pet"]


def test_strings_are_moved():
    moved = model(
        [
            node("Constant", [], ["more"], value_strings=["x", "y"]),
            node("Concat", ["x", "more"], ["all"], axis=0),
            node("Reshape", ["all", "shape"], ["table"]),
            node("Transpose", ["table"], ["turned"]),
            node("Shape", ["turned"], ["size"]),
        ],
        {"x": (STRING, [4])},
        {"turned": (STRING, [2, 3]), "size": (INT64, [2])},
        [helper.make_tensor("shape", INT64, [2], [3, 2])],
    )
    turned, size = sl.onnx.load(moved).run({"x": texts(*"abcd")})
    assert turned.tolist() == [["a", "c", "x"], ["b", "d", "y"]] and size.tolist() == [2, 3]


def test_categories_of_strings():
    for zeros, x in ((1, texts("dog", "cow")), (0, texts("dog", "cat"))):
        one_hot = model(
            [node("OneHotEncoder", ["x"], ["y"], cats_strings=["cat", "dog"], zeros=zeros)],
            {"x": (STRING, [None])},
            {"y": (FLOAT, [None, 2])},
        )
        (y,) = sl.onnx.load(one_hot).run({"x": x})
        np.testing.assert_array_equal(y, ReferenceEvaluator(one_hot).run(None, {"x": x})[0])
    with pytest.raises(sl.SluiceError):
        sl.onnx.load(one_hot).run({"x": texts("cow")})
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument, match="outside") as error:
        ort.InferenceSession(one_hot.SerializeToString()).run(None, {"x": texts("cow")})
    assert "input data type" not in str(error.value)
    mapper = {"cats_strings": ["cat", "dog"], "cats_int64s": [5, 6], "default_int64": 0}
    there = model(
        [node("CategoryMapper", ["x"], ["y"], **mapper)],
        {"x": (STRING, [None])},
        {"y": (INT64, [None])},
    )
    assert sl.onnx.load(there).run({"x": texts("dog", "cow")})[0].tolist() == [6, 0]
    back = model(
        [node("CategoryMapper", ["x"], ["y"], **mapper)],
        {"x": (INT64, [None])},
        {"y": (STRING, [None])},
    )
    assert sl.onnx.load(back).run({"x": np.array([5, 7])})[0].tolist() == ["cat", "_Unused"]


def classifier():
    return model(
        [
            node(
                "LinearClassifier", ["x"], ["label", "scores"], classlabels_strings=["no", "yes"],
                coefficients=[-1.0, 0.0, 1.0, 0.0], intercepts=[0.0, 0.0], post_transform="SOFTMAX",
            ),
            node("ZipMap", ["scores"], ["maps"], classlabels_strings=["no", "yes"]),
        ],
        {"x": (FLOAT, [None, 2])},
        {"label": (STRING, [None]), "maps": (FLOAT, None)},
    )  # fmt: skip


def test_classes_are_strings():
    session = ort.InferenceSession(classifier().SerializeToString())
    assert [v.type for v in session.get_outputs()] == [
        "tensor(string)", "seq(map(string,tensor(float)))",
    ]  # fmt: skip
    label, maps = session.run(None, {"x": np.array([[2, 0], [-2, 0]], "float32")})
    assert label.tolist() == ["yes", "no"]
    assert [list(row) for row in maps] == [["no", "yes"]] * 2
    (value,) = session.run_with_ort_values(["label"], {"x": np.zeros((1, 2), "float32")})
    assert (value.data_type(), value.element_type(), value.shape()) == ("tensor(string)", 8, [1])
    assert maps[0]["yes"] == maps[1]["no"] == pytest.approx(1 / (1 + np.exp(-4)))


def test_what_is_no_string_is_refused():
    loaded = sl.onnx.load(encoder(keys_strings=["a"], values_int64s=[1]))
    for wrong, text in (
        (np.array([1]), "dtype int64"),
        (texts("a", None), "None"),
        (texts(b"\xff"), "no UTF-8"),
    ):
        with pytest.raises(sl.InvalidArgumentError, match=f"feed x has .*{text}"):
            loaded.run({"x": wrong})
    with pytest.raises(sl.UnimplementedError, match="x: strings"):
        loaded.save("never.onnx")
    with pytest.raises(sl.InvalidArgumentError, match="keys are strings, and its input is int64"):
        sl.onnx.load(
            model(
                [node("LabelEncoder", ["x"], ["y"], keys_strings=["a"], values_int64s=[1])],
                {"x": (INT64, [None])},
                {"y": (INT64, [None])},
            )
        )
    with pytest.raises(sl.UnimplementedError, match="reads strings"):
        sl.onnx.load(
            model(
                [node("Cast", ["x"], ["y"], to=INT64)],
                {"x": (STRING, [1])},
                {"y": (INT64, [1])},
            )
        )
    few = helper.make_tensor("c", STRING, [1], [b"a"])
    few.dims[0] = 3
    with pytest.raises(sl.DataLossError, match="1 strings, its shape"):
        sl.onnx.load(model([node("Identity", ["c"], ["y"])], {}, {"y": (STRING, [3])}, [few]))
