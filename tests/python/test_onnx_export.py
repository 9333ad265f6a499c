"""Every op, exported to ONNX and imported again, on the harness's examples."""

import json

import ml_dtypes  # noqa: F401  numpy knows its dtypes by name then
import numpy as np
import pytest

import sluice as sl
from sluice import _core, _lab

onnx = pytest.importorskip("onnx")
from onnx import shape_inference  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx_reference import by_onnxruntime, saved  # noqa: E402
from torch_cases.case import SCHEDULES  # noqa: E402

HALVES = ("float16", "bfloat16")
FLOATS = ("float32", "float64", *HALVES)
# Dtypes that most ONNX operators accept; test_dtypes.py covers the others.
COMPUTED = (*FLOATS, "int8", "uint8", "int32", "int64", "bool")
# Attributes are float32 in ONNX.
TOLERANCE = {
    "float32": 2e-5,
    "float64": 1e-6,
    "float16": 4e-3,
    "bfloat16": 2e-2,
}

RANDOM = "ONNX does not say which random numbers its operators make"
FIELDS = "ONNX has no operator for conditional random fields"
MASKS = "ONNX has no operator for masks of runs"
STRINGS = "strings are numbers of a table in a program"
TREES = "ONNX has trees as attributes only, not as tensors"
NO_OPERATOR = "ONNX has no operator that computes the same"
NO_DTYPE = "ONNX has no"
# Ops without any example that can be exported.
WITHOUT_COUNTERPART = {
    "atan2": "ONNX has no arc tangent of two",
    "barrier": NO_OPERATOR,
    "batch_parts": NO_OPERATOR,
    "c_allgather": NO_OPERATOR,
    "c_allreduce_max": NO_OPERATOR,
    "c_allreduce_sum": NO_OPERATOR,
    "c_broadcast": NO_OPERATOR,
    "c_reducescatter": NO_OPERATOR,
    "pairwise_coupling": NO_OPERATOR,
    "pairwise_sum": NO_OPERATOR,
    **dict.fromkeys(
        (
            "array_read", "array_write", *SCHEDULES, "auc", "beam_search",
            "beam_search_decode", "chunk_eval", "edit_distance", "expand_as",
            "gather_tree", "merge_rows", "roll", "rows_to_dense",
            "searchsorted", "tfidf_vectorize", "unfold", "nll_loss", "precision_recall", "print",
            "truncated_gaussian_random", "warpctc",
        ),
        NO_OPERATOR,
    ),
    "average_embedding_mask": MASKS,
    "crf_decoding": FIELDS,
    "discriminative_loss": MASKS,
    "gaussian_random": RANDOM,
    "linear_chain_crf": FIELDS,
    "sync_batch_norm": NO_OPERATOR,
    **dict.fromkeys(
        (
            "regex_full_match", "string_concat", "string_normalize",
            "string_split", "tokenize",
        ),
        STRINGS,
    ),
    "tree_ensemble": TREES,
    "uniform_random": RANDOM,
}
for one in _core._op_names():
    ragged = one.startswith(("sequence_", "im2sequence", "lod_reset"))
    ragged = ragged and not one.endswith("_grad")
    names = {i["name"] for i in _core._schema(one)["inputs"]}
    if ragged or "LearningRate" in names:
        WITHOUT_COUNTERPART[one] = NO_OPERATOR
