"""sluice-lab verify, and tuning with kernels that are wrong, hang or crash."""

import json
import os
import pathlib
import re

import pytest
from test_lab import status

import sluice as sl
from sluice import lab

HEAD = """
import ctypes

import numpy as np

import sluice as sl

"""
# By mistake: the check that finds it, a part of the message, the function.
MISTAKES = {
    "tail": (
        "values",
        "relu/plain",
        "y = np.maximum(x, 0).ravel()\n    y[y.size // 4 * 4:] = 9\n"
        "    return y.reshape(x.shape)",
    ),
    "nan": ("NaN", "gives nan", "return np.where(x > 0, x, np.float32(0))"),
    "off": (
        "values",
        "is rounding",
        "return np.maximum(x, 0) * np.float32(1.001)",
    ),
    "shape": (
        "raises",
        "returned Out with shape [2, 2], expected [3, 7]",
        "return np.zeros((2, 2), 'f4')",
    ),
    "dtype": (
        "raises",
        "returned Out as float64, expected float32",
        "return np.maximum(x, 0).astype('f8')",
    ),
    "count": ("raises", "expected [3, 7]", "return x, x"),
    "raises": ("raises", "raised ValueError: no", "raise ValueError('no')"),
    "hangs": (
        "hang",
        "no end after 2 s (--budget)",
        "while True:\n        pass",
    ),
    "crashes": ("crash", "the process ended by SIG", "ctypes.string_at(0)"),
    "exits": ("crash", "exit status 3", "import os\n    os._exit(3)"),
    "exits_well": ("crash", "exit status 0", "import os\n    os._exit(0)"),
    "large": (
        "memory",
        "MemoryError",
        "return np.zeros(100 << 30, 'u1')[:x.size].reshape(x.shape)",
    ),
}


def source(name, body):
    return (
        f'@sl.kernel("relu", variant="{name}", dtypes=["float32"])\n'
        f"def relu_{name}(x):\n    {body}\n\n\n"
    )


RIGHT = source("right", "return np.maximum(x, 0)")


@pytest.fixture
def write(tmp_path):
    def write(text, name="mine.py"):
        path = tmp_path / name
        path.write_text(HEAD + text)
        return str(path)

    return write


def test_each_mistake_is_named_and_right_kernels_are_not(write):
    text = RIGHT + "".join(
        source(name, body) for name, (_, _, body) in MISTAKES.items()
    )
    path = write(text)
    result = lab.verify(path, budget=2, threads=[1])
    assert not result
    found = {verdict.variant: verdict for verdict in result.verdicts}
    assert found["right"].verdict == "ok"
    assert found["right"].examples > 30
    for name, (check, message, _) in MISTAKES.items():
        mistake = found[name].mistakes[0]
        assert (name, mistake.check) == (name, check), mistake
        assert message in mistake.message
        assert mistake.signature.startswith("X float32 [")
        assert mistake.command.startswith(f"sluice-lab verify {path}")
    text = str(result)
    assert "relu/right (cpu PYTHON)" in text
    assert "WRONG: hang" in text


def test_the_command_of_a_mistake_shows_it_again(write, capsys):
    path = write(RIGHT + source("off", MISTAKES["off"][2]))
    mistake = lab.verify(path, threads=[1]).verdicts[1].mistakes[0]
    arguments = mistake.command.split()
    assert arguments[0] == "sluice-lab"
    assert status(arguments[1:]) == 1
    out = capsys.readouterr().out
    assert mistake.message in out
    assert "relu/right" not in out


def test_a_library_is_verified(tmp_path, capsys):
    path = built("TEST_KERNEL_LIBRARY")
    report = str(tmp_path / "report.json")
    assert status(["verify", path, "--threads", "1", "--json", report]) == 1
    out = capsys.readouterr().out
    assert "FAIL relu/test_mine (cpu float32 PLAIN): values" in out
    assert "WRONG: values" in out
    with open(report, encoding="utf-8") as file:
        kernels = json.load(file)["kernels"]
    assert {kernel["dtype"] for kernel in kernels} == {"float32", "float64"}
    assert all(kernel["verdict"] == "WRONG" for kernel in kernels)


