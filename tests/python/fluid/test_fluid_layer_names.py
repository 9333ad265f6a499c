"""All layers of Fluid 1.8.3: each is there, as it was called, or has a reason.

``layers_of_fluid.txt`` has them, ``wrong_declarations.txt`` errors of a stub.
"""

import inspect
import pathlib

import pytest

import sluice as sl
import sluice.fluid as fluid
from sluice.fluid.layers import LEFT_OUT
from sluice.fluid.translate.declaration import read

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
