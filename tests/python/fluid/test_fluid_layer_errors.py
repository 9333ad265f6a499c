"""What layers answer to arguments that they cannot have."""

import inspect

import pytest
from refusals import refused, rows

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


def test_the_answer_names_the_layer_and_the_line():
    layers.data("x", [4])
    line = inspect.currentframe().f_lineno + 1
    text = refused(lambda: layers.fc(["x"], size=3), f"{__file__}:{line}")
    assert "] fc(['x'], size=3): AttributeError: " in text


def test_an_argument_that_is_not_there_is_one_sentence():
    with pytest.raises(sl.InvalidArgumentError) as caught:
        layers.fc(layers.data("x", [4]), 3, activation="relu")
    text = str(caught.value)
    assert text.startswith("fc: there is no argument activation (here act); ")
    assert caught.value.__cause__ is None


def twice(x):
    one = layers.fill_constant([1], "int32", 1)
    return layers.switch_case(one, [(1, lambda: one), (1, lambda: one)])


test_arguments_are_checked = rows(
    [
        (lambda x: layers.fc(x),
         "fc(x): TypeError: missing a required argument: 'size'"),
        (lambda x: layers.conv2d(x, 3, kernel_size=3),
         "] conv2d: there is no argument kernel_size (here filter_size); it has "),
        (lambda x: layers.relu(x, foo=3),
         "] relu: there is no argument foo; it has "),
        (lambda x: layers.relu("x"), "relu_0: x must be a variable, got 'x'"),
        (lambda x: layers.adaptive_pool2d(x, 2, "mean"),
         "expected one of ('avg', 'max'), got 'mean'"),
        (lambda x: layers.split(x, 2, dim=4), "x [-1, 3, 8, 8] has no dim 4"),
        (lambda x: layers.conv2d(x, 4, 3, groups=0), "] conv2d(",
         "ZeroDivisionError"),
        (lambda x: layers.one_hot(layers.cast(x, "int64"), -2),
         "depth must be 1 or more, got -2"),
        (twice, "a number is there twice in [1, 1]"),
    ],
    lambda: [layers.data("x", [3, 8, 8])],
    line=False,
)  # fmt: skip


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
