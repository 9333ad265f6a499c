"""All layers of Fluid 1.8.3: each is there, as it was called, or has a reason.

``layers_of_fluid.txt`` has their names, arguments and defaults.
"""

import inspect
import pathlib

import pytest

import sluice as sl
import sluice.fluid as fluid
from sluice.fluid.left_out import LEFT_OUT
from sluice.fluid.simple_layers import TABLE
from sluice.fluid.translate import ROWS
from sluice.fluid.translate.table import INTERNAL

TEXT = (pathlib.Path(__file__).parent / "layers_of_fluid.txt").read_text()
SIGNATURES = dict(line.split("(", 1) for line in TEXT.splitlines())

NAMES = sorted(SIGNATURES)
# Further arguments of ours, which Fluid's scripts do not give.
MORE = {"create_array": ["capacity"]}


def test_there_are_all_names():
    assert len(SIGNATURES) == 355
    assert not LEFT_OUT.keys() - SIGNATURES.keys()
    assert not LEFT_OUT.keys() & set(fluid.layers.__all__)


@pytest.mark.parametrize("name", NAMES)
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


def test_no_layer_is_invented():
    assert not set(fluid.layers.__all__) - SIGNATURES.keys()


@pytest.mark.parametrize("name", TABLE)
def test_a_line_of_the_table_fits_the_row_of_its_op(name):
    layer = TABLE[name]
    row = ROWS[layer.op]
    made = {each.name for each in layer.made} - {""}
    slots = {name for name in made if name[0].isupper()}
    attributes = {each.attribute for each in layer.arguments} - {None}
    attributes |= made - slots
    assert not attributes - row.attributes.keys() - INTERNAL
    for each in layer.arguments:
        if each.sign == "!":
            assert each.slot in row.outputs
            continue
        slots |= {each.slot, each.tensor, each.tensors} - {None, "_"}
        if each.slot:
            _, many = row.slots[each.slot]
            assert many == (each.sign == "*"), each
        if each.tensors:
            assert row.slots[each.tensors][1], each
    assert not slots - row.slots.keys()
    for output in layer.outputs:
        slot, _, source = output.partition("=")
        assert slot.partition("*")[0].removesuffix("!") in row.outputs
        assert not source or source in slots
    required = {slot for slot, (needed, _) in row.slots.items() if needed}
    assert not required - slots
    needed = {k for k, v in row.attributes.items() if v is inspect._empty}
    assert not needed - attributes
