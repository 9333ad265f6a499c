"""Programs on several ranks, which mpirun starts."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

import sluice as sl
from ranks import finished, needs_mpi, start


@needs_mpi
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 13])
def test_every_collective(ranks):
    run = finished(ranks, "collectives.py")
    for rank in range(ranks):
        assert f"rank {rank} of {ranks}: ok" in run.stdout


def version_of_open_mpi():
    """The version of mpirun; 0 without one, and for another MPI."""
    if shutil.which("mpirun") is None:
        return 0
    text = subprocess.run(
        ["mpirun", "--version"], capture_output=True, text=True, check=False
    ).stdout
    found = re.search(r"Open MPI\) (\d+)", text)
    return int(found[1]) if found else 0


# The daemons of Open MPI 5 need a network besides the loopback.
@pytest.mark.skipif(version_of_open_mpi() != 4, reason="not Open MPI 4")
def test_ranks_on_the_hosts_of_a_hostfile(tmp_path):
    """Two addresses of the loopback, each with a daemon of Open MPI; data goes
    over TCP."""
    hosts, agent = tmp_path / "hosts", tmp_path / "agent"
    hosts.write_text("127.0.0.2 slots=1\n127.0.0.3 slots=1\n")
    # Replaces ssh, and starts commands here instead of on a host. Daemons that
    # assume separate hosts would write the same temporary files.
    agent.write_text(
        f'#!/bin/sh\nexport TMPDIR="{tmp_path}/$1"\nmkdir "$TMPDIR"\nshift\n'
        'exec sh -c "$*"\n'
    )
    agent.chmod(0o755)
    settings = {
        "plm_rsh_agent": agent, "btl": "tcp,self",
        "btl_tcp_if_include": "lo", "oob_tcp_if_include": "lo",
        "rtc_hwloc_vmhole": "none",  # no topology in shared memory
    }
    options = [word for name, value in settings.items()
               for word in ("--mca", name, str(value))]
    run = finished(2, "collectives.py", mpirun=["--hostfile", str(hosts), *options])
    assert run.stdout.count("of 2, alone on its host: ok") == 2


def has_cuda():
    try:
        sl.Executor(sl.CUDAPlace(0))
    except sl.SluiceError:
        return False
    return True


# NCCL supports one rank for each GPU; the emulation supports several.
needs_cuda = pytest.mark.skipif(not has_cuda(), reason="no CUDA device")


@needs_mpi
@needs_cuda
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_every_collective_of_devices(ranks):
    run = finished(ranks, "collectives.py", "cuda")
    for rank in range(ranks):
        assert f"rank {rank} of {ranks}: ok" in run.stdout


@needs_mpi
@needs_cuda
@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("raise", "rank 1: ValueError: no more data, at "),
        ("end", "rank 1: the "),
        ("shape", "op 0 (c_allreduce_sum) exchanges float32 [5] by NCCL"),
    ],
)
def test_devices_do_not_wait_for_a_rank_that_fails(what, message):
    begin = time.monotonic()
    run = start(3, "failing.py", what, "cuda")
    assert time.monotonic() - begin < 30
    assert run.returncode != 0
    assert message in run.stderr
    assert "done" not in run.stdout


@needs_mpi
@pytest.mark.parametrize("how", ["plain", "deterministic", "sync"])
def test_losses_are_those_of_one_process(how):
    losses = {}
    for ranks in [1, 2, 4]:
        run = finished(ranks, "training.py", "50", how)
        losses[ranks] = json.loads(run.stdout)
    assert losses[1][-1] != losses[1][0]
    for ranks in [2, 4]:
        if how == "deterministic":
            assert losses[ranks] == losses[1]
        else:
            np.testing.assert_allclose(losses[ranks], losses[1], rtol=1e-6)


@needs_mpi
@pytest.mark.parametrize("how", ["plain", "deterministic"])
def test_tables_with_sparse_gradients_are_those_of_one_process(how):
    tables = []
    for ranks in [1, 2]:
        run = finished(ranks, "sparse.py", how)
        tables.append(np.array(json.loads(run.stdout)))
    first = np.random.default_rng(0).standard_normal((50, 4))
    assert abs(tables[0] - first).max() > 0.1
    np.testing.assert_allclose(tables[1], tables[0], rtol=1e-5, atol=1e-6)


@needs_mpi
@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("raise", "rank 1: ValueError: no more data, at "),
        ("early", "rank 1: ValueError: no more data, at "),
        ("surrogate", "rank 1: ValueError: bad \\udc80, at "),
        ("end", "rank 1: the program ends here, after 50 runs\n"),
        ("shape", "rank 1: op 0 (c_allreduce_sum) exchanges float32 [5], "
                  "created at "),
    ],
)
def test_what_one_rank_does_is_told_to_the_others(what, message):
    begin = time.monotonic()
    run = start(3, "failing.py", what)
    assert time.monotonic() - begin < 20
    assert run.returncode != 0
    assert message in run.stderr
    assert "done" not in run.stdout


@needs_mpi
def test_a_rank_that_dies_ends_all():
    begin = time.monotonic()
    run = start(3, "failing.py", "kill")
    assert time.monotonic() - begin < 20
    assert run.returncode != 0
    assert "signal 9" in run.stderr


@needs_mpi
def test_a_rank_that_hangs_is_named():
    # Rank 2 must have come by then.
    environment = {"SLUICE_STALL_SECONDS": "4", "SLUICE_STALL_ABORT": "1"}
    run = start(3, "failing.py", "stop", **environment)
    assert run.returncode != 0
    assert "rank 0 has waited for" in run.stderr
    assert "rank 1 has not come to it" in run.stderr
    assert "rank 2 waits, too" in run.stderr


@needs_mpi
def test_a_slow_rank_is_no_error():
    run = finished(2, "failing.py", "sleep", SLUICE_STALL_SECONDS="0.5")
    assert run.stdout.count("done") == 2
    assert "rank 1 has not come to it" in run.stderr


def test_one_rank_without_mpirun(exe):
    sl.distributed.init()
    assert (sl.distributed.rank(), sl.distributed.size()) == (0, 1)
    x = sl.data("x", [2])
    (out,) = sl.layers.c_allreduce_sum([x])
    (value,) = exe.run(feed={"x": [1, 2]}, fetch_list=[out])
    np.testing.assert_array_equal(value, [1, 2])


@pytest.mark.parametrize(
    ("batch", "type_name"),
    [
        (np.float32(1), "float32"), (None, "NoneType"), ("abcd", "str"),
        ({}, "dict"), ([[1], [2, 3]], "list"),
    ],
)
def test_a_batch_that_cannot_be_divided(batch, type_name):
    with pytest.raises(sl.InvalidArgumentError, match=rf"shard: batch is .*\({type_name}\)"):
        sl.distributed.shard(batch)


class NoText(Exception):
    def __str__(self):
        raise KeyError


def fed_wrongly(exe):
    x = sl.data("x", [2])
    exe.run(feed={"x": np.zeros(3)}, fetch_list=[x])


def raise_it(error):
    raise error


@pytest.mark.parametrize(
    ("function", "argument", "text"),
    [
        (raise_it, NoText(), "NoText: its __str__ raises KeyError"),
        (raise_it, ValueError("bad \udc80"), r"ValueError: bad \udc80"),
        (fed_wrongly, sl.Executor(sl.CPUPlace()), "InvalidArgumentError: "),
    ],
)
@pytest.mark.parametrize("also_fails", [False, True])
def test_errors_that_nobody_catches_are_told(
    function, argument, text, also_fails, monkeypatch
):
    """The error has the user's line, and the previous hook is called."""
    told, shown = [], []

    def tell(why):
        told.append(why.encode().decode())
        if also_fails:
            raise RuntimeError

    hook = sl.distributed.world._tell_others
    monkeypatch.setattr(sl._core, "_fail_world", tell)
    monkeypatch.setattr(
        hook, "before", lambda *error: shown.append(error), raising=False
    )
    try:
        function(argument)
    except Exception:
        raised = sys.exc_info()
    hook(*raised)
    assert shown == [raised]
    assert told[0].startswith(text)
    assert re.search(r", at \S+test_distributed.py:\d+$", told[0]), told


