import functools
import gc
import os
import re
import time

import numpy as np
import pytest
from processes import interrupted, python, together, turns_beside

import sluice as sl


def scaled(shape=(None, 3), dtype="float32"):
    x = sl.data("x", shape, dtype)
    return x, sl.layers.scale(x, 2.0)


def misaligned(array):
    bytes_ = b"x" + array.tobytes()
    return np.frombuffer(bytes_, "f4", offset=1).reshape(array.shape)


def test_lists_and_numbers_become_the_variables_dtype(exe):
    _, y = scaled()
    (value,) = exe.run(feed={"x": [[1, 2, 3]]}, fetch_list=[y])
    assert value.dtype == np.float32
    np.testing.assert_array_equal(value, [[2, 4, 6]])


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a,
        lambda a: a[:, ::-1],
        lambda a: a[::2],
        lambda a: a[:0],
        np.asfortranarray,
        lambda a: a.astype(">f4"),
        misaligned,
        sl.Tensor,
        lambda a: memoryview(np.ascontiguousarray(a)),
    ],
)
def test_feeds_of_any_layout(exe, rng, change):
    _, y = scaled()
    fed = change(rng.random((4, 3), "f4"))
    before = np.array(fed)
    (value,) = exe.run(feed={"x": fed}, fetch_list=[y])
    np.testing.assert_array_equal(value, before.astype("f4") * 2)
    np.testing.assert_array_equal(np.array(fed), before)


def test_read_only_feeds(exe):
    _, y = scaled()
    array = np.ones((1, 3), "f4")
    array.flags.writeable = False
    (value,) = exe.run(feed={"x": array}, fetch_list=[y])
    np.testing.assert_array_equal(value, [[2, 2, 2]])


def test_read_only_feeds_of_bfloat16(exe):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    array.flags.writeable = False
    _, y = scaled((2,), "bfloat16")
    (value,) = exe.run(feed={"x": array}, fetch_list=[y])
    assert value.tolist() == [3, -4]


def test_wrong_feeds_are_named(exe):
    _, y = scaled()
    with pytest.raises(sl.InvalidArgumentError, match="float64") as error:
        exe.run(feed={"x": np.ones((1, 3))}, fetch_list=[y])
    assert error.value.check_id == "feed.dtype"
    assert "astype" in str(error.value)
    with pytest.raises(sl.InvalidArgumentError, match=r"\[1, 4\]"):
        exe.run(feed={"x": np.ones((1, 4), "f4")}, fetch_list=[y])
    with pytest.raises(sl.SluiceError, match="z"):
        exe.run(feed={"z": np.ones((1, 4), "f4")}, fetch_list=[y])
    with pytest.raises(sl.SluiceError, match="feed"):
        exe.run(feed={}, fetch_list=[y])
    with pytest.raises(sl.InvalidArgumentError, match="feed x"):
        exe.run(feed={"x": ["no", "number"]}, fetch_list=[y])
    with pytest.raises(sl.InvalidArgumentError, match="uint32"):
        exe.run(feed={"x": np.ones((1, 3), "u4")}, fetch_list=[y])
    with pytest.raises(sl.InvalidArgumentError, match="dict"):
        exe.run(feed=[1], fetch_list=[y])
    (value,) = exe.run(feed={"x": [[1, 1, 1]]}, fetch_list=[y])
    assert value.sum() == 6


def test_wrong_fetches_are_named(exe):
    x, y = scaled()
    with pytest.raises(sl.NotFoundError, match=f"did you mean {y.name}"):
        exe.run(feed={"x": [[1, 1, 1]]}, fetch_list=[y.name + "s"])
    with pytest.raises(sl.InvalidArgumentError, match="fetch_list"):
        exe.run(feed={"x": [[1, 1, 1]]}, fetch_list=y)
    assert exe.run(feed={"x": [[1, 1, 1]]}, fetch_list=[x])[0].sum() == 3


