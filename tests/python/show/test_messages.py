"""Messages name what somebody wanted, their line, and nothing of ours."""

import os
import re
import sys
import types

import numpy as np
import pytest
from processes import python

import sluice as sl
from sluice import tracebacks


def image():
    return sl.data("image", [None, 1, 8, 8])


def said(call, kind=Exception):
    with pytest.raises(kind) as error:
        call()
    return str(error.value)


ARGUMENTS = {
    "filter": (lambda: sl.layers.conv2d(image(), 3, kernel_size=3), "kernel_size (here filter_size)"),
    "pool": (lambda: sl.layers.pool2d(image(), kernel_size=3), "kernel_size (here pool_size)"),
    "two": (lambda: sl.layers.conv2d(image(), out_channels=3, bias=False), "out_channels (here num_filters), bias (here bias_attr);"),
    "features": (lambda: sl.layers.fc(image(), in_features=3), "in_features (the input's shape says it)"),
    "modes": (lambda: sl.layers.conv2d(image(), 3, 3, padding_mode="zeros"), "padding_mode (only zeros are padded"),
    "dim": (lambda: sl.layers.softmax(image(), dim=1), "dim (here axis)"),
    "axis": (lambda: sl.layers.reduce_sum(image(), axis=1), "axis (here dim)"),
    "rate": (lambda: sl.optimizer.SGD(lr=0.1), "SGD: there is no argument lr (here learning_rate)"),
    "betas": (lambda: sl.optimizer.Adam(betas=(0.9, 0.99)), "they are beta1 and beta2"),
    "spread": (lambda: sl.initializer.Normal(std=1.0), "std (here scale)"),
    "fluid": (lambda: sl.data("x", [3], append_batch_size=False), "append_batch_size ("),
    "typo": (lambda: sl.layers.fc(image(), sise=3), "sise (did you mean size?)"),
    "attribute": (lambda: sl.ParamAttr(inizializer=None), "did you mean initializer?"),
}


@pytest.mark.parametrize("which", ARGUMENTS)
def test_arguments_of_other_libraries_are_named_as_here(which):
    call, words = ARGUMENTS[which]
    text = said(call)
    assert words in text and "test_messages.py:" in text
    assert text.count("did you mean") <= 1


def test_hand_written_layers_stay_python_functions():
    assert said(lambda: sl.layers.conv2d(image()), TypeError).endswith("'filter_size'")
    with pytest.raises(TypeError):
        sl.layers.fc(sl.default_main_program().var('image'), kernel=3)
    assert isinstance(sl.ParamAttr("w"), sl.ParamAttr)


