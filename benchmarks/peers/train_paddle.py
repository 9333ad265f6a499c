"""PaddlePaddle: the suite `train`, as a static program and step by step, with
its own kernels and with oneDNN's (peers ..._onednn), which an environment
variable enables at import."""

import json
import os
import subprocess
import sys

import peer_timing

options = peer_timing.arguments()
import networks  # noqa: E402
import numpy as np  # noqa: E402
import paddle  # noqa: E402  (after the thread variables)
import paddle.nn.functional as F  # noqa: E402


def logits(x, weights):
    """The network that the shapes of its parameters define."""
    for i in range(0, len(weights), 2):
        weight, bias = weights[i], weights[i + 1]
        if len(weight.shape) == 4:
            x = F.max_pool2d(F.relu(F.conv2d(x, weight, bias)), 2)
            continue
        x = F.linear(paddle.flatten(x, 1), weight, bias)
        if i + 2 < len(weights):
            x = F.relu(x)
    return x


def new_weights(case):
    made = []
    for value in case.parameters:
        weight = paddle.create_parameter(
            list(value.shape), "float32",
            default_initializer=paddle.nn.initializer.Assign(value))
        made.append(weight)
    return made


def step_by_step(case):
    paddle.disable_static()
    weights = new_weights(case)
    image, label = paddle.to_tensor(case.image), paddle.to_tensor(case.label)
    sgd = paddle.optimizer.SGD(networks.RATE, parameters=weights)

    def step():
        loss = F.cross_entropy(logits(image, weights), label)
        loss.backward()
        sgd.step()
        sgd.clear_grad()
        return loss.item()

    return step


def program_of(case, batch, train):
    """An executor, its program, and the fetches."""
    paddle.enable_static()
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        shape = [batch, *networks.IMAGE[case.name]]
        image = paddle.static.data("image", shape, "float32")
        fetched = logits(image, new_weights(case))
        if train:
            label = paddle.static.data("label", [batch], "int64")
            fetched = F.cross_entropy(fetched, label)
            paddle.optimizer.SGD(networks.RATE).minimize(fetched)
    exe = paddle.static.Executor(paddle.CPUPlace())
    scope = paddle.static.Scope()
    with paddle.static.scope_guard(scope):
        exe.run(startup)

    def run(feed):
        with paddle.static.scope_guard(scope):
            return exe.run(main, feed=feed, fetch_list=[fetched])[0]

    return run


def static_step(case):
    run = program_of(case, networks.BATCH, train=True)
    feed = {"image": case.image, "label": case.label}
    return lambda: np.ravel(run(feed))[0]


def static_forward(case, batch):
    run = program_of(case, batch, train=False)
    feed = {"image": case.image[:batch]}
    return lambda: run(feed)


SWITCH = "FLAGS_use_onednn"


def rows_with_onednn():
    """The rows of another process with oneDNN enabled."""
    said = subprocess.run([sys.executable, *sys.argv], text=True, check=True,
                          env=dict(os.environ, **{SWITCH: "1"}),
                          stdout=subprocess.PIPE).stdout
    return json.loads(said.splitlines()[-1])


def main():
    if os.environ.get(SWITCH) == "1":
        # Without static steps: in Paddle 3.3.1 oneDNN's gradient of a product
        # ends the process.
        networks.run_peer(__file__, options, "paddle",
                          {"paddle_dygraph_onednn": step_by_step},
                          {"paddle_static_onednn": static_forward})
        return
    networks.run_peer(
        __file__, options, "paddle",
        {"paddle_static": static_step, "paddle_dygraph": step_by_step},
        {"paddle_static": static_forward},
        {} if options.first_step else rows_with_onednn())


main()
