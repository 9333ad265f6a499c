"""One rank of bench_distributed.py, which starts several with mpirun."""

from __future__ import annotations

import functools
import statistics
import sys

import bench_train  # finds the modules in peers/, too
import numpy as np
import ranks

import sluice as sl


def conv_norm(x, filters, stride=1, act=None):
    x = sl.layers.conv2d(
        x, filters, 3, stride=stride, padding=1, bias_attr=False
    )
    return sl.layers.batch_norm(x, act=act)


def resnet20(image):
    x = conv_norm(image, ranks.FILTERS[0], act="relu")
    channels = ranks.FILTERS[0]
    for filters in ranks.FILTERS:
        for _ in range(ranks.BLOCKS):
            stride = 1 if filters == channels else 2
            branch = conv_norm(x, filters, stride, act="relu")
            branch = conv_norm(branch, filters)
            if filters != channels:
                x = sl.layers.conv2d(
                    x, filters, 1, stride=stride, bias_attr=False
                )
            x = sl.layers.relu(x + branch)
            channels = filters
    x = sl.layers.pool2d(x, pool_type="avg", global_pooling=True)
    return sl.layers.fc(x, 10, bias_attr=False)


LOGITS = {
    "lenet": functools.partial(bench_train.logits_of, "lenet64"),
    "resnet20": resnet20,
}


def loss_of_network(network):
    image = sl.data("image", [None, *ranks.IMAGE[network]])
    label = sl.data("label", [None, 1], "int64")
    logits = LOGITS[network](image)
    return sl.layers.mean(sl.layers.softmax_with_cross_entropy(logits, label))


def loss_of_parameters(values):
    """A loss whose gradients cost next to nothing."""
    helper = sl.layer_helper.LayerHelper("parameters", None)
    means = []
    for value in values:
        parameter = helper.create_parameter(None, list(value.shape))
        means.append(sl.layers.mean(sl.layers.square(parameter)))
    return sl.layers.sum(means)


def make_step(make_loss, values, feed, parallel, momentum, **options):
    """Returns a function that does one step and returns this rank's loss."""
    program, startup = sl.Program(), sl.Program()
    with sl.program_guard(program, startup), sl.unique_name.guard():
        loss = make_loss()
        optimizer = sl.optimizer.SGD(ranks.RATE)
        if momentum:
            optimizer = sl.optimizer.Momentum(ranks.RATE, momentum)
        if parallel:
            optimizer = sl.distributed.DataParallel(optimizer, **options)
        optimizer.minimize(loss)
    scope, exe = sl.Scope(), sl.Executor(sl.CPUPlace())
    exe.run(startup, scope=scope)
    parameters = program.all_parameters()
    for variable, value in zip(parameters, values, strict=True):
        scope[variable.name] = value
    return lambda: exe.run(program, feed, [loss], scope)[0]


def network_step(network, parallel=True, momentum=ranks.MOMENTUM):
    image, label = ranks.batch(network, sl.distributed.rank())
    return make_step(
        lambda: loss_of_network(network),
        ranks.parameters(network),
        {"image": image, "label": label[:, None]},
        parallel,
        momentum,
    )


def parameters_step(network, parallel=True, momentum=0, **options):
    values = ranks.parameters(network)
    return make_step(lambda: loss_of_parameters(values), values, {}, parallel,
                     momentum, **options)


@functools.cache
def reduction(count, how):
    """The program of a reduction, and its outputs."""
    program = sl.Program()
    with sl.program_guard(program, sl.Program()):
        x = sl.data("x", [count])
        return program, getattr(sl.layers, f"c_allreduce_{how}")([x])


def make_reduced():
    """See ranks.Ranks."""
    exe = sl.Executor(sl.CPUPlace())

    def reduced(values, how):
        program, out = reduction(len(values), how)
        return exe.run(program, {"x": np.float32(values)}, out)[0].tolist()

    return reduced


def buckets(world):
    """The gradients of resnet20 without its network."""
    return {
        "turns": world.take_turns({
            "without": parameters_step("resnet20", parallel=False),
            "buckets": parameters_step("resnet20"),
            "one by one": parameters_step("resnet20", bucket_bytes=1),
        })
    }


def waited(world, step):
    """The median of the seconds that a step waits, averaged over ranks."""
    seconds = []
    for _ in range(2 if world.options.smoke else 100):
        world.reduced([0.0], "max")  # all ranks begin together
        before = sl.distributed.waited_seconds()
        step()
        seconds.append(sl.distributed.waited_seconds() - before)
    return world.reduced([statistics.median(seconds)], "sum")[0] / world.size


def hidden(world):
    found = ranks.hidden(world, network_step, parameters_step)
    return {**found, "waited": waited(world, network_step("lenet"))}


def scaling(world):
    return ranks.scaling(world, network_step)


def single(world):
    """Measures lenet on a single rank. Addresses of memory also affect times,
    so there are two programs of each kind."""
    names = ["bare", "parallel", "parallel again", "bare again"]
    return {
        "turns": world.take_turns({
            name: network_step("lenet", parallel=name.startswith("parallel"))
            for name in names
        })
    }


WANTS = {
    "buckets": buckets, "hidden": hidden, "scaling": scaling, "single": single,
}


def main():
    options = ranks.parse_arguments([*WANTS, "start"])
    sl.set_num_threads(1)
    sl.distributed.init()
    rank = sl.distributed.rank()
    if options.what == "start":
        network_step("lenet", momentum=0)()
        ranks.report_end_of_step(rank)
        return 0
    world = ranks.Ranks(
        rank, sl.distributed.size(), make_reduced(), options
    )
    ranks.report(rank, WANTS[options.what](world))
    return 0


if __name__ == "__main__":
    sys.exit(main())
