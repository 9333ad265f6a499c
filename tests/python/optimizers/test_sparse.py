"""Sparse gradients of tables against dense ones, and lazy optimizers."""

import numpy as np
import pytest

import sluice as sl
from sluice import sparse

HEIGHT, WIDTH, STEPS = 11, 3, 20
TABLE = np.random.default_rng(1).normal(size=(HEIGHT, WIDTH)).astype("float32")
IDS = np.random.default_rng(2).integers(0, HEIGHT, size=(STEPS, 4, 2))
IDS[:, :, 1] = 5  # row 5 is always there, twice and more
opt = sl.optimizer


def network(is_sparse, uses=1, **options):
    ids = sl.data("ids", [None, 2], "int64")
    start = sl.initializer.NumpyArrayInitializer(TABLE)
    table = sl.ParamAttr("table", initializer=start, **options)
    total = None
    for _ in range(uses):
        rows = sl.layers.embedding(
            ids, [HEIGHT, WIDTH], param_attr=table, is_sparse=is_sparse
        )
        loss = sl.layers.mean(sl.layers.reduce_sum(sl.layers.exp(rows), 1))
        total = loss if total is None else total + loss
    return total


def trained(optimizer, is_sparse, uses=1, **options):
    """Tables after each step, and the gradient's variable."""
    main, startup, scope = sl.Program(), sl.Program(), sl.Scope()
    with sl.program_guard(main, startup), sl.unique_name.guard():
        loss = network(is_sparse, uses, **options)
        _, [(_, grad)] = optimizer().minimize(loss)
    exe = sl.Executor("cpu")
    exe.run(startup, scope=scope)
    tables = []
    for ids in IDS:
        exe.run(main, {"ids": ids}, [], scope)
        tables.append(scope.find_var("table").numpy().copy())
    return np.array(tables), grad


