"""Sums of up to ten million terms, by every kernel, against float64.

Terms have one sign, so that rounding errors add up instead of cancelling. A
kernel that is over the bound of its op must refuse such sizes.
"""

import math

import numpy as np
import pytest
from far_numbers import results as every_result

import sluice as sl

UNIT = 2.0**-24
RNG = np.random.default_rng(7)


def bound(terms):
    """That of laboratory/tuning/reference.h: 8 + 2 sqrt(n) units."""
    return (8 + 2 * math.sqrt(terms)) * UNIT


def results(*arguments):
    # The emulation of CUDA would take hours.
    return every_result(*arguments, places=("cpu",))


def like(shape):
    """Numbers of about 1.1, no power of 2, and no two neighbours equal."""
    return (1.1 + 0.05 * RNG.random(shape, "float32")).astype("float32")


def expect(op, inputs, wanted, terms, attrs=None, at_least=1):
    """`wanted`: by output, in float64."""
    found = 0
    for kernel, outputs in results(op, inputs, attrs, tuple(wanted)):
        found += 1
        for name, value in wanted.items():
            got = np.asarray(outputs[name], "float64").reshape(np.shape(value))
            error = np.max(np.abs(got - value) / np.abs(value))
            assert error <= bound(terms), f"{kernel}: {name} is off by {error:.2g}"
    assert found >= at_least, f"{op}: {found} kernels"


PRODUCTS = {
    "row by column": ((1, -1), (-1, 1)),
    "row by matrix": ((1, -1), (-1, 3)),
    "matrix by column": ((3, -1), (-1, 1)),
    "matrices": ((5, -1), (-1, 6)),
}


@pytest.mark.parametrize("terms", [5_000, 100_000, 1_000_000, 10_000_000])
@pytest.mark.parametrize("shapes", PRODUCTS)
@pytest.mark.parametrize("turned", ["", "X", "Y", "XY"])
def test_products(shapes, terms, turned):
    if terms == 10_000_000 and (shapes != "row by column" or turned):
        pytest.skip("as long a sum in less memory")
    x, y = (like([terms if size < 0 else size for size in shape]) for shape in PRODUCTS[shapes])
    product = x.astype("float64") @ y.astype("float64")
    attrs = {"transpose_X": "X" in turned, "transpose_Y": "Y" in turned}
    given = {
        "X": np.ascontiguousarray(x.T) if attrs["transpose_X"] else x,
        "Y": np.ascontiguousarray(y.T) if attrs["transpose_Y"] else y,
    }
    expect("matmul", given, {"Out": product}, terms, attrs)
    if not turned:
        expect("mul", given, {"Out": product}, terms)


@pytest.mark.parametrize("terms", [5_000, 1_000_000])
def test_gradients_of_products(terms):
    x, grad = like((terms, 3)), like((terms, 2))
    weight = like((3, 2))
    given = {"X": x, "Y": weight, "Out@GRAD": grad}
    wanted = {"Y@GRAD": x.astype("float64").T @ grad}
    expect("mul_grad_y", given, wanted, terms)
    expect("matmul_grad_y", given, wanted, terms)
    # A batch that does not fold into the rows.
    given = {
        "X": x.reshape(terms, 1, 3),
        "Y": like((2, 3)),
        "Out@GRAD": grad[:, :2].reshape(terms, 1, 2),
    }
    expect("matmul_grad_y", given, {"Y@GRAD": grad.astype("float64").T @ x}, terms,
           {"transpose_Y": True})  # fmt: skip


