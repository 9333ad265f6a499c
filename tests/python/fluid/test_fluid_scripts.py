"""What scripts of others rely on, beside layers."""

import subprocess
import sys

import numpy as np
from fluid_runs import new_programs, run, started
from refusals import refused

import sluice.fluid as fluid
from sluice.fluid import layers


def test_parameters_that_are_not_trained_are_saved(tmp_path):
    x = layers.data("x", [2, 4, 4])
    y = layers.batch_norm(x)
    fixed = fluid.ParamAttr(name="fixed", trainable=False)
    layers.fc(y, 3, param_attr=fixed)
    main = fluid.default_main_program()
    found = {each.name: each.trainable for each in main.all_parameters()}
    assert found == {
        "batch_norm_0.w_0": True,
        "batch_norm_0.b_0": True,
        "batch_norm_0.w_1": False,
        "batch_norm_0.w_2": False,
        "fixed": False,
        "fc_0.b_0": True,
    }
    exe = started()
    scope = fluid.global_scope()
    scope["fixed"] = np.full((32, 3), 7, "float32")
    scope["batch_norm_0.w_1"] = np.full(2, 5, "float32")
    fluid.io.save_params(exe, str(tmp_path))
    exe.run(fluid.default_startup_program())
    fluid.io.load_params(exe, str(tmp_path))
    assert np.all(np.array(scope["fixed"]) == 7)
    assert np.all(np.array(scope["batch_norm_0.w_1"]) == 5)


def drawn(seed):
    with new_programs():
        for of in fluid.default_main_program, fluid.default_startup_program:
            of().random_seed = seed
        x = layers.fill_constant([1, 50], "float32", 1)
        mask = layers.dropout(x, 0.5)
        layers.fc(x, 3, param_attr="w")
        (values,) = run([mask])
        return np.array(fluid.global_scope()["w"]), values


def test_the_seed_of_a_program_decides_what_is_drawn():
    (w, mask), (same_w, same_mask), (other_w, other_mask) = map(
        drawn, (5, 5, 9)
    )
    np.testing.assert_array_equal(w, same_w)
    np.testing.assert_array_equal(mask, same_mask)
    assert np.mean(w == other_w) < 0.1
    assert not np.array_equal(mask, other_mask)


def test_lengths_must_fit():
    make, five = fluid.create_lod_tensor, np.zeros((5, 1))
    for rows, lengths, words in [
        ([[1, 2], [3]], [[1, 2]],
         "sequences of [2, 1] rows have the lengths [1, 2]"),
        (five, [[3, 4]], "lengths that add up to 7 are for 5 rows"),
        (five, [[1, 2], [3, 2]], "lengths that add up to 3 are for 2 rows"),
    ]:  # fmt: skip
        refused(lambda: make(rows, lengths, fluid.CPUPlace()), words)
    made = make(five, [[0, 2], [3, 2]], fluid.CPUPlace())
    assert made.lod() == [[0, 0, 2], [0, 3, 5]]


def test_a_feeder_says_what_does_not_fit():
    x, y = layers.data("x", [2]), layers.data("y", [1])
    feeder = fluid.DataFeeder([x, y], fluid.CPUPlace())
    short, long = [([1, 2], 3), ([1, 2],)], [([1, 2, 3], 3)]
    refused(lambda: feeder.feed(short), "sample 1 has 1 values for 2 inputs, x, y")
    refused(
        lambda: feeder.feed(long),
        "x is float32 [2] in each sample: cannot reshape",
    )


NAMES = """
import sluice.fluid.as_paddle
import paddle, paddle.fluid as fluid, paddle.dataset.conll05
import paddle.fluid.proto.framework_pb2
from paddle.fluid.core_avx import PaddleTensor
import paddle.fluid.incubate.data_generator as dg, paddle.fluid.layers.nn as nn
import paddle.fluid.nets, paddle.fluid.profiler, paddle.fluid.initializer as init
from paddle.fluid.layers.control_flow import While
from paddle.fluid.param_attr import ParamAttr
assert nn.fc is fluid.layers.fc and While is fluid.layers.While
assert ParamAttr(initializer=init.NormalInitializer(0.0, 1.0)).trainable
assert issubclass(dg.MultiSlotDataGenerator, dg.DataGenerator)
from paddle.dataset import mnist
from paddle.fluid import dygraph
from paddle.fluid.dygraph.base import to_variable
from paddle.fluid.incubate.fleet.collective import fleet
from paddle.fluid.io import multiprocess_reader
from paddle.fluid.layers.rnn import beam_search, GRUCell
from paddle.fluid.lod_tensor import create_lod_tensor
from paddle.fluid.optimizer import Optimizer
assert beam_search is fluid.layers.beam_search
assert create_lod_tensor is fluid.create_lod_tensor
paddle.enable_static()
assert (paddle.version.major, hasattr(fluid, "nothing")) == ("1", False)
class Net(dygraph.Layer): pass
assert not isinstance(fluid, Net)
fluid.set_flags({"FLAGS_x": 1})
assert fluid.get_flags("FLAGS_x") == {"FLAGS_x": 1}
for call, why in {
    dygraph.Conv2D: "its own layers",
    mnist.train: "downloads nothing",
    multiprocess_reader: "Sluice does not have it",
    lambda: fleet.init(): "expected a role maker",
    lambda: fluid.DatasetFactory(): "read by the reader of the script",
    lambda: fluid.layers.fully_connected: "did you mean fc",
    lambda: fluid.layers.dynamic_lstmm: "did you mean dynamic_lstm",
    lambda: fluid.optimizer.Adm: "did you mean Adam",
    lambda: __import__("paddle.fluid.dygrap"): "did you mean paddle.fluid.dyg",
}.items():
    try:
        call()
    except Exception as error:
        assert why in str(error), error
    else:
        raise AssertionError(why)
"""


def test_names_of_fluid_can_be_imported_and_say_why_they_are_not_there():
    subprocess.run([sys.executable, "-c", NAMES], check=True)


def test_optimizers_leave_out_parameters_that_are_not_trained():
    x = layers.data("x", [2, 4, 4])
    loss = layers.mean(layers.batch_norm(x))
    names = [p.name for p in fluid.default_main_program().all_parameters()]
    assert len(names) == 4
    _, pairs = fluid.optimizer.SGD(0.1).minimize(loss, parameter_list=names)
    assert [p.name for p, _ in pairs] == names[:2]


def test_files_have_the_outputs_that_paddlepaddle_demands(tmp_path):
    x = layers.data("x", [2, 4, 4])
    words = layers.data("words", [1], dtype="int64", lod_level=1)
    image = layers.reshape(layers.batch_norm(layers.lrn(x)), [-1, 32])
    rows = layers.embedding(words, [9, 8])
    text = layers.sequence_pool(rows, "max")
    exe = started()
    names = ["x", "words"]
    fluid.io.save_inference_model(str(tmp_path), names, [image, text], exe)
    program, *_ = fluid.io.load_inference_model(str(tmp_path), exe)
    made = {op.type: op.outputs for op in program.global_block().ops}
    for type, slots in {
        "lrn": ["Out", "MidOut"],
        "batch_norm": ["Y", "SavedMean", "SavedVariance"],
        "reshape2": ["Out", "XShape"],
        "sequence_pool": ["Out", "MaxIndex"],
    }.items():
        assert all(len(made[type][slot]) == 1 for slot in slots), type
    every = [n for op in made.values() for names in op.values() for n in names]
    assert len(set(every)) == len(every)
