"""Pages of the site that are generated from schemas (docs/op_reference.py)."""

import json
import pathlib
import sys

import pytest

import sluice as sl
from sluice import _core

sys.path.append(str(pathlib.Path(__file__).parents[2] / "docs"))
import op_reference  # noqa: E402


@pytest.fixture(scope="module")
def ops():
    return op_reference.schemas()


def section(page, title):
    return page.split(f"## {title}\n")[1].split("\n## ")[0]


def test_every_op_of_users_has_a_page_with_all_that_its_schema_says(ops):
    assert set(sl.layers.ops.names()) <= set(ops)
    for name, schema in ops.items():
        page = op_reference.page(name, ops)
        assert page.split("\n# ")[1].split("\n")[0].replace("\\", "") == name
        for side, title in (("inputs", "Inputs"), ("outputs", "Outputs")):
            for one in schema[side]:
                assert f"| `{one['name']}`" in section(page, title)
        for one in schema["attributes"]:
            assert f"| `{one['name']}` | {one['type']} |" in section(
                page, "Attributes"
            )
            for choice in one["choices"]:
                assert choice in section(page, "Attributes").replace("\\", "")


def test_kernels_stand_with_place_library_variant_and_dtypes(ops):
    words = section(op_reference.page("conv2d", ops), "Kernels").replace(
        "\\", ""
    )
    kernels = _core._kernels("conv2d")
    assert len(kernels) > 2
    for one in kernels:
        start = f"| {one['place']} | {one['library']} | {one['variant']} |"
        (row,) = [line for line in words.splitlines() if line.startswith(start)]
        assert one["dtype"] in row


def test_gradients_and_counterparts_are_linked(ops):
    page = op_reference.page("relu", ops)
    assert "[`relu_grad`](relu_grad.md)" in section(page, "Gradient")
    assert "ONNX: `Relu`" in section(page, "Elsewhere")
    assert "PyTorch: `torch.relu(X)`" in section(page, "Elsewhere")
    assert "gradient of [`relu`](relu.md)" in op_reference.page(
        "relu_grad", ops
    )
    assert "None is defined." in section(
        op_reference.page("top_k", ops), "Gradient"
    )
    # Some gradients are ops of other names.
    assert "made of other ops" in section(
        op_reference.page("transpose", ops), "Gradient"
    )
    page = op_reference.page("relu", ops, {"Relu", "Clip"})
    assert "for ONNX's `Clip`" in section(page, "Elsewhere")
    filters = section(op_reference.page("conv2d", ops), "Gradient")
    assert "conv2d_grad_filter" in filters and "conv2d_grad_input" in filters


def test_text_is_shown_as_it_is():
    assert op_reference.text("a[1] * b_c | <T> `x*y`") == (
        r"a\[1\] \* b\_c \| \<T\> `x*y`"
    )


def test_the_index_links_ops_and_not_their_gradients(ops):
    index = op_reference.index(ops)
    assert "| [`relu`](relu.md) | " in index
    assert "relu_grad" not in index
    row = next(line for line in index.splitlines() if "(relu.md)" in line)
    assert row.endswith("| yes | Relu |")


def test_one_table_has_the_kernels_of_all_ops(ops, tmp_path):
    records = tmp_path / "records.jsonl"
    best = [
        ("abs/plain (cpu float32 PLAIN)", 2.0, "ok"),
        ("abs/fast (cpu float32 any EIGEN)", 1.0, "ok"),
        ("abs/wrong (cpu float32 EIGEN)", 0.5, "wrong"),
    ]
    records.write_text(
        "".join(
            json.dumps(
                {
                    "kind": "record",
                    "signature": "abs(X float32[3])",
                    "threads": 1,
                    "kernel": kernel,
                    "median": seconds,
                    "verdict": verdict,
                }
            )
            + "\n"
            for kernel, seconds, verdict in best
        )
    )
    lines = op_reference.kernel_table(ops, [records]).splitlines()
    head = next(line for line in lines if line.startswith("| op |"))
    assert head.startswith("| op | cpu PLAIN | ") and "EIGEN" in head
    rows = {line.split("`")[1]: line for line in lines if "| [`" in line}
    assert set(rows) == set(ops)
    assert rows["abs"].endswith("| eigen/fast 1 |")
    assert "f32 f64" in rows["abs"].split("|")[2]
    assert op_reference.short("bfloat16") == "bf16"
    assert op_reference.short("uint8") == "u8"
