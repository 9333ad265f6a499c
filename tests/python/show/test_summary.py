"""program.summary(), and that every object says in one line what it is."""

import importlib
import inspect
import os
import pickle
import pkgutil
import re
import subprocess
import sys
import types
from html import unescape

import numpy as np
import pytest

import sluice as sl
from sluice import display, show


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def network():
    image, label = sl.data("image", [None, 1, 8, 8]), sl.data("label", [None, 1], "int64")
    hidden = sl.layers.conv2d(image, num_filters=20, filter_size=3, padding=1, act="relu")
    hidden = sl.layers.pool2d(hidden, 2, "max", 2)
    logits = sl.layers.fc(hidden, 10)
    return sl.layers.mean(sl.layers.softmax_with_cross_entropy(logits, label))


def trained():
    loss = network()
    sl.optimizer.Momentum(0.05).minimize(loss)
    return loss


def feeds():
    return {"image": np.zeros((5, 1, 8, 8), "float32"), "label": np.zeros((5, 1), "int64")}


FORWARD = """\
24 ops: 7 forward, 13 backward, 4 optimizer
fed: image [?, 1, 8, 8], label int64 [?, 1]
#  layer     op                           output         parameters
0  conv2d_0  conv2d+relu 3x3, 20 filters  [?, 20, 8, 8]         200
2            pool2d max 2x2               [?, 20, 4, 4]
3  fc_0      mul+add 320 -> 10            [?, 10]             3 210
5            softmax_with_cross_entropy   [?, 10]
6            mean                         []
parameters       3 410  13.6 kB
optimizer state  3 411  13.6 kB  (momentum)
all              6 821  27.3 kB  backward and optimizer: summary(all=True)"""


def test_a_line_a_layer_and_the_totals():
    trained()
    text = sl.default_main_program().summary()
    assert re.sub(r"\d+ ops: 7 forward, \d+", "24 ops: 7 forward, 13", text) == FORWARD
    assert repr(text) == text == pickle.loads(pickle.dumps(text))


def test_all_ops_by_phase_add_up_to_the_totals():
    trained()
    program = sl.default_main_program()
    lines = program.summary(all=True).splitlines()
    assert [line.strip() for line in lines if line.endswith(":")] == ["backward:", "optimizer:"]
    assert len(lines) == 3 + len(program.ops) - 2 + 2 + 3  # relu and add are in other rows
    end = len(lines[2])
    numbers = [line[end - 10 : end].replace(" ", "") for line in lines[3:-3]]
    assert sum(int(n) for n in numbers if n) == 6821


def test_a_test_clone_has_no_other_phases():
    trained()
    text = sl.default_main_program().clone(for_test=True).summary()
    assert text.splitlines()[0] == "7 ops"
    assert "optimizer" not in text and text.endswith("13.6 kB")


