"""A training with all that a checkpoint must keep; a child of a test.

  training.py FOLDER STEPS_EACH

Trains on from the newest checkpoint of FOLDER, saves every STEPS_EACH steps,
and prints a line "<step>" for each step and the hash of everything at the end.
"""

import hashlib
import os
import sys

os.environ["SLUICE_RECORDS"] = "off"

import numpy as np

import sluice as sl

EPOCHS = 3


class Samples(sl.io.Dataset):
    """Augmented by NumPy's global random numbers."""

    def __len__(self):
        return 61

    def __getitem__(self, index):
        x = np.sin(np.arange(6, dtype=np.float32) * (index + 1))
        return x + np.float32(np.random.rand()), np.array([index % 3])


def build():
    main, startup = sl.Program(), sl.Program()
    main.random_seed = startup.random_seed = 7
    with sl.program_guard(main, startup), sl.unique_name.guard():
        x = sl.data("x", [None, 6])
        y = sl.data("y", [None, 1], "int64")
        hidden = sl.layers.dropout(sl.layers.fc(x, 16, act="relu"), 0.3)
        hidden = sl.layers.reshape(sl.layers.fc(hidden, 8), [-1, 8, 1, 1])
        hidden = sl.layers.batch_norm(hidden)
        logits = sl.layers.fc(hidden, 3)
        loss = sl.layers.mean(sl.layers.softmax_with_cross_entropy(logits, y))
        rate = sl.layers.linear_lr_warmup(
            sl.layers.exponential_decay(0.01, 3, 0.9), 5, 0.001, 0.01
        )
        sl.optimizer.Adam(rate).minimize(loss)
    return main, startup, loss


def main(folder, every):
    train, startup, loss = build()
    exe, scope = sl.Executor(), sl.Scope()
    loader = sl.io.DataLoader(
        Samples(), 8, shuffle=True, num_workers=2, seed=5,
        feed_list=[train.var("x"), train.var("y")],
    )
    found = sl.io.load_checkpoint(folder, train, scope, loader=loader)
    step, losses = 0, []
    if found is None:
        exe.run(startup, scope=scope)
    else:
        step, losses = found.step, found.extra["losses"]
    while loader.epoch < EPOCHS:
        for feed in loader:
            (value,) = exe.run(train, feed, [loss], scope)
            step += 1
            losses.append(float(value.item()))
            if step % every == 0:
                sl.io.save_checkpoint(
                    folder, train, scope, step, loader, {"losses": losses}
                )
            print(step, flush=True)
    bits = hashlib.sha256(repr((step, losses, scope.step)).encode())
    for variable in train.list_vars():
        if variable.persistable:
            bits.update(scope[variable.name].numpy().tobytes())
    print(bits.hexdigest(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
