"""Costs of kernels as data, and fitting them."""

import json
import os

import numpy as np
import pytest
from processes import python
from sluice import _lab
from sluice.lab import __main__ as lab
from sluice.lab import fit

NAMES = [name for name, *_ in _lab._cost_counts()]
OPERATIONS, OVERLAP = np.array([flags for _, *flags in _lab._cost_counts()]).T


def drawn(costs, seed=1, noise=0.0, size=200):
    """Samples of kernels with these costs: a dict by the names of counts."""
    random = np.random.default_rng(seed)
    counted = np.zeros((size, len(NAMES)))
    right = np.zeros(len(NAMES))
    for name, cost in costs.items():
        right[NAMES.index(name)] = cost
        microseconds = np.exp(random.normal(0, 1.5, size)) / max(cost, 0.5)
        counted[:, NAMES.index(name)] = microseconds * 1e-6
    fixed = np.full(size, 5e-8)
    arithmetic = counted @ (right * OPERATIONS)
    memory = counted @ (right * OVERLAP)
    rest = fixed + counted @ (right * ~OPERATIONS * ~OVERLAP)
    seconds = np.maximum(arithmetic, memory) + rest
    seconds *= np.exp(random.normal(0, noise, size))
    samples = fit.Samples(seconds, fixed, counted, OPERATIONS, OVERLAP)
    return samples, right


def start(**changed):
    costs = np.asarray(_lab._costs("default"))
    for name, cost in changed.items():
        costs[NAMES.index(name)] = cost
    return costs


def test_known_costs_are_found_again():
    known = {
        "flops": 1.2,
        "bytes": 1.5,
        "moves": 0.7,
        "runs": 3.0,
        "setups": 40.0,
    }
    samples, right = drawn(known, noise=0.05)
    found = fit.fit(samples, start())
    for name, cost in known.items():
        assert found[NAMES.index(name)] == pytest.approx(cost, rel=0.05), name
    ratio, within = fit.off_by(samples.ratios(found))
    assert ratio == pytest.approx(1, abs=0.02)
    assert within < 1.12
    assert fit.off_by(samples.ratios(start()))[1] > 1.5


def test_odd_times_change_little():
    samples, _ = drawn({"flops": 1.2, "moves": 0.7}, noise=0.02)
    samples.seconds[::10] /= 3
    found = fit.fit(samples, start())
    assert found[NAMES.index("flops")] == pytest.approx(1.2, rel=0.05)
    assert found[NAMES.index("moves")] == pytest.approx(0.7, rel=0.05)


def test_no_cost_is_negative():
    samples, _ = drawn({"flops": 1.2, "moves": 0.7, "runs": 0.0}, noise=0.1)
    samples.seconds = np.maximum(
        samples.seconds - 0.05 * samples.counted[:, NAMES.index("runs")], 1e-8
    )
    found = fit.fit(samples, start())
    assert (found >= 0).all()
    assert found[NAMES.index("runs")] < 0.02


def test_what_samples_do_not_tell_apart_stays_near_the_start():
    samples, _ = drawn({"moves": 0.5, "runs": 0.5})
    moves, runs = NAMES.index("moves"), NAMES.index("runs")
    samples.counted[:, runs] = samples.counted[:, moves]
    samples.seconds = samples.fixed + samples.counted[:, moves]
    found = fit.fit(samples, start(moves=0.3, runs=0.3))
    assert found[moves] == pytest.approx(0.5, rel=0.05)
    assert found[runs] == pytest.approx(0.5, rel=0.05)
    unused = NAMES.index("tiles")
    assert found[unused] == start()[unused]


@pytest.mark.parametrize("volumes", [False, True])
def test_samples_are_of_kernels_with_costs(volumes, in_peace):
    samples = in_peace(lambda: _lab._cost_samples(1, 3, volumes, 1, 0.01), bool)
    for row, seconds, fixed, counted in samples:
        assert row.startswith(("conv3d", "pool3d")) == volumes, row
        assert seconds > 0 and fixed > 0, row
        assert len(counted) == len(NAMES) and sum(counted) > 0, row


