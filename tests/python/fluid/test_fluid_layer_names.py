"""All layers of Fluid 1.8.3: each is there, as it was called, or has a reason.

``layers_of_fluid.txt`` has them, ``wrong_declarations.txt`` errors of a stub.
"""

import inspect
import pathlib

import numpy as np
import pytest
from refusals import refused

import sluice as sl
import sluice.fluid as fluid
from sluice.fluid.layers import LEFT_OUT
from sluice.fluid.translate import ROWS, Translation
from sluice.fluid.translate.declaration import COMPOSITES, Attribute, FluidOp, read

FOLDER = pathlib.Path(__file__).parent
TEXT = (FOLDER / "layers_of_fluid.txt").read_text()
WRONG = (FOLDER / "wrong_declarations.txt").read_text().splitlines()
SIGNATURES = dict(line.split("(", 1) for line in TEXT.splitlines())

# Further arguments of ours, which Fluid's scripts do not give.
MORE = {"create_array": ["capacity"]}


def test_there_are_all_names_and_no_others():
    assert len(SIGNATURES) == 355
    assert not LEFT_OUT.keys() - SIGNATURES.keys()
    assert not LEFT_OUT.keys() & set(fluid.layers.__all__)
    assert not set(fluid.layers.__all__) - SIGNATURES.keys()


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_a_layer_is_there_or_has_a_reason(name):
    if name in LEFT_OUT:
        with pytest.raises(
            sl.errors.UnimplementedError, match=rf"fluid\.layers\.{name}: "
        ):
            getattr(fluid.layers, name)(1)
        return
    layer = getattr(fluid.layers, name)
    assert callable(layer)
    assert name in fluid.layers.__all__
    assert layer.__doc__
    wanted = inspect.signature(eval(f"lambda {SIGNATURES[name][:-1]}: 0"))
    assert [
        (each.name, each.default)
        for each in inspect.signature(layer).parameters.values()
        if each.name not in MORE.get(name, [])
    ] == [(each.name, each.default) for each in wanted.parameters.values()]


@pytest.mark.parametrize("case", WRONG)
def test_a_declaration_that_is_wrong_is_an_error_of_its_line(case, tmp_path):
    text, answer = case.replace(" def ", "\ndef ").split(" -> ")
    stub = tmp_path / "layers.pyi"
    stub.write_text(f"@FluidOp()\ndef relu(x): ...\n{text}\n")
    layers = read(stub, {"sign": lambda op, size: None})
    assert next(layers)[0] == "relu"
    with pytest.raises(sl.errors.InvalidArgumentError) as caught:
        next(layers)
    assert str(caught.value).startswith(f"{stub}:4: layer ")
    assert answer in str(caught.value)


@pytest.fixture
def own_rows():
    """What a test declares is not there afterwards."""
    before = [(table, dict(table)) for table in (ROWS, COMPOSITES)]
    yield
    for table, rows in before:
        table.clear()
        table.update(rows)


@pytest.mark.parametrize(
    "type, words, function, answer",
    [
        ("relu", {}, lambda op, x: x, "op relu has a row"),
        ("nop", {"y": "X"}, lambda op, x: x, "there is no argument y"),
        ("nop", {"unused": "y"}, lambda op, x: x, "there is no argument y"),
        ("nop", {"fixed": {"b": 1}}, lambda op, x: x, "op nop has no attribute b"),
        ("nop", {}, lambda op, *, X: X, "X of op nop is missing"),
    ],
)
def test_a_translation_that_is_wrong_is_an_error_of_its_line(
    own_rows, type, words, function, answer
):
    with pytest.raises(sl.errors.InvalidArgumentError) as caught:
        FluidOp(type, **words)(function)
    line = function.__code__.co_firstlineno
    assert str(caught.value).startswith(f"{__file__}:{line}: layer <lambda>: ")
    assert answer in str(caught.value)


def test_a_function_is_a_layer_and_the_translation_of_its_op(own_rows):
    sizes = Attribute("size", "Size")

    @FluidOp("pull push", more="Half", defaults={"size": 3.0}, x="Data", size=sizes)
    def pull(op, x, size=2.0, name=None, *, Shift=None, is_=1.0):
        out = x * size * is_
        return {"Out": out if Shift is None else out + Shift, "Half": out * 0.5}

    layer = COMPOSITES["pull"]
    assert str(layer.signature) == "(x, size=2.0, name=None)"
    assert (layer.op, layer.outputs) == ("pull", ["Out"])
    assert ROWS["push"].attributes == {"size": 3.0, "is": 1.0}
    program = sl.Program()
    t = Translation(program)
    program.data("x", [2])
    outputs = {"Out": ["y"], "Half": ["z"]}
    t.append("push", {"Data": ["x"], "Shift": ["x"]}, outputs, {"is": 2.0})
    feed = {"x": np.array([1, 2], np.float32)}
    t.append("push", {"Data": ["x"], "Size": ["x"]}, {"Out": ["v"]})
    fetches = [t.value(name) for name in "yzv"]
    out, half, by_size = sl.Executor().run(program, feed, fetches)
    np.testing.assert_array_equal(out, [7, 14])
    np.testing.assert_array_equal(half, [3, 6])
    np.testing.assert_array_equal(by_size, [1, 4])
    refused(lambda: t.append("pull", {}, {"Out": ["w"]}, {}), "input Data is missing")
