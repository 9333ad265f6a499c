"""Sums of up to ten million terms, by every kernel, against float64.

Terms have one sign, so that rounding errors add up instead of cancelling. A
kernel that is over the bound of its op must refuse such sizes.
"""

import math

import numpy as np
import pytest
from far_numbers import results as every_result

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


@pytest.mark.parametrize("op", ["gather_grad", "lookup_table_grad", "scatter_nd", "merge_rows",
                                "rows_to_dense", "scatter_elements", "sgd"])  # fmt: skip
def test_rows_that_repeat(op):
    """Row 1 a million times, row 2 some times more, row 0 never."""
    terms = 1_000_000
    ids = np.ones(terms + 7, "int64")
    ids[::200_000] = 2
    x = like((len(ids), 2))
    sums = np.array([x[ids == i].astype("float64").sum(0) for i in (1, 2)])
    table = np.zeros((3, 2), "float32")
    whole = np.concatenate([np.ones((1, 2)), sums + 1])  # of 1 in each row
    one = np.ones((3, 2), "float32")

    def check(inputs, output, rows, attrs=None):
        for kernel, outputs in results(op, inputs, attrs, (output,)):
            got = np.asarray(outputs[output], "float64")[rows]
            want = whole[1:] - (0 if inputs.get("X") is one else 1)
            error = np.max(np.abs(got / want - 1))
            assert error < bound(terms), f"{kernel}: {error:.2g}"

    last = slice(1, 3)
    if op == "gather_grad":
        check({"X": table, "Index": ids, "Out@GRAD": x}, "X@GRAD", last, {"axis": 0})
    elif op == "lookup_table_grad":
        check({"W": table, "Ids": ids[:, None], "Out@GRAD": x}, "W@GRAD", last)
    elif op == "scatter_nd":
        check({"X": one, "Index": ids[:, None], "Updates": x}, "Out", last, {"reduction": "add"})
    elif op == "scatter_elements":
        index = np.stack([ids, ids], 1)
        check({"X": one, "Index": index, "Updates": x}, "Out", last, {"reduction": "add"})
    elif op == "merge_rows":
        check({"X": x, "Rows": ids}, "Out", slice(0, 2))
    elif op == "rows_to_dense":
        check({"X": x, "Rows": ids, "Like": table}, "Out", last)
    else:
        rate = np.array([1.0], "float32")
        for kernel, outputs in results(op, {"Param": -table, "Grad": x, "LearningRate": rate,
                                            "Rows": ids}, None, ("ParamOut",)):  # fmt: skip
            error = np.max(np.abs(np.asarray(outputs["ParamOut"], "float64")[last] / -sums - 1))
            assert error < bound(terms), f"{kernel}: {error:.2g}"