OPTIMIZERS = {
    "sgd": lambda **a: opt.SGD(0.1, **a),
    "momentum": lambda **a: opt.Momentum(0.1, 0.9, **a),
    "adagrad": lambda **a: opt.Adagrad(0.1, **a),
    "adam": lambda **a: opt.Adam(0.1, **a),
    "adamw": lambda **a: opt.AdamW(0.1, **a),
    "adamax": lambda **a: opt.Adamax(0.1, **a),
    "adadelta": lambda **a: opt.Adadelta(0.1, **a),
    "decayed_adagrad": lambda **a: opt.DecayedAdagrad(0.1, **a),
    "rmsprop": lambda **a: opt.RMSProp(0.1, **a),
    "ftrl": lambda **a: opt.Ftrl(0.1, **a),
    "lion": lambda **a: opt.Lion(0.1, **a),
    "lamb": lambda **a: opt.Lamb(0.1, **a),
    "lars": lambda **a: opt.LarsMomentum(0.1, **a),
    "merged": lambda **a: opt.GradientMerge(opt.SGD(0.1, **a), 2),
    "lookahead": lambda **a: opt.Lookahead(opt.SGD(0.1, **a), 0.5, 3),
}
CLIPS = {
    "value": lambda: sl.clip.GradientClipByValue(0.05),
    "norm": lambda: sl.clip.GradientClipByNorm(0.1),
    "global": lambda: sl.clip.GradientClipByGlobalNorm(0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("uses", [1, 2])
def test_a_sparse_gradient_trains_as_a_dense_one(name, uses):
    expected, dense = trained(OPTIMIZERS[name], False, uses)
    got, grad = trained(OPTIMIZERS[name], True, uses)
    assert dense.rows is None and grad.rows is not None
    assert np.ptp(expected, axis=0).max() > 1e-3
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_clipping_sees_the_merged_gradient(name, clip):
    optimizer = OPTIMIZERS[name]
    expected, _ = trained(lambda: optimizer(grad_clip=CLIPS[clip]()), False)
    got, _ = trained(lambda: optimizer(grad_clip=CLIPS[clip]()), True)
    free, _ = trained(optimizer, False)
    assert abs(free - expected).max() > 1e-3
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_decay_pulls_all_rows():
    decay = sl.regularizer.L2Decay(0.1)
    expected, _ = trained(lambda: opt.SGD(0.1), False, regularizer=decay)
    got, _ = trained(lambda: opt.SGD(0.1), True, regularizer=decay)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def lazy_adam(table, grads, rate=0.1):
    """torch.optim.SparseAdam: only rows with a gradient have a step."""
    m, v = np.zeros_like(table), np.zeros_like(table)
    for t, (rows, grad) in enumerate(grads, 1):
        m[rows] = 0.9 * m[rows] + 0.1 * grad
        v[rows] = 0.999 * v[rows] + 0.001 * grad * grad
        size = rate * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        bias = np.sqrt(1 - 0.999**t)
        table[rows] -= size * m[rows] / (np.sqrt(v[rows]) + 1e-8 * bias)
        yield table.copy()


def test_lazy_adam_steps_the_rows_of_the_batch():
    got, _ = trained(lambda: opt.Adam(0.1, lazy_mode=True), True)
    table = TABLE.astype("float64")

    def gradients():
        for ids in IDS:
            full = np.zeros_like(table)
            np.add.at(full, ids.ravel(), np.exp(table[ids.ravel()]) / 12)
            rows = np.unique(ids)
            yield rows, full[rows]

    expected = np.array(list(lazy_adam(table, gradients())))
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
    dense, _ = trained(lambda: opt.Adam(0.1), True)
    assert abs(got - dense).max() > 1e-3


@pytest.mark.parametrize(
    "optimizer",
    [lambda: opt.SGD(0.1), lambda: opt.Adam(0.1, lazy_mode=True)],
)
def test_a_checkpoint_keeps_rows_and_their_states(tmp_path, optimizer):
    optimizer().minimize(network(True))
    exe, whole, resumed = sl.Executor("cpu"), sl.Scope(), sl.Scope()
    exe.run(sl.default_startup_program(), scope=whole)

    def train(batches, scope):
        for ids in batches:
            exe.run(feed={"ids": ids}, fetch_list=[], scope=scope)

    train(IDS[:7], whole)
    sl.io.save_checkpoint(tmp_path, scope=whole, step=7)
    assert sl.io.load_checkpoint(tmp_path, scope=resumed).step == 7
    for scope in (whole, resumed):
        train(IDS[7:], scope)
    names = [v.name for v in sl.default_main_program().list_vars()
             if v.persistable]
    assert len(names) in (2, 6)
    for name in names:
        a, b = (scope.find_var(name).numpy() for scope in (whole, resumed))
        np.testing.assert_array_equal(a, b, name)


def test_padding_learns_nothing():
    ids = sl.data("ids", [None], "int64")
    rows = sl.layers.embedding(ids, [4, 2], padding_idx=-1, is_sparse=True)
    loss = sl.layers.reduce_sum(sl.layers.exp(rows))
    _, [(table, grad)] = opt.SGD(0.5).minimize(loss)
    exe = sl.Executor("cpu")
    exe.run(sl.default_startup_program())
    before, at = exe.run(feed={"ids": np.array([3, 1])},
                         fetch_list=[sparse.to_dense(grad, table), grad.rows])
    assert at.tolist() == [-1, 1]
    assert (before[[0, 2, 3]] == 0).all() and (before[1] > 0).all()


def test_merged_rows_are_ascending_and_sum_up():
    ids = sl.data("ids", [None], "int64")
    rows = sl.layers.embedding(ids, [9, 2], is_sparse=True)
    weights = sl.data("weights", [None, 2])
    _, grad = sl.append_backward(sl.layers.reduce_sum(rows * weights))[0]
    once = sparse.merged(grad)
    assert sparse.merged(once).rows is not None
    exe = sl.Executor("cpu")
    exe.run(sl.default_startup_program())
    feed = {
        "ids": np.array([8, 2, 8]),
        "weights": np.array([[1, 2], [3, 4], [10, 20]], "float32"),
    }
    values, at = exe.run(feed=feed, fetch_list=[once, once.rows])
    assert at.tolist() == [2, 8, -1]
    assert values.tolist() == [[3, 4], [11, 22], [0, 0]]


def test_a_batch_of_no_rows_changes_nothing():
    main, startup, scope = sl.Program(), sl.Program(), sl.Scope()
    with sl.program_guard(main, startup):
        opt.Adam(0.1, lazy_mode=True).minimize(network(True))
    exe = sl.Executor("cpu")
    exe.run(startup, scope=scope)
    exe.run(main, {"ids": np.zeros((0, 2), "int64")}, [], scope)
    np.testing.assert_array_equal(
        scope.find_var("table").numpy(), TABLE
    )


def test_a_loop_makes_the_gradient_dense():
    ids = sl.data("ids", [3, 2], "int64")
    attr = sl.ParamAttr("table", initializer=sl.initializer.Constant(1.0))

    def step(carried, elements):
        (total,), (now,) = carried, elements
        rows = sl.layers.embedding(
            now, [4, 2], param_attr=attr, is_sparse=True
        )
        total = total + sl.layers.reduce_sum(rows * rows)
        return [total], [total]

    zero = sl.layers.fill_constant([], "float32", 0.0)
    (total,), _ = sl.layers.scan(step, [zero], [ids])
    _, grad = sl.append_backward(total)[0]
    assert grad.rows is None
    exe = sl.Executor("cpu")
    exe.run(sl.default_startup_program())
    (found,) = exe.run(
        feed={"ids": np.array([[0, 1], [1, 1], [3, 0]])}, fetch_list=[grad]
    )
    assert found[:, 0].tolist() == [4, 6, 0, 2]


@pytest.mark.parametrize("row", [-1, HEIGHT, 2**40])
def test_rows_outside_are_named_and_nothing_is_stepped(row):
    scope = sl.Scope()
    opt.Adam(0.1, lazy_mode=True).minimize(network(True))
    exe = sl.Executor("cpu")
    exe.run(sl.default_startup_program(), scope=scope)
    feed = {"ids": np.array([[1, row]])}
    with pytest.raises(sl.OutOfRangeError) as error:
        exe.run(feed=feed, fetch_list=[], scope=scope)
    for words in (f"lookup_table: input Ids [1, 2] has {row}", "0 to 10"):
        assert words in str(error.value)
    assert "test_sparse.py" in str(error.value)
    np.testing.assert_array_equal(scope.find_var("table").numpy(), TABLE)


def test_what_is_no_gradient_is_returned_or_refused():
    x = sl.data("x", [4, 2])
    assert sparse.merged(x) is x and sparse.to_dense(x, x) is x
    with pytest.raises(sl.InvalidArgumentError, match="merged: grad"):
        sparse.merged([1])
