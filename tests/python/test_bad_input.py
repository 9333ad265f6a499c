"""Mistakes of users, and their error messages: op, argument, line."""

import inspect

import numpy as np
import pytest
import refusals

import sluice as sl

LEAST = -(2**63)


def image(channels=4, size=8):
    return sl.data("x", [None, channels, size, size])


def conv(**attributes):
    x, f = image(), sl.data("f", [6, 4, 3, 3])
    return sl.layers.ops.conv2d(x, f, **attributes)


def statistics(length):
    x, c = image(), sl.data("c", [4])
    return sl.layers.ops.batch_norm(x, c, c, sl.data("m", [length]), c)


def rows(name="x"):
    return sl.data(name, [None, 4])


# Calls, and words that the message must contain.
CALLS = [
    (lambda: sl.layers.softmax(rows(), axis=2), "softmax", "axis"),
    (lambda: sl.layers.softmax(rows(), axis=LEAST),
     "softmax", "axis", str(LEAST)),
    (lambda: sl.layers.concat([rows(), rows("y")], axis=LEAST),
     "concat", "axis", str(LEAST)),
    (lambda: sl.layers.reduce_sum(rows(), dim=[LEAST]),
     "reduce_sum", "dim", str(LEAST)),
    (lambda: conv(strides=[0, 1]), "conv2d", "strides", "0"),
    (lambda: conv(dilations=[1, -1]), "conv2d", "dilations"),
    (lambda: conv(groups=0), "conv2d", "groups", "0"),
    (lambda: conv(groups=3), "conv2d", "groups = 3", "4 channels"),
    (lambda: sl.layers.conv2d(image(size=2), 3, 5), "conv2d", "5", "2"),
    (lambda: sl.layers.pool2d(image(size=2), 3), "pool2d", "3", "2"),
    (lambda: sl.layers.pool2d(image(), 0), "pool2d", "ksize[0] = 0"),
    (lambda: statistics(3), "batch_norm", "Mean", "3", "4"),
    (lambda: sl.layers.softmax(rows(), axes=1), "softmax", "axes"),
    (lambda: sl.layers.relu(sl.data("i", [3], "bool")),
     "relu", "bool", "float32"),
    (lambda: sl.layers.elementwise_add(rows(), sl.data("y", [3])),
     "elementwise_add", "[?, 4]", "[3]"),
    (lambda: sl.layers.matmul(rows(), sl.data("y", [3, 2])),
     "matmul", "4", "3"),
]  # fmt: skip


@pytest.mark.parametrize("row", CALLS)
def test_a_wrong_call_names_the_op_and_the_line(row):
    call, *words = row
    before = sl.default_main_program().to_string(all=True).count(" = ")
    with pytest.raises((sl.SluiceError, TypeError)) as error:
        call()
    text = str(error.value)
    print(text)
    for word in words:
        assert word in text
    if isinstance(error.value, sl.SluiceError):
        assert "test_bad_input.py" in text
    ops = sl.default_main_program().to_string(all=True)
    assert f"= {words[0]}(" not in ops, "the program has the op all the same"
    assert ops.count(" = ") >= before


def refused(exe, feed, fetch, words, kind=sl.SluiceError):
    def run():
        exe.run(feed=feed, fetch_list=[fetch])

    return refusals.refused(run, *words, error=kind)


@pytest.mark.parametrize("label", [-1, 3, 2**40, LEAST])
def test_a_label_out_of_range(exe, label):
    x, y = sl.data("x", [None, 3]), sl.data("y", [None, 1], "int64")
    line = inspect.currentframe().f_lineno + 1
    loss = sl.layers.softmax_with_cross_entropy(x, y)
    feed = {"x": np.zeros((2, 3), "f4"), "y": [[0], [label]]}
    refused(
        exe, feed, loss,
        ["softmax_with_cross_entropy", "Label", str(label), "0 to 2",
         f"test_bad_input.py:{line}"],
        sl.OutOfRangeError,
    )
    feed["y"] = [[0], [2]]
    exe.run(feed=feed, fetch_list=[loss])


