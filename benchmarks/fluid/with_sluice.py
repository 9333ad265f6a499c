"""Sluice's contestants of `./dev bench fluid`; see worker.py."""

import cases
import contestants
import images
import numpy as np
import worker

import sluice as sl

VERSION = sl.__version__
layers = sl.layers


def set_threads(count):
    sl.set_num_threads(count)


def step_of(fetch, feeds):
    """A function that runs the default program with the next of `feeds` and
    returns the number `fetch`, if there is one."""
    executor, program = sl.Executor(), sl.default_main_program()
    fetch_list = [] if fetch is None else [fetch]
    feeds = [{name: sl.Tensor(value) for name, value in feed.items()}
             for feed in feeds]
    turn = 0

    def step():
        nonlocal turn
        turn += 1
        feed = feeds[turn % len(feeds)]
        found = executor.run(program, feed=feed, fetch_list=fetch_list)
        return found[0].item() if found else None

    return step


def offered(layer, *args, **settings):
    """What a layer or an optimizer returns, unless it refuses the arguments."""
    try:
        return layer(*args, **settings)
    except (sl.SluiceError, TypeError) as error:
        line = str(error).splitlines()[0]
        raise SystemExit(f"{contestants.REFUSED}{line}") from None


def start(values):
    """Initialises the default programs with values for the parameters."""
    sl.Executor().run(sl.default_startup_program())
    parameters = sl.default_main_program().all_parameters()
    for variable, value in zip(parameters, values, strict=True):
        sl.global_scope().set(variable.name, np.ascontiguousarray(value))


def classifier(case, last, feed, values):
    """The training step of a classifier by the last states [batch, units].
    `values` are those of the parameters so far."""
    label = sl.data("label", [case.sizes.batch, 1], "int64")
    logits = layers.fc(last, case.sizes.classes)
    loss = layers.mean(layers.softmax_with_cross_entropy(logits, label))
    sl.optimizer.SGD(cases.RATE).minimize(loss)
    start([*values, case.weight.T, case.bias])
    feed["label"] = case.label[:, None]
    return worker.Steps(step_of(loss, [feed]))


def sequences(case):
    """Variable x and its feed."""
    return sl.data("x", case.x.shape), {"x": case.x}


def layer_values(case):
    """The parameters of the layer lstm, in its order."""
    for w, r, bias, more in case.layers:
        w, r, bias, more = (cases.reordered(value, "iofg")
                            for value in (w, r, bias, more))
        yield from (w[None], r[None], np.concatenate([bias, more])[None])


def by_layer(count, form="whole"):
    """The stacked classifier by the layer lstm; `form` is whole, padded (with
    lengths) or packed (ragged)."""

    def make(sizes):
        case = cases.Sequences(sizes, count)
        lengths = None
        if form == "packed":
            x = sl.data("x", [None, sizes.units], lod_level=1)
            rows, offsets = case.packed()
            feed = {"x": rows, "x@LOD": offsets}
        else:
            x, feed = sequences(case)
        if form == "padded":
            lengths = sl.data("lengths", [sizes.batch], "int32")
            feed["lengths"] = case.lengths.astype(np.int32)
        _, last, _ = offered(layers.lstm, x, hidden_size=sizes.units,
                             num_layers=count, sequence_length=lengths)
        if count > 1:
            last = layers.slice(last, axes=[0], starts=[count - 1],
                                ends=[count])
        last = layers.reshape(last, [sizes.batch, sizes.units])
        return classifier(case, last, feed, layer_values(case))

    return make


def by_scan(sizes):
    """A cell written by hand; its weights are [inputs, gates]."""
    case = cases.Sequences(sizes, 1)
    units = sizes.units
    x, feed = sequences(case)
    helper = sl.LayerHelper("cell")
    w = helper.create_parameter(None, [units, 4 * units])
    u = helper.create_parameter(None, [units, 4 * units])
    a, b = (helper.create_parameter(None, [4 * units], is_bias=True)
            for _ in range(2))

    def cell(carried, elements):
        h, c = carried
        gates = (layers.matmul(elements[0], w) + a) + (layers.matmul(h, u) + b)
        i, f, g, o = layers.split(gates, 4)
        c = layers.sigmoid(f) * c + layers.sigmoid(i) * layers.tanh(g)
        h = layers.sigmoid(o) * layers.tanh(c)
        return [h, c], []

    first = layers.fill_constant(shape=[sizes.batch, units], value=0.0)
    (last, _), _ = layers.scan(cell, [first, first], [x])
    ((w, r, bias, more),) = case.layers
    return classifier(case, last, feed, [w.T, r.T, bias, more])


ONES = np.ones(4, np.float32)


def chain_of(count):
    """A function that runs `count` sums, each a kernel."""
    with sl.program_guard(sl.Program(), sl.Program()):
        y = sl.data("y", [4])
        total = y
        for _ in range(count):
            total = total + y
        program = sl.default_main_program()
    # Passes would fuse them.
    executor, feed = sl.Executor(passes=False), {"y": sl.Tensor(ONES)}
    return lambda: executor.run(program, feed, [total])


def chains_of(kernels):
    """A chain for each number of iterations, which run `kernels` kernels."""
    return {count: chain_of(kernels * count) for count in worker.Loop.CHAINS}