def test_ops_of_somebody_else_are_verified(capsys):
    path = built("TEST_OP_LIBRARY")
    assert status(["verify", path]) == 0
    assert "steep_relu/plain (cpu PLAIN)" in capsys.readouterr().out


def built(variable):
    """The path of a library that was built for the test."""
    path = os.environ.get(variable)
    if path is None:
        pytest.skip("no library was built for the test")
    return path


def test_what_only_cpp_can_do_wrong_is_named():
    result = lab.verify(built("TEST_HOSTILE_LIBRARY"), threads=[1])
    found = {(v.variant, v.dtype): v for v in result.verdicts}
    reads = found["test_overreads", "float32"].mistakes[0]
    assert reads.check == "crash"
    assert "SIGSEGV, as when it reads or writes past the end" in reads.message
    greedy = found["test_greedy", "float32"].mistakes[0]
    assert greedy.check == "memory"
    assert re.search(r"no room for 107 GB", greedy.message)
    wrong = found["gradient", "float64"].mistakes[0]
    assert wrong.check == "gradient"
    assert "the gradient of element" in wrong.message
    assert found["plain", "float32"].verdict == "ok"
    assert "test_cube/gradient (cpu differences)" in str(result)


def test_two_kernels_of_one_name_are_refused(capsys):
    assert status(["verify", built("TEST_TAKEN_LIBRARY")]) == 1
    out = capsys.readouterr().out
    assert "REFUSED" in out
    assert "already" in out


def test_a_prompt_has_a_line_for_results_and_a_notebook_all_of_them():
    found = lab.Verification("mine.py", refusal="no <kernels>")
    assert repr(found) == "<Verification of mine.py: 0 kernels, NOT ok>"
    assert "REFUSED mine.py: no &lt;kernels&gt;" in found._repr_html_()
    race = lab.Race("relu", [8], {"plain": [1e-6]})
    assert "n = 8" in race._repr_html_() and "<pre" in race._repr_html_()


def test_nothing_is_loaded_into_this_process(write):
    lab.verify(write(source("elsewhere", "return np.maximum(x, 0)")))
    assert all(kernel.variant != "elsewhere" for kernel in sl.kernels("relu"))


def test_examples_of_your_own_are_tried(tmp_path, write, capsys):
    path = write(source("tail", MISTAKES["tail"][2]))
    examples = tmp_path / "examples.jsonl"
    line = {"op": "relu", "inputs": [["X", "T", [2, 4], -1, 1]]}
    examples.write_text(json.dumps(line) + "\n")
    only = ["--examples", str(examples), "--example", "0"]
    assert status(["verify", path, *only]) == 0
    examples.write_text("{}")
    assert status(["verify", path, *only]) == 2
    assert f"{examples}:1: expected an example" in capsys.readouterr().err


def test_examples_that_nobody_can_run_are_named(tmp_path, write, capsys):
    path = write(RIGHT)
    examples = tmp_path / "examples.jsonl"

    def said(op, name, *more):
        line = {"op": op, "inputs": [[name, "T", [2, 4], -1, 1]]}
        examples.write_text(json.dumps(line) + "\n" if op else "# none\n")
        assert status(["verify", path, "--examples", str(examples), *more])
        captured = capsys.readouterr()
        return captured.out + captured.err

    text = said("tanh", "X")
    assert "its examples are of tanh, and the kernels of relu" in text
    assert "relu: there is no input Input" in said("relu", "Input")
    assert "did you mean relu?" in said("rellu", "X")
    assert "it has no examples" in said("", "")
    text = said("relu", "X", "--example", "9999")
    assert "there is no example 9999, they are 0 to " in text


