"""The rows of `by_hand`, with every kernel."""

import importlib
import pathlib

import numpy as np
import pytest
from by_hand.row import ROWS

import sluice as sl

for path in sorted(
    (pathlib.Path(__file__).parent / "by_hand").glob("[a-z]*.py")
):
    importlib.import_module(f"by_hand.{path.stem}")


def dtype_of(schema, argument, dtype):
    """Of an argument that is given as a list."""
    allowed = schema["type_vars"].get(argument["dtype"], [argument["dtype"]])
    usual = [one for one in (dtype, "int64") if one in allowed]
    return np.dtype((usual or allowed)[0])


def parts_of(row):
    """The inputs as arrays, the attributes, and the outputs."""
    schema = sl._core._schema(row.op)
    values, inputs = dict(row.values), {}
    for argument in schema["inputs"]:
        if argument["name"] not in values:
            continue
        dtype = dtype_of(schema, argument, row.of)
        given = values.pop(argument["name"])
        many = given if isinstance(given, tuple) else (given,)
        arrays = [
            x if isinstance(x, np.ndarray) else np.array(x, dtype) for x in many
        ]
        inputs[argument["name"]] = arrays if argument["variadic"] else arrays[0]
    names = {output["name"] for output in schema["outputs"]} & values.keys()
    wanted = {name: values.pop(name) for name in names}
    return inputs, values, wanted


def compare(kernel, name, got, want, row):
    got = np.asarray(got)
    if isinstance(want, np.ndarray):
        assert got.dtype == want.dtype, f"{kernel}: {name}"
    want = np.asarray(want, got.dtype)
    assert got.shape == want.shape, f"{kernel}: {name}"
    if got.dtype.kind not in "biu":
        got, want = got.astype(float), want.astype(float)
    same = (got == want) | ((got != got) & (want != want))
    if row.near or row.close:
        same |= np.isclose(got, want, row.near, row.close)
    assert same.all(), (
        f"{kernel}: {name} is {got.tolist()}, not {want.tolist()}"
    )


def test_every_name_of_a_row_is_known():
    for row in ROWS:
        schema = sl._core._schema(row.op)
        _, attributes, wanted = parts_of(row)
        known = {attribute["name"] for attribute in schema["attributes"]}
        assert attributes.keys() <= known, row
        assert wanted, row


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.test}-{row.op}")
def test_row(row):
    inputs, attributes, wanted = parts_of(row)
    every = ((k.place, k.library, k.variant) for k in sl.kernels(row.op))
    runs = 0
    for kernel in dict.fromkeys(every):  # for all dtypes
        place, library, variant = kernel
        if place == "fpga":
            continue
        hint = f"require place={place}, library={library}, variant={variant}"
        at = sl.CUDAPlace(0) if place == "cuda" else sl.CPUPlace()
        try:
            got = sl.run_op(row.op, inputs, attributes, at, hint, list(wanted))
        except sl.NotFoundError:  # it is for other dtypes, or other sizes
            continue
        runs += 1
        for name, want in wanted.items():
            compare(kernel, name, got[name], want, row)
    assert runs, f"{row.op} has no kernel for this"