@needs_mpi
def test_the_page_on_ranks_says_what_works(tmp_path):
    page = pathlib.Path(__file__).parents[2] / "docs/distributed.md"
    scripts = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    assert len(scripts) == 2
    for i, script in enumerate(scripts):
        path = tmp_path / f"{i}.py"
        path.write_text(script)
        finished(2, path)
    assert "step 9: loss " in start(2, tmp_path / "0.py").stdout


@pytest.mark.parametrize("value", [1, None, "no", np.zeros(2)])
def test_deterministic_is_a_bool(value):
    with pytest.raises(sl.InvalidArgumentError, match="DataParallel: deterministic = "):
        sl.distributed.DataParallel(sl.optimizer.SGD(0.1), deterministic=value)


def test_parts_are_asked_for():
    with pytest.raises(sl.InvalidArgumentError, match="parts = 0"):
        sl.distributed.DataParallel(
            sl.optimizer.SGD(0.1), deterministic=True, parts=0
        )


def test_ranks_that_were_started_must_be_joined(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    with pytest.raises(sl.FailedPreconditionError, match="one of 2 ranks"):
        sl.distributed.shard(np.zeros((2, 1)))
    loss = sl.layers.mean(sl.layers.fc(sl.data("x", [None, 2]), 1))
    optimizer = sl.distributed.DataParallel(sl.optimizer.SGD(0.1))
    with pytest.raises(sl.FailedPreconditionError, match="init"):
        optimizer.minimize(loss)
    together = sl.distributed
    for function, *arguments in [
        (together.broadcast_parameters,), (together.check_parameters,),
        (together.save_checkpoint, "a"), (together.load_checkpoint, "a"),
        (together.check_finite, 1.0), (together.gather_trace, "a", "[]"),
    ]:
        with pytest.raises(sl.FailedPreconditionError) as raised:
            function(*arguments)
        assert raised.value.check_id == "world.not_joined"
        assert str(raised.value).startswith(f"{function.__name__}: ")


@pytest.mark.parametrize("layers", [1, 2])
def test_a_loss_that_is_minimized_twice(layers):
    for deterministic in [False, True]:
        with sl.program_guard(sl.Program(), sl.Program()):
            x = sl.data("x", [None, 2])
            for _ in range(layers):
                x = sl.layers.fc(x, 3)
            loss = sl.layers.mean(x)
            sl.distributed.DataParallel(sl.optimizer.SGD(0.1)).minimize(loss)
            again = sl.distributed.DataParallel(
                sl.optimizer.SGD(0.1), deterministic=deterministic
            )
            with pytest.raises(sl.InvalidArgumentError, match="hint: was this loss minimized"):
                again.minimize(loss)
