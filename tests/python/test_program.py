import io
import pickle
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import sluice as sl


def small():
    x = sl.data("x", [None, 4])
    y = sl.layers.scale(x, 2.0, name="twice")
    return x, sl.layers.reduce_sum(y, name="total")


def test_it_reads_like_code():
    small()
    lines = str(sl.default_main_program()).splitlines()
    assert lines[0] == "  fed: x [?, 4]"
    assert "  twice = scale(X=x, scale=2)  -> [?, 4]" in lines


def test_variables_know_their_shapes():
    x, total = small()
    assert x.shape == (None, 4)
    assert x.ndim == 2
    assert x.dtype == sl.float32
    assert x.stop_gradient
    assert repr(x).startswith("<Variable x: float32 [?, 4], fed, made at test_program.py:")
    assert "fed" in x._repr_html_()
    assert sl.default_main_program().var("total").name == total.name
    with pytest.raises(sl.NotFoundError, match="did you mean total"):
        sl.default_main_program().var("totl")
    with pytest.raises(TypeError, match="no value"):
        bool(x)


def test_ops_know_what_made_them():
    small()
    op = sl.default_main_program().ops[0]
    assert op.type == "scale"
    assert op.inputs == {"X": ["x"]}
    assert op.attrs["scale"] == 2.0
    assert op.line[0] == __file__


def test_errors_come_at_the_users_own_line():
    x, _ = small()
    with pytest.raises(sl.SluiceError, match="test_program.py:") as error:
        sl.layers.crop(x, shape=[1], offsets=[0])
    assert isinstance(error.value, ValueError)
    count = len(sl.default_main_program().ops)
    with pytest.raises(sl.SluiceError, match="bogus"):
        sl.default_main_program().append_op("bogus", {"X": x})
    with pytest.raises(sl.InvalidArgumentError, match="expected a variable"):
        sl.layers.scale(3)
    with pytest.raises(sl.InvalidArgumentError, match="attribute scale"):
        sl.layers.scale(x, [[1]])
    assert len(sl.default_main_program().ops) == count


def test_variables_of_two_programs_do_not_mix():
    x, _ = small()
    with sl.program_guard(sl.Program()):
        y = sl.data("y", [None, 4])
        with pytest.raises(sl.InvalidArgumentError, match="another program"):
            sl.layers.elementwise_add(y, x)


def test_a_name_is_taken_once():
    small()
    with pytest.raises(sl.InvalidArgumentError, match="x"):
        sl.data("x", [1])
    with pytest.raises(sl.InvalidArgumentError, match="shape"):
        sl.data("z", ["many"])


def test_it_survives_bytes_pickle_and_files(exe, tmp_path):
    small()
    program = sl.default_main_program()
    path = tmp_path / "p.sluice"
    sl.io.save_program(program, path)
    for copy in (
        sl.Program.parse(program.serialize()),
        pickle.loads(pickle.dumps(program)),
        sl.io.load_program(path),
        program.clone(),
    ):
        assert str(copy) == str(program)
        feed = {"x": [[1, 2, 3, 4]]}
        assert exe.run(copy, feed, ["total"])[0] == 20
    with pytest.raises(sl.DataLossError):
        sl.Program.parse(program.serialize()[:-3], "half")
    with pytest.raises(sl.NotFoundError):
        sl.io.load_program(tmp_path / "none")


def test_it_explains_without_running():
    small()
    text = sl.default_main_program().explain()
    assert "reduce_sum" in text
    assert "only kernel" in text or "fastest" in text or "tie" in text
    assert "fpga" in sl.default_main_program().explain(place="fpga:0")


def test_explain_wants_a_run_first(exe):
    small()
    with pytest.raises(sl.FailedPreconditionError, match="hint: exe.run"):
        exe.explain()


def test_it_draws_svg(tmp_path):
    small()
    program = sl.default_main_program()
    program.draw(tmp_path / "net.svg")
    root = ElementTree.parse(tmp_path / "net.svg").getroot()
    texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "2 ops"
    names = ["x", "scale", "reduce_sum"]
    assert [t for t in texts if t in names] == names
    assert "<svg" in program._repr_html_()
    ElementTree.fromstring(sl.Program().draw())


def test_name_scopes():
    x = sl.data("x", [None, 2])
    with sl.name_scope("tower"):
        sl.layers.fc(x, 3, param_attr=sl.initializer.Constant(1.0))
    names = [v.name for v in sl.default_main_program().all_parameters()]
    assert len(names) == 2 and all(name.startswith("tower/fc_") for name in names)


def test_integers_are_compared_exactly(exe):
    x = sl.data("x", [2], "int64")
    feed = {"x": [2**53, 2**53 + 1]}
    (same,) = exe.run(feed=feed, fetch_list=[x == 2**53 + 1])
    np.testing.assert_array_equal(same, [False, True])
    with pytest.raises(sl.InvalidArgumentError, match="int8 holds"):
        sl.data("small", [2], "int8") == 300  # noqa: B015


