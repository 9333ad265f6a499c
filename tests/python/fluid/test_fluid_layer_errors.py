"""What layers answer to arguments that they cannot have."""

import inspect
import re

import pytest

import sluice as sl
from sluice.fluid import layers

CALLS = {"IfElse", "Print", "Switch", "While", "DynamicRNN", "StaticRNN"}
CALLED = {"cond", "case", "switch_case", "while_loop", "py_func"}
NAMES = sorted(set(layers.__all__) - CALLS - CALLED)


@pytest.mark.parametrize(
    "value", [None, "x", -1, 0, 2.5, [], [1, "x"], {}, object()], ids=repr
)
def test_no_layer_ends_with_an_error_of_python(value):
    x = layers.data("x", [3, 8, 8])
    for name in NAMES:
        layer = getattr(layers, name)
        required = [
            each
            for each in inspect.signature(layer).parameters.values()
            if each.default is inspect.Parameter.empty
        ]
        for first in ([], [x]):
            given = [*first, *([value] * len(required))]
            try:
                layer(*given[: len(required)])
            except sl.errors.SluiceError:
                pass
            except Exception as error:
                pytest.fail(f"{name}{given}: {error!r}")


def expect(text):
    return pytest.raises(sl.errors.InvalidArgumentError, match=text)


def test_the_answer_names_the_layer_and_the_line():
    layers.data("x", [4])
    line = inspect.currentframe().f_lineno + 2
    with expect("fc") as caught:
        layers.fc(["x"], size=3)
    text = str(caught.value)
    assert text.startswith("fc(['x'], size=3): AttributeError: ")
    assert f"{__file__}:{line}" in text


def test_a_missing_argument_is_named():
    with expect(r"fc\(x\): TypeError: missing a required argument: 'size'"):
        layers.fc(layers.data("x", [4]))


def test_an_argument_that_is_not_there_is_one_sentence():
    x = layers.data("x", [4])
    with expect(r"^fc: there is no argument activation \(here act\); it has ") as caught:
        layers.fc(x, 3, activation="relu")
    assert caught.value.__cause__ is None
    with expect(r"^conv2d: there is no argument kernel_size \(here filter_size\); it has "):
        layers.conv2d(x, 3, kernel_size=3)
    with expect(r"^relu: there is no argument foo; it has "):
        layers.relu(x, foo=3)


def test_an_input_is_a_variable():
    with expect("relu_0: x must be a variable, got 'x'"):
        layers.relu("x")


def test_choices_and_dims_are_checked():
    x = layers.data("x", [3, 8, 8])
    with expect(r"expected one of \('avg', 'max'\), got 'mean'"):
        layers.adaptive_pool2d(x, 2, "mean")
    with expect(r"x \[-1, 3, 8, 8\] has no dim 4"):
        layers.split(x, 2, dim=4)
    with expect("conv2d.*ZeroDivisionError"):
        layers.conv2d(x, 4, 3, groups=0)
    with expect("depth must be 1 or more, got -2"):
        layers.one_hot(layers.data("ids", [1], dtype="int64"), -2)
    one = layers.fill_constant([1], "int32", 1)
    twice = [(1, lambda: one), (1, lambda: one)]
    with expect(re.escape("a number is there twice in [1, 1]")):
        layers.switch_case(one, twice)


def test_the_end_of_a_block_is_the_users_line():
    i = layers.fill_constant([1], "int64", 0)
    limit = layers.fill_constant([1], "int64", 3)
    goes_on = layers.less_than(i, limit)
    with (
        pytest.raises(sl.errors.SluiceError) as caught,
        layers.While(goes_on).block(),
    ):
        layers.assign(layers.fill_constant([1], "float32", 1), i)
    assert __file__ in str(caught.value)
    assert "contextlib" not in str(caught.value)