@pytest.mark.parametrize("row", [-1, 5, LEAST])
def test_an_id_out_of_range(exe, row):
    ids, w = sl.data("ids", [None, 1], "int64"), sl.data("w", [5, 2])
    out = sl.layers.ops.lookup_table(w, ids)
    feed = {"ids": [[row]], "w": np.ones((5, 2), "f4")}
    refused(
        exe, feed, out, ["lookup_table", "Ids", str(row), "test_bad_input.py"],
        sl.OutOfRangeError,
    )


@pytest.mark.parametrize("length", [-1, 6, LEAST])
def test_a_length_outside_of_the_sequence(exe, length):
    emission = sl.data("e", [None, 5, 3])
    label = sl.data("y", [None, 5], "int64")
    lengths = sl.data("n", [None], "int64")
    zeros = sl.ParamAttr("crf", sl.initializer.Constant(0.0))
    cost = sl.layers.linear_chain_crf(emission, label, lengths, zeros)
    path = sl.layers.crf_decoding(emission, lengths, "crf")
    exe.run(sl.default_startup_program())
    feed = {
        "e": np.zeros((2, 5, 3), "f4"),
        "y": np.zeros((2, 5), "i8"),
        "n": [5, length],
    }
    for op, fetch in (("linear_chain_crf", cost), ("crf_decoding", path)):
        needed = {k: v for k, v in feed.items() if fetch is cost or k != "y"}
        refused(
            exe, needed, fetch, [op, "Length", str(length), "5"],
            (sl.OutOfRangeError, sl.InvalidArgumentError),
        )


def test_losses_that_are_none():
    x = rows()
    y = sl.layers.fc(x, 3)
    with pytest.raises(sl.InvalidArgumentError, match=r"\[\?, 3\]") as error:
        sl.append_backward(y)
    assert y.name in str(error.value)
    with pytest.raises(sl.SluiceError) as error:
        sl.append_backward(sl.layers.mean(x))
    assert "gradient" in str(error.value) or "parameter" in str(error.value)
    w = sl.layers.fc(x, 3)
    best = sl.layers.top_k(w, k=1).indices
    loss = sl.layers.mean(sl.layers.cast(best, dtype="float32"))
    with pytest.raises(sl.SluiceError) as error:
        sl.append_backward(loss)
    print(error.value)
    assert "top_k" in str(error.value)


def test_checkpoints_of_something_else(exe, tmp_path):
    path = tmp_path / "p.safetensors"
    sl.layers.fc(rows(), 3)
    exe.run(sl.default_startup_program())
    sl.io.save_params(path)
    with sl.program_guard(sl.Program(), sl.Program()), sl.unique_name.guard():
        sl.layers.fc(rows(), 2)
        with pytest.raises(sl.InvalidArgumentError) as error:
            sl.io.load_params(path)
    print(error.value)
    for word in ("fc_0.w_0", "[4, 2]", "[4, 3]", str(path)):
        assert word in str(error.value)
    whole = path.read_bytes()
    path.write_bytes(
        whole.replace(b'format_version":"1"', b'format_version":"9"')
    )
    with pytest.raises(sl.UnimplementedError, match="newer"):
        sl.io.load_params(path)


def test_a_kernel_that_is_required_and_not_there(exe):
    y = sl.layers.softmax(rows(), hint="require variant=magic")
    refused(
        exe, {"x": [[1, 2, 3, 4]]}, y,
        ["softmax", "variant=magic", "plain", "test_bad_input.py"],
    )


def test_more_memory_than_there_is(exe):
    x = sl.data("x", [None, 0])
    y = sl.layers.manhattan_distance(x, x)
    refused(
        exe, {"x": np.zeros((2**24, 0), "f4")}, y,
        ["1.13 PB", "in use", "limit", "manhattan_distance",
         "test_bad_input.py"],
    )
