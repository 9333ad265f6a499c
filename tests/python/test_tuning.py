"""sl.tune: its results, messages and records."""

import os
import re
import signal
import threading
import time

import numpy as np
import pytest
from processes import python, turns_beside

import sluice as sl


def distances(*sizes):
    """A program with one manhattan_distance for each size, all fetched."""
    feed, fetches = {}, []
    for size in sizes:
        x = sl.data(f"x{size}", [size, size])
        feed[x.name] = np.random.default_rng(size).random((size, size), "f4")
        fetches.append(sl.layers.manhattan_distance(x, x))
    return feed, fetches


@pytest.fixture
def tune_in_peace(in_peace):
    def tune(*arguments, **options):
        return in_peace(lambda: sl.tune(*arguments, budget=2, **options), lambda tuned: tuned.left_out == 0)

    return tune


def test_fused_ops_of_blocks_are_measured_against_their_parts(exe, tune_in_peace):
    x = sl.data("x", [None, 16])
    out = sl.layers.cond(
        sl.layers.reduce_sum(x) > 0.0,
        lambda: sl.layers.fc(x, 16, act="relu"),
        lambda: sl.layers.concat([x, x]),
    )
    exe.run(sl.default_startup_program())
    feed = {"x": np.ones((32, 16), "f4")}
    result = tune_in_peace(sl.default_main_program(), feed, [out])
    measured = {signature.op for signature in result.signatures}
    assert {"mul", "elementwise_add", "relu"} < measured
    assert any(op.startswith("fused_") for op in measured)


def test_an_op_at_a_device_stays_there_whatever_the_cpu_takes(tune_in_peace):
    if not sl.device_count("cuda"):
        pytest.skip("there is no cuda:0")
    place = sl.CUDAPlace(0)
    y = sl.layers.relu(sl.data("x", [3, 5]))
    feed = {"x": np.ones((3, 5), "f4")}
    result = tune_in_peace(sl.default_main_program(), feed, [y], place=place)
    (signature,) = result.signatures
    assert {str(kernel.place) for kernel in signature.kernels} == {"cpu", "cuda:0"}
    assert str(result).startswith("0 of 1 signature get another kernel, 1 stay\n")


def test_the_result_tells_kernels_times_and_verdicts(exe, tune_in_peace):
    feed, fetches = distances(17)
    exe.prepare(feed=feed, fetch_list=fetches)
    result = tune_in_peace(sl.default_main_program(), feed, fetches)
    assert "the next run may choose others" in " ".join(exe.explain().split())
    (signature,) = result.signatures
    assert signature.op == "manhattan_distance"
    assert "float32[17,17]" in signature.signature
    assert len(signature.kernels) > 1
    for kernel in signature.kernels:
        assert kernel.verdict == "ok", kernel.message
        assert kernel.name.startswith(f"manhattan_distance/{kernel.variant} (")
        assert 0 < kernel.low <= kernel.median <= kernel.high
        assert kernel.rounds > 0
    assert signature.winner.median == min(k.median for k in signature.kernels)
    assert signature.before.variant in {k.variant for k in signature.kernels}
    assert not result.cancelled and result.left_out == 0
    text = str(result)
    assert "1 of 1 signature gets" in text or "0 of 1 signature get" in text
    assert "1 signature measured" in text and "result.all" in text
    assert signature.signature.partition(" ")[0] in result.all
    assert all(len(line) <= 80 for line in (text + result.all).splitlines())
    exe.run(feed=feed, fetch_list=fetches)
    assert re.search("measured|near tie", exe.explain())
    assert "the next run may choose" not in exe.explain()
    assert " measured" in exe.explain(all=True)


def test_fused_ops_have_to_win_against_their_parts(exe, tune_in_peace):
    x = sl.data("x", [64, 64])
    y = sl.layers.fc(x, 64, act="relu")
    exe.run(sl.default_startup_program())
    feed = {"x": np.ones((64, 64), "f4")}
    program = sl.default_main_program()
    assert ", apart " in exe.prepare(program, feed, [y]).explain()
    tuned = tune_in_peace(program, feed, [y])
    measured = {signature.op for signature in tuned.signatures}
    assert {"mul", "elementwise_add", "relu"} <= measured
    assert any(op.startswith("fused_") for op in measured)
    said = " ".join(exe.prepare(program, feed, [y]).explain(all=True).split())
    times = r"fused [0-9.]+ us measured, apart [0-9.]+ us measured"
    assert re.search(times, said), said
    # Hints force either.
    names = ("activations", "turned", "elementwise")
    apart = "; ".join(f"exclude pass=fuse_{name}" for name in names)
    for hint, calls in ((apart, 3), ("mul: require pass=fuse_activations", 1)):
        with sl.kernel_hints(hint):
            (table,) = exe.prepare(program, feed, [y]).explain().tables()
            assert len(table["calls"]) == calls


def test_what_has_records_is_not_measured_again(tune_in_peace):
    feed, fetches = distances(18)
    program = sl.default_main_program()
    tune_in_peace(program, feed, fetches)
    second = sl.tune(program, feed, fetches, budget=2)
    assert second.signatures == [] and second.known == 1
    assert len(sl.tune(program, feed, fetches, again=True).signatures) == 1


def test_without_a_fetch_list_it_is_what_no_op_reads():
    feed, _ = distances(19, 20)
    result = sl.tune(sl.default_main_program(), feed, budget=2)
    assert len(result.signatures) == 2


