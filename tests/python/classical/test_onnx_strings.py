"""Operators that make strings or read what is in them."""

import threading

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import sluice as sl  # noqa: E402
import sluice.onnxruntime as ort  # noqa: E402

STRING, INT64, INT32, BOOL = TensorProto.STRING, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL


def texts(*values):
    return np.array(values, dtype=object)


def model(nodes, outputs, inputs=("x",), dtype=STRING, initializers=()):
    graph = helper.make_graph(
        nodes,
        "strings",
        [helper.make_tensor_value_info(name, dtype, None) for name in inputs],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        list(initializers),
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def one(op, outputs=("y",), inputs=("x",), dtype=STRING, domain="", **attributes):
    return model([helper.make_node(op, inputs, outputs, domain=domain, **attributes)], outputs, inputs, dtype)


def run(proto, *arrays):
    loaded = sl.onnx.load(proto)
    return loaded.run(dict(zip((v.name for v in loaded.inputs), arrays, strict=True)))


def tokens(x, **attributes):
    attributes = {"mark": 0, "mincharnum": 1, "pad_value": "#"} | attributes
    return run(one("Tokenizer", domain="com.microsoft", **attributes), x)[0].tolist()


def refused(proto, error, *words):
    with pytest.raises(error) as caught:
        sl.onnx.load(proto)
    for word in words:
        assert word in str(caught.value)


def test_strings_are_joined():
    proto = one("StringConcat", ["z"], ["x", "y"])
    x, y = texts("a", "", "日本")[:, None], texts("!", "é")
    (z,) = run(proto, x, y)
    assert z.dtype == object and z.tolist() == ReferenceEvaluator(proto).run(None, {"x": x, "y": y})[0].tolist()
    assert run(proto, np.empty((0, 1), object), y)[0].shape == (0, 2)


def test_strings_are_split():
    x = texts("a, b,,c", "", " d\te  ", ",")
    for attributes in {"delimiter": ","}, {}, {"delimiter": ", ", "maxsplit": 1}, {"maxsplit": 0}:
        proto = one("StringSplit", ["y", "n"], **attributes)
        y, n = run(proto, x)
        delimiter = attributes.get("delimiter")
        cut = [
            (t if delimiter else t.strip()).split(delimiter, attributes.get("maxsplit", -1))
            for t in x
        ]
        assert n.tolist() == [len(parts) for parts in cut]
        assert y.tolist() == [parts + [""] * (y.shape[1] - len(parts)) for parts in cut]
        assert y.shape[1] == max(n)
    y, n = run(one("StringSplit", ["y", "n"]), np.empty((2, 0), object))
    assert y.shape == (2, 0, 0) and n.shape == (2, 0)


def test_strings_are_normalized():
    x = texts("Mon", "TUE", "ähre", "mon")
    lower = one("StringNormalizer", case_change_action="LOWER", stopwords=["mon"])
    assert run(lower, x)[0].tolist() == ["tue", "ähre"]
    upper = one("StringNormalizer", case_change_action="UPPER", is_case_sensitive=1, stopwords=["mon", "mon"])
    assert run(upper, x[None])[0].tolist() == [["MON", "TUE", "ÄHRE"]]
    same = one("StringNormalizer", stopwords=["ÄHRE", "tue"], locale="en_US")
    assert run(same, x)[0].tolist() == ["Mon", "mon"]
    none = one("StringNormalizer", stopwords=["mon", "tue", "ähre"])
    assert run(none, x[None])[0].tolist() == [[""]] and run(none, x)[0].tolist() == [""]


def test_patterns_match_whole_strings():
    proto = one("RegexFullMatch", pattern=r"[a-z]+(\d|ä)?")
    assert run(proto, texts("ab1", "ab12", "", "oä", "o\n"))[0].tolist() == [True, False, False, True, False]


def test_tokens():
    x = texts("ab, c--d", "", "äö")
    assert tokens(x, tokenexp="[a-z]+") == [["ab", "c", "d"], ["#"] * 3, ["#"] * 3]
    assert tokens(x, tokenexp="[a-z]+", mincharnum=2) == [["ab"], ["#"], ["#"]]
    assert tokens(x, separators=[", ", "-"]) == [["ab", "c", "d"], ["#"] * 3, ["äö", "#", "#"]]
    assert tokens(x[1:], tokenexp=".", mark=1) == [["\2", "\3", "#", "#"], ["\2", "ä", "ö", "\3"]]
    assert tokens(x[2:], separators=[""]) == [["ä", "ö"]]
    assert tokens(x[1:2], tokenexp="a", mark=1) == [[]]
    # The longest alternative, and patterns that match nothing.
    assert tokens(texts("abab"), tokenexp="a|ab") == [["ab", "ab"]]
    assert tokens(texts("xaby"), tokenexp="[ab]*") == [["ab"]]
    assert tokens(texts("abc"), separators=["x*"]) == [[]]
    assert np.shape(tokens(np.empty((0, 2), object), tokenexp="a")) == (0,)


def grams(mode="TF", **attributes):
    common = {
        "mode": mode, "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 1,
        "ngram_counts": [0, 2], "ngram_indexes": [2, 0, 1],
    }  # fmt: skip
    dtype = STRING if "pool_strings" in attributes else INT32
    return one("TfIdfVectorizer", dtype=dtype, **common | attributes)


def test_ngrams_are_counted():
    words = grams(pool_strings=["a", "b", "a", "b"])
    x = texts("a", "b", "c", "a", "c", "b").reshape(1, 6)
    for shape in (1, 6), (2, 3), (6,):
        (y,) = run(words, x.reshape(shape))
        want = ReferenceEvaluator(words).run(None, {"x": x.reshape(shape)})[0]
        np.testing.assert_array_equal(y, want)
        assert y.dtype == np.float32
    numbers = np.array([3, 5, 3, 3, 5], "i4")
    for mode in "IDF", "TFIDF":
        proto = grams(mode, pool_int64s=[3, 5, 3, 5], weights=[0.5, 2.0, 4.0])
        want = ReferenceEvaluator(proto).run(None, {"x": numbers})[0]
        np.testing.assert_array_equal(run(proto, numbers)[0], want)


def test_an_ngram_vectorizer_that_contradicts_itself_is_refused():
    pool = {"pool_int64s": [3, 5, 3, 5]}
    invalid = sl.errors.InvalidArgumentError
    refused(grams(**pool, ngram_indexes=[2, 0]), invalid, "Columns has 2", "expected 3")
    refused(grams(**pool, ngram_indexes=[2, 0, -1]), invalid, "from -1 to 2")
    refused(grams(**pool, ngram_indexes=[2, 0, 2**31]), invalid, "2147483648")
    refused(grams(**pool, ngram_indexes=[2, 0, 2**31 - 2]), invalid, "num_columns", "16777216")
    refused(grams(**pool, ngram_counts=[0, 5]), invalid, "starts")
    refused(grams(**pool, ngram_counts=[1, 0]), invalid, "starts")
    refused(grams(**pool, ngram_counts=[0, 1]), invalid, "no whole 2-grams")
    refused(grams(**pool, max_gram_length=3), invalid, "max_length 3")
    refused(grams(**pool, min_gram_length=3), invalid, "min_length is 3")
    refused(grams("IDF", **pool, weights=[1.0]), invalid, "1 weights")
    refused(grams("IDF", **pool, weights=[1.0] * 3, ngram_indexes=[0, 1, 3]), invalid, "4 columns")
    refused(grams("DF", **pool), invalid, "mode is DF")
    refused(grams(), invalid, "0 pool_strings and 0 pool_int64s")
    mixed = grams(pool_strings=["a", "b", "a", "b"])
    mixed.graph.input[0].type.tensor_type.elem_type = INT64
    refused(mixed, invalid, "pool is of strings")
    huge = grams(**pool, max_skip_count=2**62)
    assert run(huge, np.array([3, 5, 5], "i4"))[0].tolist() == [2, 2, 1]


def test_what_is_no_string_or_no_pattern_is_refused():
    invalid, unimplemented = sl.errors.InvalidArgumentError, sl.errors.UnimplementedError
    refused(one("StringConcat", ["z"], ["x", "y"], INT64), invalid, "x is int64; expected strings")
    refused(one("RegexFullMatch", pattern="(a"), invalid, "(a", "missing )")
    refused(one("Tokenizer", domain="com.microsoft", mark=0, mincharnum=1, pad_value="", tokenexp="["), invalid, "missing ]")
    refused(one("StringNormalizer", case_change_action="Upper"), invalid, "Upper")
    refused(one("StringNormalizer", locale="tr_TR.UTF-8"), unimplemented, "tr_TR.UTF-8")


def test_strings_in_branches_are_strings():
    join = helper.make_node("StringConcat", ["x", "x"], ["twice"])
    same = helper.make_node("Identity", ["x"], ["once"])
    value = lambda name: helper.make_tensor_value_info(name, STRING, None)  # noqa: E731
    then = helper.make_graph([join], "then", [], [value("twice")])
    other = helper.make_graph([same], "else", [], [value("once")])
    proto = model([helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)], ["y"], ["x"])
    proto.graph.input.append(helper.make_tensor_value_info("c", BOOL, []))
    loaded = sl.onnx.load(proto)
    for c, want in (True, ["abab"]), (False, ["ab"]):
        assert loaded.run({"x": texts("ab"), "c": np.array(c)})[0].tolist() == want


