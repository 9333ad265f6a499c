"""The program sluice-lab, and the functions that it calls."""

import io
import json
import os
import re
import sys

import numpy as np
import pytest
from processes import python

import sluice as sl
from sluice import lab
from sluice.lab import machine, programs
from sluice.lab import text as words
from sluice.lab.__main__ import main


pytestmark = pytest.mark.usefixtures("one_thread")


def status(arguments):
    """The exit status, even if argparse ends the program."""
    try:
        return main(arguments)
    except SystemExit as end:
        return end.code


def test_a_network_is_tuned(capsys):
    assert main(["tune", "mlp", "--batch", "4", "--budget", "5"]) == 0
    short, err = capsys.readouterr()
    assert "tune: runs mlp, with a budget of 5 s ...\n" in err
    assert re.match(r"\d+ of \d+ signatures gets? another kernel, \d+ stay(, \d+ not measured)?\n", short)
    assert "mul(X float32" not in short
    assert main(["tune", "mlp", "--batch", "4", "--budget", "5", "--again", "--all"]) == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in (short + out).splitlines())
    assert "mul(X float32[4,1,28,28]" in out
    assert "signatures measured in" in out
    assert "records: in memory only, as SLUICE_RECORDS says" in out


def test_a_saved_program_is_tuned(tmp_path, capsys):
    x = sl.data("x", [None, 6])
    y = sl.layers.softmax(sl.layers.fc(x, 3))
    path = str(tmp_path / "net.sluice")
    sl.io.save_program(sl.default_main_program(), path)
    job = lab.load(path, 7)
    assert job.feed["x"].shape == (7, 6)
    assert sl.Executor().run(job.program, job.feed, [y.name], job.scope)[0].shape == (7, 3)
    assert main(["tune", path, "--batch", "7", "--budget", "2", "--all"]) == 0
    assert "softmax(X float32[7,3])" in capsys.readouterr().out


SCRIPT = """
import numpy as np
import sluice as sl

x = sl.data("x", [5, 6])
loss = sl.layers.mean(sl.layers.fc(x, 3))
program, startup = sl.default_main_program(), sl.default_startup_program()
feed = {"x": np.ones((5, 6), "f4")}
fetch_list = [loss]
"""


def test_a_script_is_tuned_and_leaves_the_default_programs_alone(tmp_path, capsys):
    path = tmp_path / "net.py"
    path.write_text(SCRIPT)
    assert main(["tune", str(path), "--budget", "2", "--all"]) == 0
    assert "mean(X float32[5,3])" in capsys.readouterr().out
    assert sl.default_main_program().ops == []


def test_an_onnx_model_is_tuned(tmp_path, capsys):
    y = sl.layers.softmax(sl.data("x", [None, 6]))
    path = str(tmp_path / "net.onnx")
    sl.onnx.save(sl.default_main_program(), path, [y.name])
    job = lab.load(path, 7)
    assert job.feed["x"].shape == (7, 6)
    assert job.fetch_list == [y.name]
    assert main(["tune", path, "--batch", "7", "--budget", "2", "--all"]) == 0
    assert "softmax(X float32[7,6])" in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["report", path, "-o", str(page), "--seconds", "0.1"]) == 0
    assert "softmax" in page.read_text()
    model = sl.onnx.load(path)
    sl.io.save_program(model.program, tmp_path / "net")
    (tmp_path / "net").rename(tmp_path / "program.safetensors")
    with pytest.raises(sl.SluiceError, match="sluice.io.load_program reads it"):
        sl.io.load_params(tmp_path / "program.safetensors", model.program)
    with pytest.raises(sl.DataLossError, match="sluice.onnx.load reads ONNX"):
        sl.io.load_program(path)


def test_an_input_of_unknown_rank_is_told():
    var = {"name": "x", "shape": None, "dtype": sl.float32}
    with pytest.raises(sl.InvalidArgumentError, match="x: its rank is not known"):
        programs._array(np.random.default_rng(0), var, 4)


