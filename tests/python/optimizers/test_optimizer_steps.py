"""100 steps in float64 against formulas and PyTorch's; wrappers and averages."""

import inspect

import numpy as np
import of_pytorch
import pytest
from stepping import (
    CASES, GRADS, RATE, START, STEPS, adam, by_formula, loss_of, opt, ours,
    parameter, train, value,
)

import sluice as sl

@pytest.mark.parametrize("name", CASES)
def test_100_steps_are_those_of_the_formula(exe, name):
    make, step = CASES[name]
    got = ours(exe, make(RATE))
    np.testing.assert_allclose(got, by_formula(step), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["sgd", "momentum", "adam", "adagrad", "lion"])
def test_an_infinite_parameter_stays_infinite(exe, name):
    start = START.copy()
    start.flat[0] = np.inf
    got = ours(exe, CASES[name][0](RATE), start)
    assert got.flat[0] == np.inf and np.isfinite(got.flat[1:]).all()


# Of fluid.optimizer in Fluid 1.8; AdamW has PyTorch's.
DEFAULTS = {
    "Momentum": {"use_nesterov": False},
    "LarsMomentum": {"lars_coeff": 0.001, "lars_weight_decay": 0.0005},
    "Adam": {"learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999,
             "epsilon": 1e-8},
    "AdamW": {"learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999,
              "epsilon": 1e-8, "weight_decay": 0.01},
    "Adamax": {"learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999,
               "epsilon": 1e-8},
    "Adagrad": {"epsilon": 1e-6, "initial_accumulator_value": 0.0},
    "DecayedAdagrad": {"decay": 0.95, "epsilon": 1e-6},
    "Adadelta": {"epsilon": 1e-6, "rho": 0.95},
    "RMSProp": {"rho": 0.95, "epsilon": 1e-6, "momentum": 0.0,
                "centered": False},
    "Ftrl": {"l1": 0.0, "l2": 0.0, "lr_power": -0.5},
    "Lamb": {"learning_rate": 0.001, "lamb_weight_decay": 0.01, "beta1": 0.9,
             "beta2": 0.999, "epsilon": 1e-6},
    "Dpsgd": {"learning_rate": 0.001, "clip": 0.9, "batch_size": 0.999,
              "sigma": 1e-8},
    "ModelAverage": {"min_average_window": 10000, "max_average_window": 10000},
    "ExponentialMovingAverage": {"decay": 0.999},
    "Lookahead": {"alpha": 0.5, "k": 5},
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_fluids(name):
    known = inspect.signature(getattr(opt, name)).parameters
    found = {what: known[what].default for what in DEFAULTS[name]}
    assert found == DEFAULTS[name]


@pytest.mark.parametrize("name", of_pytorch.OPTIMIZERS)
def test_100_steps_are_those_of_pytorch(exe, name):
    got = ours(exe, CASES[name][0](RATE))
    expected = of_pytorch.recorded("steps", name).reshape(got.shape)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6)


@pytest.mark.skipif(of_pytorch.torch is None, reason="PyTorch is missing")
def test_what_is_recorded_is_of_pytorch():
    for kind, values in of_pytorch.computed().items():
        for name, expected in values.items():
            got = of_pytorch.recorded(kind, name)
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


WRAPPED = {
    "merge": lambda r: opt.GradientMerge(opt.Adam(r), 3),
    "lookahead": lambda r: opt.Lookahead(opt.Momentum(r), k=3),
}


