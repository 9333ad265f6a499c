"""Names, numbers, kernels, colours and layers are the same in every text and
drawing, and what is printed can be typed."""

import re

import numpy as np
import pytest

import sluice as sl
from sluice.display import LIBRARIES, call_name, call_number, kernel_name
from sluice.lab import networks

L = sl.layers


def lstm():
    """A classifier of ragged words, and what is fed."""
    words = sl.data("words", [None, 1], "int64", lod_level=1)
    hidden, _ = L.dynamic_lstm(L.fc(L.embedding(words, [100, 16]), 32), 32)
    loss = L.mean(L.batch_norm(L.fc(L.sequence_pool(hidden, "max"), 8)))
    sl.optimizer.SGD(0.01).minimize(loss)
    rows = sl.Ragged(np.arange(218)[:, None] % 100, [[*range(0, 211, 7), 214, 218]])
    return {"words": rows}, [loss]


def lenet_training():
    image, label = sl.data("image", [None, 1, 28, 28]), sl.data("label", [None, 1], "int64")
    loss = L.mean(L.softmax_with_cross_entropy(networks.lenet(image), label))
    sl.optimizer.Momentum(0.1).minimize(loss)
    return {"image": np.zeros((4, 1, 28, 28), "f4"), "label": np.zeros((4, 1), "i8")}, [loss]


def explained(feed, fetches):
    exe = sl.Executor()
    exe.run(sl.default_startup_program())
    exe.run(feed=feed, fetch_list=fetches)
    return exe, exe.explain()


def test_what_is_ragged_is_fed_in_one_piece():
    feed, fetches = lstm()
    _, text = explained(feed, fetches)
    assert "words: ragged int64, 218 rows in 32" in text.splitlines()[0]
    main = sl.default_main_program()
    for shown in (str(text), str(main.summary()), main.draw(), repr(main)):
        assert "@LOD" not in re.sub("<title>.*?</title>", "", shown, flags=re.S)
    assert "lod=[[0, 7, 14," in repr(feed["words"])


def test_each_phase_has_one_section():
    _, text = explained(*lstm())
    sections = re.findall(r"^(forward|backward|optimizer): ", text, re.M)
    assert sections == ["forward", "backward", "optimizer"]
    shares = re.findall(r"^\w+: \d+ calls?, (\d+) %", text, re.M)
    assert 90 <= sum(map(int, shares)) <= 102


def test_a_layer_is_one_row_and_one_box():
    feed, fetches = lstm()
    exe, text = explained(feed, fetches)
    assert len(re.findall("dynamic_lstm +1[0-9] calls .* most: #", text)) == 1 and " unsqueeze " not in text
    plan = exe.prepare(feed=feed, fetch_list=fetches)
    assert len(re.findall(">dynamic_lstm: 1[0-9] calls<", plan.draw())) == 1 and ">unsqueeze<" not in plan.draw()
    assert ">unsqueeze<" in plan.draw(all=True) and " dynamic_lstm " in plan.explain()
    assert " unsqueeze " in exe.explain(fold=False)
    main = sl.default_main_program()
    rows = [row for row in str(main.summary()).splitlines() if "dynamic_lstm_0" in row]
    assert len(rows) == 1 and "dynamic_lstm 12 ops" in rows[0]
    svg = main.draw()
    assert svg.count(">dynamic_lstm<") == 1 and ">unsqueeze<" not in svg
    assert ">unsqueeze<" in main.draw(all=True)
    whole, fixed = "2 560 parameters", "16 of them not trained"
    assert f"{whole}, {fixed}" in svg
    assert re.search(r"of them not trained +16 ", str(main.summary()))


def test_all_has_the_names_numbers_and_width_of_the_table():
    exe, text = explained(*lenet_training())
    assert "momentum x" in exe.explain(all=True)
    whole = exe.explain(all=True, fold=False)
    assert whole.count("not considered:") == 0
    assert max(map(len, str(whole).splitlines())) <= 100
    (table,) = text.tables()
    for call in table["calls"]:
        number = f"{'+' * call['put_in']}{call['op']}"
        assert re.search(rf"^ *{re.escape(number)}  {call['name'][:4]}", whole, re.M)
        assert call["kernel"] in whole


