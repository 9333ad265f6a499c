"""Ops of Fluid by the table: what differs from Sluice's op of that name, and
what is refused.
"""

import numpy as np
import pytest
import refusals
from formulas.recurrences import fluid_gru

import sluice as sl
from sluice.fluid.translate import ROWS, Translation
from sluice.fluid.translate.table import REQUIRED
from sluice.fluid.translate.updates import _UPDATES as UPDATES


def run(type, inputs, attrs=None, outputs=("Out",), lods=None):
    """The outputs of one op of Fluid."""
    program = sl.Program()
    t = Translation(program)
    feed, slots = {}, {}
    for slot, value in inputs.items():
        values = value if isinstance(value, list) else [value]
        slots[slot] = []
        for i, array in enumerate(values):
            name = f"{slot}{i}"
            lod = (lods or {}).get(slot)
            shape = [None, *array.shape[1:]] if lod else array.shape
            program.data(name, shape, array.dtype.name, len(lod or []))
            feed[name] = (array, lod) if lod else array
            slots[slot].append(name)
    t.append(type, slots, {slot: [slot] for slot in outputs}, attrs)
    fetches = [t.value(slot) for slot in outputs]
    return sl.Executor().run(program, feed, fetches)


def f32(*values):
    return np.array(values, np.float32)


def test_round_is_exact():
    values = f32(0.49999997, -0.49999997, 8388609, np.inf, -np.inf, np.nan)
    (out,) = run("round", {"X": values})
    np.testing.assert_array_equal(out, [0, 0, 8388609, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("reverse", [False, True])
def test_gru_reads_the_weight_as_two_matrices(reverse):
    generator = np.random.default_rng(3)
    x = generator.normal(size=(7, 9)).astype(np.float32)
    weight = generator.normal(size=(3, 9)).astype(np.float32)
    lengths = [3, 0, 4]
    (out,) = run(
        "gru",
        {"Input": x, "Weight": weight},
        {"is_reverse": reverse},
        ("Hidden",),
        {"Input": [lengths]},
    )
    assert out.recursive_sequence_lengths() == [lengths]
    expected = fluid_gru(x, weight, lengths, reverse)
    np.testing.assert_allclose(out, expected, atol=1e-6)


def test_a_name_may_be_written_twice():
    program = sl.Program()
    t = Translation(program)
    program.data("x", [2])
    for _ in range(3):
        t.append("increment", {"X": ["x"]}, {"Out": ["x"]}, {"step": 2.0})
    (out,) = sl.Executor().run(program, {"x": f32(1, 2)}, [t.value("x")])
    np.testing.assert_array_equal(out, [7, 8])


def test_a_reshape_by_computed_sizes_needs_no_second_plan():
    program = sl.Program()
    t = Translation(program)
    program.data("x", [None, 3, 4])
    t.append("shape", {"Input": ["x"]}, {"Out": ["s"]})
    t.append(
        "slice",
        {"Input": ["s"]},
        {"Out": ["n"]},
        {"axes": [0], "starts": [0], "ends": [1], "decrease_axis": [0]},
    )
    attrs = {"shape": [1], "dtype": 2, "value": 12.0}
    t.append("fill_constant", {}, {"Out": ["m"]}, attrs)
    inputs = {"X": ["x"], "ShapeTensor": ["n", "m"]}
    t.append("reshape2", inputs, {"Out": ["y"], "XShape": ["y.x"]})
    out = t.value("y")
    assert out.shape == (None, 12)
    assert [op.type for op in program.prune([out]).ops] == ["reshape"]


# Bad input


def of_image(type, **attrs):
    return lambda: run(type, {"X": np.zeros((1, 4, 4, 4), np.float32)}, attrs)


test_what_cannot_be_said_is_refused_by_name = refusals.rows(
    [
        (of_image("relu", speed=1),
         "relu: attribute speed is unknown; known are none"),
        (of_image("rellu"), sl.NotFoundError,
         "op rellu of Fluid has no translation; similar are "),
        (of_image("prelu"), "prelu: input Alpha is missing"),
        (of_image("lod_reset", append=True), sl.UnimplementedError,
         "append is True; expected False"),
        (of_image("maxout"), "maxout: attribute groups is missing"),
        (of_image("pool2d", pooling_type="max", ksize=[2, 2], adaptive=True),
         sl.UnimplementedError,
         "adaptive pooling of type max, which PaddlePaddle ignores"),
        (lambda: run("relu", {"X": f32(1), "Z": f32(1)}), "input Z is unknown"),
    ]
)  # fmt: skip


def test_reading_what_is_not_made():
    program = sl.Program()
    t = Translation(program)
    program.data("x", [2, 3])
    outputs = {"Out": ["y"], "XShape": ["shape"]}
    t.append("transpose2", {"X": ["x"]}, outputs, {"axis": [1, 0]})
    with pytest.raises(
        sl.errors.NotFoundError,
        match="variable shape is read, but transpose2 makes it only",
    ):
        t.append("relu", {"X": ["shape"]}, {"Out": ["z"]})


@pytest.mark.parametrize("type", UPDATES)
def test_each_update_takes_a_step(type):
    inputs = {
        slot: np.full(
            1 if slot.endswith(("Pow", "Rate")) else 3, 0.5, np.float32
        )
        for slot, (required, _) in ROWS[type].slots.items()
        if required
    }
    required = {"mu": 0.9, "weight_decay": 0.01}
    attrs = {k: v for k, v in required.items() if k in ROWS[type].attributes}
    (out,) = run(type, inputs, attrs, ("ParamOut",))
    assert out.shape == (3,)
    assert np.all(out < 0.5)


def test_updates_have_fluids_defaults():
    moments = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
    found = {type: ROWS[type].attributes for type in UPDATES}
    assert found == {
        "sgd": {}, "adam": moments, "adamax": moments,
        "momentum": {"mu": REQUIRED, "use_nesterov": False,
                     "regularization_method": "", "regularization_coeff": 0.0},
        "lars_momentum": {"mu": REQUIRED, "lars_coeff": 0.001,
                          "lars_weight_decay": 0.0005, "epsilon": 0.0},
        "lamb": {**moments, "epsilon": 1e-6, "weight_decay": REQUIRED},
        "adagrad": {"epsilon": 1e-6},
        "decayed_adagrad": {"decay": 0.95, "epsilon": 1e-6},
        "adadelta": {"rho": 0.95, "epsilon": 1e-6},
        "rmsprop": {"decay": 0.9, "momentum": 0.0, "epsilon": 1e-10,
                    "centered": False},
        "ftrl": {"l1": 0.0, "l2": 0.0, "lr_power": -0.5},
    }  # fmt: skip