@pytest.mark.parametrize("name", [*CASES, *WRAPPED])
def test_training_goes_on_from_a_file_with_equal_bits(tmp_path, exe, name):
    """With a schedule and averages, in the middle of an accumulation."""
    rate = sl.layers.exponential_decay(RATE, 10, 0.9)
    make = WRAPPED.get(name) or CASES[name][0]
    make(rate).minimize(loss_of(parameter(START)))
    average = opt.ExponentialMovingAverage(0.9)
    average.update()
    mean = opt.ModelAverage(0.5, 3, 10)
    exe.run(sl.default_startup_program())
    train(exe, GRADS[:31])
    sl.io.save_params(tmp_path / "at_31")
    train(exe, GRADS[31:60])
    through = {v: value(v).copy() for v in sl.global_scope().names()}
    with sl.scope_guard(sl.Scope()):
        sl.io.load_params(tmp_path / "at_31")
        train(exe, GRADS[31:60])
        for variable, expected in through.items():
            np.testing.assert_array_equal(value(variable), expected, variable)
        for each in (average, mean):
            with each.apply(exe):
                assert not np.array_equal(value(), through["p"])
            np.testing.assert_array_equal(value(), through["p"])


@pytest.mark.parametrize("name", ["adam", "momentum", "lamb", "ftrl"])
def test_merged_gradients_update_like_the_large_batch(exe, name):
    make, step = CASES[name]
    got = ours(exe, opt.GradientMerge(make(RATE), 4))
    batches = GRADS.reshape(25, 4, 3, 5).mean(axis=1)
    expected = by_formula(step, grads=batches)
    np.testing.assert_allclose(got, expected, atol=1e-10)


def test_merged_gradients_are_clipped_and_decay_once(exe):
    inner = opt.SGD(
        RATE, sl.regularizer.L2Decay(0.5), sl.clip.GradientClipByValue(0.25)
    )
    got = ours(exe, opt.GradientMerge(inner, 2, avg=False), grads=GRADS[:3])
    g = np.clip(GRADS[0] + GRADS[1], -0.25, 0.25) + 0.5 * START
    np.testing.assert_allclose(got, START - RATE * g, rtol=1e-14)


def test_a_nan_does_not_stay_in_the_merged_gradient(exe):
    merge = opt.GradientMerge(opt.Momentum(RATE), 2)
    merge.minimize(loss_of(parameter(START)))
    exe.run(sl.default_startup_program())
    train(exe, [GRADS[0] * np.nan])
    assert np.isfinite(value()).all()
    names = [n for n in sl.global_scope().names() if n.endswith(".gradient_0")]
    assert len(names) == 1
    sl.global_scope()[names[0]] = np.zeros_like(START)
    train(exe, [GRADS[1]])
    expected = START - RATE * GRADS[1] / 2
    np.testing.assert_allclose(value(), expected, rtol=1e-14)


def test_lookahead_meets_every_k_steps(exe):
    got = ours(exe, opt.Lookahead(opt.Adam(RATE, beta2=0.99), 0.25, 7))
    slow = START
    state = {}
    p = START
    for t, g in enumerate(GRADS, 1):
        p = adam(g, p, state, t, RATE)
        if t % 7 == 0:
            p = slow = slow + 0.25 * (p - slow)
    np.testing.assert_allclose(got, p, atol=1e-10)


@pytest.mark.parametrize("limited", [False, True])
def test_exponential_moving_average(exe, limited):
    opt.SGD(RATE).minimize(loss_of(parameter(START)))
    steps = None
    if limited:
        sl.layers.exponential_decay(1.0, 1, 1.0)
        steps = sl.default_main_program().var("learning_rate_step_0")
    ema = opt.ExponentialMovingAverage(0.9, steps)
    ema.update()
    exe.run(sl.default_startup_program())
    p, average, left = START, 0, 1
    for t, g in enumerate(GRADS):
        train(exe, [g])
        p = p - RATE * g
        decay = min(0.9, (1 + t) / (10 + t)) if limited else 0.9
        average, left = decay * average + (1 - decay) * p, left * decay
        if t in (0, 4, STEPS - 1):
            with ema.apply(exe):
                expected = average / (1 - left)
                np.testing.assert_allclose(value(), expected, rtol=1e-10)
            np.testing.assert_allclose(value(), p, atol=1e-12)
    with ema.apply(exe, need_restore=False):
        pass
    np.testing.assert_allclose(value(), expected, rtol=1e-10)
    ema.restore(exe)
    np.testing.assert_allclose(value(), p, atol=1e-12)


