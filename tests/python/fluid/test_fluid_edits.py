"""Fleet with one worker, programs as bytes, and edits of written programs."""

import copy

import numpy as np
import pytest
from fluid_runs import started
from refusals import refused

import sluice as sl
import sluice.fluid as fluid
from sluice.fluid import collective

layers = fluid.layers
ONES = {"x": np.ones((2, 4), "float32")}


def run(fetch, program=None):
    return fluid.Executor().run(program, ONES, fetch)[0].tolist()


def model():
    y = layers.fc(layers.fc(layers.data("x", [4]), 3, act="relu"), 2)
    started()
    return y


def test_fleet_trains_with_one_worker(tmp_path):
    role = collective.PaddleCloudRoleMaker(is_collective=True)
    fleet = collective.Fleet()
    fleet.init(role)
    assert (fleet.worker_index(), fleet.worker_num()) == (0, 1)
    assert fleet.split_files(["a", "b"]) == ["a", "b"]
    loss = layers.mean(layers.square(model()))
    made = collective.fleet.distributed_optimizer(fluid.optimizer.SGD(0.1))
    made.minimize(loss)
    exe = fluid.Executor()
    exe.run(collective.fleet.startup_program)
    first, *_, last = [
        exe.run(collective.fleet.main_program, ONES, loss)[0] for _ in "abcd"
    ]
    assert last < first
    fleet.save_persistables(exe, str(tmp_path))
    assert (tmp_path / "fc_0.w_0").exists()
    for wrong, text in {
        collective.PaddleCloudRoleMaker(): "there is none",
        collective.UserDefinedRoleMaker(0, 1, 2): "one worker here",
        collective.UserDefinedRoleMaker(0, 2, 1): "a server",
        3: "expected a role maker",
    }.items():
        with pytest.raises(sl.errors.SluiceError, match=text):
            fleet.init(wrong)


def test_a_program_is_read_from_its_bytes():
    y = model()
    text = fluid.default_main_program().desc.serialize_to_string()
    other = fluid.Program.parse_from_string(text)
    assert run(y.name, other) == run(y)
    fluid.optimizer.SGD(0.1).minimize(layers.mean(y))
    with pytest.raises(sl.errors.UnimplementedError, match="for_test=True"):
        fluid.default_main_program().serialize_to_string()
    refused(lambda: fluid.Program.parse_from_string(b""), "0 blocks")


def test_ops_and_variables_are_renamed_changed_and_dropped():
    y = model()
    wanted = run(y)
    program = fluid.default_main_program().clone()
    block = program.global_block()
    block._rename_var("fc_0.w_0", "w")
    fluid.global_scope()["w"] = np.array(fluid.global_scope()["fc_0.w_0"])
    assert run(y.name, program) == wanted
    block._remove_op(len(block.ops) - 1)
    assert block.ops[-1].type == "mul"
    block.ops[-1]._rename_output(block.ops[-1].output("Out")[0], "out")
    assert np.shape(run("out", program)) == (2, 2)
    scale = layers.scale(y, 2.0)
    fluid.default_main_program().global_block().ops[-1]._set_attr("scale", 3.0)
    np.testing.assert_allclose(run(scale), np.array(wanted) * 3.0)


def test_shapes_that_a_script_says_reach_the_ops():
    y, scope = model(), fluid.global_scope()
    block = fluid.default_main_program().global_block()
    for name, shape in {"fc_0.w_0": (4, 1), "fc_0.b_0": (1,), "fc_1.w_0": (1, 2)}.items():
        block.var(name).desc.set_shape(shape)
        scope[name] = np.ones(shape, "float32")
    assert block.var("fc_0.w_0").shape == (4, 1)
    hidden = block.ops[2].output("Out")[0]
    assert block.var(hidden).shape == (-1, 3)
    block.ops[0].desc.infer_shape(block.desc)
    assert block.var(hidden).shape == (-1, 1)
    assert run(y) == [[5.0, 5.0]] * 2


def test_a_program_is_copied_by_its_variables_and_ops():
    y = model()
    made, block = fluid.Program(), fluid.default_main_program().global_block()
    to = made.global_block()
    for var in block.vars.values():
        more = {"name": var.name, "shape": var.shape, "dtype": var.dtype}
        if isinstance(var, fluid.framework.Parameter):
            rates = copy.deepcopy(var.optimize_attr)
            to.create_parameter(**more, optimize_attr=rates)
        else:
            to.create_var(**more, is_data=var.is_data)
    for op in block.ops:
        slots = {n: [to._find_var_recursive(v) for v in op.input(n)] for n in op.input_names}
        made_by = {n: op.output(n) for n in op.output_names}
        to.append_op(op.type, slots, made_by, {n: op.attr(n) for n in op.attr_names})
    assert run(y.name, made) == run(y)
