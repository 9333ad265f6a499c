"""Reports: their JSON, their page, and differences between them."""

import html
import json
import os
import re
import tempfile
import time
from importlib.util import find_spec
from xml.etree import ElementTree

import numpy as np
import pytest
from processes import python

import sluice as sl
from sluice import lab
from sluice.lab.machine import _best
from sluice.lab.__main__ import main
from sluice.lab.report import command, graph, libraries, read
from sluice.lab.report.difference import shown as times_of
from sluice.lab.report.page import to_html

# The package needs mpld3; ./dev has it in build/venv.
missing = find_spec("mpld3") is None
if missing and os.environ.get("DEMAND"):
    raise RuntimeError("reports are not tested without mpld3, and DEMAND is set")
pytestmark = pytest.mark.skipif(missing, reason="without mpld3")

HOSTILE = [
    "quote\"'`",
    "</script><script>window.hacked = 1</script>",
    "<!-- <script>",
    "\u2028 \u2029 \U0001f600 \u00e9 \\u003c \\",
    "&lt;b&gt; ${1} @data@ @scripts@",
    "x" * 100_000,
]


pytestmark = pytest.mark.usefixtures("one_thread")


def image_net():
    """A small network with images, in the default program; feeds, fetches."""
    image = sl.data("image", [2, 3, 12, 12])
    x = sl.layers.conv2d(image, 4, 3, act="relu")
    x = sl.layers.pool2d(x, 2)
    out = sl.layers.softmax(sl.layers.fc(x, 5))
    sl.Executor().run(sl.default_startup_program())
    feed = {"image": np.random.default_rng(0).random((2, 3, 12, 12), np.float32)}
    return feed, [out]


def made(**options):
    feed, fetches = image_net()
    return lab.report(sl.default_main_program(), feed, fetches, seconds=0.2, **options)


def data_of(page):
    """The data of the page's scripts."""
    element = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    return json.loads(element[1])


def test_a_report_shows_itself_in_a_line():
    shown = made(name="net")
    text = repr(shown)
    assert re.fullmatch(
        r"<Report net: \d+ ops, a run takes [\d.]+ [mu]s; \.save\('FILE\.html'\)>", text
    ), text
    assert str(shown) == text


def test_json_says_what_explain_says():
    feed, fetches = image_net()
    program = sl.default_main_program()
    sl.tune(program, feed, fetches, 3, False)
    prepared = sl.Executor().prepare(program, feed, fetches)
    (report,) = lab.report_plans([prepared], program, feed, seconds=0.2)
    assert report.data["schema"] == "sluice.report" and report.data["version"] == 1
    plan = report.data["plan"]
    explained = json.loads(prepared.explain_json())
    assert [op["index"] for op in plan["ops"]] == [op["index"] for op in explained["ops"]]
    for op, other in zip(plan["ops"], explained["ops"], strict=True):
        for key in ("op", "kernel", "reason", "layout", "predicted_seconds", "evidence",
                    "margin", "inputs", "outputs", "covers", "line"):
            assert op.get(key) == other.get(key), key
        candidates = plan["candidate_lists"][op["candidate_list"]]
        assert candidates["signature"] == other["signature"]
        assert len(candidates["candidates"]) == len(other["candidates"])
        for one, nested in zip(candidates["candidates"], other["candidates"], strict=True):
            assert {key: nested[key] for key in one} == one
        assert other["candidates"][op["chosen"]]["chosen"]
        assert candidates["candidates"][op["chosen"]]["kernel"] == op["kernel"]
    for key in ("slots", "transfers", "arenas", "feeds", "fetches", "notes"):
        assert plan[key] == explained[key], key


def test_a_tuned_op_has_times_errors_and_work_of_its_candidates():
    plan = made(tune=30).data["plan"]
    (op,) = [op for op in plan["ops"] if op["op"] == "softmax"]
    assert op["evidence"] == "measured"
    candidates = plan["candidate_lists"][op["candidate_list"]]["candidates"]
    possible = [c for c in candidates if not c["refusal"]]
    assert len(possible) >= 1
    for candidate in possible:
        measured = candidate["measured"]
        assert 0 < measured["low"] <= measured["median"] <= measured["high"]
        assert measured["verdict"] == "ok" and 0 <= measured["error"] <= 1
        assert candidate["work"]["bytes"] >= 2 * 5 * 4 * 2
    for candidate in candidates:
        assert bool(candidate["refusal"]) == ("work" not in candidate)


