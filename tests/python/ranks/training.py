"""Trains a small network on all ranks, and prints the losses.

    training.py STEPS [plain | deterministic | sync]
"""

import json
import sys

import numpy as np

import sluice as sl

sl.distributed.init()
sl.set_num_threads(1)  # on which sums depend
steps = int(sys.argv[1])
rng = np.random.default_rng(0)
images = rng.standard_normal((steps, 8, 1, 8, 8)).astype(np.float32)
labels = rng.integers(0, 10, (steps, 8, 1))

image = sl.data("image", [None, 1, 8, 8])
label = sl.data("label", [None, 1], "int64")
x = sl.layers.conv2d(image, 4, 3, act="relu")
if "sync" in sys.argv:
    x = sl.layers.batch_norm(x, sync=True)
x = sl.layers.fc(x, 16, act="relu")
logits = sl.layers.fc(x, 10)
loss = sl.layers.mean(sl.layers.softmax_with_cross_entropy(logits, label))
optimizer = sl.distributed.DataParallel(
    sl.optimizer.Momentum(0.005),
    bucket_bytes=1024,
    deterministic="deterministic" in sys.argv,
)
optimizer.minimize(loss)

exe = sl.Executor(sl.CPUPlace())
exe.run(sl.default_startup_program())
losses = []
for step in range(steps):
    feed = {
        "image": sl.distributed.shard(images[step]),
        "label": sl.distributed.shard(labels[step]),
    }
    (value,) = exe.run(feed=feed, fetch_list=[optimizer.loss])
    losses.append(float(value))
if sl.distributed.rank() == 0:
    print(json.dumps(losses), flush=True)
