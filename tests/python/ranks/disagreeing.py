"""Rank 1 differs from the others: see test_disagreement.py."""

import sys
import threading

import numpy as np

import sluice as sl

what = sys.argv[1]
if what == "late":
    loss = sl.layers.mean(sl.layers.fc(sl.data("early", [None, 2]), 1))
    try:
        sl.distributed.DataParallel(sl.optimizer.SGD(0.1)).minimize(loss)
    except sl.FailedPreconditionError as error:
        assert error.check_id == "world.not_joined", error
        print("refused", flush=True)
    for name, *arguments in [
        ("rank",), ("size",), ("broadcast_parameters",), ("check_parameters",),
        ("check_finite", 1.0), ("gather_trace", "no/folder", "[]"),
        ("save_checkpoint", "no/folder"), ("load_checkpoint", "no/folder"),
    ]:
        try:
            getattr(sl.distributed, name)(*arguments)
        except sl.FailedPreconditionError as error:
            assert error.check_id == "world.not_joined", error
            print("refused", flush=True)

sl.distributed.init()
rank = sl.distributed.rank()
other = rank == 1


def train(steps=6):
    """Trains a parameter that all ranks update; feeds differ by rank."""
    x = sl.data("x", [None, 2])
    if what == "norm":
        x = sl.layers.reshape(x, shape=[-1, 2, 1, 1])
        x = sl.layers.batch_norm(x, sync=True)
    out = sl.layers.fc(x, 1, bias_attr=False, act="relu")
    loss = sl.layers.mean(sl.layers.scale(out, scale=3.0))
    test = sl.default_main_program().clone(for_test=True)
    optimizer = sl.distributed.DataParallel(sl.optimizer.SGD(0.1))
    optimizer.minimize(loss)
    exe = sl.Executor(sl.CPUPlace())
    sl.default_startup_program().random_seed = 7
    exe.run(sl.default_startup_program())
    name = next(v.name for v in test.list_vars() if v.name.endswith("w_0"))
    if what in ("start", "broadcast") and other:
        sl.global_scope()[name] = np.full((2, 1), 5, np.float32)
    if what == "broadcast":
        sl.distributed.broadcast_parameters()
    bad = {
        "skip": {"feed": {"x": np.zeros((2, 3), np.float32)}},
        "no value": {"scope": sl.Scope()},
    }
    for step in range(steps):
        # Batch sizes may differ between ranks.
        feed = {"x": np.full((2 + rank, 2), rank, np.float32)}
        if step == 3 and (what == "skip all" or (what in bad and other)):
            try:
                exe.run(fetch_list=[optimizer.loss],
                        **{"feed": feed, **bad.get(what, bad["skip"])})
            except sl.SluiceError:
                continue
        exe.run(feed=feed, fetch_list=[optimizer.loss])
    if what == "norm" and other:
        exe.run(test, feed=feed, fetch_list=[loss])
    return sl.global_scope()[name].numpy().tolist()


def collective():
    x = sl.data("pair", [2])
    names = ["b", "a"] if what == "names" and other else ["a", "b"]
    parts = [
        sl.layers.scale(x, scale=1.0 if name == "a" else 2.0) for name in names
    ]
    if what == "attribute":
        parts[0] = sl.layers.scale(parts[0], scale=7.0 if other else 6.0)
    if what == "long":
        parts = [sl.layers.concat(parts * 200, axis=0)]
        parts.append(sl.layers.scale(parts[0], scale=5.0 if other else 4.0))
    sums = sl.layers.c_allreduce_sum(parts)
    sl.Executor().run(feed={"pair": [1, 2]}, fetch_list=sums)


if what == "thread":
    train(1)
    failures = []

    def run():
        try:
            with sl.program_guard(sl.Program()):
                collective()
        except sl.FailedPreconditionError as error:
            failures.append(error.check_id)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    print(failures, flush=True)
elif what in ("names", "attribute", "long"):
    collective()
else:
    # A single write, so that the lines of ranks do not mix.
    sys.stdout.write(f"{train()}\n")