def test_margin_is_the_next_best_over_the_chosen_one():
    plan = made(tune=30).data["plan"]
    margins = 0
    for op in plan["ops"]:
        candidates = plan["candidate_lists"][op["candidate_list"]]["candidates"]
        others = [c["predicted_seconds"] for i, c in enumerate(candidates)
                  if not c["refusal"] and i != op["chosen"]]
        if not others:
            assert "margin" not in op
            continue
        margins += 1
        assert op["margin"] == pytest.approx(min(others) / op["predicted_seconds"])
    assert margins > 0


def test_times_are_of_the_plan_that_run_uses():
    report = made()
    plan, summary = report.data["plan"], report.data["summary"]
    run = plan["times"]["run"]
    assert 0 < run["low"] <= run["median"] <= run["high"] and run["rounds"] >= 5
    seconds = [op["measured"]["median"] for op in plan["ops"]]
    assert all(s > 0 for s in seconds)
    assert summary["op_seconds"] == pytest.approx(sum(seconds))
    # A clock around each op costs little.
    assert 0.2 * run["median"] < sum(seconds) < 20 * run["median"]
    assert summary["predicted_seconds"] == pytest.approx(
        sum(op["predicted_seconds"] for op in plan["ops"]))


def test_a_report_leaves_parameters_alone():
    x = sl.data("x", [4, 3])
    loss = sl.layers.mean(sl.layers.fc(x, 2))
    sl.optimizer.SGD(0.5).minimize(loss)
    sl.Executor().run(sl.default_startup_program())
    names = [v["name"] for v in sl.default_main_program()._blocks()[0]["vars"] if v["persistable"]]
    before = {name: np.array(sl.global_scope()[name]) for name in names}
    lab.report(sl.default_main_program(), {"x": np.ones((4, 3), "f4")}, [loss], seconds=0.1)
    assert len(before) >= 2
    for name in names:
        np.testing.assert_array_equal(np.array(sl.global_scope()[name]), before[name])


def test_a_disturbed_machine_has_no_cache_slower_than_memory():
    quiet = {"machine": "m", "threads": 2, "date": "d", "parallel_for": 2e-6, "kernel_call": 5e-8,
             "library_call": 4e-7, "float32": 1e11}
    for level, rate in [("l1", 4e11), ("l2", 2e11), ("l3", 1e11), ("memory", 2e10)]:
        quiet |= {level: rate, f"{level}_all_threads": 2 * rate}
    busy = {**quiet, "l2_all_threads": 1e9, "float32": 1e10, "parallel_for": 1e-3}
    assert _best([busy, quiet]) == quiet
    best = _best([busy, busy])
    assert best["l2_all_threads"] == best["l3_all_threads"] == 2e11
    assert best["l1_all_threads"] == 8e11 and best["memory_all_threads"] == 4e10
    assert _best([{**quiet, "memory_all_threads": 1e9}])["memory_all_threads"] == 2e10


def test_the_page_is_one_small_file_that_loads_nothing():
    page = made().to_html()
    assert len(page.encode()) < 3_000_000
    assert "default-src 'none'" in page
    own = page.replace(libraries.d3(), "")
    # Whatever a browser would load: addresses, imports, fetches.
    assert not re.search(r'(src|href)\s*=\s*["\']?\s*(https?:)?//', own)
    assert not re.search(r"@import|url\(\s*[\"']?(?!#)|fetch\(|XMLHttpRequest|import\(", own)


def test_memory_over_time_stays_within_the_arena():
    report = made()
    (place,) = data_of(report.to_html())["memory"]
    arena = report.data["plan"]["arenas"]["cpu"]
    assert place["place"] == "cpu" and place["arena"] == arena
    assert 0 < max(used for _, used in place["steps"]) <= arena
    for block in place["blocks"]:
        assert block["offset"] + block["bytes"] <= arena
        at = [used for i, used in place["steps"] if block["first"] <= i <= block["last"]]
        assert min(at) >= block["bytes"]