@pytest.mark.parametrize("terms", [1_000_000, 10_000_000])
@pytest.mark.parametrize("op", ["reduce_sum", "reduce_mean", "mean"])
def test_reductions(op, terms):
    x = like(terms)
    total = x.astype("float64").sum() / (1 if op == "reduce_sum" else terms)
    expect(op, {"X": x}, {"Out": total}, terms)
    if op != "mean":
        columns = x.reshape(-1, 2)
        total = columns.astype("float64").sum(0) / (1 if op == "reduce_sum" else terms // 2)
        expect(op, {"X": columns}, {"Out": total}, terms, {"dim": [0]})


IDS = np.ones(1_000_007, "int64")  # row 1 a million times, row 2 some times
IDS[::200_000] = 2
UPDATES = like((len(IDS), 2))
SUMS = np.array([UPDATES[IDS == i].astype("float64").sum(0) for i in (1, 2)])
ZEROS = np.zeros((3, 2), "float32")
ROWS = {"X": UPDATES, "Rows": IDS}
ADD = {"reduction": "add"}
# op: inputs, attributes, the output, and the factor of the sums; the table has
# row 0, which no id names.
REPEATED = {
    "gather_grad": ({"X": ZEROS, "Index": IDS, "Out@GRAD": UPDATES}, {"axis": 0}, "X@GRAD", 1),
    "lookup_table_grad": ({"W": ZEROS, "Ids": IDS[:, None], "Out@GRAD": UPDATES}, {}, "W@GRAD", 1),
    "scatter_nd": ({"X": ZEROS, "Index": IDS[:, None], "Updates": UPDATES}, ADD, "Out", 1),
    "scatter_elements": (
        {"X": ZEROS, "Index": np.stack([IDS, IDS], 1), "Updates": UPDATES}, ADD, "Out", 1),
    "merge_rows": (ROWS, {}, "Out", 1),
    "rows_to_dense": (ROWS | {"Like": ZEROS}, {}, "Out", 1),
    "sgd": (
        {"Param": ZEROS, "Grad": UPDATES, "LearningRate": np.ones(1, "f4"), "Rows": IDS},
        {}, "ParamOut", -1),
}  # fmt: skip


@pytest.mark.parametrize("op", REPEATED)
def test_rows_that_repeat(op):
    inputs, attrs, output, factor = REPEATED[op]
    rows = slice(0, 2) if op == "merge_rows" else slice(1, 3)
    for kernel, outputs in results(op, inputs, attrs, (output,)):
        got = np.asarray(outputs[output], "float64")[rows]
        error = np.max(np.abs(got / (factor * SUMS) - 1))
        assert error < bound(len(IDS)), f"{kernel}: {error:.2g}"


N = 1_000_000
TURNED = {"X": (1, 2, N), "Scale": (2,), "Bias": (2,)}
NORM_GRAD = TURNED | {"Y@GRAD": (1, 2, N), "Mean@GRAD": (1, 2), "Variance@GRAD": (1, 2)}
BATCH = {"X": (N, 2), "Scale": (2,), "Bias": (2,), "Mean": (2,), "Variance": (2,)}
BATCH_GRAD = {
    "X": (N, 2), "Scale": (2,), "SavedMean": (2,), "SavedVariance": (2,), "Y@GRAD": (N, 2),
    "SavedMean@GRAD": (2,), "SavedVariance@GRAD": (2,),
}  # fmt: skip
SAVED = ("Y", "SavedMean", "SavedVariance", "MeanOut", "VarianceOut")
ROWS_GRAD = {"X": (N, 2), "Scale": (2,), "Bias": (2,), "Y@GRAD": (N, 2), "Mean@GRAD": (N,),
             "Variance@GRAD": (N,)}  # fmt: skip
WIDE_GRAD = {"X": (1, N), "Scale": (N,), "Bias": (N,), "Y@GRAD": (1, N), "Mean@GRAD": (1,),
             "Variance@GRAD": (1,)}  # fmt: skip
BROADCAST = {"X": (N, 2), "Y": (2,), "Out@GRAD": (N, 2)}
AVERAGE = {"ksize": [1000, 1000], "strides": [1, 1], "pooling_type": "avg"}
PAIR = np.array([0, N], "int64")
OTHERS = [
    *(
        (op, {"X": shape}, {"axis": axis}, ("Out",))
        for op in ("softmax", "log_softmax", "cumsum")
        for shape, axis in (((1, N), 1), ((2 * N, 2), 0), ((2, N), 1))
    ),
    *(
        (op, {"X": shape}, {"dim": dim}, ("Out",))
        for op in ("reduce_l1", "reduce_l2", "reduce_log_sum", "reduce_log_sum_exp",
                   "reduce_sum_square")
        for shape, dim in (((1, N), [1]), ((N, 3), [0]))
    ),
    *(
        (op, {"Out": shape, "Out@GRAD": shape}, {"axis": axis}, ("X@GRAD",))
        for op in ("softmax_grad", "log_softmax_grad")
        for shape, axis in (((1, N), 1), ((2 * N, 2), 0))
    ),
    ("softmax_with_cross_entropy", {"Logits": (1, N), "Label": np.array([[7]])}, {}, ("Loss",)),
    ("nll_loss", {"X": (N, 2), "Label": np.zeros(N, "int64"), "Weight": (2,)}, {}, ("Loss",)),
    ("sequence_softmax", {"X": (N, 1), "Offsets": PAIR}, {}, ("Out",)),
    ("manhattan_distance", {"X": (3, N), "Y": np.full((2, N), -1, "float32")}, {}, ("Out",)),
    *(
        ("sequence_pool", {"X": (N, 2), "Offsets": PAIR}, {"pooltype": kind}, ("Out",))
        for kind in ("SUM", "AVERAGE", "SQRT")
    ),
    ("layer_norm", {"X": (1, N), "Scale": (N,), "Bias": (N,)}, {}, ("Y", "Mean", "Variance")),
    ("layer_norm_grad", WIDE_GRAD, {}, ("X@GRAD",)),
    ("layer_norm_grad", ROWS_GRAD, {}, ("Scale@GRAD", "Bias@GRAD")),
    ("rms_norm", {"X": (1, N), "Scale": (N,)}, {}, ("Y",)),
    ("group_norm", TURNED, {"groups": 1}, ("Y", "Mean", "Variance")),
    ("instance_norm", TURNED, {}, ("Y", "Mean", "Variance")),
    ("group_norm_grad", NORM_GRAD | {"Mean@GRAD": (1, 1), "Variance@GRAD": (1, 1)},
     {"groups": 1}, ("X@GRAD", "Scale@GRAD", "Bias@GRAD")),
    ("instance_norm_grad", NORM_GRAD, {}, ("X@GRAD", "Scale@GRAD", "Bias@GRAD")),
    ("batch_norm", BATCH, {"data_format": "NHWC"}, SAVED),
    ("batch_norm", BATCH | {"X": (1, 2, N)}, {}, SAVED),
    ("batch_norm_grad", BATCH_GRAD, {"data_format": "NHWC"}, ("X@GRAD", "Scale@GRAD", "Bias@GRAD")),
    ("batch_norm_grad", BATCH_GRAD | {"X": (1, 2, N), "Y@GRAD": (1, 2, N)}, {},
     ("X@GRAD", "Scale@GRAD", "Bias@GRAD")),
    *(
        (f"elementwise_{op}_grad", BROADCAST, {"axis": 1}, ("Y@GRAD",))
        for op in ("add", "mul", "max")
    ),
    ("elementwise_div_grad", BROADCAST | {"Out": (N, 2)}, {"axis": 1}, ("Y@GRAD",)),
    ("bias_add_grad", {"Out@GRAD": (1, 2, 1000, 1000)}, {}, ("Bias@GRAD",)),
    ("bias_add_grad", {"Out@GRAD": (1, 1000, 1000, 2)}, {"data_format": "NHWC"}, ("Bias@GRAD",)),
    ("expand_grad", {"X": (2, 1), "Out@GRAD": (2, N)}, {"shape": [2, N]}, ("X@GRAD",)),
    ("prelu_grad", BROADCAST | {"X": np.full((N, 2), -1, "float32")}, {"axis": 1}, ("Y@GRAD",)),
    *(
        ("conv2d_grad_filter",
         {"Input": (1, 2, 1002, 1002), "Filter": (3, 2, size, size),
          "Output@GRAD": (1, 3, 1003 - size, 1003 - size)}, {}, ("Filter@GRAD",))
        for size in (1, 3)
    ),
    ("conv2d_grad_filter",
     {"Input": (1, 1000, 1000, 2), "Filter": (3, 2, 1, 1), "Output@GRAD": (1, 1000, 1000, 3)},
     {"data_format": "NHWC"}, ("Filter@GRAD",)),
    ("conv3d_grad_filter",
     {"Input": (1, 1, 100, 100, 100), "Filter": (2, 1, 1, 1, 1),
      "Output@GRAD": (1, 2, 100, 100, 100)}, {}, ("Filter@GRAD",)),
    ("conv2d", {"Input": (1, 1, 1000, 1000), "Filter": (2, 1, 1000, 1000)}, {}, ("Output",)),
    ("grid_sample_grad",
     {"X": (1, 1, 1, 1), "Grid": np.zeros((1, 1000, 1000, 2), "f4"),
      "Out@GRAD": np.full((1, 1, 1000, 1000), 0.1, "f4")}, {}, ("X@GRAD",)),
    ("pool2d", {"X": (1, 2, 1000, 1000)}, AVERAGE, ("Out",)),
    ("pool2d", {"X": (1, 1000, 1000, 2)}, AVERAGE | {"data_format": "NHWC"}, ("Out",)),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(OTHERS)), ids=lambda i: f"{OTHERS[i][0]}-{i}")
def test_other_ops(case):
    """Beside the op in float64, of random numbers from 0 to 2."""
    op, given, attrs, outputs = OTHERS[case]
    inputs = {
        name: 2 * RNG.random(value, "float32") if isinstance(value, tuple) else value
        for name, value in given.items()
    }
    wide = {
        name: value.astype("float64") if value.dtype == "float32" else value
        for name, value in inputs.items()
    }
    wanted = sl.run_op(op, wide, attrs, sl.CPUPlace(), "", outputs)
    for kernel, got in results(op, inputs, attrs, outputs):
        for name in outputs:
            want = np.asarray(wanted[name])
            error = np.max(np.abs(got[name] - want)) / np.max(np.abs(want))
            assert error <= bound(N), f"{kernel}: {name} is off by {error:.2g}"