def test_a_race_has_kernels_in_python_too(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(
        "import numpy as np\n"
        "import sluice as sl\n\n"
        '@sl.kernel("relu", variant="raced")\n'
        "def relu(x):\n"
        "    return np.maximum(x, 0)\n"
    )
    race = ["race", "relu", "--sizes", "3", "--budget", "5"]
    assert main([*race, "--kernels", str(path)]) == 0
    assert "python/raced" in capsys.readouterr().out


def test_a_race_says_which_kernel_is_best_for_each_size(tmp_path, capsys):
    path = tmp_path / "race.json"
    arguments = ["race", "manhattan_distance", "--sizes", "3, 40", "--shape", "Y=n + 1, 64"]
    assert main([*arguments, "--budget", "5", "--json", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("manhattan_distance: X [n, 64], Y [n + 1, 64]\n")
    assert re.search("^plain .* us", out, re.M) and re.search("^blocked ", out, re.M)
    assert "* fastest" in out and "n = 40" in out
    result = json.loads(path.read_text())
    assert result["sizes"] == [3, 40]
    assert all(s > 0 for row in result["seconds"].values() for s in row)


def test_a_race_is_of_the_op_and_not_of_what_passes_make_around_it(tmp_path):
    """A pass converts images: transposes, and a conv2d in another layout."""
    pytest.importorskip("matplotlib")
    with sl.kernel_hints("conv2d: prefer layout=NHWC"):
        race = lab.race("conv2d", [6], budget=5)
    own = {words.kernel(k.library, k.variant) for k in sl.kernels("conv2d") if k.place == "cpu"}
    assert set(race.medians) <= own
    transposes = {k.variant for k in sl.kernels("transpose")} - {"plain"}
    shown = [str(race), json.dumps(race.to_json()), *race.winners()]
    path = tmp_path / "race.svg"
    race.save_svg(str(path))
    shown.append(path.read_text())
    assert not [v for v in transposes for text in shown if v in text]
    (record,) = {r["signature"] for r in lab.records("conv2d") if "[8,16,6,6]" in r["signature"]}
    assert "NHWC" not in record
    assert not [r for r in lab.records("transpose") if "[8,16,6,6]" in r["signature"]]


@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
def test_a_race_is_in_the_dtype_that_is_asked_for(dtype):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
        if not sl._core._config()["instruction_set"].startswith("AVX3"):
            pytest.skip("oneDNN has bfloat16 only for CPUs with AVX-512")
    if dtype not in {k.dtype for k in sl.kernels("conv2d") if k.place == "cpu"}:
        pytest.skip(f"this build has no kernel for {dtype}")
    assert lab.race("conv2d", [5], dtype=dtype, budget=3).medians
    mine = [r for r in lab.records("conv2d") if f"{dtype}[8,16,5,5]" in r["signature"]]
    assert mine


def test_too_small_a_budget_is_said_with_one_that_would_do():
    race = lab.race("conv2d", [128], budget=0.01)
    assert race.winners() == [""]
    (message,) = race.messages.values()
    assert "the budget of 0.01 s is too small, about " in message
    enough = float(message.partition("about ")[2].partition(" s ")[0])
    assert 0.02 <= enough < 60


@pytest.mark.parametrize("op", ["conv2d", "pool2d", "mul", "relu", "bias_add", "lookup_table",
                                "batch_norm", "softmax_with_cross_entropy", "top_k",
                                "fill_constant", "elementwise_add", "sgd", "momentum", "adam"])
def test_ops_have_sensible_shapes_for_a_race(op):
    result = lab.race(op, [4], budget=1)
    assert result.medians, op


def test_a_gradient_computes_all_of_its_outputs_in_a_race():
    shapes = {"Input": "1, 6, 6, n", "Filter": "8, n, 3, 3", "Output@GRAD": "1, 4, 4, 8"}
    race = lab.race("conv2d_grad_filter", [4], shapes, {"data_format": "NHWC"}, budget=2)
    assert "plain" in race.medians
    assert [r for r in lab.records("conv2d_grad_filter") if "-> Filter@GRAD" in r["signature"]]


def test_ops_of_a_built_in_network_are_where_it_says_so():
    ops = lab.load("lenet", 2).program._blocks()[0]["ops"]
    assert {os.path.basename(op["file"]) for op in ops} == {"networks.py"}
    assert len({op["line"] for op in ops}) > 3


def test_crossings_are_between_sizes():
    race = lab.Race("x", [1, 2, 4], {"a": [1, 2, 9], "b": [2, 3, 4]})
    assert race.winners() == ["a", "a", "b"]
    assert race.crossings() == ["between 2 and 4: a -> b"]
    race.medians["b"][2] = float("nan")
    assert race.crossings() == []


def test_a_race_says_shapes_and_why_a_time_is_missing():
    sizes = [1, 2, 3, 4, 5, 6, 7]
    times = {"plain": [1e-6] * 7, "onednn/direct": [2e-6] * 6 + [float("nan")]}
    race = lab.Race("x", sizes, times, {"n = 7": "word " * 30}, {"X": "8, n", "Y": "n"})
    out = str(race)
    assert out.startswith("x: X [8, n], Y [n]\n")
    assert re.search(r"^plain +1.00 us \*", out, re.M)
    assert "* fastest; -: refused or wrong" in out
    assert max(map(len, out.splitlines())) <= 80
    times["onednn/direct"][6] = 3e-6
    assert "-:" not in str(race)


def test_charts_are_svg_with_sizes_as_ticks(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "race.svg"
    lab.Race("x", [8, 16, 32], {"a": [1, 2, 3]}, shapes={"X": "n"}).save_svg(str(path))
    page = path.read_text()
    assert "<svg" in page
    lab.Race("x", [8], {"a": [float("nan")]}).save_svg(str(path))  # nothing was timed
    texts = re.findall(r"<text [^>]*>([^<]+)</text>", page)
    assert {"8", "16", "32", "us per call", "x: X [n]", "a"} <= set(texts)


def test_records_are_listed_by_op(capsys):
    x = sl.data("x", [31])
    sl.layers.exp(x)
    sl.tune(sl.default_main_program(), {"x": np.ones(31, "f4")}, budget=1)
    assert main(["records", "exp"]) == 0
    out = capsys.readouterr().out
    assert "exp(X float32[31]) -> Out float32[31], 1 thread" in out
    assert re.search(r"^  \*  plain +[\d.]+ us  20\d\d-\d\d-\d\d$", out, re.M)
    assert all(r["op"] == "exp" for r in lab.records("exp"))


def test_records_are_grouped_newest_first_and_limited(monkeypatch):
    def record(op, n, kernel, median, date, **more):
        return json.dumps({"op": op, "signature": f"{op}(X float32[{n}])", "median": median,
                           "kernel": f"{op}/{kernel}", "date": f"{date}T10:00:00.123Z", **more})

    old = [record("old", n, "plain (cpu float32 PLAIN)", 1e-6, "2026-01-02") for n in range(12)]
    new = [record("new", 3, "direct (cpu float32 ONEDNN)", 2e-6, "2026-03-04"),
           record("new", 3, "plain (cpu float32 PLAIN)", 1e-6, "2026-03-03"),
           record("new", 3, "off (cuda float32 PLAIN)", 0, "2026-03-03", message="word " * 40)]
    monkeypatch.setattr(sl._lab, "_records", lambda: old + new)
    out = lab.records_table()
    lines = out.splitlines()
    assert lines[0] == "15 records of 13 signatures of 2 ops; * is the fastest kernel"
    assert lines[1] == "new(X float32[3]), 1 thread"
    assert [line.split() for line in lines[2:5]] == [
        ["*", "plain", "1.00", "us", "2026-03-03"],
        ["onednn/direct", "2.00", "us", "2026-03-04"],
        ["off", "at", "cuda", "2026-03-03", "WRONG"]]
    assert lines[-1] == "... 3 older signatures: --all"
    assert "older" not in lab.records_table(all=True)
    assert max(map(len, lines)) <= 80


def test_the_machine_is_measured_once_and_kept(tmp_path, in_peace):
    path = tmp_path / "records.jsonl"
    environment = {**os.environ, "SLUICE_RECORDS": str(path)}

    def said(*arguments):
        command = "-m", "sluice.lab", "--threads", "1", "machine"
        return python(*command, *arguments, env=environment)

    assert "typical values for this CPU; --measure 3 measures them" in said().stdout

    def measured_at_all(measured):
        if measured.returncode != 0:
            assert "other programs had the CPUs" in measured.stderr
            assert not path.exists()
        return measured.returncode == 0

    measured = in_peace(lambda: said("--measure", "0.5"), measured_at_all)
    assert str(path) in measured.stdout
    kept = said().stdout
    assert kept == said().stdout and "typical" not in kept


def test_records_that_cannot_be_written_are_said_at_last():
    done = python(
        "-m", "sluice.lab", "tune", "mlp", "--batch", "1", "--budget", "1",
        env={**os.environ, "SLUICE_RECORDS": "/proc/x/y.jsonl"})
    assert done.stdout.splitlines()[-1] == (
        "records: in memory only, as /proc/x/y.jsonl cannot be written")


def test_figures_of_a_disturbed_machine_are_not_kept(monkeypatch):
    before = machine.machine_table(1)
    figures = sl._lab._measure_machine(0.1)[0]
    monkeypatch.setattr(sl._lab, "_measure_machine", lambda seconds: (figures, seconds))
    with pytest.raises(sl.FailedPreconditionError, match="other programs had the CPUs") as raised:
        lab.keep_machine(1)
    assert raised.value.check_id == "lab.machine_disturbed"
    assert machine.machine_table(1) == before


def test_figures_of_the_machine_have_units(capsys):
    assert main(["machine"]) == 0
    out = capsys.readouterr().out
    assert "kernel_call" in out
    for line in out.splitlines():
        name, _, value = line.partition(" ")
        if name == "date":
            assert value.strip()
        elif name not in ("machine", "threads"):
            assert value.split()[1] in ("GOP/s", "GB/s", "us", "ms"), line


BAD = {
    "no program": (["tune", "lenett"], "did you mean lenet?"),
    "no op": (["race", "reluu"], "did you mean relu"),
    "no op's records": (["records", "reluu"], "did you mean relu"),
    "budget": (["tune", "mlp", "--budget", "0"], "no number of seconds above 0"),
    "budget text": (["race", "relu", "--budget", "x"], "'x' is no number"),
    "sizes": (["race", "relu", "--sizes", "4,0"], "'0' is no number above 0"),
    "input": (["race", "relu", "--shape", "Y=n"], "relu: there is no input Y"),
    "shape": (["race", "relu", "--shape", "X=n;3"], "expected numbers, n"),
    "call in a shape": (["race", "relu", "--shape", "X=exit()"], "expected numbers"),
    "negative": (["race", "relu", "--sizes", "4", "--shape", "X=n-9"], "[-5]"),
    "form": (["race", "relu", "--shape", "X"], "not of the form NAME=VALUE"),
    "attribute": (["race", "relu", "--attr", "k=3"], "no attribute k"),
    "shapes refused": (["race", "matmul", "--shape", "X=n,3"], "matmul"),
    "dtype": (["race", "relu", "--dtype", "flot32"], "relu: no kernel for cpu computes flot32; "
              "there are kernels for float32, float64"),
    "no kernel's dtype": (["race", "relu", "--dtype", "int8"], "no kernel for cpu computes int8"),
    "made by passes": (["race", "relu_pool2d"], "race pool2d instead"),
    "sizes past memory": (["race", "relu", "--sizes", "4000000000000"], "GiB of memory"),
    "sizes past all": (["race", "relu", "--sizes", "4" + "0" * 30], "GiB of memory"),
    "batch past memory": (["tune", "mlp", "--batch", "4000000000000"], "GiB of memory"),
    "batch past all": (["compare", "lenet", "default", "default", "--batch", "4" + "0" * 30], "batch"),
    "place": (["tune", "mlp", "--place", "gpuu"], "gpuu"),
    "threads": (["--threads", "0", "records"], "'0' is no number above 0"),
    "command": (["tunee"], "invalid choice"),
}


@pytest.mark.parametrize("arguments, message", BAD.values(), ids=BAD)
def test_bad_input_is_named(arguments, message, capsys):
    assert status(arguments) in (1, 2)
    err = capsys.readouterr().err
    assert message in err, err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "script, message",
    [
        ("feed = {}", "expected it to define 'program' as a sluice.Program, got nothing"),
        ("program = 3", "got int"),
        ("raise SystemExit(0)", "ends the process: exit(0)"),
        ("import sluice\nprogram = sluice.Program()", "'feed' as a dict of arrays"),
    ],
)
def test_a_script_that_defines_something_else(script, message, tmp_path, capsys):
    path = tmp_path / "net.py"
    path.write_text(script)
    assert main(["tune", str(path)]) == 1
    assert message in capsys.readouterr().err


def test_a_damaged_program_file(tmp_path, capsys):
    path = tmp_path / "net"
    path.write_bytes(b"no program")
    assert main(["tune", str(path)]) == 1
    assert "no Sluice program" in capsys.readouterr().err


OUTPUTS = {
    "report": ["report", "mlp", "-o"],
    "report json": ["report", "mlp", "--json"],
    "report trace": ["report", "mlp", "--trace"],
    "fit output": ["fit", "--seconds", "0.1", "--output"],
    "race json": ["race", "relu", "--json"],
    "race svg": ["race", "relu", "--svg"],
    "verify json": ["verify", __file__, "--json"],
}


@pytest.mark.parametrize("arguments", OUTPUTS.values(), ids=OUTPUTS)
def test_a_file_that_cannot_be_written_is_named_before_anything_is_measured(
    arguments, tmp_path, capsys
):
    missing = tmp_path / "none" / "file"
    assert main([*arguments, str(missing)]) == 1
    err = capsys.readouterr().err
    assert f"{missing}: there is no folder {tmp_path / 'none'}" in err
    assert main([*arguments, str(tmp_path)]) == 1
    assert f"{tmp_path}: this is a folder" in capsys.readouterr().err


def test_a_folder_of_scripts_is_made_below_one_that_is_there(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    bisect = ["bisect", "nothing.py", "default", "default", "--script"]
    assert main([*bisect, str(tmp_path / "file" / "found")]) == 1
    assert "there is no folder" in capsys.readouterr().err
    assert main([*bisect, str(tmp_path / "a" / "b")]) == 1
    assert "nothing.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command, texts",
    [
        ("tune", ["(default: 10)", "(default: 32)"]),
        ("race", ["up to five that fit the budget", "(default: 2)"]),
        ("report", ["(default: report.html)", "(default: 3)"]),
        ("verify", ["(default: 1,2,4)", "(default: 30)"]),
        ("what-if", ["(default: 5)", "(default: 32)"]),
        ("bisect", ["(default: 32)"]),
    ],
)
def test_help_has_the_defaults(command, texts, capsys):
    assert status([command, "--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for text in texts:
        assert text in out
    assert "default: None" not in out and "default: []" not in out


def test_fit_names_a_folder_that_cannot_be_written_before_it_measures(monkeypatch, tmp_path):
    measured = []
    monkeypatch.setattr("sluice.lab.fit.measure", lambda *_: measured.append(1) or {})
    name = f"costs-{sl._lab._machine_id()[1]}.json"
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["fit", "--seconds", "0.1"]) == 1
    assert measured == []


COMMANDS = ["report", "tune", "compare", "bisect", "race", "verify", "what-if", "records",
            "machine", "fit", "new"]


def test_help_begins_with_a_report_and_each_command_has_a_verb_and_an_example(capsys):
    assert status(["--help"]) == 0
    out = capsys.readouterr().out
    assert "Start with a report:\n  sluice-lab report lenet" in out
    found = re.findall(r"^    ([a-z-]+)(?: \(place\))? +(\w+)", out, re.M)
    assert [name for name, _ in found] == COMMANDS
    assert [verb for _, verb in found] == ["write", "measure", "compare", "find", "time", "check",
                                           "predict", "list", "show", "fit", "write"]
    for command in COMMANDS:
        assert status([command, "--help"]) == 0
        out = capsys.readouterr().out
        assert f"\n  sluice-lab {command}" in out, command
        assert all(len(line) <= 80 for line in out.splitlines()), command


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream, no_color, coloured", [
    (Terminal, None, True), (Terminal, "", True), (Terminal, "1", False),
    (io.StringIO, None, False)])
def test_colours_are_for_terminals_without_no_color(stream, no_color, coloured, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color is not None:
        monkeypatch.setenv("NO_COLOR", no_color)
    said = stream()
    monkeypatch.setattr(sys, "stdout", said)
    words.show("* fast\nsame\n1 of 2 ops DIFFERS, WRONGLY\n", r"^\*.*$", "^same$")
    expected = "* fast\nsame\n1 of 2 ops DIFFERS, WRONGLY\n"
    if coloured:
        expected = expected.replace("* fast", "\033[1m* fast\033[0m")
        expected = expected.replace("same", "\033[2msame\033[0m")
        expected = expected.replace("DIFFERS", "\033[31mDIFFERS\033[0m")
    assert said.getvalue() == expected


def test_no_memory_is_one_sentence(monkeypatch, capsys):
    def load(*_):
        raise MemoryError("Unable to allocate 1 EiB")

    monkeypatch.setattr("sluice.lab.programs.load", load)
    assert main(["tune", "mlp"]) == 1
    assert capsys.readouterr().err == "sluice-lab: Unable to allocate 1 EiB\n"


def test_it_is_a_program():
    done = python("-m", "sluice.lab", "--help", env=os.environ)
    assert done.returncode == 0
    assert "tune" in done.stdout and "race" in done.stdout and "records" in done.stdout