# Some cannot, with opset 21.
IN_PART = {
    "batch_norm": "it is in training",
    "bitcast": ("BitCast is an operator of ONNX from opset 26 on", NO_DTYPE),
    "bitwise_left_shift": "BitShift of ONNX takes",
    "bitwise_right_shift": "BitShift of ONNX takes",
    "cast": NO_DTYPE,
    "celu": "Celu of ONNX takes float64 from opset 28 on",
    "cumprod": "CumProd is an operator of ONNX from opset 26 on",
    "dequantize_linear": ("DequantizeLinear of ONNX", NO_DTYPE),
    "dft": "DFT of ONNX gives one side of real numbers",
    "dropout": "it is in training",
    "linear_attention": "ONNX has LinearAttention",
    "pool2d": "averages with ceil_mode that count the padding",
    "quantize_linear": ("QuantizeLinear of ONNX", NO_DTYPE),
    "resize": "Resize of ONNX takes sizes or scales",
    **dict.fromkeys(("gru", "lstm", "simple_rnn"), "ONNX has "),
}
# All dtypes, with opset 21.
LATER = {"bitcast", "cumprod", "linear_attention"}
# ONNX's operator, or Sluice's exporter, has fewer outputs for these.
ONE_OUTPUT = {
    "batch_norm": "Y",
    "dropout": "Out",
    "group_norm": "Y",
    "instance_norm": "Y",
    "layer_norm": "Y",
}
# The reference evaluator of onnx 1.23 raises, or differs from the operator's
# text: no size 0, no negative pads, no reflection past the first mirror, no
# half in the other modes; GatherElements only if all dims are equal; unsorted
# Unique uses rows instead of elements.
REFERENCE_LACKS = {
    "affine_grid", "cast", "conv2d_transpose", "conv3d_transpose",
    "deformable_conv", "flatten", "gather_elements", "grid_sample",
    "group_norm", "gru", "lrn", "lstm", "one_hot", "pad", "pool2d", "pool3d",
    "quantize_linear", "reduce_log_sum_exp", "resize", "simple_rnn", "unique",
}


def examples():
    by_op = {}
    for line in _lab._builtin_examples():
        example = json.loads(line)
        small = sum(np.prod(x[2]) for x in example["inputs"]) <= 4096
        if small and "_grad" not in example["op"]:
            by_op.setdefault(example["op"], []).append(example)
    return by_op


EXAMPLES_OF = examples()


def of_unknown_rank(program, name, value, feed):
    """A variable that is fed as a list, and reshaped to a fed shape."""
    feed[name] = value.reshape(-1)
    feed[f"{name}_shape"] = np.array(value.shape, "int64")
    return program.append_op(
        "reshape",
        {
            "X": program.data(name, [None], str(value.dtype)),
            "Shape": program.data(f"{name}_shape", [None], "int64"),
        },
    )["Out"]


def build(example, dtype, known="sizes"):
    """A program, feeds and outputs; halves are fed and fetched as float32.
    `known` is "sizes", "ranks", or neither of the inputs."""
    rng = np.random.default_rng(0)
    program, feed, inputs = sl.Program(), {}, {}
    for i, (argument, of, shape, low, high) in enumerate(example["inputs"]):
        own = dtype if of == "T" else of
        fed = "float32" if own in HALVES else own
        if fed == "bool":
            value = rng.integers(0, 2, shape).astype(bool)
        elif "int" in fed:
            value = rng.integers(int(low), int(high) + 1, shape).astype(fed)
        else:
            value = rng.uniform(low, high, shape).astype(fed)
        name = f"in{i}"
        if known:
            feed[name] = np.asarray(value)
            sizes = [size if known == "sizes" else None for size in shape]
            variable = program.data(name, sizes, fed)
        else:
            variable = of_unknown_rank(program, name, np.asarray(value), feed)
        if fed != own:
            variable = cast(program, variable, own)
        inputs.setdefault(argument, []).append(variable)
    attributes = {}
    for name, value in example.get("attributes", {}).items():
        if isinstance(value, dict):
            value = value.get("dtype", "T")
            value = dtype if value == "T" else value
        attributes[name] = value
    op = example["op"]
    outputs = program.append_op(op, inputs, attrs=attributes)
    wanted = ONE_OUTPUT.get(op)
    return (
        program,
        feed,
        [
            cast(program, out, "float32") if str(out.dtype) in HALVES else out
            for argument, given in outputs.items()
            for out in (given if isinstance(given, list) else [given])
            if wanted in (None, argument)
        ],
    )


def cast(program, variable, dtype):
    attributes = {"dtype": dtype}
    return program.append_op("cast", {"X": variable}, attrs=attributes)["Out"]


def cases(op):
    """(example, dtype): all dtypes for two examples, one for the others."""
    taken = _core._schema(op)["type_vars"].get("T", FLOATS)
    for index, example in enumerate(EXAMPLES_OF[op]):
        dtypes = [
            dtype
            for dtype in example.get("dtypes") or taken
            if dtype in COMPUTED
        ]
        for dtype in dtypes if index < 2 else dtypes[:1]:
            yield example, dtype


