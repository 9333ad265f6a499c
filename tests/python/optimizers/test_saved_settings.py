"""Programs from files train as those that wrote them."""

import pickle

import numpy as np
import pytest

import sluice as sl

layers = sl.layers
FEED = {
    "x": np.random.default_rng(0).normal(size=(8, 6)).astype("float32"),
    "y": np.random.default_rng(1).integers(0, 3, (8, 1)),
}
ATTRS = {
    "w0": {
        "learning_rate": 0.3,
        "regularizer": sl.regularizer.L1Decay(0.02),
        "gradient_clip": sl.clip.GradientClipByGlobalNorm(0.05, "one"),
    },
    "w1": {
        "learning_rate": 1 / 3,
        "regularizer": sl.regularizer.L2Decay(0.1),
        "gradient_clip": sl.clip.GradientClipByValue(0.01, -0.02),
        "do_model_average": False,
    },
    "w2": {"gradient_clip": sl.clip.GradientClipByNorm(0.05)},
    "b2": {"trainable": False},
    "b1": {"gradient_clip": sl.clip.GradientClipByGlobalNorm(0.05, "one")},
}


def network():
    """Its parameters have everything that a ParamAttr can say."""
    x = sl.data("x", [None, 6])
    label = sl.data("y", [None, 1], "int64")
    for i, size in enumerate((5, 4, 3)):
        w, b = (
            sl.ParamAttr(name, **ATTRS.get(name, {}))
            for name in (f"w{i}", f"b{i}")
        )
        x = layers.fc(x, size, act="tanh", param_attr=w, bias_attr=b)
        if i == 1:
            x.error_clip = sl.clip.ErrorClipByValue(0.02, -0.01)
    losses = layers.softmax_with_cross_entropy(x, label)
    return layers.mean(losses, name="loss")


def trained(exe, main, startup):
    """All parameters after 5 steps, and their averages after these."""
    with (
        sl.program_guard(main, startup),
        sl.scope_guard(sl.Scope()),
        sl.unique_name.guard(),
    ):
        decay = sl.regularizer.L2Decay(0.05)
        sl.optimizer.Momentum(0.1, regularization=decay).minimize(
            main.var("loss")
        )
        ema = sl.optimizer.ExponentialMovingAverage(0.5)
        ema.update()
        mean = sl.optimizer.ModelAverage(1.0, 2, 10)
        exe.run(startup)
        for _ in range(5):
            exe.run(main, FEED)
        scope = sl.global_scope()
        names = [f"{kind}{i}" for kind in "wb" for i in range(3)]
        got = {name: scope[name].numpy().copy() for name in names}
        for average in (ema, mean):
            with average.apply(exe):
                for name in names:
                    key = f"{name} of {average.name}"
                    got[key] = scope[name].numpy().copy()
        return got


def by_file(program, path):
    sl.io.save_program(program, path)
    return sl.io.load_program(path)


COPIES = {
    "file": by_file,
    "twice": lambda p, path: by_file(by_file(p, path), path),
    "bytes": lambda p, _: sl.Program.parse(p.serialize()),
    "pickle": lambda p, _: pickle.loads(pickle.dumps(p)),
    "clone": lambda p, _: p.clone(),
    "pruned": lambda p, _: p.prune(["loss"]),
}


def programs(seed=7):
    main, startup = sl.Program(), sl.Program()
    startup.random_seed = seed
    with sl.program_guard(main, startup), sl.unique_name.guard():
        network()
    return main, startup


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_trains_with_equal_bits(exe, tmp_path, how):
    main, startup = programs()
    copy = COPIES[how](main, tmp_path / "main")
    started = COPIES["file"](startup, tmp_path / "startup")
    expected = trained(exe, main, startup)
    got = trained(exe, copy, started)
    assert got.keys() == expected.keys()
    for name, each in expected.items():
        np.testing.assert_array_equal(got[name], each, name)


def test_every_setting_changes_what_is_trained(exe):
    """So that the test above would notice each that is lost."""
    expected = trained(exe, *programs())
    for name, attrs in list(ATTRS.items()):
        for what in attrs:
            rest = {k: v for k, v in attrs.items() if k != what}
            with pytest.MonkeyPatch.context() as patch:
                patch.setitem(ATTRS, name, rest)
                other = trained(exe, *programs())
            equal = [np.array_equal(other[n], expected[n]) for n in expected]
            assert not all(equal), (name, what)
    main, startup = programs()
    main._error_clips.clear()
    other = trained(exe, main, startup)
    assert not np.array_equal(other["w0"], expected["w0"])


def test_a_program_without_settings_has_the_old_format():
    x = sl.data("x", [2, 3])
    layers.fc(x, 2)
    data = sl.default_main_program().serialize()
    assert data[16:18] == b"\x10\x01"  # format 1, which old versions read
    x.error_clip = sl.clip.ErrorClipByValue(1.0)
    data = sl.default_main_program().serialize()
    assert data[16:18] == b"\x10\x03"
    loaded = sl.Program.parse(data)
    assert loaded.var("x").error_clip.min == -1.0
    assert loaded.serialize() == data


def test_what_a_loop_makes_keeps_its_clip():
    def step(carried, elements):
        made = carried[0] + elements[0]
        made.error_clip = sl.clip.ErrorClipByValue(0.5)
        names.append(made.name)
        return [made], []

    names = []
    first = sl.LayerHelper("test").create_parameter(None, [3])
    layers.scan(step, [first], [sl.data("x", [4, 3])])
    program = sl.default_main_program()
    loaded = sl.Program.parse(program.serialize())
    assert list(loaded._error_clips) == names
    assert str(loaded) == str(program)


class _Own(sl.clip.GradientClipByNorm):
    pass


def test_a_class_of_ones_own_is_not_saved(tmp_path):
    attr = sl.ParamAttr("w", gradient_clip=_Own(1.0))
    layers.fc(sl.data("x", [2, 3]), 2, param_attr=attr)
    program = sl.default_main_program()
    with pytest.raises(
        sl.InvalidArgumentError, match="gradient_clip of variable w, .*_Own"
    ):
        sl.io.save_program(program, tmp_path / "p")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"speed": 2.0}, "no setting speed"),
        ({"regularizer": "L3Decay"}, "no class L3Decay"),
        ({"regularizer": "L2Decay", "regularizer.x": 1.0}, "no argument x"),
        ({"regularizer": "GradientClipByNorm"}, "clip_norm"),
        (
            {"regularizer": "ErrorClipByValue", "regularizer.max": 1.0},
            "regularizer must be one of sluice.regularizer",
        ),
        ({"error_clip": "L1Decay"}, "error_clip cannot be"),
        ({"learning_rate": -1.0}, "must be at least 0"),
        ({"learning_rate": "fast"}, "must be a number"),
        ({"do_model_average": 1}, "True or False"),
    ],
)
def test_a_file_that_says_what_is_unknown_is_refused(tmp_path, settings, said):
    program = sl.Program()
    program.persistable("w", [2])
    sl._core._save_program(program, tmp_path / "p", {"w": settings})
    with pytest.raises(sl.DataLossError, match=f"variable w: .*{said}") as info:
        sl.io.load_program(tmp_path / "p")
    assert f"in the program of {tmp_path / 'p'}" in str(info.value)
