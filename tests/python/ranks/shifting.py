"""Runs that meet wrong runs of other ranks, and changes that must not affect
results: see test_shifting.py."""

import os
import signal
import sys
import time

import numpy as np

import sluice as sl

what = sys.argv[1]
if what == "late":
    # Explained, but never run: init() is too late for it.
    (early,) = sl.layers.c_allreduce_sum([sl.data("early", [2])])
    try:
        sl.Executor().run(feed={"early": [1, 2]}, fetch_list=[early])
    except sl.FailedPreconditionError as error:
        sys.stdout.write(f"refused: {error.check_id}\n")
sl.distributed.init()
rank = sl.distributed.rank()
exe = sl.Executor()


def say(text):
    """Prints with a single write, so that the lines of ranks do not mix."""
    sys.stdout.write(f"rank {rank}: {text}\n")
    sys.stdout.flush()


def total(size=2):
    x = sl.data("x", [size])
    return sl.layers.c_allreduce_sum([x])[0]


def branches():
    """Ranks take the branch with the collective in different runs."""
    x, take = sl.data("x", [2]), sl.data("take", [1], "bool")
    out = sl.layers.cond(
        take,
        lambda: sl.layers.c_allreduce_sum([x])[0],
        lambda: sl.layers.scale(x, scale=1.0),
    )
    for step in range(4):
        feed = {"x": np.ones(2, np.float32), "take": [step % 2 == rank]}
        exe.run(feed=feed, fetch_list=[out])


def skipped(run):
    """Rank 1 catches the error of its feed, and continues."""
    out = total()
    for step in range(4):
        size = 3 if step == 1 and rank == 1 else 2
        try:
            run(feed={"x": np.ones(size, np.float32)}, fetch_list=[out])
        except sl.InvalidArgumentError:
            continue


def second_network(deterministic):
    """Different initial values that are easily missed: in a second program of a
    scope, and in a parameter that is not trained."""
    for number in range(2):
        with sl.program_guard(sl.Program(), sl.Program()):
            x = sl.data("x", [None, 2])
            frozen = sl.ParamAttr(f"frozen{number}", trainable=False)
            x = sl.layers.fc(x, 2, param_attr=frozen, bias_attr=False)
            loss = sl.layers.mean(sl.layers.fc(x, 1))
            optimizer = sl.distributed.DataParallel(
                sl.optimizer.SGD(0.1), deterministic=deterministic
            )
            optimizer.minimize(loss)
            sl.default_startup_program().random_seed = 1
            exe.run(sl.default_startup_program())
            if number == 1 and rank == 1:
                sl.global_scope()["frozen1"] = np.full((2, 2), 5, np.float32)
            feed = {"x": np.ones((4, 2), np.float32)}
            exe.run(feed=feed, fetch_list=[optimizer.loss])


def channels():
    size = 3 + 2 * rank
    out = sl.layers.batch_norm(sl.data("x", [None, size, 2, 2]), sync=True)
    exe.run(sl.default_startup_program())
    exe.run(feed={"x": np.ones((2, size, 2, 2), np.float32)}, fetch_list=[out])


def masks():
    """The masks of dropout in a program with blocks."""
    kept = sl.layers.dropout(sl.data("x", [64]), 0.5)
    out = sl.layers.cond(
        sl.data("take", [1], "bool"),
        lambda: sl.layers.scale(kept, scale=1.0),
        lambda: sl.layers.scale(kept, scale=2.0),
    )
    sl.layers.c_allreduce_sum([out])
    feed = {"x": np.ones(64, np.float32), "take": [True]}
    (mask,) = exe.run(feed=feed, fetch_list=[kept])
    say("".join("x" if value else "." for value in mask))


def fork():
    out = total()
    feed = {"x": np.ones(2, np.float32)}
    exe.run(feed=feed, fetch_list=[out])
    if rank == 1:
        child = os.fork()
        if child == 0:
            try:
                exe.run(feed=feed, fetch_list=[out])
            except sl.FailedPreconditionError as error:
                say(f"child: {error.check_id}")
            raise ValueError("of the child alone")
        os.waitpid(child, 0)
    say(exe.run(feed=feed, fetch_list=[out])[0].tolist())


def memory():
    """The growth of memory over many steps with parts of the batch, in MiB."""
    x = sl.data("x", [None, 500])
    loss = sl.layers.mean(sl.layers.fc(x, 500))
    optimizer = sl.distributed.DataParallel(
        sl.optimizer.SGD(0.1), deterministic=True
    )
    optimizer.minimize(loss)
    exe.run(sl.default_startup_program())

    def used():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for step in range(60):
        exe.run(feed={"x": np.ones((4, 500), np.float32)})
        if step == 9:
            before = used()
    say((used() - before) >> 20)


def stops():
    """Rank 1 is late, and then rank 0 hangs."""
    out = total()
    for step in range(20):
        if step == 5 and rank == 1:
            time.sleep(1.5)
        if step == 6 and rank == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
        exe.run(feed={"x": np.ones(2, np.float32)}, fetch_list=[out])


if what == "late":
    (result,) = exe.run(feed={"early": [1, 2]}, fetch_list=[early])
    say(result.tolist())
elif what == "swallowed":
    try:
        exe.run(feed={"x": np.ones(2 + rank, np.float32)},
                fetch_list=[total(2 + rank)])
    except sl.SluiceError:
        pass
elif what in ("run_traced", "profile", "run_checked"):
    skipped(getattr(exe, what))
elif what in ("second", "second deterministic"):
    second_network(what.endswith("deterministic"))
else:
    globals()[what]()