def test_examples_before_a_crash_count(write):
    body = (
        "if x.shape == (8,):\n        ctypes.string_at(0)\n"
        "    return np.maximum(x, 0)"
    )
    result = lab.verify(write(source("late", body)), threads=[1])
    (verdict,) = result.verdicts
    (mistake,) = verdict.mistakes
    assert (mistake.check, verdict.verdict) == ("crash", "WRONG")
    assert verdict.examples == mistake.example + 1


def test_a_file_that_is_refused_says_why(tmp_path, write, capsys):
    text = source("right", "return np.maximum(x, 0)").replace("relu", "rleu")
    assert status(["verify", write(text)]) == 1
    assert "did you mean" in capsys.readouterr().out
    assert status(["verify", write("raise OSError('no disk')")]) == 1
    out = capsys.readouterr().out
    assert "REFUSED" in out
    assert "OSError: no disk" in out
    assert status(["verify", write("import os\nos.abort()")]) == 1
    assert "while it was loaded: the process ended by SIGABRT" in (
        capsys.readouterr().out
    )
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"\x7fELF no library")
    assert status(["verify", str(broken)]) == 1
    assert "REFUSED" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verify"], "LIBRARY"),
        (["verify", "no_such.so"], "there is no file no_such.so"),
        (["verify", __file__ + "x"], "there is no file"),
        (["verify", __file__, __file__], "expected sources of one library, *.cc"),
        (["verify", __file__, "--threads", "0"], "no number above 0"),
        (["verify", __file__, "--budget", "-1"], "seconds above 0"),
    ],
)
def test_a_wrong_command_has_status_2(arguments, message, capsys):
    assert status(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_kernel_that_is_not_there_has_status_2(write, capsys):
    path = write(RIGHT)
    assert status(["verify", path, "--dtype", "flaot32"]) == 2
    err = capsys.readouterr().err
    assert "there is no kernel that computes flaot32; it has relu" in err
    assert status(["verify", path, "--kernel", "relu/none"]) == 2
    assert "it has relu/right float32" in capsys.readouterr().err


PROGRAM = """
program, startup = sl.Program(), sl.Program()
with sl.program_guard(program, startup):
    y = sl.layers.relu(sl.data("x", [5, {size}]))
feed = {{"x": np.ones((5, {size}), "f4")}}
fetch_list = [y]
"""


def test_a_program_is_tuned_with_a_kernel_and_without_a_wrong_one(write, capfd):
    program = write(PROGRAM.format(size=7), "program.py")
    kernels = write(RIGHT + source("off", MISTAKES["off"][2]))
    assert status(["tune", program, "--kernels", kernels]) == 1
    out = capfd.readouterr().out
    assert "FAIL relu/off (cpu float32 PYTHON): values" in out
    assert "relu/right (cpu float32 PYTHON)" in out
    assert "of 1 signature that they take" in out
    assert "... " not in out  # it has no other op
    out = " ".join(out.split())
    assert "; left out, because they are wrong: relu/off (cpu PYTHON) records" in out
    assert status(["tune", program, "--kernels", write(RIGHT)]) == 0


def test_tuning_with_wrong_kernels_only_says_that_they_are_left_out(write, capfd):
    program = write(PROGRAM.format(size=6), "program.py")
    kernels = write(source("off", MISTAKES["off"][2]))
    assert status(["tune", program, "--kernels", kernels]) == 1
    out = capfd.readouterr().out
    assert (
        "your kernels are wrong, and were left out: relu/off (cpu PYTHON)\n"
        in out
    )
    assert "... 1 signature without kernels of yours: --all\n" in out
    assert "--again" not in out
    assert "to use them" not in out


def test_wrong_kernels_are_told_where_everything_has_records():
    from sluice.lab.tune_worker import _right, _summary

    kernels = [
        {"op": "relu", "variant": "off", "place": "cpu", "library": "PYTHON"}
    ]
    names = ["relu/off (cpu PYTHON)"]
    assert not _right(kernels, names) and _right(kernels, [])
    said = _summary([], 3, False, names)
    assert said == "your kernels are wrong, and were left out: " + names[0]
    assert "--again" in _summary([], 3, True, [])


def test_a_plug_in_is_no_library_of_kernels(capsys):
    folders = sl.show_config("dicts")["plugin_folders"]
    found = [p for f in folders for p in pathlib.Path(f).glob("libsluice_*.so")]
    if not found:
        pytest.skip("there are no plug-ins")
    assert status(["verify", str(found[0])]) == 1
    out = capsys.readouterr().out
    assert "is no kernel library" in out
    assert "sluice.load_device_plugin, and checked by sluice-conformance" in out


def test_a_kernel_that_loses_is_no_reason_for_a_hint(write, capfd):
    """A slowdown by the tool's own hint must not count as a gain either."""
    slow = (
        "import time\n    time.sleep(0.01 * (x.shape == (5, 12)))\n"
        "    return np.maximum(x, 0)"
    )
    program = write(PROGRAM.format(size=12), "program.py")
    kernels = write(source("slow", slow))
    assert status(["tune", program, "--kernels", kernels]) == 0
    out = capfd.readouterr().out
    assert "your kernels win 0 of 1 signature that they take" in out
    assert "they win nowhere: without a hint plans use the others" in out
    assert "times as fast" not in out
    assert "SLUICE_KERNEL_HINTS" not in out
    assert out.rstrip().endswith(f"to use them in a program: import {kernels}")


def test_what_is_advised_is_what_won():
    from sluice.lab.tune_kernels import _advice

    mine, other = "relu: prefer variant=a", "exp: prefer variant=b"
    (line,) = _advice(["/m.so"], {"wins over": [mine], "loses to": [other]})
    assert line == (
        "to use them in a program: SLUICE_KERNEL_PATH=/m.so "
        f"SLUICE_KERNEL_HINTS='{mine}'"
    )
    note, line = _advice(["/m.so"], {"wins over": [mine], "loses to": [mine]})
    assert "where they lose, too" in note
    assert line.endswith(f"SLUICE_KERNEL_HINTS='{mine}'")
    assert _advice(["/m.so"], {}) == []


def test_a_kernel_that_ends_the_process_is_left_out_of_tuning(write, capfd):
    # No example of verify has 5 rows of 11.
    body = (
        "if x.shape == (5, 11):\n        ctypes.string_at(0)\n"
        "    return np.maximum(x, 0)"
    )
    program = write(PROGRAM.format(size=11), "program.py")
    kernels = write(RIGHT + source("trap", body))
    assert status(["tune", program, "--kernels", kernels]) == 1
    captured = capfd.readouterr()
    assert (
        "FAIL relu/trap (cpu float32 PYTHON) on relu(X float32[5,11])"
        in captured.err
    )
    assert "the process ended by SIGSEGV" in captured.err
    assert "of 1 signature that they take" in captured.out


def test_a_kernel_that_hangs_is_left_out_of_tuning(write, capfd, monkeypatch):
    monkeypatch.setattr("sluice.lab.tune_kernels._PATIENCE", 2)
    body = (
        "while x.shape == (5, 13):\n        pass\n    return np.maximum(x, 0)"
    )
    program = write(PROGRAM.format(size=13), "program.py")
    kernels = write(RIGHT + source("stuck", body))
    arguments = ["--budget", "1", "--kernels", kernels]
    assert status(["tune", program, *arguments]) == 1
    captured = capfd.readouterr()
    assert (
        "FAIL relu/stuck (cpu float32 PYTHON) on relu(X float32[5,13])"
        in captured.err
    )
    assert "no end after 3 s" in captured.err
    assert "of 1 signature that they take" in captured.out


def test_an_op_of_somebody_else_is_no_hindrance_to_tuning(write, capfd):
    program = write(PROGRAM.format(size=9), "program.py")
    library = built("TEST_HOSTILE_LIBRARY")
    assert status(["tune", program, "--kernels", library, "--all"]) == 1
    captured = capfd.readouterr()
    assert "test_cube/gradient (cpu differences)" in captured.out
    assert "relu/plain (cpu float32 PLAIN)" in captured.out