def test_other_kernels_that_are_the_same_are_said_once():
    inputs = [sl.data(name, [64, 32]) for name in "ab"]
    turned = [sl.layers.transpose(x, [1, 0]) for x in inputs]
    exe, _ = explained({x.name: np.zeros(x.shape, "float32") for x in inputs}, turned)
    assert "other kernels: as those of #0" in exe.explain(all=True, fold=False)


def test_what_explain_prints_is_a_hint():
    feed, fetches = lenet_training()
    exe, text = explained(feed, fetches)
    calls = text.tables()[0]["calls"]
    assert {"relu+pool2d", "conv2d"} <= {call["name"] for call in calls}
    hints = [f"#{c['op']}: {c['kernel']}" for c in calls if not c["put_in"]]
    hints += [f"{c['name'].upper()}: prefer {c['kernel'].upper()}" for c in calls if not c["put_in"]]
    for hint in {*hints, "exclude library=onednn", "exclude onednn", "relu+pool2d: require plain"}:
        with sl.kernel_hints(hint):
            plan = exe.prepare(sl.default_main_program(), feed, fetches)
        assert "names no op" not in "".join(plan.notes), hint
    with sl.kernel_hints("exclude OneDNN"):
        plan = exe.prepare(sl.default_main_program(), feed, fetches)
    assert not any(c["library"] == "ONEDNN" for c in plan.explain().tables()[0]["calls"])
    with pytest.raises(sl.NotFoundError, match="no kernel of conv2d is at fpga:0; there are at cpu"):
        with sl.kernel_hints("conv2d: require place=fpga:0"):
            exe.prepare(sl.default_main_program(), feed, fetches)


def test_a_kernel_elsewhere_is_not_0_times_as_long():
    x = sl.data("x", [None, 64])
    y = L.fc(x, 64)
    exe = sl.Executor(sl.CUDAPlace(0))
    exe.run(sl.default_startup_program())
    exe.run(feed={"x": np.ones((2, 64), "f4")}, fetch_list=[y])
    assert not re.search(r"\b0\.\dx", exe.explain())
    assert "faster" in exe.explain()


def test_colours_belong_to_libraries():
    feed, fetches = lenet_training()
    plan = explained(feed, fetches)[0].prepare(sl.default_main_program(), feed, fetches)
    keys = set()
    assert len({colour for _, colour in LIBRARIES.values()}) == len(LIBRARIES)
    for hint in ("", "exclude onednn", "prefer onednn"):
        with sl.kernel_hints(hint):
            svg = sl.Executor().prepare(sl.default_main_program(), feed, fetches).draw()
        keys |= set(re.findall(r'class="key (f\d+)"[^/]*/><text[^>]*>(own kernels|oneDNN):', svg))
    assert len(keys) == len(dict(keys)) == len({name for _, name in keys}) == 2
    assert "sluice-halves" in plan.draw(columns=2)
    with pytest.raises(sl.InvalidArgumentError, match="1 or 2"):
        plan.draw(columns=3)


def test_a_program_is_printed_without_what_goes_without_saying():
    lenet_training()
    main = sl.default_main_program()
    text = str(main)
    assert len(text.splitlines()) < 40 and max(map(len, text.splitlines())) <= 100
    assert "... 7 more momentum updates" in text and "dilations" not in text
    whole = main.to_string(all=True)
    assert whole.count(" = momentum(") == 8 and "dilations" in whole


def test_names_of_calls():
    op = {"op": "relu_pool2d", "call": "relu+add", "covers": [6, 7], "index": 7}
    assert (call_name(op), call_number(op)) == ("relu+add", "#6")
    assert call_number({**op, "covers": []}) == "+7"
    assert [kernel_name(*k) for k in (("PLAIN", "plain"), ("ONEDNN", "direct"), ("MPI", "mpi"))] == [
        "plain", "onednn/direct", "mpi"]