@pytest.mark.parametrize("columns", [80, 60])
def test_names_of_300_characters_are_cut_in_their_middle(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    x = sl.data("x" * 300, [None, 3])
    sl.layers.fc(x, 2, name="encoder" + "y" * 300 + "end")
    text = sl.default_main_program().summary()
    assert max(map(len, text.splitlines())) <= columns
    assert re.search(r"encoder?y*\.\.y*end", text)
    assert "x" * 10 + ".." in text


@pytest.mark.parametrize("columns", [60, 40])
def test_totals_are_wrapped_where_they_do_not_fit(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    trained()
    lines = sl.default_main_program().summary().splitlines()
    assert max(map(len, lines)) <= columns
    text = " ".join(" ".join(lines).split())
    for total in (
        "ops: 7 forward, 13 backward, 4 optimizer", "fed: image [?, 1, 8, 8], label int64 [?, 1]",
        "parameters 3 410 13.6 kB", "optimizer state 3 411 13.6 kB (momentum)",
        "all 6 821 27.3 kB backward and optimizer: summary(all=True)",
    ):
        assert re.sub(r"\d+ backward", "13 backward", text).count(total) == 1


def test_what_is_neither_true_nor_false_is_refused(exe):
    sl.layers.relu(sl.data("x", [2]))
    program = sl.default_main_program()
    plan = exe.prepare(program, {"x": np.zeros(2, "f4")}, [program.ops[-1].outputs["Out"][0]])
    for call in (program.summary, program.draw, plan.draw, program.explain, plan.explain, exe.explain):
        with pytest.raises(TypeError, match=r"^(summary|draw|explain): all: expected True or False, got .*no"):
            call(all="no")
    with pytest.raises(TypeError, match=r"fold: expected True or False, got 2 "):
        program.explain(fold=2)
    assert program.summary(all=np.bool_(True)) == program.summary(all=True)


def test_an_empty_program():
    assert sl.Program().summary().splitlines()[0] == "0 ops"
    assert repr(sl.Program()) == "<Program: 0 ops>"


def test_blocks_are_counted():
    x = sl.data("x", [1])
    sl.layers.cond(x > 0.0, lambda: x * 2.0 + 1.0, lambda: x)
    assert re.search(r"block 1: 2 ops, block 2: \d op", sl.default_main_program().summary())


def test_an_activation_of_no_layer_has_a_row():
    sl.layers.relu(sl.layers.pool2d(sl.data("x", [None, 1, 8, 8]), 2))
    assert [line.split()[1] for line in sl.default_main_program().summary().splitlines()[3:5]] == ["pool2d", "relu"]


def test_unknown_ranks_and_sizes_are_question_marks():
    x = sl.data("x", [None, 3])
    text = sl.default_main_program().summary() + repr(x) + x._repr_html_()
    assert "None" not in text and text.count("[?, 3]") == 3


def test_ten_thousand_ops_are_folded():
    x = sl.data("x", [None, 3])
    for i in range(5000):
        x = sl.layers.fc(x, 3) if i % 100 == 0 else sl.layers.scale(x, 2.0)
    for _ in range(4950):
        x = sl.layers.scale(x, 2.0)
    text = sl.default_main_program().summary()
    lines = text.splitlines()
    assert len(lines) == 2 + 1 + 60 + 1 and "10 000 ops" in lines[0]
    (folded,) = [line for line in lines if "more: summary(all=True)" in line]
    assert "... 9 891 more" in folded and folded.endswith("588")
    assert text.endswith("600  2.4 kB")
    assert len(sl.default_main_program().summary(all=True).splitlines()) > 9900


def test_a_notebook_shows_a_table():
    sl.layers.fc(sl.data("<b>", [None, 3]), 2, name="<i>")
    trained()
    html = sl.default_main_program().summary()._repr_html_()
    assert html.count("<tr") == 1 + 6 and "\noptimizer state  " in html.replace(">", "\n") and "max-height" in html
    assert "&lt;b&gt;" in html and "<b>" not in html and "<i>" not in html


def test_every_class_says_what_it_is():
    assert sl._lab
    without, seen = set(), set()
    for found in pkgutil.walk_packages(sl.__path__, "sluice."):
        if found.name.endswith(("__main__", "onnx.backend", "fluid.as_paddle")):
            continue
        module = importlib.import_module(found.name)
        public = getattr(module, "__all__", dir(module) if "._" in found.name else [])
        seen.update(public)
        for name in public:
            kind = getattr(module, name)
            if inspect.isclass(kind) and kind.__module__.startswith("sluice") and kind.__repr__ is object.__repr__:
                without.add(name)
    assert {"Plan", "Scope", "Profile", "Report", "InferenceSession"} <= seen
    # These have onnxruntime's look.
    assert without == {
        "BackwardStrategy", "IOBinding", "OnnxRuntimeBackend",
        "OnnxRuntimeBackendRep", "SessionIOBinding", "TypeHelper",
    }


def test_displays_have_names_that_stubs_can_write():
    for module in sl._core, sl._lab:
        kinds = [kind for kind in vars(module).values() if inspect.isclass(kind)]
        displays = [vars(kind)[name] for kind in kinds for name in ("__repr__", "__str__", "_repr_html_") if name in vars(kind)]
        made = [display for display in displays if inspect.isfunction(display)]
        assert len(made) > 8
        for each in made:
            assert each.__module__ == module.__name__ and each.__name__ in ("__repr__", "__str__", "_repr_html_")
            assert set(each.__annotations__.values()) == {"object", "str"}


def lists_its_ops(profile):
    return "the ops are not listed" not in str(profile)


def objects(exe, in_peace):
    loss = trained()
    main, scope = sl.default_main_program(), sl.global_scope()
    yield r"Scope: empty; run the startup program", scope
    exe.run(sl.default_startup_program())
    result = exe.run(feed=feeds(), fetch_list=[loss], return_numpy=False)
    yield r"Tensor\(.*float32 \[\] at cpu\)", result[0]
    yield r"<Program: \d+ ops \(7 forward, \d+ backward, 4 optimizer\), 3 410 parameters; feed image, label>", main
    yield r"<Variable image: float32 \[\?, 1, 8, 8\], fed, made at test_summary.py:\d+>", main.var("image")
    yield r"<Variable fc_0.w_0: float32 \[320, 10\], parameter, made at test_summary.py:\d+>", main.var("fc_0.w_0")
    yield r"<Plan at cpu, \d+ threads?: \d+ ops(?: in \d+ calls)?, .* predicted, .* k?B; image \[5, 1, 8, 8\], label \[5, 1\]>", exe.prepare(feed=feeds(), fetch_list=[loss])
    yield r"<Executor at cpu: 2 plans kept>", exe
    yield r"<Scope: 9 tensors, 27.3 kB at cpu>", scope
    yield r"<Profile: a run takes .*s.*; slowest \d+ \w+, \d+ %>", in_peace(lambda: exe.profile(feed=feeds(), fetch_list=[loss], budget=0.02), lists_its_ops)
    compared = sl.compare(main, feeds(), "require variant=plain", "", budget=0.02)
    yield r"<Comparison: .*; \d+ of \d+ ops differ in kernel; results within bound>", compared
    yield r"<OpComparison: 0 conv2d by .*>", compared.ops[0]
    yield r"<Timing: .*>", compared.run_a
    yield r"<TuneResult: \d+ signatures? measured in .*, \d+ with another kernel.*>", sl.tune(main, feeds(), budget=0.05)
    yield r"<Placement: .* predicted now, .* with the change; .*>", sl.lab.what_if(main, feeds(), budget=0.05)
    yield r"<BisectResult: 0 findings in \d+ ops, \d+ runs?>", sl.lab.bisect(main, feeds(), "", "")
    yield r"<SGD: learning_rate 0.1, name 'sgd_0'>", sl.optimizer.SGD(0.1)
    yield r"<Xavier: uniform True, .*>", sl.initializer.Xavier()
    yield r"<LayerHelper: name 'it', .*>", sl.LayerHelper("it", "it")


def test_objects_are_one_line_and_html(exe, in_peace):
    for pattern, shown in objects(exe, in_peace):
        text = repr(shown)
        assert re.search(pattern, text) and "\n" not in text and " at 0x" not in text, text
        if pattern[:4] not in ("<SGD", "<Xav", "<Lay"):
            assert "<" in shown._repr_html_() and " at 0x" not in shown._repr_html_()


def rows_of(html):
    return [[unescape(cell) for cell in re.findall(r"<t[hd][^>]*>([^<]*)", row)] for row in re.findall("<tr.*?</tr>", html)]


def test_a_notebook_shows_profiles_and_comparisons_as_the_tables_of_their_texts(exe, in_peace):
    loss = network()
    exe.run(sl.default_startup_program())
    main = sl.default_main_program()
    profile = in_peace(lambda: exe.profile(feed=feeds(), fetch_list=[loss], budget=0.02), lists_its_ops)
    ways = "#3: require library=EIGEN", "#3: require variant=plain"
    compared = in_peace(lambda: sl.compare(main, feeds(), *ways, fetch_list=[loss], budget=0.02), lists_its_ops)
    assert any(not op.same for op in compared.ops)
    for shown in (profile, compared):
        html = shown._repr_html_()
        assert "<pre" not in html and html.count("<table") == 1
        heading, *rows = rows_of(html)
        assert heading[:2] == ["#", "op"]
        lines = [line.split() for line in str(shown).splitlines()]
        for row in [heading, *rows]:
            assert [w for cell in row for w in cell.replace("µs", "us").split()] in lines
        said = re.sub("<[^>]*>", " ", html).replace("µs", "us").split()
        assert not {word for line in lines for word in line} - {unescape(word) for word in said}


def test_what_minimize_returns_is_a_pair_in_one_line():
    pair = sl.optimizer.SGD(0.1).minimize(network())
    assert repr(pair) == "<4 updates by sgd: conv2d_0.w_0, conv2d_0.b_0, fc_0.w_0, fc_0.b_0>"
    ops, gradients = pair
    assert ops == ["sgd"] * 4 and isinstance(pair, tuple) and len(gradients[0]) == 2


def test_a_scope_that_is_half_filled():
    scope = sl.Scope()
    scope.set("w", np.zeros((250,), "float32"))
    assert repr(scope) == "<Scope: 1 tensor, 1 kB at cpu>"
    filled = types.SimpleNamespace(_describe=lambda: [*scope._describe(), ("b", None, None, None)])
    assert show.objects._scope(filled) == "1 tensor, 1 kB at cpu; 1 without a value"


def test_a_program_is_no_higher_than_a_screen():
    trained()
    assert "max-height" in sl.default_main_program()._repr_html_()


@pytest.mark.parametrize(
    "shown, text",
    [
        (display.of_bytes(0), "0 B"),
        (display.of_bytes(999_600), "1 MB"),
        (display.of_bytes(1_610_000), "1.61 MB"),
        (display.of_seconds(2e-7), "below 1 us"),
        (display.of_seconds(5.7e-4), "570 us"),
        (display.of_seconds(9.999e-4), "1 ms"),
        (display.of_seconds(12), "12 s"),
        (display.grouped(1008), "1 008"),
        (display.shape_text(None), "?"),
        (display.cut("softmax_with_cross_entropy_grad", 21), "softmax_wi..tropy_grad"[:21]),
    ],
)
def test_numbers_and_names(shown, text):
    assert shown == text or len(shown) == 21 and shown.endswith("_grad") and ".." in shown


def test_a_report_shows_itself():
    loss = network()
    sl.Executor().run(sl.default_startup_program())
    report = sl.lab.report(sl.default_main_program(), feeds(), [loss], seconds=0.05)
    html = report._repr_html_()
    assert html.startswith(('<iframe srcdoc="&lt;', "<code>&lt;Report"))


ASCII = """
import numpy as np
import sluice as sl
from sluice.lab import text

x = sl.data("größe", [None, 3])
y = sl.layers.fc(x, 2, name="名前")
main, exe, feed = sl.default_main_program(), sl.Executor(), {"größe": np.ones((2, 3), "f4")}
exe.run(sl.default_startup_program())
run = dict(feed=feed, fetch_list=[y])
plan = exe.prepare(**run)
profile = exe.profile(**run, budget=0.01)
compared = sl.compare(main, feed, "require variant=plain", "", budget=0.01)
for shown in (
    main, x, main.ops[0], main.summary(), main.explain(), plan, plan.explain(op=0), plan.explain(all=True),
    main.draw(), plan.draw(), profile, compared, sl.tune(main, feed, [y], budget=0.01), sl.global_scope(),
):
    print(shown)
    print(repr(shown))
text.show(main.summary())
print(f"{main.summary()}".count("gr\\\\xf6\\\\xdfe"), main.draw().count("gr&#246;&#223;e") > 0)
"""


@pytest.mark.parametrize("settings", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}])
def test_names_beyond_ascii_are_escaped_where_the_terminal_is_ascii(tmp_path, settings):
    (tmp_path / "names.py").write_text(ASCII, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, tmp_path / "names.py"], env=os.environ | {"PYTHONUTF8": "0"} | settings, capture_output=True)
    assert done.stderr.decode() == ""
    said = done.stdout.decode("ascii")
    assert said.splitlines()[-1] == "1 True"
    assert "gr\\xf6\\xdfe" in said and "\\u540d\\u524d" in said


def test_names_beyond_ascii_are_themselves_elsewhere():
    x = sl.data("größe", [None, 3])
    assert "größe" in str(sl.default_main_program().summary()) and "größe" in repr(x)