def test_programs_count_their_own_runs(exe):
    """Those of a critic and a generator, with a schedule each."""
    rates = []
    for _ in range(2):
        with sl.program_guard(sl.Program(), sl.Program()):
            rate = sl.layers.exponential_decay(1.0, 1, 0.5)
            rates.append((sl.default_main_program(), rate))
            exe.run(sl.default_startup_program())
    found = [exe.run(p, fetch_list=[r])[0].item() for p, r in rates * 3]
    assert found == [1, 1, 0.5, 0.5, 0.25, 0.25]


def test_an_average_needs_update(exe):
    with (
        pytest.raises(sl.FailedPreconditionError, match="update"),
        opt.ExponentialMovingAverage().apply(exe),
    ):
        pass


@pytest.fixture
def averages(exe):
    """Two of a parameter that has not been trained yet."""
    opt.SGD(RATE).minimize(loss_of(parameter(START)))
    ema = opt.ExponentialMovingAverage(0.9)
    ema.update()
    mean = opt.ModelAverage(1.0, 2, 2)
    exe.run(sl.default_startup_program())
    return ema, mean


def refused(call, check):
    """What is said, when a call changes nothing."""
    before = value().copy()
    with pytest.raises(sl.FailedPreconditionError) as error:
        call()
    np.testing.assert_array_equal(value(), before)
    assert error.value.check_id == check
    return str(error.value)


def test_averages_are_not_nested(exe, averages):
    train(exe, GRADS[:3])
    trained = value().copy()
    for outer in averages:
        for inner in averages:
            with outer.apply(exe):
                said = refused(
                    inner.apply(exe).__enter__, "python.average_nested"
                )
                assert said == (
                    f"{inner.name}: {outer.name} is in the parameters' place "
                    "already: leave its block or call its restore() first"
                )
                assert not np.array_equal(value(), trained)
            np.testing.assert_array_equal(value(), trained)
    with averages[0].apply(exe, need_restore=False):
        pass
    refused(averages[0].apply(exe).__enter__, "python.average_nested")
    averages[0].restore(exe)
    np.testing.assert_array_equal(value(), trained)
    with pytest.raises(KeyError), averages[1].apply(exe):
        averages[1].restore(exe)
        np.testing.assert_array_equal(value(), trained)
        raise KeyError
    np.testing.assert_array_equal(value(), trained)


def test_averages_of_other_scopes_and_parameters_are_nested(exe, averages):
    ema, mean = averages
    train(exe, GRADS[:3])
    trained = value().copy()
    other = sl.Scope()
    with ema.apply(exe):
        averaged = value().copy()
        with sl.scope_guard(other):
            exe.run(sl.default_startup_program())
            train(exe, GRADS[3:5])
            applied = mean.apply(exe)
            applied.__enter__()
        np.testing.assert_array_equal(value(), averaged)
        with sl.program_guard(sl.Program(), sl.Program()):
            opt.SGD(RATE).minimize(loss_of(parameter(START, name="other")))
            second = opt.ModelAverage(1.0)
            exe.run(sl.default_startup_program())
            train(exe, GRADS[:1])
            with second.apply(exe):
                pass
        applied.__exit__(None, None, None)  # in the scope where it began
        np.testing.assert_array_equal(value(), averaged)
    np.testing.assert_array_equal(value(), trained)
    with sl.scope_guard(other):
        by_hand = START - RATE * (GRADS[3] + GRADS[4])
        np.testing.assert_allclose(value(), by_hand, rtol=1e-14)


def test_averages_need_a_step_and_restore_an_apply(exe, averages):
    for average in averages:
        enter = average.apply(exe).__enter__
        said = refused(enter, "python.average_steps")
        assert said.startswith(f"{average.name}: no step has been averaged yet")
        said = refused(lambda: average.restore(exe), "python.average_restore")
        assert "restore() without apply()" in said
    train(exe, GRADS[:1])
    for average in averages:
        with average.apply(exe):
            np.testing.assert_allclose(value(), START - RATE * GRADS[0])
        with (
            sl.scope_guard(sl.Scope()),
            pytest.raises(sl.FailedPreconditionError, match="scope_guard"),
            average.apply(exe),
        ):
            pass
        refused(lambda: average.restore(exe), "python.average_restore")