@pytest.mark.parametrize("number", [2**53 + 1, -(2**62) - 1, np.int64(2**63 - 1)])
def test_integers_that_no_float_is_are_added_exactly(exe, number):
    x, feed = sl.data("x", [2], "int64"), np.array([1, 3])
    fetches = [x + number, number + x, x - number, number - x, x * number]
    results = exe.run(feed={"x": feed}, fetch_list=fetches)
    with np.errstate(over="ignore"):
        n = np.int64(number)
        wanted = [feed + n, n + feed, feed - n, n - feed, feed * n]
    np.testing.assert_array_equal(results, wanted)
    if number > 0:
        for refused in (
            lambda: sl.layers.clip(x, 0, int(number)),
            lambda: sl.layers.fill_constant([1], "int64", int(number)),
            lambda: sl.layers.pad(x, [1, 0], value=int(number)),
        ):
            with pytest.raises(sl.InvalidArgumentError, match="no float is exactly"):
                refused()


def test_large_integers_beside_floats_are_rounded(exe):
    x, small = sl.data("x", [1]), sl.data("small", [1], "int32")
    (y,) = exe.run(feed={"x": [1.0]}, fetch_list=[x * (2**60 + 1)])
    assert y == np.float32(2**60)
    with pytest.raises(sl.InvalidArgumentError, match="int32 holds"):
        small + (2**53 + 1)


def test_variables_are_keys_and_are_no_truth_values(exe):
    x, y = sl.data("x", [1]), sl.data("y", [1])
    count = len(sl.default_main_program().ops)
    values = {x: [1.0], y: [2.0]}
    assert list(values) and values[y] == [2.0] and {x, y, x} == {y, x}
    assert x in [x, y] and [y, x].index(y) == 0 and y in {x, y}
    (total,) = exe.run(feed=values, fetch_list=[x + y])
    assert total == 3
    assert (x == None) is False and x != "x"  # noqa: E711
    assert len(sl.default_main_program().ops) == count + 1
    for misuse in (lambda: x == y and x, lambda: y in [x], lambda: x or y):
        with pytest.raises(TypeError, match="`is` compares variables"):
            misuse()


def test_numbers_of_numpy_are_numbers(exe):
    x = sl.data("x", [2])
    fetches = [np.float32(2) * x, np.float64(1) - x, np.int64(4) / x]
    results = exe.run(feed={"x": [1, 2]}, fetch_list=fetches)
    np.testing.assert_array_equal(results, [[2, 4], [0, -1], [4, 2]])
    with pytest.raises(TypeError):
        np.ones(2) + x


def of_program(value):
    """A program that adds ``value`` to x: its variables are named as others'."""
    with sl.program_guard(sl.Program(), sl.Program()):
        x = sl.data("x", [None, 2])
        return x + value, x


def test_variables_of_other_programs_are_refused():
    (first, x), (second, _), (third, _) = map(of_program, (1.0, 2.0, 3.0))
    assert first.name == second.name == third.name
    exe, feed = sl.Executor(), {"x": np.zeros((1, 2), "f4")}
    with pytest.raises(sl.errors.InvalidArgumentError) as caught:
        exe.run(first.program, feed, [first, second, third])
    text = str(caught.value)
    assert caught.value.check_id == "python.other_program"
    assert text.count(second.name) >= 3 and "test_program.py:" in text
    for refused in (
        lambda: exe.run(second.program, {x: feed["x"]}, [second]),
        lambda: exe.prepare(second.program, feed, [first]),
        lambda: exe.run_checked(second.program, feed, [first]),
        lambda: second.program.prune([first]),
        lambda: sl.onnx.save(second.program, io.BytesIO(), [first]),
        lambda: sl.onnx.save(second.program, io.BytesIO(), [second], [x]),
    ):
        with pytest.raises(sl.errors.InvalidArgumentError, match="another"):
            refused()
    (by_name,) = exe.run(second.program, feed, [first.name])
    assert by_name.tolist() == [[2, 2]]


def test_a_copy_has_the_variables_that_were_there_when_it_was_made():
    first, x = of_program(1.0)
    exe, feed = sl.Executor(), {"x": np.zeros((1, 2), "f4")}
    test = first.program.clone(for_test=True)
    twice = test.clone().prune([first])
    for program in (test, twice):
        assert exe.run(program, {x: feed["x"]}, [first])[0].tolist() == [[1, 1]]
    assert exe.run(first.program, feed, [twice.var(first.name)])
    with sl.program_guard(first.program):
        later = x * 2.0
    with sl.program_guard(test):
        other = test.var("x") * 3.0
    assert later.name == other.name
    for program, variable in ((test, later), (first.program, other)):
        with pytest.raises(sl.errors.InvalidArgumentError, match="another"):
            exe.run(program, feed, [variable])


def test_a_second_input_of_a_name_is_told_of_the_first():
    sl.data("x", [None, 3])
    with pytest.raises(sl.InvalidArgumentError, match="a variable x already, made at ") as raised:
        sl.data("x", [None, 3])
    text = str(raised.value)
    first, second = re.findall(r"test_program\.py:(\d+)", text)
    assert int(second) == int(first) + 2
    assert "take another name, or begin a new program" in text
