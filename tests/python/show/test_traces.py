"""SLUICE_TRACE records every run of a process."""

import json
import os
import re
import subprocess
import textwrap
from pathlib import Path

import pytest
from processes import python

import sluice as sl

SCRIPT = """
import threading
import numpy as np
import sluice as sl

x = sl.data("x", [None, 3])
loss = sl.layers.mean(sl.layers.fc(x, 2, act="relu"))
sl.optimizer.SGD(0.1).minimize(loss)
exe = sl.Executor()
exe.run(sl.default_startup_program())

def train():
    mine = sl.Executor()
    for _ in range(3):
        mine.run(feed={"x": np.ones((4, 3), "f4")}, fetch_list=[loss])

threads = [threading.Thread(target=train) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
train()
"""


def traced(tmp_path, trace, source=SCRIPT):
    script = tmp_path / "step.py"
    script.write_text(textwrap.dedent(source))
    return python(script, env={**os.environ, "SLUICE_TRACE": str(trace)}, timeout=300)


def events_of(path):
    """The events; each track's are one after another or within each other."""
    events = json.loads(path.read_text())["traceEvents"]
    tracks = {}
    for event in events:
        assert {"ph", "pid", "tid", "name", "args"} <= set(event)
        if event["ph"] == "X":
            assert event["ts"] >= 0 and event["dur"] >= 0
            tracks.setdefault(event["tid"], []).append((event["ts"], -event["dur"]))
    for track in tracks.values():
        ends = []
        for begin, minus in sorted(track):
            while ends and ends[-1] <= begin + 1e-3:
                ends.pop()
            assert not ends or begin - minus <= ends[-1] + 1e-3
            ends.append(begin - minus)
    return events


def test_all_runs_of_a_script_are_in_one_file(tmp_path):
    run = traced(tmp_path, tmp_path / "trace.json")
    assert run.returncode == 0 and run.stderr == ""
    events = events_of(tmp_path / "trace.json")
    names = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    assert names == ["step.py"]
    tracks = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert tracks == {"host", "host, thread 2", "host, thread 3"}
    runs = [e for e in events if e.get("cat") == "run"]
    assert len(runs) == 1 + 3 * 3
    assert [e["args"]["feeds"] for e in runs].count("x float32 [4, 3]") == 9
    kernels = [e for e in events if e.get("cat") == "kernel"]
    (mul,) = {e["args"]["inputs"] for e in kernels if "mul+" in e["name"]}
    assert "x float32 [4, 3]" in mul and "fc_0.w_0 float32 [3, 2]" in mul
    assert {e["args"]["phase"] for e in kernels} == {"forward", "backward", "optimizer"}
    lines = {e["args"].get("line") for e in kernels if e["name"] == "mean"}
    assert lines == {"step.py:7"}
    for event in kernels:
        assert re.fullmatch(r"\w+(/\w+)?", event["args"]["kernel"])
        assert re.fullmatch(r"#\d+", event["args"]["number"])
        assert int(event["args"]["op"]) >= 0 and int(event["args"]["bytes"]) > 0


def test_queues_are_tracks(tmp_path):
    run = traced(tmp_path, tmp_path / "trace.json", """
        import numpy as np
        import sluice as sl
        y = sl.layers.relu(sl.data("x", [2]))
        try:
            exe = sl.Executor(sl.CUDAPlace(0))
        except sl.SluiceError:
            raise SystemExit(77)
        exe.run(feed={"x": np.ones(2, "f4")}, fetch_list=[y])
        """)
    if run.returncode == 77:
        pytest.skip("without cuda:0")
    assert run.returncode == 0, run.stderr
    events = events_of(tmp_path / "trace.json")
    queues = {e["tid"] for e in events if e.get("cat") == "queue"}
    named = {e["args"]["name"] for e in events if e["name"] == "thread_name" and e["tid"] in queues}
    assert named and all(name.startswith("cuda:0") for name in named)
    assert "enqueue relu" in {e["name"] for e in events}


def test_the_first_200000_steps_are_kept(tmp_path):
    run = traced(tmp_path, tmp_path / "trace.json", """
        import numpy as np
        import sluice as sl
        y = x = sl.data("x", [2])
        for _ in range(1500):
            y = sl.layers.scale(y, bias_after_scale=False)
        exe = sl.Executor()
        for _ in range(150):
            exe.run(feed={"x": np.ones(2, "f4")}, fetch_list=[y])
        """)
    assert run.returncode == 0 and "SLUICE_TRACE: 200000 steps are recorded" in run.stderr
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(e["ph"] == "X" for e in events) == 200_000
    assert events[0]["args"]["name"] == "step.py, first 200000 events"


def test_ranks_can_have_files_of_their_own(tmp_path):
    assert traced(tmp_path, tmp_path / "trace_%p.json").returncode == 0
    (file,) = tmp_path.glob("trace_*.json")
    assert re.fullmatch(r"trace_\d+\.json", file.name) and events_of(file)


@pytest.mark.parametrize("where, why", [("/no/such/folder/a.json", "No such file"),
                                        ("/dev/full", "No space")])
def test_a_file_that_cannot_be_written_is_one_line(tmp_path, where, why):
    run = traced(tmp_path, where)
    assert run.returncode == 0
    (line,) = run.stderr.splitlines()
    assert line.startswith("SLUICE_TRACE: ") and where in line and why in line


def test_a_program_in_cpp_is_recorded_too(tmp_path):
    program = Path(sl._core.__file__).resolve().parents[2] / "examples" / "digits"
    if not program.exists():
        pytest.skip("the C++ examples are not built")
    path = tmp_path / "trace.json"
    run = subprocess.run([program], env={**os.environ, "SLUICE_TRACE": str(path)},
                         capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    events = events_of(path)
    assert events[0]["args"]["name"] == "digits"
    lines = {e["args"].get("line", "") for e in events if e.get("cat") == "kernel"}
    assert any(re.fullmatch(r"\w+\.(h|cc):\d+", line) for line in lines)
