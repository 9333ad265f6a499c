"""``fluid.save`` and ``fluid.load``, and states of programs as arrays."""

import os
import pickle

import numpy as np
import pytest
from fluid_runs import started
from refusals import refused

import sluice as sl
import sluice.fluid as fluid
from sluice.fluid import layers


def trained(optimizer=fluid.optimizer.Adam, *more):
    """A program after two steps, and a function that goes on."""
    x = fluid.data("x", [None, 3])
    y = layers.batch_norm(layers.fc(x, 2))
    loss = layers.mean(layers.square(y - layers.fc(x, 2)))
    optimizer(0.1, *more).minimize(loss)
    exe = started()
    feed = {"x": np.random.default_rng(0).random((5, 3), dtype="float32")}

    def step():
        return exe.run(feed=feed, fetch_list=[loss])[0].item()

    step(), step()
    return fluid.default_main_program(), step


WAYS = {
    "checkpoint": (fluid.save, fluid.load),
    "files": (
        lambda main, path: fluid.io.save_persistables(None, path, main),
        lambda main, path: fluid.io.load_persistables(None, path, main),
    ),
}


@pytest.mark.parametrize(
    "optimizer",
    [(fluid.optimizer.Adam,), (fluid.optimizer.Momentum, 0.9)],
    ids=["Adam", "Momentum"],
)
@pytest.mark.parametrize("way", WAYS)
def test_training_goes_on_where_it_was_saved(way, optimizer, tmp_path):
    main, step = trained(*optimizer)
    save, load = WAYS[way]
    path = str(tmp_path / "folder" / "model")
    save(main, path)
    if way == "checkpoint":
        files = sorted(os.listdir(tmp_path / "folder"))
        assert files == ["model.pdopt", "model.pdparams"]
    losses = [step() for _ in range(3)]
    load(main, path)
    assert [step() for _ in range(3)] == losses


def test_the_files_are_fluids(tmp_path):
    main, _ = trained()
    fluid.io.save(main, str(tmp_path / "m"))
    with open(tmp_path / "m.pdparams", "rb") as file:
        parameters = pickle.load(file)
    assert set(parameters) == {v.name for v in main.all_parameters()}
    with open(tmp_path / "m.pdopt", "rb") as file:
        others = pickle.load(file)
    stored = fluid.io.get_program_persistable_vars(main)
    assert not set(others) & set(parameters)
    assert {v.name for v in stored} <= {*others, *parameters}
    weight = fluid.global_scope().find_var("fc_0.w_0").get_tensor()
    np.testing.assert_array_equal(parameters["fc_0.w_0"], weight)


def test_a_state_gives_what_it_has(tmp_path):
    main, _ = trained()
    fluid.io.save_persistables(None, str(tmp_path / "all"), main)
    fluid.io.save_persistables(None, str(tmp_path), main, "one")
    fluid.save(main, str(tmp_path / "m"))
    for state in (
        fluid.load_program_state(str(tmp_path / "m")),
        fluid.load_program_state(str(tmp_path / "m.pdparams")),
        fluid.load_program_state(str(tmp_path / "all")),
        fluid.load_program_state(
            str(tmp_path / "one"), fluid.io.get_program_persistable_vars(main)
        ),
    ):
        weight = fluid.global_scope().find_var("fc_0.w_0").get_tensor()
        np.testing.assert_array_equal(state["fc_0.w_0"], weight)
        changed = {"fc_0.w_0": state["fc_0.w_0"] + 1, "other": np.zeros(1)}
        with pytest.warns(UserWarning, match="no other"):
            fluid.set_program_state(main, changed)
        got = fluid.global_scope().find_var("fc_0.w_0").get_tensor()
        np.testing.assert_array_equal(got, state["fc_0.w_0"] + 1)
        fluid.set_program_state(main, {"fc_0.w_0": state["fc_0.w_0"]})


class Evil:
    def __reduce__(self):
        return os.system, ("exit 1",)


@pytest.mark.parametrize(
    "bytes, text",
    [
        (b"", "not a pickled dict"),
        (b"\x80\x02}q", "not a pickled dict"),
        (pickle.dumps([1, 2]), "not a pickled dict"),
        (pickle.dumps({"a": Evil()}), "it has a (posix|nt).system"),
    ],
)
def test_a_damaged_file_is_an_error(tmp_path, bytes, text):
    (tmp_path / "m.pdparams").write_bytes(bytes)
    with pytest.raises(sl.errors.DataLossError, match=text):
        fluid.load_program_state(str(tmp_path / "m"))


def test_what_does_not_fit_is_named(tmp_path):
    main, _ = trained()
    path = str(tmp_path / "m")
    refused(lambda: fluid.load(main, path), "m.pdparams", error=sl.NotFoundError)
    refused(lambda: fluid.save(main, str(tmp_path) + "/"), "no name")
    wrong = {"fc_0.w_0": np.zeros((3, 9), "float32")}
    refused(lambda: fluid.set_program_state(main, wrong), "fc_0.w_0: ", "[3, 9]")
    with open(tmp_path / "m.pdparams", "wb") as file:
        pickle.dump({"fc_0.b_0": np.zeros(2, "float32")}, file)
    refused(lambda: fluid.load(main, path), "no ", "fc_0.w_0", error=sl.NotFoundError)
    (tmp_path / "one").write_bytes(b"")
    refused(lambda: fluid.load_program_state(str(tmp_path / "one")), "var_list")