def test_a_fetched_array_never_changes_and_outlives_everything(rng):
    with sl.program_guard(sl.Program()):
        x, y = scaled()
        executor = sl.Executor()
        first = rng.random((2, 3), "f4")
        kept = executor.run(feed={"x": first}, fetch_list=[y, x])
        for _ in range(50):
            executor.run(feed={"x": rng.random((2, 3), "f4")}, fetch_list=[y])
    del executor, x, y
    gc.collect()
    np.testing.assert_array_equal(kept[0], first * 2)
    np.testing.assert_array_equal(kept[1], first)
    assert not np.shares_memory(kept[1], first)


def test_a_fed_array_is_never_written(exe, rng):
    """It is not written through a view, a fetched alias, or a training step."""
    x = sl.data("x", [None, 1, 12, 12])
    label = sl.data("label", [None, 1], "int64")
    flat = sl.layers.reshape(x, [-1, 144])
    y = sl.layers.relu(flat)
    image = sl.layers.conv2d(x, 4, 3, act="relu")
    h = sl.layers.batch_norm(sl.layers.pool2d(image, 2))
    logits = sl.layers.fc(sl.layers.dropout(h, 0.5), 10)
    loss = sl.layers.mean(sl.layers.softmax_with_cross_entropy(logits, label))
    sl.optimizer.Momentum(0.1, 0.9).minimize(loss)
    exe.run(sl.default_startup_program())
    fed = {
        "x": rng.random((6, 1, 12, 12), "f4") - 0.5,
        "label": rng.integers(0, 10, (6, 1)),
    }
    before = {name: array.copy() for name, array in fed.items()}
    for _ in range(5):
        got = exe.run(feed=fed, fetch_list=[flat, y, loss, x, label])
        for array in got:
            assert not any(np.shares_memory(array, f) for f in fed.values())
            array[...] = 7
    for name, array in fed.items():
        np.testing.assert_array_equal(array, before[name])


def test_what_was_fetched_may_be_fed(exe):
    _, y = scaled()
    results = [np.ones((2, 3), "f4")]
    for _ in range(5):
        results += exe.run(feed={"x": results[-1]}, fetch_list=[y])
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result, np.full((2, 3), 2.0**i))


def test_results_may_be_tensors(exe):
    _, y = scaled()
    (value,) = exe.run(
        feed={"x": [[1, 1, 1]]}, fetch_list=[y], return_numpy=False
    )
    assert isinstance(value, sl.Tensor)


def test_plans_are_kept_by_shape(exe):
    _, y = scaled()
    for rows in (1, 2, 1, 2):
        exe.run(feed={"x": np.ones((rows, 3), "f4")}, fetch_list=[y])
    assert exe.cached_plans == 2


def test_many_threads_share_a_plan(exe, rng):
    _, y = scaled()
    arrays = [rng.random((5, 3), "f4") for _ in range(8)]
    failures = []

    def work(array):
        for _ in range(200):
            (value,) = exe.run(feed={"x": array}, fetch_list=[y])
            if not np.array_equal(value, array * 2):
                failures.append(value)

    together([functools.partial(work, array) for array in arrays])
    assert not failures


def slow_program():
    x = sl.data("x", [200, 200])
    y = x
    for _ in range(3000):
        y = sl.layers.manhattan_distance(y, x)
    return y, {"x": np.zeros((200, 200), "f4")}


def test_ctrl_c_stops_a_run_and_the_next_one_works(exe):
    y, feed = slow_program()
    exe.prepare(feed=feed, fetch_list=[y])
    with interrupted(0.1):
        exe.run(feed=feed, fetch_list=[y])
    with sl.program_guard(sl.Program()):
        _, z = scaled()
        assert exe.run(feed={"x": [[1, 1, 1]]}, fetch_list=[z])[0].sum() == 6


def test_ctrl_c_does_not_wait_for_the_end_of_a_kernel(exe):
    x = sl.data("x", [2500, 2500])
    y = sl.layers.manhattan_distance(x, x)
    feed = {"x": np.zeros((2500, 2500), "f4")}
    with sl.kernel_hints("require variant=plain"):
        exe.prepare(feed=feed, fetch_list=[y])
        start = time.monotonic()
        with interrupted(0.1):
            exe.run(feed=feed, fetch_list=[y])
    assert time.monotonic() - start < 3  # the whole kernel takes some 10


