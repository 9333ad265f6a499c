"""sluice-lab what-if predicts the cost of a program elsewhere."""

import sys

import pytest

import sluice as sl
from sluice import lab
from sluice.lab.__main__ import main


@pytest.fixture
def distances(rng):
    """Distances, for which the FPGA has a kernel, and the nearest of them."""
    x, y = sl.data("x", [50, 16]), sl.data("y", [60, 16])
    nearest = sl.layers.reduce_sum(sl.layers.manhattan_distance(x, y))
    feed = {"x": rng.random((50, 16), "float32"), "y": rng.random((60, 16), "float32")}
    return sl.default_main_program(), feed, [nearest]


def what_if(distances, **change):
    return lab.what_if(*distances, budget=0.6, **change)


def ops(placement):
    return {op.op: op for op in placement.ops}


def test_without_a_change_nothing_moves(distances):
    placement = what_if(distances)
    assert not any(op.changes for op in placement.ops)
    assert placement.predicted_then == pytest.approx(placement.predicted_now)
    assert placement.not_measured.startswith("no change was asked for: pass devices or ")
    assert placement.measured_now.rounds > 0
    parts = sum(op.seconds_now for op in placement.ops)
    assert placement.predicted_now == pytest.approx(parts + placement.executor)


def test_a_faster_kernel_is_predicted_by_its_factor(distances):
    placement = what_if(distances, faster={"manhattan_distance": 4})
    op = ops(placement)["manhattan_distance"]
    assert op.seconds_then <= op.seconds_now / 4 * 1.001
    assert op.measured_now and not op.measured_then
    assert placement.not_measured == "a kernel is taken to be faster"
    assert placement.measured_then.rounds == 0


def test_an_op_moves_to_a_device_where_that_pays(distances):
    fast = {"manhattan_distance/PLAIN/systolic": 1e6}
    placement = what_if(distances, devices=["fpga:0"], faster=fast, link=(1e15, 0))
    assert ops(placement)["manhattan_distance"].kernel_then == "systolic at fpga:0"
    assert "#0: require place=fpga:0" in placement.hints
    with sl.kernel_hints(placement.hints):
        program, feed, fetches = distances
        exe = sl.Executor()
        exe.run(program, feed, fetches)
        assert "systolic" in exe.explain(program)


def test_copies_keep_an_op_where_it_is(distances):
    fast = {"manhattan_distance/PLAIN/systolic": 1e6}
    placement = what_if(distances, devices=["fpga:0"], faster=fast, link="1KB/s,1s")
    assert not any(op.changes for op in placement.ops)
    assert placement.copies_then == 0


def test_a_value_is_copied_once_for_all_its_readers(distances):
    program, feed, fetches = distances
    # X is read twice. It is copied with Y, and the distances back.
    again = sl.layers.manhattan_distance(program.var("x"), program.var("y"))
    fetches = [*fetches, sl.layers.reduce_sum(again)]
    fast = {"manhattan_distance/PLAIN/systolic": 1e6, "manhattan_distance/PLAIN/plain": 1e-6,
            "manhattan_distance/PLAIN/blocked": 1e-6}
    placement = lab.what_if(program, feed, fetches, devices=["fpga:0"], faster=fast,
                          link=(1e30, 1e-6), budget=0.6)
    assert sum(op.changes for op in placement.ops) == 2
    assert placement.copies_then == pytest.approx(4e-6)


def test_what_can_be_measured_is_measured(distances, in_peace):
    placement = in_peace(lambda: what_if(distances, devices=["fpga:0"]), lambda p: not p.contradiction)
    # The simulated device is slower, so no op moves to it.
    assert placement.measured_now.rounds > 0
    assert all(op.seconds_in_run > 0 for op in placement.ops)
    says = str(placement)
    assert "measured: a run takes" in says and "predicted: a run takes" in says
    assert "ops the same: --all" in says and "ops the same" not in placement.all


@pytest.mark.parametrize("contradiction, status", [("", 0), ("no prediction: 47 times apart", 4)])
def test_a_prediction_that_its_measurement_contradicts_is_no_success(
    contradiction, status, monkeypatch, capsys
):
    class Placed:
        all = "every op"

        def __str__(self):
            return contradiction or "predicted: a run takes 2.00 ms"

    Placed.contradiction = contradiction
    command = sys.modules["sluice.lab.what_if"]  # lab.what_if is the function
    monkeypatch.setattr(command, "what_if", lambda *_, **__: Placed())
    assert main(["what-if", "mlp"]) == status
    assert capsys.readouterr().out == f"{Placed()}\n"
    assert main(["what-if", "mlp", "--all"]) == status
    assert capsys.readouterr().out == "every op\n"


def test_the_command_prints_a_table(capsys, in_peace):
    arguments = ["what-if", "mlp", "--batch", "2", "--device", "fpga:0", "--link", "12GB/s,10us",
                 "--faster", "momentum=2", "--budget", "0.5"]

    def predicted(printed):
        status, out = printed
        assert status == 0 or (status == 4 and out.startswith("no prediction: "))
        return status == 0

    _, out = in_peace(lambda: (main(arguments), capsys.readouterr().out), predicted)
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "predicted: a run takes" in out and "measured: a run takes" in out
    assert "not measured with the change: a kernel is taken to be faster" in out
    assert "no op of this plan has a kernel for fpga:0" in out


def test_the_old_name_of_the_command_says_the_new_one(capsys):
    assert lab.place is lab.what_if
    assert main(["place", "mlp", "--batch", "2", "--budget", "0.2"]) in (0, 4)
    assert "is now sluice-lab what-if" in capsys.readouterr().err


@pytest.mark.parametrize("text, link", [
    ("12GB/s,10us", (12e9, 10e-6)),
    ("1.5MB/s, 2ms", (1.5e6, 2e-3)),
    ("3e2B/s,0s", (300, 0)),
])
def test_links_are_read(text, link):
    from sluice.lab.what_if import parse_link

    assert parse_link(text) == pytest.approx(link)


BAD = {
    "link": (["what-if", "mlp", "--link", "12"], "expected bytes a second"),
    "slow link": (["what-if", "mlp", "--link", "0GB/s,1us"], "expected bytes a second"),
    "faster": (["what-if", "mlp", "--faster", "relu"], "KERNEL=FACTOR"),
    "factor": (["what-if", "mlp", "--faster", "mul=0"], "cannot be 0 times as fast"),
    "factors": (["what-if", "mlp", "--faster", "mul=1e-300"], "expected a number from 1e-6"),
    "twice": (["what-if", "mlp", "--faster", "mul=2", "--faster", "mul=3"], "mul stands there twice"),
    "no link": (["what-if", "mlp", "--link", "1e-300B/s,0s"], "expected 1 to 1e30"),
    "kernel": (["what-if", "mlp", "--faster", "conv2d=2"], "no op of this plan could have"),
    "kernel name": (["what-if", "mlp", "--faster", "a/b/c/d=2"], "expected OP, OP/LIBRARY"),
    "device": (["what-if", "mlp", "--device", "cpu"], "cpu is no device"),
    "no device": (["what-if", "mlp", "--device", "fpga:77"], "fpga:77"),
}


@pytest.mark.parametrize("arguments, message", BAD.values(), ids=BAD)
def test_bad_input_is_named(arguments, message, capsys):
    try:
        status = main([*arguments, "--batch", "2", "--budget", "0.2"])
    except SystemExit as end:
        status = end.code
    assert status in (1, 2)
    err = capsys.readouterr().err
    assert message in err, err
    assert "Traceback" not in err