ATTRIBUTES = {
    "sl.load": "use sl.io.load_program, then sl.io.load_params",
    "sl.nn": "use sl.layers",
    "sl.fc": "use sl.layers.fc",
    "sl.SGD": "use sl.optimizer.SGD",
    "sl.optimiser": "did you mean optimizer?",
    "sl.save_params": "use sl.io.save_params",
    "sl.io.load_inference_model": "use sl.io.load_program",
    "sl.io.save_parms": "did you mean save_params?",
    "sl.optimizer.SGDOptimizer": "use sl.optimizer.SGD",
    "sl.initializer.ConstantInitializer": "use sl.initializer.Constant",
    "sl.layers.Conv2d": "use sl.layers.conv2d",
    "sl.layers.CrossEntropyLoss": "use sl.layers.softmax_with_cross_entropy",
    "sl.layers.conv2": "did you mean conv2d",
    "sl.layers.DynamicRNN": "use sl.layers.sequence_scan",
    "sl.layers.data": "sl.data",
    "sl.layers.While": "sl.layers.while_loop",
    "sl.layers.rnn": "sl.layers.scan",
    "sl.layers.linear": "sl.layers.fc",
    "sl.layers.pow": "sl.layers.elementwise_pow",
    "sl.layers.max": "sl.layers.reduce_max",
    "sl.layers.fill_constant_batch_size_like": "sl.layers.full_like",
    "sl.layers.crop_tensor": "sluice.fluid.layers.crop_tensor",
    "sl.layers.batch_nrom": "batch_norm",
    "sl.layers.InstanceNorm2d": "sl.layers.instance_norm",
    "sl.layers.ConvTranspose2d": "sl.layers.conv2d_transpose",
    "sl.layers.increment": "use x + 1,",
    "sl.layers.create_global_var": "use sl.layers.fill_constant, or LayerHelper.create_persistable",
    "sl.create_lod_tensor": "use sl.Ragged(rows, [offsets]), or feed (rows, [lengths])",
    "sl.gradients": "use sl.append_backward(loss, parameter_list=[x])",
    "sl.optimizer.Adam(0.1).step": "'Adam' object has no attribute 'step'; use exe.run(program, feed) after minimize(loss)",
    "sl.optimizer.Adam(0.1).zero_grad": "use exe.run(program, feed) after minimize(loss)",
    "sl.optimizer.Adam(0.1).param_groups": "use sl.ParamAttr(learning_rate=",
    "sl.optimizer.Adam(0.1).minimise": "did you mean minimize?",
    "image().backward": "use optimizer.minimize(loss), or sl.append_backward(loss)",
    "image().numpy": "use exe.run(fetch_list=[variable])",
    "image().mean": "use sl.layers.mean",
    "image().shap": "did you mean shape?",
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_of_other_libraries_are_named_as_here(name):
    assert ATTRIBUTES[name] in said(lambda: eval(name), AttributeError)


def test_names_without_help_and_private_names():
    assert said(lambda: sl.qqqqqq) == "module 'sluice' has no attribute 'qqqqqq'"
    assert not hasattr(sl.io, "__wrapped__")
    x = image()
    assert said(lambda: x.qqqq) == "'Variable' object has no attribute 'qqqq'"
    assert not hasattr(x, "__array_interface__")


def test_all_names_of_io_are_listed():
    script = "import sluice as sl; assert set(sl.io.__all__) <= set(dir(sl.io))"
    python("-c", script, check=True)


def test_the_line_of_what_a_dataclass_refuses_is_the_users():
    text = said(lambda: sl.ParamAttr(regularizer=0.1))
    assert "<string>" not in text and "test_messages.py:" in text
    code = "import sluice as sl\n\nsl.ParamAttr(regularizer=0.1)"
    assert "created at <string>:3" in run(code)


def test_no_frame_of_a_dataclass_is_shown():
    text = run("import sluice as sl\nsl.optimizer.Adam('a')")
    assert text.count("File ") == 1 and "adam: learning_rate" in text


def run(script, **variables):
    environment = {**os.environ, **variables}
    environment.pop("SLUICE_FULL_TRACEBACK", None) if not variables else None
    done = python("-c", script, env=environment)
    assert done.returncode == 1
    return done.stderr


UNINITIALISED = """
import sluice as sl
y = sl.layers.fc(sl.data("x", [None, 3]), 2)
def step():
    sl.Executor().run(feed={"x": [[1, 2, 3]]}, fetch_list=[y])
step()
"""


def test_frames_of_this_package_are_left_out():
    text = run(UNINITIALISED)
    assert text.count("File ") == 2 and "sluice/" not in text
    assert "in step" in text
    assert "sluice/executor.py" in run(UNINITIALISED, SLUICE_FULL_TRACEBACK="1")


NAN = "sl.Executor().run_checked(feed={'x': [-1.0]}, fetch_list=[sl.layers.log(sl.data('x', [1]))])"


@pytest.mark.parametrize(
    "line", ["sl.layers.conv2D", "sl.layers.fc(sl.data('x', [3]), units=2)", "sl.optimiser", NAN]
)
def test_answers_have_no_frames_of_ours_either(line):
    text = run(f"import sluice as sl\n{line}")
    assert "sluice/" not in text and text.lower().count("did you mean") <= 1


def test_a_mistake_of_ours_keeps_its_frames():
    text = run("import sluice as sl\nsl.display.of_bytes('a')")
    assert "display.py" in text


def test_a_cause_keeps_the_users_frames_only():
    try:
        try:
            sl.layers.fc(3, 2)
        except sl.SluiceError as error:
            raise sl.InvalidArgumentError("mine") from error
    except sl.SluiceError as error:
        tracebacks.without_own_frames(error)
        assert error.__cause__.__traceback__.tb_next is None


CELL = "/tmp/ipykernel_31797/433806212.py"


def test_a_cell_is_named_as_a_cell(monkeypatch, exe):
    shell = types.SimpleNamespace(
        compile=types.SimpleNamespace(_filename_map={CELL: 3})
    )
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    space = {"sl": sl}
    code = "\n\ny = sl.layers.fc(sl.data('x', [None, 3]), 2)"
    exec(compile(code, CELL, "exec"), space)
    text = said(lambda: exe.run(feed={"x": np.zeros((1, 3), "float32")}, fetch_list=[space["y"]]))
    assert "created in cell In[3], line 3" in text and "ipykernel" not in text
    text = said(lambda: exec(compile("sl.layers.fc(3, 2)", CELL, "exec"), space))
    assert text.endswith("created in cell In[3], line 1")
    assert "made in cell In[3], line 3" in repr(space["y"])
    assert tracebacks.source_name("<ipython-input-7-0a1b>") == "cell In[7]"
    assert tracebacks.source_name("/home/me/ipykernel.py") == "/home/me/ipykernel.py"


def test_a_parameter_without_a_value_says_what_to_run(exe):
    y = sl.layers.fc(sl.data("x", [None, 3]), 2)
    text = said(lambda: exe.run(feed={"x": [[1, 2, 3]]}, fetch_list=[y]))
    assert text.startswith("parameter fc_0.w_0 (float32 [3, 2]) is not initialised: run the startup program first\n")
    assert "created at" in text and "test_messages.py:" in text


def test_no_startup_program_is_advised_that_draws_parameters_anew(exe):
    y = sl.layers.fc(sl.data("x", [None, 3]), 2)
    startup, scope = sl.default_startup_program(), sl.global_scope()
    exe.run(startup)
    trained = scope["fc_0.w_0"].numpy().copy()
    sl.optimizer.Adam(0.1).minimize(sl.layers.mean(y))
    program, feed = sl.default_main_program(), {"x": np.ones((1, 3), "float32")}
    text = said(lambda: exe.run(feed=feed))
    assert "is not initialised, while others are; 9 have no value: fc_0.w_0.adam_0.moment1_0, " in text
    assert text.count("adam_0.") == 9 and "beta1_pow_0, ...\ncreated at" in text
    assert "run the startup program" not in text
    advice = re.search(r"exe\.run\(startup.*", text)[0]
    exec(advice, {"exe": exe, "startup": startup, "scope": scope, "program": program})
    np.testing.assert_array_equal(scope["fc_0.w_0"].numpy(), trained)
    exe.run(feed=feed)


SHAPES = {
    "a channel": ((4, 8, 8), "image[:, None]?"),
    "a batch": ((1, 8, 8), "image[None]?"),
    "channels last": ((4, 8, 8, 1), "image.transpose(0, 3, 1, 2)?"),
    "a size": ((4, 1, 8, 9), None),
}


@pytest.mark.parametrize("which", SHAPES)
def test_a_feed_of_another_shape_is_told_how_to_fit(which, exe):
    shape, words = SHAPES[which]
    y = sl.layers.relu(image())
    text = said(lambda: exe.run(feed={"image": np.zeros(shape, "float32")}, fetch_list=[y]))
    assert words in text if words else "hint" not in text


def test_an_unknown_fetch_lists_near_names_only(exe):
    x = sl.data("x", [None, 3])
    for _ in range(100):
        x = sl.layers.fc(x, 3)
    text = said(lambda: exe.run(feed={"x": [[1, 2, 3]]}, fetch_list=["fc_55.w_1"]))
    assert text.startswith("the program has no variable fc_55.w_1; did you mean fc_55.w_0 or ")
    assert text.count(" or ") == 3
    text = said(lambda: exe.run(feed={"x": [[1, 2, 3]]}, fetch_list=["logits"]))
    assert "fc_" not in text and "fetch_list takes variables" in text


def test_places_hints_gradients_and_plans(exe):
    assert said(lambda: sl.Executor("gpu")).endswith("did you mean cuda?")
    assert "did you mean library?" in said(lambda: sl.kernel_hints("conv2d: require libary=PLAIN"))
    index = sl.layers.top_k(sl.layers.fc(sl.data("x", [None, 3]), 2), 1).indices
    loss = sl.layers.mean(sl.layers.cast(index, "float32"))
    assert said(lambda: sl.append_backward(loss)).startswith("fc_0.w_0, fc_0.b_0 get no gradient of loss ")
    assert "program.explain()" in said(exe.explain)
