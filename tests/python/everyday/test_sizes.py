"""Plans for other sizes of the feeds, made from those for near ones."""

import numpy as np
import pytest

import sluice as sl

NOTE = "the kernels are those that were chosen for "
SIZES = (1, 2, 3, 5, 7, 33, 40, 63, 34, 6, 64, 0)


def numbers(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


def scope_of(other):
    scope = sl.Scope()
    for name in other.names():
        scope[name] = np.array(other[name])
    return scope


def check(feed_of, fetches, sizes=SIZES, program=None):
    """Run each size in one executor, and beside it in a new one from the same
    parameters; return the sizes whose plans were made from others."""
    program = program or sl.default_main_program()
    exe = sl.Executor()
    exe.run(sl.default_startup_program())
    made = []
    for size in sizes:
        scope = scope_of(sl.global_scope())
        feed = feed_of(size)
        alone = sl.Executor().run(program, feed, fetches, scope=scope)
        together = exe.run(program, feed, fetches)
        for a, b in zip(together, alone, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(a, b, 1e-4, 1e-5, err_msg=f"size {size}")
        for name in scope.names():
            a, b = np.array(sl.global_scope()[name]), np.array(scope[name])
            np.testing.assert_allclose(a, b, 1e-4, 1e-5, err_msg=f"{name}, size {size}")
        if NOTE in str(exe.explain(program, all=True)):
            made.append(size)
    return made


def test_a_network_of_changing_batches():
    x = sl.data("x", [None, 1, 8, 8])
    h = sl.layers.pool2d(sl.layers.conv2d(x, 6, 3, act="relu"), 2)
    y = sl.layers.softmax(sl.layers.fc(h, 10, act="tanh"))
    assert check(lambda n: {"x": numbers(n, 1, 8, 8)}, [y], SIZES[:-1]) == [3, 5, 7, 33, 40, 63, 34, 6]


def test_training_with_changing_lengths():
    x = sl.data("x", [None, None, 12])
    target = sl.data("target", [None, None, 4])
    h = sl.layers.layer_norm(sl.layers.fc(x, 16, num_flatten_dims=2, act="relu"), begin_norm_axis=2)
    y = sl.layers.fc(h, 4, num_flatten_dims=2)
    loss = sl.layers.mean(sl.layers.square_error_cost(y, target))
    sl.optimizer.Adam(0.01).minimize(loss)

    def feed(n):
        return {"x": numbers(2, n, 12), "target": numbers(2, n, 4)}

    assert len(check(feed, [loss], SIZES[:-1])) == 8


def test_shapes_that_follow_from_sizes():
    x = sl.data("x", [None, None, 8])
    shape = sl.layers.shape(x)
    rows = sl.layers.slice(shape, axes=[0], starts=[0], ends=[1])
    steps = sl.layers.slice(shape, axes=[0], starts=[1], ends=[2])
    parts = [sl.layers.fill_constant([1], "int64", size) for size in (2, 4)]
    heads = sl.layers.concat([rows, steps, *parts])
    h = sl.layers.reshape(sl.layers.relu(x), shape_var=heads)
    y = sl.layers.transpose(h, [0, 2, 1, 3])
    z = sl.layers.expand_as(sl.layers.reduce_mean(y, [2], keep_dim=True), y) + y
    check(lambda n: {"x": numbers(3, n, 8)}, [z], SIZES[:-1])


def test_sizes_that_passes_relied_on():
    """Slices that cover a tensor of 8 rows, but not one of 9."""
    x = sl.data("x", [None, 4])
    x.stop_gradient = False
    halves = [sl.layers.slice(x, axes=[0], starts=[a], ends=[b]) for a, b in ((0, 4), (4, 8))]
    loss = sl.layers.reduce_sum(sl.layers.square(halves[0]) + halves[1] * 3)
    ((_, grad),) = sl.append_backward(loss, parameter_list=[x])
    check(lambda n: {"x": numbers(n, 4)}, [loss, grad], (8, 9, 12, 8, 15))


def test_sizes_that_came_before_change_no_bit():
    """What is chosen for a size does not depend on the sizes before it."""
    x = sl.data("x", [None, 64])
    h = sl.layers.fc(sl.layers.fc(x, 300, act="gelu"), 64)
    y = sl.layers.softmax(sl.layers.layer_norm(h))
    sl.Executor().run(sl.default_startup_program())

    def run(sizes):
        exe = sl.Executor()
        return {n: exe.run(feed={"x": numbers(n, 64)}, fetch_list=[y])[0].tobytes() for n in sizes}

    sizes = (5, 127, 65, 100, 7, 64)
    assert run(sizes) == run(sizes[::-1]) == {n: run([n])[n] for n in sizes}


def test_sizes_that_differ_by_one():
    """A cache of n rows and a mask of n + 1."""
    cache = sl.data("cache", [None, 8])
    new = sl.data("new", [1, 8])
    mask = sl.data("mask", [None, 1])
    y = sl.layers.concat([cache, new], axis=0) * mask

    def feed(n):
        return {"cache": numbers(n, 8), "new": numbers(1, 8), "mask": numbers(n + 1, 1)}

    assert check(feed, [y], (33, 40, 62, 63, 64, 5)) == [33, 40, 62, 5]


def test_a_size_that_is_open_but_fixed():
    """A height that must be 12, though the program leaves it open."""
    x = sl.data("x", [None, None, 8])
    y = sl.layers.relu(x + sl.layers.fill_constant([12, 8], "float32", 0.5))

    assert check(lambda n: {"x": numbers(n, 12, 8)}, [y], (33, 40, 63, 64, 5)) == [33, 40, 63, 5]


def test_errors_name_the_line_of_the_op():
    x = sl.data("x", [None, 4])
    y = sl.layers.reshape(x, [-1, 8])
    exe = sl.Executor()
    for size in (4, 6):
        exe.run(feed={"x": numbers(size, 4)}, fetch_list=[y])
    with pytest.raises(sl.InvalidArgumentError, match="test_sizes.py"):
        exe.run(feed={"x": numbers(5, 4)}, fetch_list=[y])


def test_hints_and_kernels_that_are_new_decide_again():
    x = sl.data("x", [None, 64])
    y = sl.layers.softmax(sl.layers.fc(x, 64))
    exe = sl.Executor()
    exe.run(sl.default_startup_program())

    def explained(size):
        exe.run(feed={"x": numbers(size, 64)}, fetch_list=[y])
        return str(exe.explain(all=True))

    assert NOTE not in explained(32)
    assert NOTE in explained(33)
    with sl.kernel_hints("softmax: require variant=plain"):
        assert NOTE not in explained(34)
        assert "hint requires variant=plain" in explained(35)
    assert NOTE in explained(36)


def test_plans_share_memory_up_to_a_limit():
    x = sl.data("x", [None, 64])
    y = sl.layers.softmax(sl.layers.fc(sl.layers.fc(x, 64), 64))
    exe = sl.Executor(plan_memory=200_000)
    exe.run(sl.default_startup_program())
    for size in (100, 300, 100):
        exe.run(feed={"x": numbers(size, 64)}, fetch_list=[y])
    assert " that plans share" in str(exe.explain())
    with pytest.raises(sl.ResourceExhaustedError, match="plan_memory"):
        exe.run(feed={"x": numbers(1000, 64)}, fetch_list=[y])
    with pytest.raises(sl.InvalidArgumentError, match="plan_memory"):
        sl.Executor(plan_memory=0)
