"""What explain() prints, shows in a notebook and converts to."""

import io
import json
import pickle
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import sluice as sl
from sluice.lab import networks


@pytest.fixture
def exe():
    return sl.Executor()


def step(exe, batch=50):
    """A training step of 12 calls."""
    x, y = sl.data("x", [None, 13]), sl.data("y", [None, 1])
    loss = sl.layers.mean(sl.layers.square(sl.layers.fc(x, 1) - y))
    sl.optimizer.SGD(0.01).minimize(loss)
    exe.run(sl.default_startup_program())
    feed = {"x": np.ones((batch, 13), "f4"), "y": np.ones((batch, 1), "f4")}
    exe.run(feed=feed, fetch_list=[loss])
    return exe.explain()


def lines(text):
    return str.__str__(text).splitlines()


def widest(text):
    return max(map(len, lines(text)))


def test_a_training_step_fits_a_screen(exe):
    text = step(exe)
    assert len(lines(text)) <= 20
    assert widest(text) <= 100
    assert "(training), cpu, " in lines(text)[0]
    assert "fed x [50, 13], y [50, 1]" in lines(text)[0]
    assert lines(text)[1].startswith("13 ops in 12 calls")


@pytest.mark.parametrize("depth", [2, 3, 24])
def test_blocks_that_repeat_are_counted(exe, depth):
    layers, h = sl.layers, sl.data("x", [None, 8, 16])
    for _ in range(depth):
        dense = [layers.fc(h, 16, num_flatten_dims=2) for _ in range(3)]
        scores = layers.matmul(dense[0], dense[1], transpose_y=True)
        mixed = layers.matmul(layers.softmax(scores), dense[2])
        h = layers.layer_norm(h + mixed, begin_norm_axis=2)
        h = h + layers.fc(h, 16, num_flatten_dims=2, act="relu")
    loss = layers.mean(h * h)
    sl.optimizer.Adam(1e-3).minimize(loss)
    exe.run(sl.default_startup_program())
    exe.run(feed={"x": np.ones((2, 8, 16), "f4")}, fetch_list=[loss])
    text = "\n".join(lines(exe.explain()))
    found = re.findall(r"these (\d+) calls (\d+) times? more, to (\d+)", text)
    assert found and len(text.splitlines()) < 100, text
    for calls, times, last in found:
        assert int(calls) * (int(times) + 1) <= int(last) + 1, text
    assert max(int(times) for _, times, _ in found) >= depth - 1


def lenet(exe):
    job = networks.build("lenet", 50)
    exe.run(job.program, job.feed, job.fetch_list, job.scope)
    return exe.explain(job.program), job


def test_lenet_training_fits_a_page(exe):
    text, _ = lenet(exe)
    assert len(lines(text)) <= 55
    assert widest(text) <= 100
    assert "conv2d_grad_filter" in text
    for phase in ("forward: ", "backward: ", "optimizer: "):
        assert any(line.startswith(phase) for line in lines(text))


def test_the_advice_can_be_followed(exe):
    text, job = lenet(exe)
    (hint,) = re.findall(r'with sl.kernel_hints\("(.*)"\):  # .* (?:more|less)', text)
    (name,) = re.findall(r"variant=(\w+)", hint)
    op = int(re.findall(r"#(\d+):", hint)[0])
    with sl.kernel_hints(hint):
        exe.run(job.program, job.feed, job.fetch_list, job.scope)
        (row,) = (r for t in exe.explain(job.program).tables()
                  for r in t["calls"] if r["op"] == op and not r["put_in"])
    assert row["kernel"].endswith(name)


def test_one_op_in_full(exe):
    text, job = lenet(exe)
    slowest = int(re.search(r"explain\(op=(\d+)\)", text)[1])
    one = exe.explain(job.program, op=slowest)
    assert f"op {slowest} " in lines(one)[0]
    assert "networks.py:" in one
    assert widest(one) <= 120
    with pytest.raises(sl.NotFoundError, match="op 999 is not in this plan"):
        exe.explain(job.program, op=999)


def test_everything_is_still_there(exe):
    _, job = lenet(exe)
    text = exe.explain(job.program, all=True)
    assert "is there to compare others with" in text
    assert "kernels of other dtypes" in text


