"""The first program of a new user: a plan is explained, and an ONNX model answers."""

import os

import numpy as np

import sluice as sl

images, labels = sl.datasets.digits()
image = sl.data("image", [None, 1, 8, 8])
label = sl.data("label", [None, 1], "int64")
hidden = sl.layers.conv2d(image, num_filters=20, filter_size=3, act="relu")
scores = sl.layers.softmax(sl.layers.fc(hidden, 10))
loss = sl.layers.mean(sl.layers.cross_entropy(scores, label))
test = sl.default_main_program().clone(for_test=True)
sl.optimizer.Momentum(0.05).minimize(loss)
sl.set_num_threads(2)
exe = sl.Executor(sl.CPUPlace())
exe.run(sl.default_startup_program())
for step in range(300):
    rows = np.arange(50) + step * 50 % 1000
    exe.run(feed={"image": images[rows], "label": labels[rows]}, fetch_list=[loss])
explained = str(exe.explain())
print(explained)
assert explained.startswith("program (training), cpu, 2 threads"), explained

sl.onnx.save(test, "/tmp/digits.onnx", [scores])
model = sl.onnx.load("/tmp/digits.onnx")
(answer,) = model.run({"image": images[1000:]})
share = np.mean(answer.argmax(1) == labels[1000:, 0])
print(f"the ONNX model reads {share:.1%} of new digits")
assert share > 0.9

# Of all threads, those that worked for a millisecond.
tasks = [f"/proc/self/task/{task}/schedstat" for task in os.listdir("/proc/self/task")]
busy = sum(int(open(task).read().split()[0]) > 1_000_000 for task in tasks)
print(f"{busy} threads worked")
assert busy >= 2