# A kernel runs a program itself.
NESTED = """
import os, signal, threading
import numpy as np
import sluice as sl

program = sl.Program()
with sl.program_guard(program):
    inner = sl.layers.scale(sl.data("x", [None, 3]), 2.0)

@sl.kernel("relu", variant="py_nested")
def relu(x):
    return sl.Executor().run(program, {"x": np.array(x)}, [inner])[0]

y = sl.layers.relu(sl.data("x", [None, 3]))
slow = sl.Program()
with sl.program_guard(slow):
    x = z = sl.data("x", [200, 200])
    for _ in range(3000):
        z = sl.layers.manhattan_distance(z, x)
exe = sl.Executor()
with sl.kernel_hints("relu: require variant=py_nested"):
    exe.run(feed={"x": np.ones((1, 3), "f4")}, fetch_list=[y])
for program, feed, fetch in [
    (slow, {"x": np.zeros((200, 200), "f4")}, z),
    (None, None, None),
]:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        if program is None:
            threading.Event().wait(30)
        else:
            exe.run(program, feed, [fetch])
    except KeyboardInterrupt:
        print("interrupted")
    timer.join()
"""


def test_ctrl_c_works_after_a_kernel_ran_a_program():
    done = python("-c", NESTED, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "interrupted\ninterrupted\n"


def test_ctrl_c_ends_the_runs_that_are_in_one_another():
    y, feed = slow_program()
    slow = sl.default_main_program()

    @sl.kernel("relu", variant="py_slow_inside")
    def relu(x):
        sl.Executor().run(slow, feed, [y])
        return x

    with sl.program_guard(sl.Program()):
        z = sl.layers.relu(sl.data("x", [None, 3]))
        exe = sl.Executor()
        one = {"x": np.ones((1, 3), "f4")}
        hint = "relu: require variant=py_slow_inside"
        with sl.kernel_hints(hint), interrupted(0.3):
            exe.run(feed=one, fetch_list=[z])
        (result,) = exe.run(feed=one, fetch_list=[z])
        np.testing.assert_array_equal(result, one["x"])


def test_other_threads_go_on_while_a_program_runs(exe):
    y, feed = slow_program()
    exe.prepare(feed=feed, fetch_list=[y])
    program = sl.default_main_program()
    assert turns_beside(lambda: exe.run(program, feed, [y])) > 5


def test_scopes():
    scope = sl.Scope()
    scope["w"] = np.arange(3.0)
    assert "w" in scope
    copy = scope["w"].numpy()
    scope.set("w", [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(copy, np.arange(3.0))
    np.testing.assert_array_equal(scope.find_var("w"), np.ones(3))
    assert scope.find_var("v") is None
    with pytest.raises(KeyError, match="fetch"):
        scope["v"]
    assert scope.new_scope().find_var("w") is not None
    assert scope.names() == ["w"]


def test_debug_runs(exe):
    _, y = scaled()
    # With the addition first it is no step of a chain, so both values exist.
    z = sl.layers.scale(y, 3.0, bias_after_scale=False)
    values = exe.run_keeping_all(feed={"x": [[1, 1, 1]]}, fetch_list=[z])
    assert list(values) == [y.name, z.name]
    (value,) = exe.run_checked(feed={"x": [[1, 1, 1]]}, fetch_list=[z])
    assert value.sum() == 18
    profile = exe.profile(feed={"x": [[1, 1, 1]]}, fetch_list=[z])
    assert "scale" in str(profile) and "scale" in profile.top(1)
    assert all(len(line) <= 80 for line in str(profile).splitlines())
    assert profile.seconds > 0
    assert "traceEvents" in profile.chrome_trace


def test_profile_is_no_matter_of_slow_first_runs(exe):
    calls = []

    @sl.kernel("relu", variant="slow_at_first", dtypes=["float32"])
    def relu(x):
        calls.append(1)
        if len(calls) <= 3:
            time.sleep(0.05)
        return np.maximum(x, 0)

    y = sl.layers.relu(sl.data("x", [4]))
    with sl.kernel_hints("relu: require variant=slow_at_first"):
        profile = exe.profile(feed={"x": np.ones(4, "f4")}, fetch_list=[y])
    assert len(calls) > 20
    assert profile.op_seconds[0] < 0.02
    assert profile.seconds < 0.02
    assert profile.run.low <= profile.seconds <= profile.run.high


def test_profile_trains_one_step(exe):
    loss = sl.layers.mean(sl.layers.fc(sl.data("x", [4, 3]), 2))
    sl.optimizer.SGD(0.1).minimize(loss)
    scopes = [sl.Scope(), sl.Scope()]
    sl.default_startup_program().random_seed = 1
    feed = {"x": np.ones((4, 3), "f4")}
    for scope in scopes:
        exe.run(sl.default_startup_program(), scope=scope)
    exe.run(feed=feed, fetch_list=[loss], scope=scopes[0])
    exe.profile(feed=feed, fetch_list=[loss], scope=scopes[1])
    for var in sl.default_main_program()._blocks()[0]["vars"]:
        if var["persistable"]:
            one, other = (np.asarray(s[var["name"]]) for s in scopes)
            np.testing.assert_array_equal(one, other)


def test_an_executor_at_no_device():
    with pytest.raises(sl.SluiceError, match="cuda:77"):
        sl.Executor(sl.CUDAPlace(77))


def test_the_fpga_falls_back_and_explains():
    _, y = scaled()
    z = sl.layers.square(y)
    executor = sl.Executor(sl.FPGAPlace(0))
    (value,) = executor.run(feed={"x": [[1, 1, 1]]}, fetch_list=[z])
    assert value.sum() == 12
    text = executor.explain()
    assert re.search(r"0 +scale +stream", text)
    assert re.search(r"1 +square +\S+ +cpu .*no kernel at fpga:0", text)


CHANGING_FEED = """
import gc
import numpy as np
import sluice as sl

class Array:
    dtype, shape = np.dtype("float32"), (2,)

    def __array__(self, *arguments, **keywords):
        feed.clear()
        gc.collect()
        return np.ones(2, "f4")

class Key:
    @property
    def name(self):
        feed.clear()
        return "x"

y = sl.layers.scale(sl.data("x", [2]), 2.0)
exe = sl.Executor()
for feed in ({"x": Array()}, {Key(): np.ones(2, "f4")}):
    print(exe.run(feed=feed, fetch_list=[y])[0], feed)
feed = {"x": Array(), "y": Array()}
try:
    exe.run(feed=feed, fetch_list=[y])
except sl.NotFoundError as error:
    print("y" in str(error))
"""


def test_a_feed_dict_that_changes_while_it_is_read():
    # Freed memory has no objects any more.
    done = python("-c", CHANGING_FEED, env={**os.environ, "PYTHONMALLOC": "debug"})
    assert done.stdout == "[2. 2.] {}\n[2. 2.] {}\nTrue\n", done.stderr
    assert done.returncode == 0


CHANGING_SCOPE = """
import threading, time
import numpy as np
import sluice as sl

loss = sl.layers.mean(sl.layers.fc(sl.data("x", [None, 64]), 64))
sl.optimizer.Momentum(0.01).minimize(loss)
program, startup = sl.default_main_program(), sl.default_startup_program()
scope, feed = sl.global_scope(), {"x": np.ones((2, 64), "f4")}
end = time.monotonic() + 1
done = dict.fromkeys(["trained", "refused", "erased", "looked"], 0)

def train():
    exe = sl.Executor()
    try:
        exe.run(startup, scope=scope)
        exe.run(program, feed, [loss], scope)
        done["trained"] += 1
    except sl.FailedPreconditionError as error:
        done["refused"] += 1

def erase():
    done["erased"] += sum(scope.erase(name) for name in scope.names())
    time.sleep(0.002)

def look():
    done["looked"] += sum(scope.find_var(name) is not None for name in scope.names())
    "fc_0.w_0" in scope

def again(call):
    while time.monotonic() < end:
        call()

threads = [threading.Thread(target=again, args=(f,)) for f in (train, train, erase, look)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(all(done[what] for what in ("trained", "erased", "looked")), done)
"""


def test_variables_may_be_erased_while_threads_train():
    # Freed memory has other values immediately.
    done = python(
        "-X", "faulthandler", "-c", CHANGING_SCOPE,
        env={**os.environ, "MALLOC_PERTURB_": "170"}, timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("True"), done.stdout


def test_devices_are_counted_before_one_is_used():
    code = """
import sluice as sl
before = sl.device_count("cuda"), sl.device_count("fpga")
for place in ("cuda:0", "fpga:0"):
    try:
        sl.Executor(place)
    except sl.SluiceError:
        pass
print(before == (sl.device_count("cuda"), sl.device_count("fpga")), *before)
"""
    done = python("-c", code, check=True)
    assert done.stdout.startswith("True ")


def test_explain_says_where_a_device_is_emulated():
    if not sl.device_count("cuda"):
        pytest.skip("there is no CUDA device")
    emulated = sl.show_config("dicts")["cuda"] == "EMULATE"
    x, y = scaled()
    exe = sl.Executor("cuda:0")
    exe.run(feed={"x": [[1, 2, 3]]}, fetch_list=[y])
    text = exe.explain()
    assert ("program, cuda:0 (emulated), " in text) == emulated
    whole = exe.explain(all=True)
    assert whole.startswith("program, cuda:0 (emulated)") == emulated
    exe = sl.Executor()
    exe.run(feed={"x": [[1, 2, 3]]}, fetch_list=[y])
    assert "(emulated)" not in exe.explain()
    # Also where a hint chooses it.
    with sl.kernel_hints("prefer place=cuda:0"):
        exe.run(feed={"x": [[1, 2, 3]]}, fetch_list=[y])
        assert ("cpu, cuda:0 (emulated), " in exe.explain()) == emulated
        said = exe.profile(feed={"x": [[1, 2, 3]]}, fetch_list=[y])
    assert ("cpu, cuda:0 (emulated), " in str(said)) == emulated
    assert ("predictions of a GPU are" in " ".join(str(said).split())) == emulated
    program = sl.default_main_program()
    said = sl.compare(program, {"x": [[1, 2, 3]]}, "", "prefer place=cuda:0", budget=0.01)
    assert ("B at cpu, cuda:0 (emulated); times there are" in str(said)) == emulated


def test_branches_may_run_on_several_queues():
    if not sl.device_count("cuda"):
        pytest.skip("there is no CUDA device")
    x, y = scaled()
    left, right = sl.layers.scale(y, 3.0), sl.layers.scale(y, 5.0)
    both = sl.layers.elementwise_add(left, right)
    results, texts = [], []
    for queues in (1, 2):
        exe = sl.Executor("cuda:0", queues=queues)
        results += exe.run(feed={"x": [[1, 2, 3]]}, fetch_list=[both])
        texts.append(exe.explain(all=True))
    np.testing.assert_array_equal(*results)
    assert "run on 2 queues" in texts[1]
    assert "queues" not in texts[0]


@pytest.mark.parametrize("queues", [0, 17])
def test_queues_have_a_limit(queues):
    with pytest.raises(sl.InvalidArgumentError, match="expected 1 to 16"):
        sl.Executor(queues=queues)


def test_a_scope_takes_a_copy_or_the_memory():
    scope, array = sl.Scope(), np.zeros(64, np.float32)
    scope.set("copied", array)
    scope.set("shared", array, copy=False)
    array[3] = 7
    assert scope["copied"].numpy()[3] == 0
    assert scope["shared"].numpy()[3] == 7
    scope.set("empty", np.zeros((0, 3), np.float32), copy=False)
    assert scope["empty"].shape == (0, 3)


def test_a_name_that_no_program_has_is_said(exe):
    sl.layers.fc(sl.data("in", [None, 3]), 2, name="only_here")
    with pytest.warns(UserWarning, match=r"'only_here.w0'.* only_here.w_0"):
        sl.global_scope()["only_here.w0"] = np.zeros((3, 2), "f4")
