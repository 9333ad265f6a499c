"""Every op that NumPy does not have, forward and backward, compared with values
of PyTorch: recorded ones and, if PyTorch is installed, new ones of more inputs.

CONTRIBUTING.md says how to record values for a new case.
"""

import dataclasses

import numpy as np
import pytest
from torch_cases import CASES, NOT_COMPARED, record, recorded, torch
from torch_cases.values import (
    TOLERANCE, Value, Values, assert_all_close, pairs_of, theirs, weights_of,
)

import sluice as sl
from sluice.layers import ops

LIVE_SEEDS = 3
SOURCES = ("recorded", "torch") if torch else ("recorded",)
RECORDS = recorded.load_all()


def gradient_ops(op):
    """conv2d_grad_input and conv2d_grad_filter of conv2d."""
    names = sl._core._op_names()
    return [n for n in names if n.partition("_grad")[0] == op != n]


def test_every_op_has_a_counterpart_or_a_reason():
    assert not set(CASES) & NOT_COMPARED
    unknown = set(ops.names()) - {*CASES, *NOT_COMPARED}
    assert not unknown, "torch_cases/__init__.py says how to add a case"
    assert not {*CASES, *NOT_COMPARED} - set(ops.names())


@pytest.mark.parametrize("op", sorted(CASES))
def test_gradients_are_compared_where_there_are_any(op):
    compared = set()
    for make, parameter in CASES[op]:
        compared |= set(make(np.random.default_rng(0), *parameter).grads)
    given = {
        output["name"].partition("@GRAD")[0]
        for name in gradient_ops(op)
        for output in ops.schema(name)["outputs"]
        if "@GRAD" in output["name"]
    }
    assert given <= compared


def ours(op, case, inputs, expected):
    """The outputs, and the gradients of their weighed sum."""
    program, feed, variables = sl.Program(), {}, {}
    with sl.program_guard(program, sl.Program()):
        for name, i, array in pairs_of(inputs):
            x = sl.data(f"{name}{i}", list(array.shape), str(array.dtype))
            x.stop_gradient = name not in case.grads
            feed[x.name] = array
            variables.setdefault(name, []).append(x)
        named = {name: f"out_{name}" for name in expected.outputs}
        made = program.append_op(op, variables, named, case.attrs)
        fetch = [made[name] for name in named]
        if case.grads:
            losses = []
            for name in expected.differentiable():
                weight = weights_of(expected.outputs[name].array.shape)
                feed[f"weight_{name}"] = weight
                shape = list(weight.shape)
                x = sl.data(f"weight_{name}", shape, "float64")
                x = sl.layers.cast(x, dtype=made[name].dtype) * made[name]
                losses.append(sl.layers.reduce_sum(x, reduce_all=True))
            loss = sl.layers.sum(losses)
            wanted = [v for name in case.grads for v in variables[name]]
            fetch += [g for _, g in sl.append_backward(loss, wanted)]
    arrays = sl.Executor().run(program, feed, fetch)
    values = [Value(array, str(array.dtype)) for array in arrays]
    return Values(dict(zip(named, values)), values[len(named) :])


def check(name, op, case, inputs, dtype, expected):
    # float32 with the chosen kernels and with our own kernels; float64 has no
    # others.
    hints = ("", "prefer library=PLAIN") if dtype == "float32" else ("",)
    for hint in hints:
        with sl.kernel_hints(hint):
            found = ours(op, case, inputs, expected)
        what = f"{name}, {hint or 'any kernel'}, {case.attrs}"
        assert_all_close(what, found, expected, TOLERANCE[dtype])


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("dtype", sorted(TOLERANCE))
@pytest.mark.parametrize(
    ("name", "op", "make", "parameter"),
    [pytest.param(*one, id=one[0]) for one in recorded.all_cases()],
)
def test_agrees_with_torch(name, op, make, parameter, dtype, source):
    live = source == "torch"
    for seed in range(LIVE_SEEDS) if live else [recorded.SEED]:
        case, inputs = recorded.draw(make, parameter, seed)
        if live:
            expected = theirs(case, inputs[dtype])
        else:
            expected = recorded.expected(RECORDS, name, case, dtype)
        what = f"{name}, seed {seed}"
        check(what, op, case, inputs[dtype], dtype, expected)


def test_every_record_has_a_case():
    cases = {name for name, *_ in recorded.all_cases()}
    assert not RECORDS.keys() - cases, f"remove them by: {recorded.COMMAND}"


@pytest.mark.skipif(
    torch is None, reason="PyTorch is missing: recorded values stand for it"
)
def test_recorded_values_are_those_of_torch():
    stale, _ = record.update()
    assert not stale, f"record them: {recorded.COMMAND}"


def relu():
    """A case, its inputs and what is expected."""
    (make, parameter), *_ = CASES["relu"]
    case, inputs = recorded.draw(make, parameter, recorded.SEED)
    expected = recorded.expected(RECORDS, "relu-0", case, "float64")
    return case, inputs["float64"], expected


def test_a_wrong_gradient_is_found():
    case, inputs, expected = relu()
    (grad,) = expected.grads
    wrong = dataclasses.replace(grad, array=grad.array + 1e-9)
    check("relu", "relu", case, inputs, "float64", expected)
    with pytest.raises(AssertionError, match="gradient 0"):
        expected = dataclasses.replace(expected, grads=[wrong])
        check("relu", "relu", case, inputs, "float64", expected)


def test_a_case_without_recorded_values_is_an_error():
    case, *_ = relu()
    with pytest.raises(AssertionError, match="record them: .*torch_cases"):
        recorded.expected({}, "relu-0", case, "float64")


def test_inputs_that_differ_from_the_recorded_ones_are_an_error():
    case, *_ = relu()
    case.inputs["X"].flat[0] += 1e-3
    with pytest.raises(AssertionError, match="inputs differ from those"):
        recorded.expected(RECORDS, "relu-0", case, "float64")
