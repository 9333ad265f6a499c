"""The backend suite of the onnx package, against the list of what is missing."""

import importlib.metadata

import pytest

pytest.importorskip("onnx")
import onnx_suite  # noqa: E402


def test_the_list_of_failures_is_up_to_date():
    found = onnx_suite.outcomes()
    new = onnx_suite.listed(found)
    old = onnx_suite.LIST.read_text(encoding="utf-8")
    differences = onnx_suite.compare(
        onnx_suite.parsed(old), onnx_suite.parsed(new)
    )
    assert not differences, (
        f"{differences}\n{onnx_suite.COMMAND} rewrites {onnx_suite.LIST.name}"
    )
    # Other versions may have other tests.
    if f"# onnx {importlib.metadata.version('onnx')}\n" in old:
        assert new == old, (
            f"{onnx_suite.COMMAND} rewrites {onnx_suite.LIST.name}"
        )
    # A list that was rewritten while the importer was broken is wrong, too.
    passed = [key for key, error in found.items() if error is None]
    assert sum(key.startswith("Node/") for key in passed) >= 1300
    assert len(found) >= 2024


def test_lists_are_compared_by_test_and_reason():
    old = {"Node/a": "x", "Node/b": "x", "Node/c": "x"}
    new = {"Node/b": "x", "Node/c": "y", "Node/d": "z"}
    assert onnx_suite.compare(old, new).splitlines() == [
        "passes now: Node/a (x)",
        "does not pass: Node/d (z)",
        "another reason: Node/c (y), before: x",
    ]
    assert onnx_suite.compare(old, old) == ""
