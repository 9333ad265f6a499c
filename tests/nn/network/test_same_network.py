"""Layers in C++ and in Python make equal programs, names and first values."""

import os
import subprocess

import pytest
import sluice as sl
from sluice.initializer import MSRA, Constant, Normal, Uniform, Xavier

PROGRAM = os.environ.get("TEST_CPP_NETWORK")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="ctest names the program")


def layers():
    image = sl.data("image", [None, 4, 8, 8])
    words = sl.data("words", [None, 3], "int64")
    label = sl.data("label", [None, 1], "int64")
    of_conv = {"stride": 2, "padding": 1, "groups": 2, "act": "relu"}
    x = sl.layers.conv2d(image, 6, 3, param_attr=MSRA(seed=3), **of_conv)
    x = sl.layers.conv2d(x, 4, [1, 3], bias_attr=False)
    x = sl.layers.batch_norm(x, act="relu", momentum=0.8)
    x = sl.layers.dropout(x, 0.25, seed=5)
    y = sl.layers.embedding(words, [20, 7], padding_idx=-1)
    y = sl.layers.fc(y, 5, 2, param_attr="shared")
    y = sl.layers.fc(y, 7, 2, param_attr="y", bias_attr=False)
    y = sl.layers.fc(y, 5, 2, param_attr="shared")
    x = sl.layers.fc(
        x, 15, 1, Uniform(-0.5, 0.5, 7), Constant(0.1), "tanh", name="top"
    )
    fixed = sl.ParamAttr(
        initializer=Xavier(uniform=False, seed=2), trainable=False
    )
    y = sl.layers.fc(y, 15, 1, fixed, Normal(1.0, 0.5, 4))
    logits = sl.layers.fc(x + y, 3)
    loss = sl.layers.mean(
        sl.layers.softmax_with_cross_entropy(logits, label)
    )
    sl.optimizer.Adam(0.01, beta2=0.9).minimize(loss)


def lstms():
    x = sl.data("x", [None, 5, 3])
    first = sl.data("first", [2, 5, 4])
    out, _, _ = sl.layers.lstm(
        x, first, first, num_layers=2, hidden_size=4, use_peepholes=True
    )
    out, _, _ = sl.layers.lstm(
        out,
        hidden_size=2,
        is_bidirec=True,
        time_major=False,
        param_attr="w",
        bias_attr=False,
    )
    sl.optimizer.SGD(0.1).minimize(sl.layers.mean(out))


def sequences():
    x = sl.data("x", [None, 2], lod_level=1)
    first = sl.data("first", [None, 3])

    def step(carried, rows):
        both = sl.layers.concat([carried[0], rows[0]], axis=1)
        state = sl.layers.fc(both, 3, act="tanh")
        return [state, carried[1]], [state, rows[0]]

    _, (states, _) = sl.layers.sequence_scan(
        step, [first, (4, 2)], [x], reverse=True, recompute=True
    )
    sums = sl.layers.sequence_pool(states, "sum")
    sl.optimizer.SGD(0.1).minimize(sl.layers.mean(sums))


@pytest.mark.parametrize("network", [layers, lstms, sequences])
def test_cpp_makes_the_programs_of_python(network):
    main, startup = sl.Program(), sl.Program()
    with sl.unique_name.guard(), sl.program_guard(main, startup):
        network()
    done = subprocess.run(
        [PROGRAM, network.__name__.removesuffix("s")],
        capture_output=True,
        text=True,
        check=True,
    )
    texts = [each.to_string(all=True) for each in (startup, main)]
    wanted = "\n".join([*texts, ""]).splitlines()
    assert done.stdout.splitlines() == wanted
