"""Features around training on several ranks: checkpoints, NaN, traces."""

import json
import re
import time

import numpy as np
import pytest

import sluice as sl
from ranks import finished, needs_mpi, start

RANKS = 3


def errors_of(run):
    """Output of refusing.py: (class, check id, message) by case and rank."""
    found = {}
    for rank, name, text in re.findall(r"^rank (\d): (.+?): (.*)$", run.stdout, re.M):
        found.setdefault(name, {})[int(rank)] = text
    return found


def check(run, expected):
    """`expected` has a pattern for each case, or one for each rank."""
    found = errors_of(run)
    assert set(found) == set(expected), run.stdout + run.stderr
    for name, pattern in expected.items():
        assert set(found[name]) == set(range(RANKS)), name
        for rank, text in found[name].items():
            of_rank = pattern if isinstance(pattern, str) else pattern[rank]
            assert re.match(of_rank, text), (name, text)


@needs_mpi
def test_any_number_of_ranks_goes_on_from_a_checkpoint(tmp_path):
    path = tmp_path / "a.safetensors"
    saved = finished(2, "resuming.py", path, "save")
    losses = json.loads(saved.stdout)
    assert len(set(losses)) == 6
    for ranks in [1, 4]:
        loaded = finished(ranks, "resuming.py", path, "load")
        # mpirun may mix the output of ranks.
        (line,) = re.findall(r"\[[^\[\]]*\]", loaded.stdout)
        assert json.loads(line) == losses[3:]
        for rank in range(ranks):
            assert f"rank {rank}: Checkpoint(step=3, ranks=2)" in loaded.stdout


@needs_mpi
def test_an_error_of_one_rank_is_raised_on_all_and_they_go_on(tmp_path):
    run = start(RANKS, "refusing.py", tmp_path, "programs")
    expected = {
        "whole": "no error$",
        "full": "ResourceExhaustedError file.write: save_checkpoint: rank 0: cannot "
                "write .*a.safetensors: File too large",
        "old": "no error$",
        "folder": "NotFoundError file.create: save_checkpoint: rank 0: cannot create ",
        "step": "InvalidArgumentError distributed.step: save_checkpoint: step is 7 on "
                "ranks 0 and 1, 8 on rank 2; expected the same",
        "text": "InvalidArgumentError distributed.step_number: save_checkpoint: rank 1: "
                r"step = '7' \(str\); expected an integer",
        "none": "NotFoundError file.open: load_checkpoint: rank 0: cannot open .*none: "
                "No such file",
        "half": "DataLossError checkpoint.size: load_checkpoint: rank 0: ",
        "plain": "InvalidArgumentError distributed.plain_file: load_checkpoint: rank 0: "
                 ".*plain0 was written by sluice.io.save_params, .* "
                 "sluice.io.load_params loads it$",
        "nan": r"FailedPreconditionError distributed.not_finite: check_finite: the loss "
               r"must be finite; it is not on 2 of 3 ranks \|   rank 1: 1 of 4 values of "
               r"\[2, 2\], the first is nan at \[1, 1\] \|   rank 2: inf$",
        "finite": "no error$",
        "text value": "InvalidArgumentError distributed.value: check_finite: rank 2: "
                      r"value is 'a' \(str\); expected a number",
        "sum": "no error$",
        "programs": r"FailedPreconditionError world.disagree: .*ranks 0 and 2: .*rank 1: v "
                    r"float32 \[2\]",
    }
    check(run, expected)


@needs_mpi
def test_parameters_that_drift_apart_are_named(tmp_path):
    run = start(RANKS, "drifting.py", tmp_path)
    differ = "FailedPreconditionError distributed.parameters: "
    one = (r"1 of 6 variables differ between ranks: \|   fc_0.w_0: ranks 0 and 2: "
           r"float32 \[2, 3\] of checksum \w{8}; rank 1: float32 \[2, 3\] of checksum "
           r"\w{8} \| hint: ")
    wrong = "InvalidArgumentError distributed."
    expected = {
        "no values": "no error$",
        "alike": "no error$",
        "set": f"{differ}check_parameters: {one}",
        "save": {0: f"warned: save_checkpoint: {one}.*the values of rank 0 are saved$",
                 1: "no error$", 2: "no error$"},
        "saved": "no error$",
        "rates": rf"{differ}.* fc_1.w_0: rank 0: .*; ranks 1 and 2: ",
        "many": rf"{differ}.* 6 of 6 variables (.*checksum){{10,15}}[^|]*\|   and 1 more \|",
        "broadcast": "no error$",
        "scope": rf"{wrong}scope: check_parameters: rank 1: scope is 3 \(int\)",
        "program": rf"{wrong}program: check_parameters: rank 1: program is 3 \(int\)",
    }
    check(run, expected)


@needs_mpi
@pytest.mark.parametrize("seconds", [0, 0.002, 0.01])
def test_a_killed_rank_leaves_a_whole_checkpoint(tmp_path, seconds):
    path = tmp_path / "a.safetensors"
    run = start(2, "killed.py", path, seconds)
    assert "signal 9" in run.stderr, run.stderr
    sl.default_main_program().persistable("w", [1 << 21])
    found = sl.distributed.load_checkpoint(path)
    assert found.ranks == 2
    values = sl.global_scope()["w"].numpy()
    np.testing.assert_array_equal(values, np.full(1 << 21, found.step))