def test_model_average_is_the_mean_over_its_windows(exe):
    opt.SGD(RATE).minimize(loss_of(parameter(START)))
    mean = opt.ModelAverage(0.15, 4, 9)
    exe.run(sl.default_startup_program())
    p, current, before, updates = START, [], [], 0
    for g in GRADS:
        train(exe, [g])
        p = p - RATE * g
        updates += 1
        current.append(p)
        if len(current) >= max(4, min(9, int(updates * 0.15))):
            before, current = current, []
        if updates in (3, 4, 50, STEPS):
            with mean.apply(exe):
                expected = np.mean(before + current, axis=0)
                np.testing.assert_allclose(value(), expected, rtol=1e-10)
    np.testing.assert_allclose(value(), p, atol=1e-12)


def test_wrappers_and_averages_take_parameters_of_every_rank(exe):
    for start in (np.float64(2.0), np.ones(1), np.zeros((0, 3))):
        with (
            sl.program_guard(sl.Program(), sl.Program()),
            sl.scope_guard(sl.Scope()),
        ):
            clip = sl.clip.GradientClipByGlobalNorm(1.0)
            inner = opt.GradientMerge(opt.Lamb(0.1, grad_clip=clip), 2)
            opt.Lookahead(inner, k=2).minimize(loss_of(parameter(start)))
            ema = opt.ExponentialMovingAverage()
            ema.update()
            mean = opt.ModelAverage(0.5)
            exe.run(sl.default_startup_program())
            train(exe, [np.full_like(start, 0.5)] * 3)
            for each in (ema, mean):
                with each.apply(exe):
                    assert value().shape == np.shape(start)


def test_some_parameters_do_not_decay(exe):
    for make in (
        lambda: opt.AdamW(
            0.1, weight_decay=1.0, apply_decay_param_fun=lambda n: n == "p"
        ),
        lambda: opt.Lamb(
            0.1, 1.0, exclude_from_weight_decay_fn=lambda p: p.name == "q"
        ),
    ):
        with (
            sl.program_guard(sl.Program(), sl.Program()),
            sl.scope_guard(sl.Scope()),
        ):
            loss = loss_of(parameter(START)) + loss_of(parameter(START, "q"), "h")
            make().minimize(loss)
            exe.run(sl.default_startup_program())
            zeros = np.zeros_like(START)
            exe.run(feed={"g": zeros, "h": zeros})
            assert (abs(value()) < abs(START)).all()
            np.testing.assert_array_equal(value("q"), START)


def test_dpsgd_adds_noise(exe):
    p = ours(exe, opt.Dpsgd(1.0, 0.9, 2.0, 4.0, seed=3), START, GRADS[:1] * 0)
    noise = START - p
    assert 1 < noise.std() < 3
    assert len(np.unique(noise)) == noise.size


def test_a_rate_of_another_dtype_is_cast(exe):
    rate = sl.data("rate", [1])
    opt.SGD(rate).minimize(loss_of(parameter(START)))
    exe.run(sl.default_startup_program())
    exe.run(feed={"g": GRADS[0], "rate": [0.5]})
    np.testing.assert_allclose(value(), START - 0.5 * GRADS[0], rtol=1e-14)


@pytest.mark.parametrize("name", ["sgd", "adam", "rmsprop of Fluid"])
def test_a_large_parameter_steps_like_a_small_one(exe, name):
    """Its outputs are written past the cache."""
    make, step = CASES[name]
    n = 600_007
    got = ours(
        exe, make(RATE), np.resize(START, n), [np.resize(GRADS[0], n)] * 2
    )
    expected = by_formula(step, grads=[GRADS[0]] * 2)
    np.testing.assert_allclose(got, np.resize(expected, n), atol=1e-12)
