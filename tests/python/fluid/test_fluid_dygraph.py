"""Layers with parameters inside of dygraph.guard(), and data of the user's."""

from __future__ import annotations

import gzip
import pathlib
import struct

import numpy as np
import pytest
from fluid_runs import started
from refusals import refused
import sluice as sl
import sluice.fluid as fluid
from sluice.fluid import datasets, dygraph

X = np.random.default_rng(3).normal(size=(6, 4)).astype("float32")
CLIP = fluid.clip.GradientClipByGlobalNorm(0.5)
OPTIMIZERS = {
    "sgd": (fluid.optimizer.SGD, {}),
    "momentum": (fluid.optimizer.Momentum, {"momentum": 0.9}),
    "adam": (fluid.optimizer.Adam, {}),
    "clip": (fluid.optimizer.SGD, {"grad_clip": CLIP}),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_steps_are_those_of_a_program(kind):
    weight = np.arange(12, dtype="float32").reshape(4, 3) / 10
    start = fluid.initializer.NumpyArrayInitializer(weight)
    x = fluid.data("x", [6, 4])
    out = fluid.layers.fc(
        x, 3, param_attr=fluid.ParamAttr("w", start), act="tanh"
    )
    loss = fluid.layers.mean(out * out)
    make, more = OPTIMIZERS[kind]
    make(0.1, **more).minimize(loss)
    exe = started()
    wanted = [exe.run(feed={"x": X}, fetch_list=[loss])[0] for _ in range(4)]
    with dygraph.guard():
        linear = fluid.Linear(
            4, 3, fluid.ParamAttr(initializer=start), act="tanh"
        )
        all, got = linear.parameters(), []
        optimizer = make(0.1, parameter_list=all, **more)
        for _ in range(4):
            out = linear(dygraph.to_variable(X))
            loss = fluid.layers.mean(out * out)
            loss.backward()
            optimizer.minimize(loss)
            linear.clear_gradients()
            got.append(loss.numpy())  # of the parameters before the step
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_gradients_add_up_until_they_are_cleared():
    with dygraph.guard():
        table = fluid.Embedding([5, 2])
        sgd = fluid.optimizer.SGD(0.0, parameter_list=table.parameters())
        ids = dygraph.to_variable(np.array([[1, 1], [3, 0]]))
        counts = np.array([[1, 1], [2, 2], [0, 0], [1, 1], [0, 0]])
        for times in (1, 2):
            out = table(ids)
            assert out.shape == [2, 2, 2]
            fluid.layers.reduce_sum(out).backward()
            np.testing.assert_array_equal(
                table.weight.gradient(), times * counts
            )
            sgd.minimize(out)
        table.clear_gradients()
        assert not table.weight.gradient().any()


def test_layers_draw_other_numbers_and_keep_states():
    class Net(dygraph.Layer):
        def __init__(self):
            super().__init__()
            self.one, self.two = fluid.Linear(4, 4), fluid.Linear(4, 4)

        def forward(self, x):
            return self.two(self.one(x))

    with dygraph.guard():
        net, other = Net(), Net()
        state = net.state_dict()
        assert [*state] == ["one.weight", "one.bias", "two.weight", "two.bias"]
        assert not np.array_equal(state["one.weight"], state["two.weight"])
        other.set_dict(state)
        x = dygraph.to_variable(X)
        np.testing.assert_array_equal(net(x).numpy(), other(x).numpy())
        refused(lambda: net.set_dict({}), "no value for one")
        refused(lambda: net.one.weight.set_value([1.0, 2.0]), "shape [2]")
    refused(lambda: fluid.Linear(2, 2), "guard", error=sl.FailedPreconditionError)


def test_rates_by_step_and_averages():
    with dygraph.guard():
        linear = fluid.Linear(4, 1, bias_attr=False)
        rates = dygraph.PiecewiseDecay([1, 2], [0.5, 0.25, 0.0], 0)
        sgd = fluid.optimizer.SGD(rates, parameter_list=linear.parameters())
        weights = [linear.weight.numpy()]
        for _ in range(3):
            loss = fluid.layers.reduce_sum(linear(dygraph.to_variable(X)))
            loss.backward()
            sgd.minimize(loss)
            linear.clear_gradients()
            weights.append(linear.weight.numpy())
        steps = -np.diff(weights, axis=0)[..., 0]
        np.testing.assert_allclose(
            steps, np.outer([0.5, 0.25, 0], X.sum(0)), 1e-4
        )
    mean = fluid.average.WeightedAverage()
    refused(lambda: mean.eval(), "add up to 0", error=sl.FailedPreconditionError)
    mean.add(2.0, 1)
    mean.add(np.array([4.0, 1.0]), 3)
    np.testing.assert_array_equal(mean.eval(), [3.5, 1.25])


def test_data_come_from_a_folder(tmp_path: pathlib.Path, monkeypatch):
    monkeypatch.setattr(datasets, "DATA_HOME", str(tmp_path))
    readers = datasets.MODULES["uci_housing"], datasets.MODULES["mnist"]
    refused(lambda: readers[0]["train"](), "housing.data", " nothing", error=sl.NotFoundError)
    (tmp_path / "uci_housing").mkdir()
    rows = np.random.default_rng(0).uniform(1, 9, (10, 14))
    np.savetxt(tmp_path / "uci_housing" / "housing.data", rows)
    x, y = zip(
        *[s for k in ("train", "test") for s in readers[0][k]()()], strict=True
    )
    wanted = (rows - rows.mean(0)) / np.ptp(rows, 0)
    np.testing.assert_allclose(x, wanted[:, :13])
    np.testing.assert_allclose(y, rows[:, 13:])
    assert len([*readers[0]["test"]()()]) == 2
    (tmp_path / "mnist").mkdir()
    images = bytes(range(0, 240, 20))  # three of 2 x 2
    for kind, head, data in (
        ("images-idx3", (0x803, 3, 2, 2), images), ("labels-idx1", (0x801, 3), b"\5\0\7"),
    ):  # fmt: skip
        path = tmp_path / "mnist" / f"train-{kind}-ubyte.gz"
        path.write_bytes(
            gzip.compress(struct.pack(f">{len(head)}I", *head) + data)
        )
    pixels, digits = zip(*readers[1]["train"]()(), strict=True)
    assert digits == (5, 0, 7)
    wanted = np.frombuffer(images, "u1").reshape(3, 4) / 127.5 - 1
    np.testing.assert_allclose(pixels, wanted, atol=1e-6)
    path.write_bytes(gzip.compress(b"\0\0\10\1\0\0\0\7ab"))
    refused(lambda: [*readers[1]["train"]()()], "10 bytes", error=sl.DataLossError)
