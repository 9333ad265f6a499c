"""Every op beside PyTorch's, forward and backward, where that is installed.

CI has no PyTorch; CONTRIBUTING.md says how to run this with it.
"""

import numpy as np
import pytest
from torch_cases import CASES, NO_COUNTERPART, torch

import sluice as sl
from sluice.layers import ops

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is missing")

SEEDS = 3
TOLERANCE = {"float32": 2e-5, "float64": 1e-11}


def gradient_ops(op):
    """conv2d_grad_input and conv2d_grad_filter of conv2d."""
    names = sl._core._op_names()
    return [n for n in names if n.partition("_grad")[0] == op != n]


def test_every_op_has_a_counterpart_or_a_reason():
    known = {*CASES, *NO_COUNTERPART}
    assert not set(CASES) & set(NO_COUNTERPART)
    assert known == set(ops.names())


@needs_torch
@pytest.mark.parametrize("op", sorted(CASES))
def test_gradients_are_compared_where_there_are_any(op):
    compared = set()
    for make, parameter in CASES[op]:
        compared |= set(make(np.random.default_rng(0), *parameter).grads)
    given = {
        output["name"].partition("@GRAD")[0]
        for name in gradient_ops(op)
        for output in ops.schema(name)["outputs"]
    }
    assert given <= compared


def cast(value, dtype):
    """Floats as `dtype`, integers as they are; lists element by element."""
    if isinstance(value, list):
        return [cast(one, dtype) for one in value]
    return value.astype(dtype) if value.dtype.kind == "f" else value


def pairs_of(inputs):
    """(argument, position, array) of every input."""
    for name, value in inputs.items():
        for i, one in enumerate(value if isinstance(value, list) else [value]):
            yield name, i, one


def weights_of(shape):
    """What an output is weighed with: its gradient is 0.5, 1.5 and so on."""
    return (np.arange(np.prod(shape, dtype=int)) % 7 + 0.5).reshape(shape)


def ours(op, case, inputs, outputs):
    """The outputs, and the gradients of their weighed sum."""
    program, feed, variables = sl.Program(), {}, {}
    with sl.program_guard(program, sl.Program()):
        for name, i, array in pairs_of(inputs):
            x = sl.data(f"{name}{i}", list(array.shape), str(array.dtype))
            x.stop_gradient = name not in case.grads
            feed[x.name] = array
            variables.setdefault(name, []).append(x)
        named = {name: f"out_{name}" for name in outputs}
        made = program.append_op(op, variables, named, case.attrs)
        fetch = [made[name] for name in outputs]
        if case.grads:
            losses = []
            for name, expected in outputs.items():
                if expected.requires_grad:
                    weight = weights_of(expected.shape)
                    feed[f"weight_{name}"] = weight
                    shape = list(weight.shape)
                    x = sl.data(f"weight_{name}", shape, "float64")
                    x = sl.layers.cast(x, dtype=made[name].dtype) * made[name]
                    losses.append(sl.layers.reduce_sum(x, reduce_all=True))
            loss = sl.layers.sum(losses)
            wanted = [v for name in case.grads for v in variables[name]]
            fetch += [g for _, g in sl.append_backward(loss, wanted)]
    values = sl.Executor().run(program, feed, fetch)
    return values[: len(outputs)], values[len(outputs) :]


def theirs(case, inputs):
    """The same from PyTorch: outputs by name, and a list of gradients."""
    tensors, wanted = {}, []
    for name, _, array in pairs_of(inputs):
        tensor = torch.from_numpy(np.array(array))
        if name in case.grads:
            wanted.append(tensor.requires_grad_())
        tensors.setdefault(name, []).append(tensor)
    given = {
        name: many if isinstance(inputs[name], list) else many[0]
        for name, many in tensors.items()
    }
    outputs = case.same(given)
    if not case.grads:
        return outputs, []
    loss = sum(
        (out * torch.from_numpy(weights_of(out.shape)).to(out.dtype)).sum()
        for out in outputs.values()
        if out.requires_grad
    )
    return outputs, torch.autograd.grad(loss, wanted)


def compare(what, found, expected, tolerance):
    expected = expected.detach()
    if expected.dtype in (torch.float16, torch.bfloat16):
        expected, found = expected.float().numpy(), found.astype("float32")
    else:
        expected = expected.numpy()
        assert found.dtype == expected.dtype, what
    assert found.shape == expected.shape, what
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected, what)
        return
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=1)
    np.testing.assert_allclose(
        found, expected, rtol=tolerance, atol=tolerance * largest, err_msg=what
    )


def all_cases():
    for op, makers in sorted(CASES.items()):
        for i, (make, parameter) in enumerate(makers):
            yield pytest.param(op, make, parameter, id=f"{op}-{i}")


@needs_torch
@pytest.mark.parametrize("dtype", sorted(TOLERANCE))
@pytest.mark.parametrize(("op", "make", "parameter"), list(all_cases()))
def test_agrees_with_torch(op, make, parameter, dtype):
    # float32 by whatever is chosen and by our own kernels; in float64 there
    # are no others.
    hints = ("", "prefer library=PLAIN") if dtype == "float32" else ("",)
    for seed in range(SEEDS):
        case = make(np.random.default_rng(seed), *parameter)
        inputs = {k: cast(v, dtype) for k, v in case.inputs.items()}
        expected, expected_grads = theirs(case, inputs)
        for hint in hints:
            with sl.kernel_hints(hint):
                found, grads = ours(op, case, inputs, expected)
            for name, value in zip(expected, found):
                where = f"{op}.{name}, seed {seed}, {hint}, {case.attrs}"
                compare(where, value, expected[name], TOLERANCE[dtype])
            assert len(grads) == len(expected_grads)
            for i, (value, grad) in enumerate(zip(grads, expected_grads)):
                where = f"{op}, gradient {i}, seed {seed}, {hint}, {case.attrs}"
                compare(where, value, grad, TOLERANCE[dtype])


@needs_torch
def test_a_wrong_gradient_is_found():
    (make, parameter), *_ = CASES["relu"]
    case = make(np.random.default_rng(0), *parameter)
    # relu with a slope that is larger by 1 everywhere.
    case.same = lambda t: {"Out": t["X"].relu() + t["X"] - t["X"].detach()}
    expected, expected_grads = theirs(case, case.inputs)
    found, grads = ours("relu", case, case.inputs, expected)
    compare("forward", found[0], expected["Out"], 1e-11)
    with pytest.raises(AssertionError, match="gradient"):
        compare("gradient", grads[0], expected_grads[0], 1e-11)