def test_devices_have_memory_and_transfers_too():
    try:
        executor = sl.Executor("cuda:0")
    except sl.SluiceError as error:
        pytest.skip(str(error))
    x = sl.data("x", [8, 6])
    loss = sl.layers.mean(sl.layers.fc(x, 5, act="relu"))
    sl.optimizer.SGD(0.1).minimize(loss)
    executor.run(sl.default_startup_program())
    report = lab.report(sl.default_main_program(), {"x": np.ones((8, 6), "f4")}, [loss],
                        place="cuda:0", seconds=0.3)
    view = data_of(report.to_html())
    assert "cuda:0" in {place["place"] for place in view["memory"]}
    for place in view["memory"]:
        assert max(used for _, used in place["steps"]) <= place["arena"]
    assert ("cpu", "cuda:0") in {(t["from"], t["to"]) for t in view["transfers"]}


def test_ops_that_were_put_in_and_transfers_are_told():
    image = sl.data("x", [64, 32])
    y = sl.layers.manhattan_distance(sl.layers.relu(image), image)
    feed = {"x": np.ones((64, 32), "f4")}
    with sl.kernel_hints("manhattan_distance: require place=fpga:0"):
        report = lab.report(sl.default_main_program(), feed, [y], seconds=0.1)
    view = data_of(report.to_html())
    assert {t["to"] for t in view["transfers"]} == {"fpga:0", "cpu"}
    assert report.data["summary"]["transfer_bytes"] == sum(t["bytes"] for t in view["transfers"])
    moved = [edge for edge in view["graph"]["edges"] if edge["moved"]]
    assert moved and all(edge["moved"] <= edge["bytes"] for edge in moved)
    assert "edge moved" in report.draw()


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_text_and_nothing_else(name):
    x = sl.data(name, [2, 3])
    y = sl.layers.relu(x)
    report = lab.report(sl.default_main_program(), {name: np.ones((2, 3), "f4")}, [y],
                        seconds=0.05, name=name)
    page = report.to_html()
    assert len(page.encode()) < 3_000_000
    # Only the page's own script elements.
    assert page.count("<script") == 3 and page.count("</script>") == 3
    view = data_of(page)
    shown = name if len(name) <= 400 else name[:400]
    assert view["name"].startswith(shown)
    assert view["ops"][0]["inputs"][0]["var"].startswith(shown)
    title = re.search("<title>(.*?)</title>", page, re.S)[1]
    assert html.unescape(title).startswith(shown)
    assert read_back(report).data["plan"]["feeds"][0]["var"] == name
    assert len(page.encode()) < 500_000
    ElementTree.fromstring(report.draw())
    assert json.loads(report.chrome_trace)["traceEvents"]


def read_back(report):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        report.save(path)
        return read(path)


def test_a_report_that_was_read_again_is_the_same():
    report = made()
    again = read_back(report)
    assert again.data == report.data
    assert data_of(again.to_html()) == data_of(report.to_html())


def test_a_program_without_ops():
    sl.data("x", [2])
    report = lab.report(sl.default_main_program(), {"x": np.ones(2, "f4")}, [], seconds=0.05)
    assert report.data["plan"]["ops"] == [] and report.data["summary"]["ops"] == 0
    assert data_of(report.to_html())["graph"]["nodes"] == []
    assert report.draw().startswith("<svg ")


def test_a_layer_of_many_ops_is_one_node():
    layers = sl.layers
    words = sl.data("words", [None, 1], "int64", lod_level=1)
    hidden, _ = layers.dynamic_lstm(layers.fc(layers.embedding(words, [10, 4]), 32), 32)
    sl.Executor().run(sl.default_startup_program())
    feed = {"words": sl.Ragged(np.zeros((5, 1), "i8"), [[0, 2, 5]])}
    report = lab.report(sl.default_main_program(), feed, [layers.sequence_pool(hidden, "max")], seconds=0.05)
    view = data_of(report.to_html())
    (node,) = [n for n in view["graph"]["nodes"] if n["label"][0].startswith("dynamic_lstm: ")]
    assert node["count"] == sum(op["layer"] is not None for op in view["ops"]) > 3
    assert sum(n.get("count", 0) for n in view["graph"]["nodes"]) == len(view["ops"])


def test_a_program_with_one_op():
    y = sl.layers.exp(sl.data("x", [2]))
    report = lab.report(sl.default_main_program(), {"x": np.ones(2, "f4")}, [y], seconds=0.05)
    (node,) = [n for n in data_of(report.to_html())["graph"]["nodes"] if "first" in n]
    assert node["label"][0] == "exp" and node["count"] == 1


