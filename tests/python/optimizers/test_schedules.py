"""Learning rates of 100 steps, against formulas and PyTorch's."""

import numpy as np
import of_pytorch
import pytest
from schedules import SCHEDULES
from stepping import (
    GRADS, START, STEPS, by_formula, loss_of, opt, parameter, sgd, train, value,
)

import sluice as sl

layers = sl.layers


@pytest.mark.parametrize("name", SCHEDULES)
def test_100_rates_are_those_of_the_formula(exe, name):
    make, formula = SCHEDULES[name]
    rate = make(layers, dtype="float64")
    opt.SGD(rate).minimize(loss_of(parameter(START)))
    exe.run(sl.default_startup_program())
    got = [float(rates[0]) for (rates,) in train(exe, GRADS, [rate])]
    expected = [formula(t) for t in range(STEPS)]
    np.testing.assert_allclose(got, expected, rtol=1e-7)
    p = by_formula(sgd, rate=lambda t: formula(t - 1))
    np.testing.assert_allclose(value(), p, atol=1e-6)


OURS_LIKE_TORCH = {
    "polynomial to 0": lambda: layers.polynomial_decay(0.5, 60, 0.0, 2.0),
    "pieces": lambda: layers.piecewise_decay([30, 60], [0.5, 0.25, 0.125]),
    "cosine to 0": lambda: layers.cosine_decay(0.5, 1, 100),
    "line": lambda: layers.linear_lr_warmup(0.5, 20, 0.1, 0.5),
}


@pytest.mark.parametrize("name", of_pytorch.SCHEDULES)
def test_100_rates_are_those_of_pytorch(exe, name):
    make = OURS_LIKE_TORCH.get(name)
    rate = make() if make else SCHEDULES[name][0](layers, dtype="float64")
    exe.run(sl.default_startup_program())
    got = [exe.run(fetch_list=[rate])[0].item() for _ in range(STEPS)]
    expected = of_pytorch.recorded("rates", name)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6)


STEPS_MISSING = {
    "exponential_decay: decay_steps": lambda n: (0.1, n, 0.9),
    "natural_exp_decay: decay_steps": lambda n: (0.1, n, 0.9),
    "inverse_time_decay: decay_steps": lambda n: (0.1, n, 0.9),
    "polynomial_decay: decay_steps": lambda n: (0.1, n),
    "noam_decay: d_model": lambda n: (n, 5),
    "noam_decay: warmup_steps": lambda n: (5, n),
    "cosine_decay: step_each_epoch": lambda n: (0.1, n, 5),
    "cosine_decay: epochs": lambda n: (0.1, 5, n),
    "linear_lr_warmup: warmup_steps": lambda n: (0.1, n, 0.0, 0.1),
}


@pytest.mark.parametrize("steps", [0, -3, 2.5])
@pytest.mark.parametrize("what", STEPS_MISSING)
def test_a_schedule_of_no_steps_is_refused_by_name(what, steps):
    make = getattr(layers, what.partition(":")[0])
    with pytest.raises(sl.InvalidArgumentError) as error:
        make(*STEPS_MISSING[what](steps))
    said = f"{what}: expected an integer above 0, got {steps}"
    assert str(error.value).startswith(said)
    assert "test_schedules.py" in str(error.value)


def test_a_schedule_needs_matching_numbers():
    for words, make in (
        (
            "start_lr must be below end_lr, got 0.1 and 0.1",
            lambda: layers.linear_lr_warmup(0.1, 5, 0.1, 0.1),
        ),
        (
            "values has 2 rates for 2 boundaries, expected 3",
            lambda: layers.piecewise_decay([1, 2], [0.1, 0.2]),
        ),
        (
            r"boundaries must be ascending, got \[2, 1\]",
            lambda: layers.piecewise_decay([2, 1], [0.1, 0.2, 0.3]),
        ),
    ):
        with pytest.raises(sl.InvalidArgumentError, match=words) as error:
            make()
        assert "test_schedules.py" in str(error.value)
    with pytest.raises(sl.InvalidArgumentError, match="finite"):
        layers.exponential_decay(float("nan"), 5, 0.9)


def test_a_clone_for_testing_counts_no_steps(exe):
    rate = layers.exponential_decay(0.5, 1, 0.5)
    loss = loss_of(parameter(START))
    test = sl.default_main_program().clone(for_test=True)
    opt.SGD(rate).minimize(loss)
    exe.run(sl.default_startup_program())
    rates = []
    for g in GRADS[:3]:
        exe.run(test, {"g": g}, [loss.name])
        rates += [float(r[0]) for (r,) in train(exe, [g], [rate])]
    assert rates == [0.5, 0.25, 0.125]