def test_a_training_program_keeps_its_parameters(exe):
    x, label = sl.data("x", [8, 4]), sl.data("label", [8, 1], "int64")
    logits = sl.layers.fc(x, 3)
    loss = sl.layers.mean(sl.layers.softmax_with_cross_entropy(logits, label))
    sl.optimizer.Momentum(0.1).minimize(loss)
    exe.run(sl.default_startup_program())
    parameters = sl.default_main_program().all_parameters()
    scope = sl.global_scope()
    before = {p.name: scope[p.name].numpy().copy() for p in parameters}
    feed = {"x": np.ones((8, 4), "f4"), "label": np.ones((8, 1), "i8")}
    result = sl.tune(sl.default_main_program(), feed, [loss], budget=5)
    assert {"momentum", "mul"} & {s.op for s in result.signatures}
    assert all(
        k.verdict != "wrong" for s in result.signatures for k in s.kernels
    ), str(result)
    for name, value in before.items():
        np.testing.assert_array_equal(scope[name].numpy(), value)


def test_progress_is_told_and_ends_it():
    feed, fetches = distances(21, 22)
    calls = []

    def progress(done, total, signature):
        calls.append((done, total, signature.partition("(")[0]))
        return done == 0

    result = sl.tune(
        sl.default_main_program(), feed, fetches, progress=progress
    )
    assert calls == [
        (0, 2, "manhattan_distance"),
        (1, 2, "manhattan_distance"),
    ]
    assert result.cancelled and len(result.signatures) == 1


def test_what_progress_raises_is_raised():
    feed, fetches = distances(23)

    def progress(*_):
        raise LookupError("a mistake in it")

    with pytest.raises(LookupError, match="a mistake in it"):
        sl.tune(sl.default_main_program(), feed, fetches, progress=progress)


def test_ctrl_c_keeps_what_was_measured():
    sizes = range(300, 340)
    feed, fetches = distances(*sizes)
    seen = threading.Event()

    def progress(done, *_):
        if done == 2:
            seen.set()

    def interrupt():
        seen.wait()
        time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    begin = time.monotonic()
    result = sl.tune(
        sl.default_main_program(), feed, fetches, budget=60, progress=progress
    )
    assert time.monotonic() - begin < 30
    thread.join()
    assert result.cancelled
    assert 2 <= len(result.signatures) < len(sizes)
    again = sl.tune(sl.default_main_program(), feed, fetches, budget=0.05)
    # Times that other programs disturbed are not kept.
    assert again.known >= sum(tuned.winner is not None for tuned in result.signatures) - 1


@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError])
def test_what_is_no_fault_of_a_kernel_makes_none_wrong(raised):
    @sl.kernel("relu", variant="py_disturbed")
    def relu(x):
        if raised is KeyboardInterrupt:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        raise raised

    x = np.linspace(-1, 1, 77 if raised is MemoryError else 78, dtype=np.float32)
    y = sl.layers.relu(sl.data("x", [None]))
    try:
        sl.tune(sl.default_main_program(), {"x": x}, [y], budget=5)
    except (KeyboardInterrupt, sl.errors.ResourceExhaustedError):
        pass  # from a run of the plan with this kernel
    plan = sl.Executor().prepare(sl.default_main_program(), {"x": x}, [y])
    assert "py_disturbed" in plan.explain(all=True)
    assert "gave wrong results" not in plan.explain(all=True)


def test_other_threads_go_on_while_it_measures():
    feed, fetches = distances(200, 201)
    program = sl.default_main_program()
    assert turns_beside(lambda: sl.tune(program, feed, fetches)) > 5


@pytest.mark.parametrize("budget", [0, -1, float("nan"), "10", True, None])
def test_a_budget_that_is_none_is_refused(budget):
    feed, fetches = distances(24)
    with pytest.raises(sl.InvalidArgumentError, match="above 0|more than 0"):
        sl.tune(sl.default_main_program(), feed, fetches, budget=budget)


def test_bad_input_is_named():
    feed, fetches = distances(25)
    program = sl.default_main_program()
    with pytest.raises(sl.InvalidArgumentError, match="expected a Program"):
        sl.tune("lenet", feed)
    with pytest.raises(sl.NotFoundError, match="x25.*must be fed"):
        sl.tune(program, {}, fetches)
    with pytest.raises(sl.SluiceError, match="x25"):
        sl.tune(program, {"x25": np.zeros((25, 25), "f8")}, fetches)
    with pytest.raises(sl.SluiceError, match="x25"):
        sl.tune(program, {"x25": np.zeros((25, 24), "f4")}, fetches)


def test_there_is_a_bar_on_a_terminal_only(capfd):
    feed, fetches = distances(26)
    sl.tune(sl.default_main_program(), feed, fetches)
    assert capfd.readouterr() == ("", "")


SCRIPT = """
import numpy as np, sluice as sl
x = sl.data("x", [40, 40])
y = sl.layers.manhattan_distance(x, x)
exe = sl.Executor()
exe.run(feed={"x": np.ones((40, 40), "f4")}, fetch_list=[y])
print(exe.explain(all=True))
"""


def test_measure_tunes_when_a_program_first_runs(tmp_path):
    def run(mode):
        environment = os.environ | {
            "SLUICE_RECORDS": str(tmp_path / "records.jsonl"),
            "SLUICE_TUNE": mode,
        }
        return python("-c", SCRIPT, env=environment)

    assert "measured" not in run("estimate").stdout
    # Repeated if other programs used the CPUs.
    assert any("measured" in run("measure").stdout for _ in range(10))
    assert "measured" in run("recorded").stdout
    assert "did you mean measure?" in run("measur").stderr