def test_a_plan_of_100000_ops_is_summarised():
    x = sl.data("x", [2, 3])
    for _ in range(100_000):
        x = sl.layers.scale(x, bias_after_scale=False)  # no step of a chain
    report = lab.report(sl.default_main_program(), {"x": np.ones((2, 3), "f4")}, [x], seconds=0.5)
    page = report.to_html()
    assert len(page.encode()) < 3_000_000
    view = data_of(page)
    assert view["summary"]["ops"] == 100_000
    assert len(view["ops"]) + view["ops_left_out"] == 100_000
    nodes = [n for n in view["graph"]["nodes"] if "first" in n]
    assert sum(n["count"] for n in nodes) == 100_000 and len(nodes) <= 600
    total = view["summary"]["op_seconds"]
    assert sum(n["seconds"] for n in nodes) == pytest.approx(total)
    assert sum(g["seconds"] for g in view["groups"]) == pytest.approx(total)
    least = min(op["measured"]["median"] for op in view["ops"])
    times = sorted((op["measured"]["median"] for op in report.data["plan"]["ops"]), reverse=True)
    assert least == times[len(view["ops"]) - 1]


def test_a_page_that_would_be_too_large_has_fewer_ops():
    report = made()
    ops = report.data["plan"]["ops"]
    # The maximum number of texts, each of the maximum length.
    ops[0]["reason"] = "r" * 400
    report.data["plan"]["ops"] = [{**ops[0], "index": i} for i in range(20_000)]
    page = report.to_html()
    assert len(page.encode()) < 3_000_000
    assert 0 < len(data_of(page)["ops"]) < 2000


def test_kernels_with_wrong_results_are_said_first():
    report = made()
    assert data_of(report.to_html())["wrong_kernels"] == []
    op = report.data["plan"]["ops"][0]
    kernel = report.data["plan"]["candidate_lists"][op["candidate_list"]]["candidates"][-1]
    kernel["measured"] = {"verdict": "wrong", "message": "Out[0] is 1", "rounds": 0, "error": 9.0}
    (text,) = data_of(report.to_html())["wrong_kernels"]
    assert text.startswith(f"{kernel['kernel']} gave wrong results and is not used: #0")
    assert command.summary(report.data, "p.html").splitlines()[0] == text


def test_a_report_begins_with_the_op_that_makes_nan(tmp_path, capsys):
    script = tmp_path / "planted.py"
    script.write_text(
        "import numpy as np\nimport sluice as sl\n"
        "x = sl.data('x', [None, 3])\n"
        "y = sl.layers.sqrt(sl.layers.abs(x) - 1.0)\n"
        "loss = sl.layers.mean(y * 2.0)\n"
        "program, fetch_list = sl.default_main_program(), [loss]\n"
        "feed = {'x': np.array([[2, 0, 3]], 'f4')}\n"
    )
    page, data = str(tmp_path / "page.html"), str(tmp_path / "report.json")
    assert main(["report", str(script), "--no-tune", "--seconds", "0.05",
                 "-o", page, "--json", data]) == 0
    first = capsys.readouterr().out.splitlines()[1]
    assert re.search(r"^sqrt: output .* has 1 NaN of 3 elements, the first is element 1 at \[0, 1\], although "
                     r"all inputs are finite: \S+ from -1 to 2, in op \d+ \(sqrt\), created at .*planted.py:4$",
                     first), first
    view = data_of(open(page).read())
    assert ", ".join(view["fault"]["lines"]) == first
    (op,) = [op for op in view["ops"] if op["index"] == view["fault"]["op"]]
    assert "sqrt" in op["op"] or "sqrt" in str(op["covered_ops"])
    assert read(data).data["fault"]["text"].splitlines() == view["fault"]["lines"]
    assert "<p>sqrt: output" in open(page).read()  # also without scripts


def test_a_report_of_finite_numbers_has_no_fault():
    report = made()
    assert report.data["fault"] is None
    del report.data["fault"]  # as older files
    assert data_of(report.to_html())["fault"] is None