def runnable(op):
    """Programs of the examples with their outputs, if there is a kernel."""
    exe = sl.Executor()
    for example, dtype in cases(op):
        try:
            program, feed, outputs = build(example, dtype)
            expected = exe.run(program, feed, outputs)
        except sl.SluiceError:
            continue  # no kernel, or dtype; random masks may be none
        yield example, dtype, program, feed, outputs, expected


def assert_near(got, expected, dtype, example):
    for a, b in zip(got, expected, strict=True):
        a = np.asarray(a)
        limit = TOLERANCE.get(dtype, 1e-6) if b.dtype.kind == "f" else 0
        assert a.dtype == b.dtype, example
        assert a.shape == b.shape, example
        if b.dtype.kind == "V":  # of ml_dtypes
            a, b = a.astype("float64"), b.astype("float64")
        finite = np.abs(b[np.isfinite(b)], dtype="float64")
        scale = max(1, finite.max() if finite.size else 1)
        np.testing.assert_allclose(
            a, b, rtol=limit, atol=limit * scale / 10, err_msg=str(example)
        )


def reason_of(error):
    """The reason of the first listed op."""
    line = str(error).splitlines()[1]
    return line.split("): ", 1)[1].split("; created at")[0]


@pytest.mark.parametrize("opset", [21, 28])
@pytest.mark.parametrize("op", sorted(EXAMPLES_OF))
def test_ops_come_back_from_onnx_and_give_the_same(op, opset):
    refused, exported = set(), 0
    for example, dtype, program, feed, outputs, expected in runnable(op):
        try:
            model = saved(program, outputs, opset=opset)
        except (sl.UnimplementedError, sl.InvalidArgumentError) as error:
            refused.add(reason_of(error))
            continue
        message = onnx.load_from_string(model)
        onnx.checker.check_model(message, full_check=True)
        shape_inference.infer_shapes(message, check_type=True, strict_mode=True)
        loaded = sl.onnx.load(model)
        assert_near(loaded.run(feed), expected, dtype, example)
        exported += 1
        if opset == 28 and exported == 3:
            break
    if op in WITHOUT_COUNTERPART:
        assert exported == 0
        reasons = WITHOUT_COUNTERPART[op]
    else:
        assert exported > 0 or (opset == 21 and op in LATER)
        reasons = IN_PART.get(op, ())
    for reason in refused:
        assert reason.startswith(reasons), reason
    if opset == 21 and op in IN_PART:
        assert refused, "take it out of IN_PART"


def test_the_lists_name_ops_that_there_are():
    listed = {*WITHOUT_COUNTERPART, *IN_PART, *ONE_OUTPUT, *REFERENCE_LACKS}
    assert listed <= set(EXAMPLES_OF)
    assert not WITHOUT_COUNTERPART.keys() & IN_PART.keys()
    # Every op that users can append has examples.
    for name in _core._op_names():
        schema = _core._schema(name)
        if name in ("if", "loop"):  # test_onnx_control_flow.py
            continue
        if not schema["internal"] and "_grad" not in name:
            assert name in EXAMPLES_OF, name


def test_exported_ops_give_the_same_in_the_reference_evaluator():
    ops = set(EXAMPLES_OF) - {*WITHOUT_COUNTERPART, *REFERENCE_LACKS}
    for op in sorted(ops):
        for example, dtype, program, feed, outputs, expected in runnable(op):
            single = any(value.ndim == 0 for value in feed.values())
            if single or dtype not in ("float32", "int32", "int64", "bool"):
                continue  # the evaluator requires Python floats
            try:
                model = saved(program, outputs)
            except sl.SluiceError:
                continue  # the test above knows why
            got = ReferenceEvaluator(onnx.load_from_string(model)).run(
                None, feed
            )
            assert_near(got, expected, dtype, example)


# For an unknown shape, the exporter writes other nodes for these, or the
# program raises because it must be known.
NEED_SHAPES = {
    "bias_add", "elementwise_add", "layer_norm", "lookup_table", "maxout",
    "mul", "pool2d", "prelu", "resize", "rms_norm",
}