def loop_by_scan():
    """One sum an iteration."""
    x = sl.data("x", [None, 4])
    first = layers.fill_constant(shape=[4], value=0.0)
    (last,), _ = layers.scan(
        lambda carried, elements: ([carried[0] + elements[0]], []),
        [first], [x])
    executor, feeds = sl.Executor(), {}
    for trips in worker.Loop.TRIPS:
        feeds[trips] = {"x": sl.Tensor(np.ones((trips, 4), "f4"))}

    def run(trips):
        return executor.run(feed=feeds[trips], fetch_list=[last])[0][0]

    return run, chains_of(1)


def loop_by_while():
    """Two sums and a comparison an iteration, which counts as another sum."""
    y = sl.data("y", [4])
    one = sl.data("one", [1])
    limit = sl.data("limit", [1])
    total = layers.fill_constant(shape=[4], value=0.0)
    count = layers.fill_constant(shape=[1], value=0.0)
    total, _ = layers.while_loop(
        lambda total, count: count < limit,
        lambda total, count: [total + y, count + one],
        [total, count])
    executor, feeds = sl.Executor(), {}
    for trips in worker.Loop.TRIPS:
        feeds[trips] = {"y": sl.Tensor(ONES),
                        "one": sl.Tensor(ONES[:1]),
                        "limit": sl.Tensor(np.array([trips], "f4"))}

    def run(trips):
        return executor.run(feed=feeds[trips], fetch_list=[total])[0][0]

    return run, chains_of(3)


def by_table(sparse, optimizer, **settings):
    """Rows of a table are looked up and trained."""

    def make(sizes):
        values, batches = cases.table(sizes)
        ids = sl.data("ids", [batches.shape[1]], "int64")
        size = [sizes.rows, sizes.columns]
        found = offered(layers.embedding, ids, size, is_sparse=sparse)
        loss = layers.scale(layers.reduce_sum(found * found), 0.5)
        kind = getattr(sl.optimizer, optimizer)
        rate = cases.RATE if optimizer == "SGD" else cases.ADAM_RATE
        offered(kind, rate, **settings).minimize(loss)
        start([values])
        return worker.Steps(step_of(loss, [{"ids": i} for i in batches]))

    return make


def by_adam(many):
    """Adam alone: gradients are stored in the scope."""

    def make(sizes):
        program, pairs = sl.default_main_program(), []
        helper = sl.LayerHelper("adam")
        values = cases.parameters(sizes, many)
        for i, (value, _) in enumerate(values):
            grad = program.persistable(f"g{i}", value.shape)
            grad.stop_gradient = True
            pairs.append((helper.create_parameter(None, value.shape), grad))
        sl.optimizer.Adam(cases.ADAM_RATE).apply_gradients(pairs)
        sl.Executor().run(sl.default_startup_program())
        scope = sl.global_scope()
        for (param, grad), (value, slope) in zip(pairs, values, strict=True):
            scope.set(param.name, value)
            scope.set(grad.name, slope)

        def mean():
            found = [np.asarray(scope[param.name]).mean(dtype=np.float64)
                     for param, _ in pairs]
            return np.mean(found)

        return worker.Steps(step_of(None, [{}]), mean)

    return make


def loader(sizes, **more):
    return sl.io.DataLoader(
        images.Images(sizes.batches * images.BATCH), images.BATCH,
        shuffle=True, num_workers=images.WORKERS, persistent_workers=True,
        **more)


def busy(sizes):
    main, startup = sl.Program(), sl.Program()
    with sl.program_guard(main, startup):
        image = x = sl.data("image", [None, 3, 32, 32])
        label = sl.data("label", [None, 1], "int64")
        for filters in (16, 32):
            x = sl.layers.conv2d(x, filters, 3, padding=1, act="relu")
            x = sl.layers.pool2d(x, 2)
        loss = sl.layers.mean(
            sl.layers.softmax_with_cross_entropy(sl.layers.fc(x, 10), label))
        sl.optimizer.Momentum(0.01).minimize(loss)
    exe, scope = sl.Executor(), sl.Scope()
    exe.run(startup, scope=scope)
    return worker.Busy(loader(sizes, feed_list=[image, label]),
                       lambda feed: exe.run(main, feed, [loss], scope))


ROWS = {
    "lstm": {"sluice": by_layer(2)},
    "cell": {"sluice_scan": by_scan, "sluice_lstm": by_layer(1)},
    "packed": {"sluice_packed": by_layer(2, "packed"),
               "sluice_padded": by_layer(2, "padded")},
    "sgd": {"sluice_sparse": by_table(True, "SGD"),
            "sluice_dense": by_table(False, "SGD")},
    "lazy_adam": {"sluice_lazy": by_table(True, "Adam", lazy_mode=True),
                  "sluice_dense": by_table(False, "Adam")},
    "adam_large": {"sluice": by_adam(False)},
    "adam_many": {"sluice": by_adam(True)},
    "loader": {"sluice": lambda sizes: worker.Batches(loader(sizes))},
    "busy": {"sluice": busy},
}
worker.of_loops(ROWS, {"sluice_scan": loop_by_scan,
                       "sluice_while": loop_by_while})