def test_the_command_writes_what_is_asked_for(tmp_path, capsys, in_peace):
    names = ["page.html", "report.json", "run.trace.json", "plan.svg"]
    page, data, trace, svg = [str(tmp_path / name) for name in names]
    command = ["report", "mlp", "--batch", "4", "--budget", "2", "--seconds", "0.2",
               "-o", page, "--json", data, "--trace", trace, "--svg", svg]
    out = in_peace(lambda: main(command) or capsys.readouterr().out,
                   lambda out: not times_of(read(data).data)[1])
    assert re.search(rf"^a run takes [\d.]+ [mu]s(, \d+ % [\w+]+)?; open {re.escape(page)}$", out, re.M)
    assert out.splitlines()[-1].endswith(page)
    assert read(data).data["name"] == "mlp"
    events = json.loads(open(trace).read())["traceEvents"]
    assert any(e["ph"] == "X" and e["args"].get("kernel") for e in events)
    assert all({"ph", "pid", "tid", "name"} <= set(e) for e in events)
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert re.fullmatch(r"mlp: medians of \d+ runs?, one after another, .*", processes[1])
    assert processes[2] == "mlp: one real run"
    kernels = [e["args"] for e in events if e.get("cat") == "kernel" and e["pid"] == 2]
    assert {a["phase"] for a in kernels} == {"forward", "backward", "optimizer"}
    assert all(re.fullmatch(r"\w+\.py:\d+", a["line"]) for a in kernels if "line" in a)
    assert all(int(a["bytes"]) > 0 and a["outputs"] and a["op"].isdigit() for a in kernels)
    assert open(svg).read().count("momentum") >= 1
    # Writes a page of saved reports, without measuring.
    assert main(["report", data, "--against", data, "-o", page]) == 0
    assert data_of(open(page).read())["changes"]["ops"] == []


BAD = {
    "no program": (["report", "lenett"], "did you mean lenet?"),
    "no json": (["report", "none.json"], "none.json"),
    "seconds": (["report", "mlp", "--seconds", "0"], "no number of seconds above 0"),
    "budget": (["report", "mlp", "--budget", "-1"], "no number of seconds above 0"),
    "no older report": (["report", "mlp", "--against", "none.json"], "none.json"),
    "no folder": (["report", "mlp", "--no-tune", "--seconds", "0.05", "-o", "none/x.html"], "none/x.html"),
}


