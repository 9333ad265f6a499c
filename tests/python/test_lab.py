"""The program sluice-lab, and the functions that it calls."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import sluice as sl
from sluice import lab
from sluice.lab.__main__ import main


@pytest.fixture(autouse=True)
def one_thread():
    threads = sl.num_threads()
    sl.set_num_threads(1)
    yield
    sl.set_num_threads(threads)


def status(arguments):
    """The exit status, also where argparse ends the program."""
    try:
        return main(arguments)
    except SystemExit as end:
        return end.code


def test_a_network_is_tuned(capsys):
    assert main(["tune", "mlp", "--batch", "4", "--budget", "5"]) == 0
    out = capsys.readouterr().out
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
    assert main(["tune", path, "--batch", "7", "--budget", "2"]) == 0
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
    assert main(["tune", str(path), "--budget", "2"]) == 0
    assert "mean(X float32[5,3])" in capsys.readouterr().out
    assert sl.default_main_program().ops == []


def test_a_race_says_which_kernel_is_best_for_each_size(tmp_path, capsys):
    path = tmp_path / "race.json"
    arguments = ["race", "manhattan_distance", "--sizes", "3, 40", "--shape", "Y=n + 1, 64"]
    assert main([*arguments, "--budget", "5", "--json", str(path)]) == 0
    out = capsys.readouterr().out
    assert "plain/plain" in out and "plain/blocked" in out and "*" in out
    result = json.loads(path.read_text())
    assert result["sizes"] == [3, 40]
    assert all(s > 0 for row in result["seconds"].values() for s in row)


@pytest.mark.parametrize("op", ["conv2d", "pool2d", "mul", "relu", "bias_add", "lookup_table",
                                "batch_norm", "softmax_with_cross_entropy", "top_k",
                                "fill_constant", "elementwise_add", "sgd", "momentum", "adam"])
def test_ops_have_sensible_shapes_for_a_race(op):
    result = lab.race(op, [4], budget=1)
    assert result.medians, op


def test_crossings_are_between_sizes():
    race = lab.Race("x", [1, 2, 4], {"a": [1, 2, 9], "b": [2, 3, 4]})
    assert race.winners() == ["a", "a", "b"]
    assert race.crossings() == ["between 2 and 4: a -> b"]
    race.medians["b"][2] = float("nan")
    assert race.crossings() == []


def test_charts_are_svg(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "race.svg"
    lab.Race("x", [1, 2], {"a": [1, 2]}).save_svg(str(path))
    assert b"<svg" in path.read_bytes()


def test_records_are_listed_by_op(capsys):
    x = sl.data("x", [31])
    sl.layers.exp(x)
    sl.tune(sl.default_main_program(), {"x": np.ones(31, "f4")}, budget=1)
    assert main(["records", "exp"]) == 0
    out = capsys.readouterr().out
    assert "exp(X float32[31]) -> Out float32[31], 1 thread" in out
    assert "exp/plain (cpu float32 any PLAIN)" in out
    assert all(r["op"] == "exp" for r in lab.records("exp"))
    assert main(["records", "--machine"]) == 0
    assert "kernel_call" in capsys.readouterr().out


BAD = {
    "no program": (["tune", "lenett"], "did you mean lenet?"),
    "no op": (["race", "reluu"], "did you mean relu?"),
    "no op's records": (["records", "reluu"], "did you mean relu?"),
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


def test_it_is_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "sluice.lab", "--help"],
        capture_output=True, text=True, env=os.environ,
    )
    assert done.returncode == 0
    assert "tune" in done.stdout and "race" in done.stdout and "records" in done.stdout
