"""Learning rates that change with the run, and optimizers that take them."""

import math

import numpy as np
import pytest

import sluice as sl
import sluice.fluid as fluid

layers = fluid.layers


def polynomial(step, cycle):
    last = 4 * max(math.ceil(step / 4), 1) if cycle else 4
    return 0.09 * (1 - min(step, last) / last) ** 2 + 0.01


# Each schedule, and the rate of run n, which counts from 0.
SCHEDULES = {
    "noam": (
        lambda: layers.noam_decay(64, 4, 0.5),
        lambda n: 0.5 / 8 * min((n + 1) ** -0.5, (n + 1) * 4**-1.5),
    ),
    "exponential": (
        lambda: layers.exponential_decay(0.1, 3, 0.5),
        lambda n: 0.1 * 0.5 ** (n / 3),
    ),
    "exponential by stairs": (
        lambda: layers.exponential_decay(0.1, 3, 0.5, True),
        lambda n: 0.1 * 0.5 ** (n // 3),
    ),
    "natural": (
        lambda: layers.natural_exp_decay(0.1, 3, 0.5),
        lambda n: 0.1 * math.exp(-0.5 * n / 3),
    ),
    "natural by stairs": (
        lambda: layers.natural_exp_decay(0.1, 3, 0.5, staircase=True),
        lambda n: 0.1 * math.exp(-0.5 * (n // 3)),
    ),
    "inverse": (
        lambda: layers.inverse_time_decay(0.1, 3, 0.5),
        lambda n: 0.1 / (1 + 0.5 * n / 3),
    ),
    "polynomial": (
        lambda: layers.polynomial_decay(0.1, 4, 0.01, 2.0),
        lambda n: polynomial(n, False),
    ),
    "polynomial in cycles": (
        lambda: layers.polynomial_decay(0.1, 4, 0.01, 2.0, cycle=True),
        lambda n: polynomial(n, True),
    ),
    "piecewise": (
        lambda: layers.piecewise_decay([2, 5, 6], [0.4, 0.3, 0.2, 0.1]),
        lambda n: 0.4 if n < 2 else 0.3 if n < 5 else 0.2 if n < 6 else 0.1,
    ),
    "cosine": (
        lambda: layers.cosine_decay(0.1, 2, 4),
        lambda n: 0.05 * (math.cos(n // 2 * math.pi / 4) + 1),
    ),
    "warmup": (
        lambda: layers.linear_lr_warmup(0.1, 4, 0.02, 0.06),
        lambda n: 0.02 + 0.01 * n if n < 4 else 0.1,
    ),
    "warmup of a schedule": (
        lambda: layers.linear_lr_warmup(
            layers.exponential_decay(0.1, 3, 0.5), 4, 0.02, 0.06
        ),
        lambda n: 0.02 + 0.01 * n if n < 4 else 0.1 * 0.5 ** (n / 3),
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_sgd_goes_down_by_the_rate_of_each_run(name):
    schedule, formula = SCHEDULES[name]
    w = layers.create_parameter(
        [1],
        "float32",
        name="w",
        default_initializer=fluid.initializer.Constant(),
    )
    loss = layers.mean(w)
    rate = schedule()
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.SGD(learning_rate=rate).minimize(loss)
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    rates, steps, last = [], [], 0.0
    for _ in range(10):
        exe.run(test, fetch_list=[loss])  # counts nothing
        rates.append(exe.run(fetch_list=[rate])[0].item())
        now = np.asarray(fluid.global_scope()["w"]).item()
        steps.append(last - now)
        last = now
    expected = [formula(n) for n in range(10)]
    np.testing.assert_allclose(rates, expected, rtol=2e-6)
    np.testing.assert_allclose(steps, expected, rtol=1e-4)


def test_tests_and_files_do_not_have_the_schedule(tmp_path):
    x = fluid.data("x", [None, 2])
    y = layers.fc(x, 1)
    rate = layers.cosine_decay(0.1, 2, 4)
    program = fluid.default_main_program()
    kinds = [op.type for op in program.clone(for_test=True).block0.ops]
    assert kinds == ["mul", "elementwise_add"]
    copy = program.clone()
    assert copy.block0.has_var(rate.name)
    assert copy.block0.ops[-1].role == "optimize"
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    fluid.io.save_inference_model(str(tmp_path), ["x"], [y], exe)
    assert [op.type for op in fluid.load(tmp_path).program.ops] == [
        "mul",
        "elementwise_add",
    ]


def test_a_counter_is_shared_by_its_name():
    one = layers.autoincreased_step_counter("n", begin=5, step=2)
    assert layers.autoincreased_step_counter("n", begin=0) is one
    exe = fluid.Executor()
    exe.run(fluid.default_startup_program())
    assert [exe.run(fetch_list=[one])[0].item() for _ in range(3)] == [5, 7, 9]


def test_piecewise_decay_needs_a_value_more():
    with pytest.raises(
        sl.errors.InvalidArgumentError, match="2 boundaries need one value more"
    ):
        layers.piecewise_decay([1, 2], [0.1, 0.2])
