"""The backend suite of the onnx package, compared with the list of failures."""

import collections
import importlib.metadata

import pytest

pytest.importorskip("onnx")
import onnx_suite  # noqa: E402


@pytest.fixture(scope="module")
def plain():
    return onnx_suite.outcomes()


def check(path, new):
    old = path.read_text(encoding="utf-8")
    differences = onnx_suite.compare(
        onnx_suite.parsed(old), onnx_suite.parsed(new)
    )
    assert not differences, (
        f"{differences}\n{onnx_suite.COMMAND} rewrites {path.name}"
    )
    # Other versions may have other tests.
    if f"# onnx {importlib.metadata.version('onnx')}\n" in old:
        assert new == old, f"{onnx_suite.COMMAND} rewrites {path.name}"


def test_the_list_of_failures_is_up_to_date(plain):
    check(onnx_suite.LIST, onnx_suite.listed(plain))
    # Detects a list that was rewritten while the importer was broken.
    passed = [key for key, error in plain.items() if error is None]
    assert sum(key.startswith("Node/") for key in passed) >= 1300
    assert len(plain) >= 2024


def test_nodes_give_the_same_whatever_is_known_of_their_inputs(plain):
    found = onnx_suite.variant_outcomes(plain)
    assert onnx_suite.wrong(found) == []
    check(
        onnx_suite.VARIANT_LIST,
        onnx_suite.listed(found, onnx_suite.VARIANT_HEAD),
    )
    passed = collections.Counter(
        key.split("/")[0] for key, error in found.items() if error is None
    )
    assert passed["Sizes"] >= 1500 and passed["Ranks"] >= 1400
    assert passed["OneRank"] >= 1450
    assert passed["Saved"] >= 1650
    assert passed["Constants"] >= 1700 and passed["OneConstant"] >= 1700


def test_lists_are_compared_by_test_and_reason():
    old = {"Node/a": "x", "Node/b": "x", "Node/c": "x"}
    new = {"Node/b": "x", "Node/c": "y", "Node/d": "z"}
    assert onnx_suite.compare(old, new).splitlines() == [
        "passes now: Node/a (x)",
        "does not pass: Node/d (z)",
        "another reason: Node/c (y), before: x",
    ]
    assert onnx_suite.compare(old, old) == ""
