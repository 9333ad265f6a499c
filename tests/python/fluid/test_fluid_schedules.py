"""Learning rates that change with the run, and optimizers that take them."""

import numpy as np
import pytest
from fluid_runs import started
from refusals import refused
from optimizers.schedules import SCHEDULES

import sluice.fluid as fluid

layers = fluid.layers
RUNS = 65  # past each boundary


@pytest.mark.parametrize("name", SCHEDULES)
def test_sgd_goes_down_by_the_rate_of_each_run(name):
    schedule, formula = SCHEDULES[name]
    zero = fluid.initializer.Constant()
    w = layers.create_parameter([1], "float32", "w", default_initializer=zero)
    loss = layers.mean(w)
    rate = schedule(layers)
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.SGD(learning_rate=rate).minimize(loss)
    exe = started()
    rates, steps, last = [], [], 0.0
    for _ in range(RUNS):
        exe.run(test, fetch_list=[loss])  # counts nothing
        rates.append(exe.run(fetch_list=[rate])[0].item())
        now = np.asarray(fluid.global_scope()["w"]).item()
        steps.append(last - now)
        last = now
    expected = [formula(n) for n in range(RUNS)]
    np.testing.assert_allclose(rates, expected, rtol=2e-6)
    np.testing.assert_allclose(steps, expected, rtol=1e-4, atol=1e-5)


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
    exe = started()
    fluid.io.save_inference_model(str(tmp_path), ["x"], [y], exe)
    assert [op.type for op in fluid.load(tmp_path).program.ops] == kinds


def test_a_counter_is_shared_by_its_name():
    one = layers.autoincreased_step_counter("n", begin=5, step=2)
    assert layers.autoincreased_step_counter("n", begin=0) is one
    exe = started()
    assert [exe.run(fetch_list=[one])[0].item() for _ in range(3)] == [5, 7, 9]


def test_piecewise_decay_needs_a_value_more():
    refused(lambda: layers.piecewise_decay([1, 2], [0.1, 0.2]), "2 boundaries need one value more")
