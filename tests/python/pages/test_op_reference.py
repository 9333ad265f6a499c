"""Pages of the site that are generated from schemas (docs/op_reference.py)."""

import json
import pathlib
import re
import sys

import pytest

import sluice as sl
from sluice import _core

ROOT = pathlib.Path(__file__).parents[3]
sys.path.append(str(ROOT / "docs"))
import op_examples  # noqa: E402
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
        row = re.search(
            rf'\| {one["place"]} \| {one["library"]} \| '
            rf'{one["variant"]}, <a href="../source/(\S+)[.]txt">source</a> \|.*',
            words,
        )
        assert one["dtype"] in row[0]
        source = (ROOT / row[1]).read_text()
        assert re.search(r"REGISTER_OP\w+\(\s*conv2d,", source)
        assert one["variant"] in ("plain", *re.findall(r"\w+", source))


def test_gradients_and_counterparts_are_linked(ops):
    page = op_reference.page("relu", ops)
    assert "[`relu_grad`](relu_grad.md)" in section(page, "Gradient")
    assert "ONNX: [`Relu`](https://" in section(page, "Elsewhere")
    rows = "operators/math/unary/activation_rows.inc"
    assert f'<a href="../source/{rows}.txt">' in section(page, "Elsewhere")
    assert "PyTorch: `torch.relu(X)`" in section(page, "Elsewhere")
    assert "gradient of [`relu`](relu.md)" in op_reference.page(
        "relu_grad", ops
    )
    assert "None is defined." in section(
        op_reference.page("one_hot", ops), "Gradient"
    )
    # Some gradients are ops of other names.
    assert "made of other ops" in section(
        op_reference.page("transpose", ops), "Gradient"
    )
    page = op_reference.page("relu", ops, {"Relu", "Clip"})
    assert "for ONNX's [`Clip`](https://" in section(page, "Elsewhere")
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
    assert "| yes | [`Relu`](https://" in row
    assert "ONNX" in index and "__Conv.html" not in index
    # Of an operator that this op alone computes.
    assert "__Conv.html" in op_reference.index(ops, {"conv2d": {"Conv"}})
    assert op_reference.by_family(ops).keys() - {"other"} <= op_reference.OPS["families"].keys()
    families = index.split("\n## ")
    (losses,) = [one for one in families if "](kernels_loss.md)" in one]
    assert "](softmax_with_cross_entropy.md)" in losses
    assert "](conv2d.md)" not in losses


def test_examples_run_and_signatures_are_whole(ops):
    examples = op_examples.read()
    shown = op_examples.shown(ops["conv2d"], examples["conv2d"])
    assert "sl.layers.ops.conv2d(input, filter, bias=bias)" in "\n".join(shown)
    assert shown[-3] == "float32 (2, 4, 3, 3)"
    # The first one is refused, the second one is shown.
    wrong = {"op": "abs", "inputs": [["X", "bool", [2], 0, 1]]}
    assert not op_examples.shown(ops["abs"], [wrong])
    assert op_examples.shown(ops["abs"], [wrong, *examples["abs"]])
    without = [
        name
        for name in sl.layers.ops.names()
        if not op_examples.shown(ops[name], examples.get(name, ()))
        # Drawn numbers are no offsets.
        and not any("Offsets" in each["name"] for each in ops[name]["inputs"])
    ]
    assert len(without) < 3, without
    header = """
struct AbsOptions {
  // Which kernel to prefer.
  std::string hint = {};
};
inline ::sluice::Var Abs(
    const ::sluice::Var& x,
    const AbsOptions& options = {},
    ::sluice::SourceLocation location =
        ::sluice::SourceLocation::Here()) try {
"""
    calls = "\n".join(op_reference.calls("abs", header))
    assert "sluice::Var Abs(const sluice::Var& x, const AbsOptions& options = {});" in calls
    assert "  std::string hint = {};\n};" in calls
    calls = "\n".join(op_reference.calls("conv2d", ""))
    assert calls.startswith("```python\nsluice.layers.ops.conv2d(\n    input: Variable")
    assert "sluice.layers.conv2d(\n" in calls and "    stride: Pair = 1,\n" in calls
    assert calls.rstrip("`\n").endswith("    data_format: str = 'NCHW',\n) -> Variable")


def test_one_table_has_the_kernels_of_all_ops(ops, tmp_path):
    records = tmp_path / "records.jsonl"
    best = [
        ("abs/plain (cpu float32 PLAIN)", 2.0, "ok"),
        ("abs/fast (cpu float32 EIGEN)", 1.0, "ok"),
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
    lines = op_reference.kernel_table(ops, op_reference.fastest([records])).splitlines()
    head = next(line for line in lines if line.startswith("| op |"))
    assert head.startswith("| op | cpu PLAIN | ") and "EIGEN" in head
    rows = {line.split("`")[1]: line for line in lines if "| [`" in line}
    assert set(rows) == set(ops)
    assert rows["abs"].endswith("| eigen/fast 1 |")
    assert "f32 f64" in rows["abs"].split("|")[2]
    assert op_reference.short("bfloat16") == "bf16"
    assert op_reference.short("uint8") == "u8"
