"""The lists of what PaddlePaddle's tests of ops give, beside the table of ops."""

import suite_lists
from suite_lists import UNKNOWN, Entry, Outcome

import pytest
from sluice.fluid.translate import ROWS


@pytest.fixture(params=suite_lists.RELEASES)
def listed(request):
    return suite_lists.read(suite_lists.path_of(request.param))


def test_ops_are_absent_where_the_list_says_so(listed):
    absent = {
        op for op, entry in listed.items() if suite_lists.ALL in entry.reasons
    }
    assert len(listed) > 300
    changed = absent ^ (listed.keys() - ROWS.keys())
    assert not changed, "./dev fluid_suite FOLDER --write: " + str(changed)


def test_what_is_not_right_has_a_reason(listed):
    for op, entry in listed.items():
        assert UNKNOWN not in entry.reasons.values(), op
        missing = sum(
            all_ - right for right, all_ in (entry.outputs, entry.gradients)
        )
        if suite_lists.ALL not in entry.reasons:
            assert missing == len(entry.reasons), op


def test_most_classes_are_right(listed):
    for check, share in (("outputs", 0.85), ("gradients", 0.9)):
        right, all_ = map(
            sum, zip(*(getattr(entry, check) for entry in listed.values()))
        )
        assert right > share * all_ > 1000


def outcomes(kind, text=""):
    return [
        Outcome("test_relu.TestRelu", "relu", "output", kind, text),
        Outcome("test_relu.TestRelu", "relu", "gradient", "right", ""),
    ]


def test_a_list_is_read_as_it_was_written(tmp_path):
    made = suite_lists.made_of(
        [
            *outcomes("refused", "relu: no\nway"),
            Outcome("test_box.TestBox", "box", "output", "absent", ""),
        ],
        {},
    )
    path = tmp_path / "list.txt"
    path.write_text(suite_lists.text_of("1.8.3", made))
    read = suite_lists.read(path)
    assert read == made
    assert read["relu"] == Entry(
        (0, 1), (1, 1), {"test_relu.TestRelu": "refused: no way"}
    )
    assert suite_lists.changes(read, made) == []


def test_what_gets_better_or_worse_is_a_change():
    right = suite_lists.made_of(outcomes("right"), {})
    wrong = suite_lists.made_of(outcomes("wrong"), {})
    for old, new in ((right, wrong), (wrong, right)):
        text = "\n".join(suite_lists.changes(old, new))
        assert "test_relu.TestRelu is" in text and "outputs (" in text


def test_wrong_numbers_need_a_reason_that_is_kept():
    wrong = suite_lists.made_of(outcomes("wrong"), {})
    assert (
        "relu: test_relu.TestRelu is not right, and has no reason"
        in suite_lists.changes(wrong, wrong)
    )
    wrong["relu"].reasons["test_relu.TestRelu"] = "rounding"
    again = suite_lists.made_of(outcomes("wrong"), wrong)
    assert again == wrong
    assert suite_lists.changes(wrong, again) == []


def test_numbers_that_were_refused_before_need_a_new_reason():
    refused = suite_lists.made_of(outcomes("refused", "no way"), {})
    wrong = suite_lists.made_of(outcomes("wrong"), refused)
    assert wrong["relu"].reasons == {"test_relu.TestRelu": UNKNOWN}
    assert "relu: test_relu.TestRelu is ?, listed refused: no way" in (
        suite_lists.changes(refused, wrong)
    )