def test_the_command_writes_a_file_of_costs(tmp_path, monkeypatch, capsys):
    samples, _ = drawn({"flops": 1.25, "dots": 5.0}, noise=0.01)
    few, _ = drawn({"flops": 1.25}, size=3)
    monkeypatch.setattr(
        fit, "measure", lambda *_: {"few": few, "matmul": samples}
    )
    path = tmp_path / "costs.json"
    assert lab.main(["fit", "--output", str(path)]) == 0
    out = capsys.readouterr().out
    assert "matmul" in out and "too few times to fit" in out
    assert f"SLUICE_COSTS={path}" in out
    costs = json.loads(path.read_text())
    assert costs["machine"] == _lab._machine_id()[0]
    assert set(costs["costs"]) == {"matmul"}
    assert costs["costs"]["matmul"]["dots"] == pytest.approx(5, rel=0.02)


def test_a_row_keeps_its_costs_where_the_fit_is_worse(monkeypatch):
    samples, _ = drawn({"flops": 1.25}, noise=0.01)
    before = np.asarray(_lab._costs("matmul"))
    worse = before * 100
    monkeypatch.setattr(fit, "fit", lambda *_: worse)
    rows, table = fit.fit_rows({"matmul": samples})
    assert "worse: unchanged" in table[-1]
    flops = before[NAMES.index("flops")]
    assert rows["matmul"]["flops"] == pytest.approx(flops, rel=1e-3)


def test_too_little_time_is_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fit, "measure", lambda *_: {})
    path = tmp_path / "costs.json"
    assert lab.main(["fit", "--seconds", "0.1", "--output", str(path)]) == 1
    assert "--seconds" in capsys.readouterr().err
    assert not path.exists()


PROGRAM = """
import json

import numpy as np
import sluice as sl

x = sl.data("x", [64, 64])
y = sl.layers.cumsum(x, 0)
feed = {"x": np.zeros((64, 64), np.float32)}
exe = sl.Executor()
for _ in range(2):
    plan = exe.prepare(feed=feed, fetch_list=[y])
print(json.loads(plan.explain_json())["ops"][0]["predicted_seconds"])
"""


def predicted(**environment):
    """The predicted seconds of an op, and what is logged, in a new process."""
    ran = python("-c", PROGRAM, env={**os.environ, **environment}, check=True)
    return float(ran.stdout), ran.stderr


def test_a_file_of_costs_changes_estimates(tmp_path):
    path = tmp_path / "costs.json"
    path.write_text('{"kind": "costs", "costs": {"default": {"flops": 400}}}')
    before, log = predicted(SLUICE_COSTS="default")
    assert log == ""
    after, log = predicted(SLUICE_COSTS=str(path))
    assert log == ""
    assert after > 20 * before


def test_the_machines_file_is_found_beside_records(tmp_path):
    path = tmp_path / f"costs-{_lab._machine_id()[1]}.json"
    path.write_text('{"kind": "costs", "costs": {"default": {"flops": 400}}}')
    before, _ = predicted(SLUICE_COSTS="default")
    folders = {"SLUICE_RECORDS_PATH": str(tmp_path)}
    assert predicted(SLUICE_COSTS="", **folders)[0] > 20 * before
    assert predicted(SLUICE_COSTS="default", **folders)[0] == before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "cannot open"),
        ('{"kind": "costs", "costs": {"defau', "its end is missing"),
        ('{"kind": "costs", "machine": "other", "costs": {}}', "machine"),
        ('{"kind": "costs", "costs": {"default": {"flops": -1}}}', "-1"),
        ('{"kind": "costs", "costs": {"default": {"hops": 1}}}', "hops"),
    ],
)
def test_a_bad_file_of_costs_is_said_once(tmp_path, text, why):
    path = tmp_path / "costs.json"
    if text is not None:
        path.write_text(text)
    before, _ = predicted(SLUICE_COSTS="default")
    seconds, log = predicted(SLUICE_COSTS=str(path))
    assert seconds == before
    assert log.count(str(path)) >= 1 and log.count("are not used") == 1
    assert why in log