def test_loops_stack_strings():
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("StringConcat", ["x", "x"], ["twice"]),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        "body", [value("i", INT64, []), value("go", BOOL, [])], [value("on", BOOL, []), value("twice", STRING, None)],
    )  # fmt: skip
    proto = model([helper.make_node("Loop", ["n", ""], ["y"], body=body)], ["y"])
    proto.graph.input.append(value("n", INT64, []))
    (y,) = sl.onnx.load(proto).run({"x": texts("a"), "n": np.array(2)})
    assert y.tolist() == [["aa"], ["aa"]]


def test_runs_keep_their_strings_apart():
    """Many at once, and none is kept."""
    session = ort.InferenceSession(one("StringConcat", ["z"], ["x", "y"]).SerializeToString())
    assert [v.name for v in session.get_inputs()] == ["x", "y"] and session.get_outputs()[0].type == "tensor(string)"
    wrong = []

    def work(number):
        for i in range(50):
            x = texts(*(f"{number}-{i}-{k}" for k in range(20)))
            (z,) = session.run(None, {"x": x, "y": texts("!")})
            wrong.extend(set(z) ^ {t + "!" for t in x})

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert "string_concat" in session.explain()


def test_a_table_ends_with_its_run():
    loaded = sl.onnx.load(one("StringConcat", ["z"], ["x", "y"]))
    feed = loaded._numbers({"x": texts("a"), "y": texts("b")})
    (number,) = loaded.executor.run(loaded.program, feed, ["z"], loaded.scope)
    assert number.tolist() == [2]
    stale = {name: np.array(value) for name, value in feed.items()}
    del feed
    with pytest.raises(sl.errors.NotFoundError, match="no such table of strings"):
        loaded.executor.run(loaded.program, stale, ["z"], loaded.scope)
    with pytest.raises(sl.errors.UnimplementedError, match="cannot be written"):
        loaded.save("no.onnx")