@needs_mpi
@pytest.mark.parametrize("ahead", [0, 1000, -5])
def test_the_traces_of_all_ranks_are_one(tmp_path, ahead):
    path = tmp_path / "trace.json"
    run = finished(2, "tracing.py", path, ahead)
    events = json.loads(path.read_text())["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert set(names) == {0, 1}
    assert (" us" in names[1]) == bool(ahead)
    # No all-reduce ends on any rank before it starts on the other one.
    flights = [
        [(e["ts"], e["ts"] + e["dur"]) for e in events
         if e["pid"] == rank and e.get("cat") == "collective"]
        for rank in range(2)
    ]
    assert len(flights[0]) == len(flights[1]) == 2
    slack = 0 if ahead == 0 else float(re.search(r"within (\d+) us", names[1])[1]) + 1
    assert slack < 50_000
    for (begin_0, end_0), (begin_1, end_1) in zip(*flights):
        assert begin_0 <= end_1 + slack and begin_1 <= end_0 + slack
    # Rank 0 slept, and rank 1 waited for it.
    waits = [e for e in events if e.get("cat") == "collective wait" and e["pid"] == 1]
    assert 150_000 < waits[0]["dur"] < 2_000_000
    assert min(e["ts"] for e in events if "ts" in e) == 0
    for rank in range(2):
        assert f"rank {rank}: no trace: gather_trace: ranks 0 and 1: trace is " in run.stdout
        assert f"rank {rank}: no start: gather_trace: start_ns is None on rank 1" in run.stdout


def test_one_process_saves_and_goes_on(tmp_path):
    scope = sl.global_scope()
    program = sl.default_main_program()
    program.persistable("w", [2])
    scope["w"] = np.float32([1, 2])
    scope.step = 9
    path = tmp_path / "a"
    sl.distributed.save_checkpoint(path, step=4)
    assert scope.names() == ["w"]
    other = sl.Scope()
    found = sl.distributed.load_checkpoint(path, scope=other)
    assert found == (4, 1)
    assert other.step == 9
    np.testing.assert_array_equal(other["w"].numpy(), [1, 2])
    # The weights alone can be loaded everywhere.
    left_out = sl.io.load_params(path, scope=other, partial=True)
    assert left_out.superfluous == ["checkpoint.ranks", "checkpoint.step"]
    with pytest.raises(sl.InvalidArgumentError, match="an integer from 0 on"):
        sl.distributed.save_checkpoint(path, step=-1)
    with pytest.raises(sl.NotFoundError, match="cannot open"):
        sl.distributed.load_checkpoint(tmp_path / "none")
    with pytest.raises(sl.FailedPreconditionError, match="rank 0: nan"):
        sl.distributed.check_finite(np.nan)


def test_a_traced_run_is_a_run(exe):
    x = sl.data("x", [2])
    y = sl.layers.scale(x, scale=2.0)
    before = time.monotonic_ns()
    run = exe.run_traced(feed={"x": [1, 2]}, fetch_list=[y])
    assert before <= run.start_ns <= time.monotonic_ns()
    np.testing.assert_array_equal(run.results[0], [2, 4])
    events = json.loads(run.trace)["traceEvents"]
    assert [e["name"] for e in events if e["ph"] == "X"] == ["scale", "run of 1 kernels"]


def wrong_arguments():
    save, load = sl.distributed.save_checkpoint, sl.distributed.load_checkpoint
    for path in ["", None, 3, b"a", "a\0b"]:
        yield "path", save, (path,)
        yield "path", load, (path,)
        yield "path", sl.distributed.gather_trace, (path, "[]")
    yield "scope", save, ("a", None, 3)
    yield "scope", load, ("a", None, {})
    yield "program", save, ("a", "main")
    yield "program", load, ("a", "main")
    for step in [True, 1.5, None, 1 << 63]:
        yield "step", save, ("a", None, None, step)
    for begin in [-1, 1 << 63, 1.5, True]:
        yield "start_ns", sl.distributed.gather_trace, ("a", "[]", begin)
    finite = [
        None, 1j, np.zeros(2, complex), 10**400, [1.0, 10**400], [None, 1.0],
        "1.5", b"1", [[1], [2, 3]], {}, np.array([None]), object(),
        np.zeros(1, "datetime64[s]"), sl.Program().data("x", [1]),
    ]
    for value in finite:
        yield "value", sl.distributed.check_finite, (value,)


@pytest.mark.parametrize(
    ("argument", "function", "arguments"), list(wrong_arguments())
)
def test_arguments_of_another_class_are_refused(
    argument, function, arguments, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    pattern = rf"{function.__name__}: {argument} (is|=) .*; expected "
    with pytest.raises(sl.InvalidArgumentError, match=pattern):
        function(*arguments)
    assert not list(tmp_path.iterdir())


def test_numbers_of_all_kinds_are_finite():
    check = sl.distributed.check_finite
    for value in [
        1, True, 1e300, np.float16(1), np.zeros((2, 0)), [1, [2]][:1],
        np.array([1e39, 2**70], object), sl.Tensor(np.zeros(2, np.float32)),
    ]:
        check(value)
    with pytest.raises(sl.FailedPreconditionError, match=r"rank 0: 1 of 2 values"):
        check(np.array([1e39, np.inf], object))


def test_parameters_alone_are_no_checkpoint(tmp_path):
    sl.default_main_program().persistable("w", [2])
    sl.global_scope()["w"] = np.float32([1, 2])
    sl.io.save_params(tmp_path / "a")
    with pytest.raises(
        sl.InvalidArgumentError, match="a was written by sluice.io.save_params, .*"
    ) as raised:
        sl.distributed.load_checkpoint(tmp_path / "a")
    assert "sluice.io.load_params loads it" in str(raised.value)
    # With another network, the same happens.
    sl.distributed.save_checkpoint(tmp_path / "b")
    with sl.program_guard(sl.Program()):
        with pytest.raises(sl.InvalidArgumentError) as raised:
            sl.distributed.load_checkpoint(tmp_path / "b")
    assert raised.value.check_id == "checkpoint.other_program"
