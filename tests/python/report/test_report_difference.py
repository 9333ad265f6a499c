"""Differences that are reported between two reports."""

import json

import numpy as np
import pytest

import sluice as sl
from sluice import lab
from sluice.lab.report import difference


@pytest.fixture
def report():
    x = sl.data("x", [4, 6])
    y = sl.layers.softmax(sl.layers.fc(x, 5, act="relu"))
    sl.Executor().run(sl.default_startup_program())
    return lab.report(sl.default_main_program(), {"x": np.ones((4, 6), "f4")}, [y], seconds=0.1)


def changed(report, **facts):
    """A copy whose first op differs."""
    data = json.loads(report.to_json())
    data["plan"]["ops"][0].update(facts)
    return data


def test_a_report_does_not_differ_from_itself(report):
    data = report.data
    found = difference(data, json.loads(json.dumps(data)))
    assert found["ops"] == [] and found["same"] == len(data["plan"]["ops"])
    assert found["comparable"]


def test_differences_are_named(report):
    data = report.data
    slow = {"median": 1.0, "low": 0.9, "high": 1.1}
    for facts, changes in [
        ({"library": "OTHER"}, ["kernel"]),
        ({"layout": "NHWC", "variant": "other"}, ["kernel", "layout"]),
        ({"place": "fpga:0"}, ["place"]),
        ({"measured": slow}, ["slower"]),
    ]:
        found = difference(data, changed(report, **facts))
        (row,) = found["ops"]
        assert row["changes"] == changes
        assert row["old"]["index"] == row["new"]["index"] == data["plan"]["ops"][0]["index"]
    (row,) = difference(changed(report, measured=slow), data)["ops"]
    assert row["changes"] == ["faster"] and row["seconds"] < 0


def test_times_within_noise_do_not_differ(report):
    base = changed(report, measured={"median": 1.0, "low": 0.99, "high": 1.01})
    overlap = changed(report, measured={"median": 1.2, "low": 1.0, "high": 1.3})
    close = changed(report, measured={"median": 1.04, "low": 1.03, "high": 1.05})
    assert difference(base, overlap)["ops"] == []
    assert difference(base, close)["ops"] == []
    small = changed(report, measured={"median": 1e-15, "low": 1e-15, "high": 1e-15})
    twice = changed(report, measured={"median": 2e-15, "low": 2e-15, "high": 2e-15})
    assert difference(small, twice)["ops"] == []


def test_ops_of_one_report_only_are_added_or_removed(report):
    fewer = json.loads(report.to_json())
    gone = fewer["plan"]["ops"].pop()
    (row,) = difference(report.data, fewer)["ops"]
    assert row["changes"] == ["removed"] and row["new"] is None
    assert row["old"]["op"] == gone["op"]
    (row,) = difference(fewer, report.data)["ops"]
    assert row["changes"] == ["added"] and row["old"] is None


def test_of_several_ops_that_make_one_variable_each_has_its_own(report):
    twice = json.loads(report.to_json())
    twice["plan"]["ops"].insert(1, {**twice["plan"]["ops"][0], "index": 99})
    other = json.loads(json.dumps(twice))
    other["plan"]["ops"][1]["variant"] = "other"
    found = difference(twice, other)
    (row,) = found["ops"]
    assert row["new"]["index"] == 99 and row["changes"] == ["kernel"]
    assert found["same"] == len(report.data["plan"]["ops"])


def test_ops_that_make_another_variable_are_matched_by_type(report):
    data = report.data
    renamed = changed(report)
    renamed["plan"]["ops"][0]["outputs"][0]["var"] = "of_another_layout"
    found = difference(data, renamed)
    assert found["ops"] == [] and found["same"] == len(data["plan"]["ops"])
    # If two replace one, the pairing is unknown.
    twice = json.loads(json.dumps(renamed))
    twice["plan"]["ops"].append(json.loads(json.dumps(renamed["plan"]["ops"][0])))
    assert len(difference(data, twice)["ops"]) == 3


def test_other_machines_are_not_comparable(report):
    other = json.loads(report.to_json())
    other["machine"]["machine"] = "another"
    assert not difference(report.data, other)["comparable"]


def test_plans_that_take_turns_are_compared_kernel_by_kernel():
    x = sl.data("x", [64, 64])
    y = sl.layers.manhattan_distance(x, x)
    program, feed = sl.default_main_program(), {"x": np.ones((64, 64), "f4")}
    executor = sl.Executor()
    plans = []
    for variant in ("plain", "blocked"):
        with sl.kernel_hints(f"manhattan_distance: require variant={variant}"):
            plans.append(executor.prepare(program, feed, [y]))
    old, new = lab.report_plans(plans, program, feed, seconds=0.5, names=["a", "b"])
    assert [r.data["name"] for r in (old, new)] == ["a", "b"]
    (row,) = difference(old.data, new.data)["ops"]
    assert "kernel" in row["changes"]
    assert (row["old"]["variant"], row["new"]["variant"]) == ("plain", "blocked")


def test_no_plans_are_an_error():
    with pytest.raises(sl.errors.InvalidArgumentError, match="there is no plan"):
        lab.report_plans([], sl.Program(), {}, seconds=0.1)