@pytest.mark.parametrize("op", sorted(NEED_SHAPES))
def test_ops_whose_sizes_are_unknown_give_the_same(op):
    exe, exported = sl.Executor(), 0
    for example in EXAMPLES_OF[op]:
        try:
            program, feed, outputs = build(example, "float32", "ranks")
            expected = exe.run(program, feed, outputs)
            model = saved(program, outputs)
        except sl.SluiceError:
            continue
        onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
        assert_near(sl.onnx.load(model).run(feed), expected, "float32", example)
        exported += 1
    assert exported > 0 or op in ("maxout", "lookup_table")


def test_what_is_exported_without_ranks_is_imported_again():
    exe, exported = sl.Executor(), set()
    for op in sorted(set(EXAMPLES_OF) - {*WITHOUT_COUNTERPART}):
        for example in EXAMPLES_OF[op][:4]:
            try:
                program, feed, outputs = build(example, "float32", known="")
                expected = exe.run(program, feed, outputs)
                model = saved(program, outputs)
            except sl.SluiceError:
                continue
            got = sl.onnx.load(model).run(feed)
            assert_near(got, expected, "float32", example)
            exported.add(op)
    assert len(exported) >= 120
    assert {"conv3d", "layer_norm", "pool2d", "top_k"} <= exported


def test_onnxruntime_runs_what_is_exported():
    pytest.importorskip("onnxruntime")
    not_implemented, compared = set(), 0
    for op in sorted(set(EXAMPLES_OF) - {*WITHOUT_COUNTERPART}):
        for example, dtype, program, feed, outputs, expected in runnable(op):
            if dtype != "float32" or any(x.size == 0 for x in feed.values()):
                continue
            try:
                model = saved(program, outputs)
            except sl.SluiceError:
                continue
            try:
                got = by_onnxruntime(model, feed)
            except Exception:
                not_implemented.add(op)
                continue
            if op == "pad" and min(example["attributes"]["pads"]) < 0:
                continue  # onnxruntime does not wrap for negative pads
            if op == "nonzero" and feed["in0"].ndim == 0:
                continue  # onnxruntime has a row for a dimension of none
            for a, b in zip(got, expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
            compared += 1
    # Scalars as images or slices, rows of length 0, reflection past the first
    # mirror, cubic or exclude_outside in other than two dims. No recurrent
    # layers whose first dim is the batch, and no linear attention.
    lacks = {"instance_norm", "lrn", "one_hot", "pad", "resize", "slice"}
    lacks |= {"gru", "lstm", "linear_attention", "simple_rnn"}
    assert not_implemented <= lacks
    assert compared > 500


# Numbers at the ends of float32.
SPECIAL = np.array(
    "nan inf -inf 0 -0 1 -1 1e30 -1e30 1e-30 -1e-30 88 -104 .5 -.5 2.5 -2.5 3 -3".split(),
    "float32",
)
# The evaluator is inexact, or follows ONNX's text, which maps NaN to 0.
REFERENCE_DIFFERS = {"hard_swish", "prelu", "shrink", "thresholded_relu"}


def elementwise_ops():
    for name in sorted(EXAMPLES_OF):
        schema = _core._schema(name)
        inputs = [x for x in schema["inputs"] if not x["attribute"]]
        floats = "float32" in schema["type_vars"].get("T", [])
        needs = any(a["required"] for a in schema["attributes"])
        if schema["elementwise"] and floats and not needs:
            if len(inputs) < 3 and name not in WITHOUT_COUNTERPART:
                yield name, [x["name"] for x in inputs]


@pytest.mark.parametrize(("op", "arguments"), list(elementwise_ops()))
def test_nan_and_infinity_stay_what_they_are(op, arguments):
    program = sl.Program()
    grids = np.meshgrid(*[SPECIAL] * len(arguments))
    feed = {a: grid.ravel() for a, grid in zip(arguments, grids)}
    inputs = {a: program.data(a, [None]) for a in arguments}
    (out,) = program.append_op(op, inputs).values()
    (expected,) = sl.Executor().run(program, feed, [out])
    model = saved(program, [out])
    results = [sl.onnx.load(model).run(feed)]
    if op not in REFERENCE_DIFFERS:
        message = onnx.load_from_string(model)
        with np.errstate(all="ignore"):
            results.append(ReferenceEvaluator(message).run(None, feed))
    for (got,) in results:
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-37)
