"""Numbers that are not finite: which op made them, and when."""

import numpy as np
import pytest

import sluice as sl


def rows(*values):
    return {"x": np.array([values], "f4").T}


def training(**options):
    """A step that makes NaN of its weight when x has a 0."""
    x = sl.data("x", [None, 1])
    weight = sl.layers.fc(x, 1, bias_attr=False)
    loss = sl.layers.mean(sl.layers.log(sl.layers.abs(x)) * weight)
    sl.optimizer.SGD(0.1).minimize(loss)
    exe = sl.Executor(**options)
    exe.run(sl.default_startup_program())
    return exe, loss


def test_run_checked_names_the_op_as_written_and_its_line():
    x = sl.data("x", [None, 1])
    out = sl.layers.log(x * 2.0) + 1.0
    exe = sl.Executor()
    with pytest.raises(sl.errors.InternalError) as caught:
        exe.run_checked(feed=rows(1, 0), fetch_list=[out])
    text = str(caught.value)
    assert "has 1 -Inf of 2 elements, the first is element 1 at [1, 0], although all" in text
    assert "from 0 to 2" in text, text
    assert "fused" not in text and "test_nan.py" in text


def test_a_fed_nan_and_an_empty_batch_are_found():
    x = sl.data("x", [None, 1])
    out = sl.layers.mean(x * 2.0)
    exe = sl.Executor()
    with pytest.raises(sl.errors.InternalError, match="input x .* it was fed"):
        exe.run_checked(feed=rows(1, np.nan), fetch_list=[out])
    with pytest.raises(sl.errors.InternalError, match="mean: .* has 1 NaN of 1 element, the first"):
        exe.run_checked(feed={"x": np.zeros((0, 1), "f4")}, fetch_list=[out])


def test_every_so_many_runs_are_checked():
    exe, loss = training(check_nan_every=3)
    exe.run(feed=rows(1, 2), fetch_list=[loss])
    for _ in range(2):  # runs 2 and 3 are not checked, 4 is
        exe.run(feed=rows(1, 0), fetch_list=[loss])
    with pytest.raises(sl.errors.InternalError) as caught:
        exe.run(feed=rows(1, 2), fetch_list=[loss])
    text = str(caught.value)
    assert caught.value.check_id == "run.nan_given"
    assert "fc_0.w_0" in text and "run 4 of this program" in text
    assert "stored in the scope" in text
    assert text.endswith("train with sluice.Executor(check_nan_every=1)")


def test_a_checked_run_that_fails_changes_no_parameter():
    exe, loss = training(check_nan_every=1)
    scope = sl.global_scope()
    before = scope["fc_0.w_0"].numpy().copy()
    with pytest.raises(sl.errors.InternalError, match="log: .* the first is element 1"):
        exe.run(feed=rows(1, 0), fetch_list=[loss])
    np.testing.assert_array_equal(scope["fc_0.w_0"].numpy(), before)
    (value,) = exe.run(feed=rows(1, 2), fetch_list=[loss], return_numpy=False)
    assert isinstance(value, sl.Tensor)
    assert not np.array_equal(scope["fc_0.w_0"].numpy(), before)


def test_nan_that_an_infinity_makes_is_found():
    x = sl.data("x", [None, 1])
    exe = sl.Executor()
    with pytest.raises(sl.errors.InternalError, match="although no input has a NaN: x all 1 and 1 -Inf of 2"):
        exe.run_checked(feed=rows(1, -np.inf), fetch_list=[x - x])
    (value,) = exe.run_checked(feed=rows(1, -np.inf), fetch_list=[sl.layers.exp(x)])
    assert value[1] == 0


def test_a_run_that_keeps_all_values_does_not_train():
    exe, loss = training()
    scope = sl.global_scope()
    before = scope["fc_0.w_0"].numpy().copy()
    given = {"feed": rows(2, 3), "fetch_list": [loss]}
    values = exe.run_keeping_all(**given)
    np.testing.assert_array_equal(scope["fc_0.w_0"].numpy(), before)
    assert not np.array_equal(values["fc_0.w_0"], before)  # what SGD would write
    exe.run_keeping_all(**given, keep_updates=True)
    np.testing.assert_array_equal(scope["fc_0.w_0"].numpy(), values["fc_0.w_0"])


def test_a_run_that_keeps_all_values_draws_what_the_next_run_draws():
    out = sl.layers.dropout(sl.data("x", [None, 64]), 0.5)
    exe = sl.Executor(passes=False)
    given = {"feed": {"x": np.ones((2, 64), "f4")}, "fetch_list": [out]}
    values = exe.run_keeping_all(**given)
    np.testing.assert_array_equal(exe.run(**given)[0], values[out.name])


def test_what_only_a_fused_op_makes_is_said(monkeypatch):
    x = sl.data("x", [None, 1])
    out = sl.layers.log(x * 2.0)
    exe = sl.Executor()
    run = sl.Executor._run_debugging
    monkeypatch.setattr(
        sl.Executor,
        "_run_debugging",
        lambda self, *arguments: run(self, *arguments) if self._passes else [],
    )
    with pytest.raises(sl.errors.InternalError, match="only where ops are fused"):
        exe.run_checked(feed=rows(1, 0), fetch_list=[out])


def test_a_negative_number_of_runs_is_refused():
    with pytest.raises(sl.errors.InvalidArgumentError, match="check_nan_every"):
        sl.Executor(check_nan_every=-1)