@pytest.mark.parametrize("arguments, message", BAD.values(), ids=BAD)
def test_bad_input_is_named(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        assert main(arguments) == 1
    except SystemExit as end:
        assert end.code == 2
    err = capsys.readouterr().err
    assert message in err and "Traceback" not in err


@pytest.mark.parametrize("text, message", [
    ("{", "expected a report as JSON"),
    ("[]", 'expected a report, with "schema"'),
    ('{"schema": "other"}', 'expected a report, with "schema"'),
    ('{"schema": "sluice.report", "version": 99}', "a report of version 99"),
])
def test_files_that_are_no_report(text, message, tmp_path, capsys):
    path = tmp_path / "other.json"
    path.write_text(text)
    assert main(["report", str(path), "-o", str(tmp_path / "x.html")]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("damage", [
    lambda data: data.pop("plan"),
    lambda data: data.pop("machine"),
    lambda data: data["plan"].update(ops=3),
    lambda data: data["plan"]["ops"][0].pop("measured"),
    lambda data: data["plan"]["ops"][0].update(candidate_list=999),
    lambda data: data["plan"]["ops"][0]["inputs"][0].update(slot="x"),
    lambda data: [slot.update(last="x") for slot in data["plan"]["slots"]],
    lambda data: data["plan"].pop("times"),
], ids=range(8))
def test_damaged_reports_are_named(damage, tmp_path, capsys):
    scaled = sl.layers.scale(sl.data("x", [2]), bias_after_scale=False)
    y = sl.layers.exp(sl.layers.relu(scaled))
    report = lab.report(sl.default_main_program(), {"x": np.ones(2, "f4")}, [y], seconds=0.05)
    damage(report.data)
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(report.data))
    assert main(["report", str(path), "-o", str(tmp_path / "x.html")]) == 1
    err = capsys.readouterr().err
    assert f"{path}: a report of which something is missing" in err


def test_wrong_arguments_are_named():
    with pytest.raises(sl.errors.InvalidArgumentError, match="expected a Program, got int"):
        lab.report(3)
    with pytest.raises(sl.errors.InvalidArgumentError, match="expected a number above 0, got str"):
        lab.report(sl.Program(), seconds="3")
    with pytest.raises(sl.errors.InvalidArgumentError, match="more than 0 seconds"):
        lab.report(sl.Program(), seconds=0)
    with pytest.raises(sl.errors.InvalidArgumentError, match="ends with .html"):
        made().save("report.pdf")


def test_what_is_missing_is_named(monkeypatch, tmp_path, capsys):
    data = made().data
    monkeypatch.setattr(libraries, "_DEBIAN", libraries.Path("/nowhere"))
    monkeypatch.setattr(libraries.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(sl.errors.NotFoundError, match="pip install mpld3, or apt-get install node-d3"):
        libraries.d3()
    with pytest.raises(sl.errors.NotFoundError, match="pip install mpld3"):
        to_html(data, None)
    # The command looks for it first, and writes what does not need it.
    monkeypatch.setattr(command, "_measured", lambda parsed: pytest.fail("it measures"))
    monkeypatch.chdir(tmp_path)
    assert main(["report", "mlp"]) == 1
    (tmp_path / "saved.json").write_text(json.dumps(data))
    assert main(["report", "saved.json", "--svg", "plan.svg"]) == 1
    assert "no page: report: D3 5 is missing" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.svg", "saved.json"]


def test_a_report_needs_no_library_for_its_json():
    code = """
import sys
sys.modules["mpld3"] = sys.modules["matplotlib"] = None
import numpy as np, sluice as sl
assert "sluice.lab" not in sys.modules
y = sl.layers.relu(sl.data("x", [2]))
r = sl.lab.report(sl.default_main_program(), {"x": np.ones(2, "f4")}, [y], seconds=0.05)
print(len(r.to_json()) > 500, "relu" in r.draw())
"""
    done = python("-c", code)
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_each_node_of_a_large_graph_keeps_an_edge():
    last = 150
    names = ["f0", *(f"n{i}" for i in range(last + 1))]
    ends = [(f"n{i}", f"n{i + 1}") for i in range(last)]
    ends += [("f0", f"n{last}"), ("n0", f"n{last}")]
    drawn = graph.place([{"id": name, "width": 60.0} for name in names],
                        [{"source": a, "target": b} for a, b in ends])
    assert [edge["far"] for edge in drawn["edges"][-2:]] == [False, True]
    y = {node["id"]: node["y"] for node in drawn["nodes"]}
    assert abs(y["f0"] - y[f"n{last}"]) < 100


def residual_report():
    """A report of a training step with 130 ops, with edges over many rows."""
    image, label = sl.data("image", [2, 3, 6, 6]), sl.data("label", [2, 1], "int64")
    x = sl.layers.conv2d(image, 4, 3)
    for _ in range(6):
        y = sl.layers.conv2d(x, 4, 3, padding=1, act="relu")
        x = sl.layers.relu(sl.layers.elementwise_add(x, sl.layers.conv2d(y, 4, 3, padding=1)))
    loss = sl.layers.mean(sl.layers.softmax_with_cross_entropy(sl.layers.fc(x, 3), label))
    sl.optimizer.SGD(0.01).minimize(loss)
    sl.Executor().run(sl.default_startup_program())
    feed = {"image": np.ones((2, 3, 6, 6), "f4"), "label": np.zeros((2, 1), "int64")}
    return lab.report(sl.default_main_program(), feed, [loss], seconds=0.1)


def test_a_large_graph_is_laid_out_soon_and_has_all_edges():
    report = residual_report()
    begin = time.monotonic()
    drawn = data_of(report.to_html())["graph"]
    assert time.monotonic() - begin < 10
    assert len(drawn["nodes"]) > 100
    # The values that an op reads from another one, in the plan itself.
    plan = report.data["plan"]
    maker, wanted = {f["var"]: f"f{i}" for i, f in enumerate(plan["feeds"])}, set()
    for i, op in enumerate(plan["ops"]):
        wanted |= {(maker[v["var"]], f"n{i}") for v in op["inputs"] if v["var"] in maker}
        maker |= {v["var"]: f"n{i}" for v in op["outputs"]}
    assert {(e["source"], e["target"]) for e in drawn["edges"]} == wanted
    long = [e for e in drawn["edges"] if e["far"]]
    assert 0 < len(long) < len(drawn["edges"]) / 2
    for edge in drawn["edges"]:
        assert re.fullmatch(r"M[\d. -]+(V[\d.-]+|C[\d. -]+)+", edge["path"])
    # No two boxes overlap.
    boxes = sorted((n["y"], n["x"], n["width"]) for n in drawn["nodes"])
    for (y1, x1, w1), (y2, x2, w2) in zip(boxes, boxes[1:]):
        assert y2 - y1 >= drawn["node_height"] or x2 - x1 >= (w1 + w2) / 2 - 1
    for node in drawn["nodes"]:
        assert 0 <= node["x"] <= drawn["width"] and 0 <= node["y"] <= drawn["height"]