def test_text_frame_json_and_html_say_the_same(exe):
    text, _ = lenet(exe)
    (table,) = json.loads(text.to_json())
    calls = table["calls"]
    assert f"in {len(calls)} calls" in text
    total = sum(call["seconds"] for call in calls)
    slowest = max(calls, key=lambda call: call["seconds"])
    assert f"slowest: #{slowest['op']} {slowest['name']}, {slowest['kernel']}" in text
    assert f"{100 * slowest['seconds'] / total:.0f} %" in lines(text)[2]
    root = ElementTree.fromstring(text._repr_html_())
    cells = [cell.text for cell in root.iter("td")]
    for row in table["rows"]:
        assert all(cell in cells for cell in row["cells"] if cell)
    pandas = pytest.importorskip("pandas")
    frame = text.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["seconds"].sum() == pytest.approx(total)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def printed(monkeypatch, text, columns, **environment):
    terminal = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        patch.setenv("COLUMNS", str(columns))
        patch.delenv("NO_COLOR", raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        text.show()
        assert "\x1b" not in str(text) + repr(text), "colours are for show()"
    return terminal.getvalue()


def test_a_terminal_gets_its_width_and_colours(exe, monkeypatch):
    text = step(exe)
    bold = printed(monkeypatch, text, 80)
    assert "\x1b[1m" in bold
    plain = printed(monkeypatch, text, 80, NO_COLOR="1")
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[\d*m", "", bold) == plain
    narrow = printed(monkeypatch, text, 40, NO_COLOR="1")
    assert max(map(len, narrow.splitlines())) <= 70  # a hint is never cut
    assert "\x1b" not in str(text), "a pipe gets none"
    assert plain.isascii()


def test_it_is_a_string(exe):
    text = step(exe)
    assert isinstance(text, str)
    assert repr(text) == str(text).rstrip("\n")
    assert pickle.loads(pickle.dumps(text)) == text


def test_a_name_of_300_characters_is_cut(exe):
    x = sl.data("x" * 300, [None])
    exe.run(feed={"x" * 300: [1.0]}, fetch_list=[sl.layers.relu(x)])
    assert widest(exe.explain()) <= 100


def test_ten_thousand_ops_fold(exe):
    y = sl.data("x", [None])
    for _ in range(5000):
        y = sl.layers.cumsum(sl.layers.softmax(y))
    exe.run(feed={"x": np.ones(4, "f4")}, fetch_list=[y])
    text = exe.explain()
    assert len(lines(text)) < 30
    assert "times more" in text


def test_a_program_says_which_batch_it_assumes():
    x = sl.data("image", [None, 4])
    sl.layers.fc(x, 3)
    assert "fed image [1, 4]" in sl.default_main_program().explain()


def test_blocks_and_stretches_have_sections(exe):
    x = sl.data("x", [None])
    out = sl.layers.cond(sl.layers.reduce_sum(x) > 0.0,
                         lambda: sl.layers.relu(x),
                         lambda: sl.layers.concat([x, x]))
    exe.run(feed={"x": np.ones(3, "f4")}, fetch_list=[out])
    text = exe.explain()
    assert "program, stretch 1, cpu" in text
    assert "block 1, cpu" in text
    assert len(text.tables()) >= 2


def test_nothing_to_run(exe):
    x = sl.data("x", [2])
    exe.run(feed={"x": [1.0, 2.0]}, fetch_list=[x])
    assert "0 ops in 0 calls" in exe.explain()


def test_hints_are_never_cut(exe, monkeypatch):
    _, job = lenet(exe)
    for op in (0, 3, 25):
        one = exe.explain(job.program, op=op)
        hints = set(re.findall(r"#\d+: prefer [^\n\"]*NHWC", one))
        assert hints
        for columns in range(40, 130, 3):
            text = printed(monkeypatch, one, columns, NO_COLOR="1")
            assert set(re.findall(r"#\d+: prefer [^\n\"]*NHWC", text)) == hints
    whole = exe.explain(job.program)
    (advice,) = re.findall(r"with sl.kernel_hints.*", whole)
    assert advice in printed(monkeypatch, whole, 40, NO_COLOR="1")


def test_a_notebook_has_the_advice_too(exe):
    text, _ = lenet(exe)
    (table,) = text.tables()
    (advice,) = re.findall(r"with sl.kernel_hints.*", text)
    assert advice in [line["text"].strip() for line in table["foot"]]


@pytest.mark.parametrize("op", [-5, 1.5, "3", 2**70, True])
def test_an_op_is_a_number_of_the_first_column(exe, op):
    step(exe)
    with pytest.raises(sl.InvalidArgumentError, match="first column"):
        exe.explain(op=op)


def test_an_op_of_a_program_with_blocks(exe):
    x = sl.data("x", [None])
    out = sl.layers.cond(sl.layers.reduce_sum(x) > 0.0,
                         lambda: sl.layers.relu(x),
                         lambda: sl.layers.concat([x, x]))
    exe.run(feed={"x": np.ones(3, "f4")}, fetch_list=[out])
    one = exe.explain(op=0)
    assert "op 0 reduce_sum" in one
    assert len(one.tables()) == 1
    assert "reduce_sum" in one._repr_html_()


def test_names_with_control_characters_are_escaped(exe):
    x = sl.data("\033[31mred", [None])
    y = sl.layers.relu(x)
    exe.run(feed={"\033[31mred": [1.0]}, fetch_list=[y])
    main = sl.default_main_program()
    for shown in (exe.explain(), main.summary(), main.draw(), main.summary()._repr_html_()):
        assert "\033" not in shown
    ElementTree.fromstring(main.draw())


def test_json_has_the_attributes_that_are_not_the_defaults(exe):
    x = sl.data("x", [2, 3])
    total = sl.layers.ops.reduce_sum(x, dim=[1], keep_dim=True)
    y = sl.layers.uniform_random([2], dtype="float32", min=0.0, max=2.0, seed=7)
    exe.run(feed={"x": np.ones((2, 3), "f4")}, fetch_list=[total, y])
    plan = json.loads(exe._last_plan(sl.default_main_program()).explain_json())
    found = {op["op"]: op["attributes"] for op in plan["ops"]}
    assert found["reduce_sum"] == {"dim": [1], "keep_dim": True}
    assert found["uniform_random"]["max"] == 2 and found["uniform_random"]["shape"] == [2]
    assert {op["call"] for op in plan["ops"]} == set(found)
