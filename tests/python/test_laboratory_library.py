"""The laboratory is a library that processes load only where they ask for it."""

import os
import subprocess

import pytest
from processes import python

PROGRAM = """
import sluice as sl

x = sl.data("x", [None, 3])
y = sl.layers.fc(x, 2)
exe = sl.Executor(sl.CPUPlace())
exe.run(sl.default_startup_program())
exe.run(feed={"x": [[1, 2, 3]]}, fetch_list=[y])
exe.explain()
print("libsluice_lab.so" in open("/proc/self/maps").read())
"""


def loaded(tmp_path, program=PROGRAM, **settings):
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("SLUICE_RECORDS", "SLUICE_TUNE")
    }
    environment.update(XDG_CACHE_HOME=str(tmp_path), **settings)
    done = python("-c", program, env=environment, check=True)
    return done.stdout.split()[-1] == "True"


def test_a_program_that_asks_for_nothing_loads_none(tmp_path):
    assert not loaded(tmp_path)
    assert not loaded(tmp_path, SLUICE_RECORDS="off")
    assert not loaded(tmp_path, SLUICE_RECORDS="off", SLUICE_TUNE="estimate")


@pytest.mark.parametrize(
    "settings",
    [
        {"SLUICE_RECORDS": "system"},
        {"SLUICE_RECORDS": "off", "SLUICE_TUNE": "recorded"},
        {"SLUICE_RECORDS": "off", "SLUICE_TUNE": "measure"},
    ],
)
def test_settings_ask_for_it(tmp_path, settings):
    assert loaded(tmp_path, **settings)


def test_records_of_the_user_ask_for_it(tmp_path):
    (tmp_path / "sluice").mkdir()
    (tmp_path / "sluice" / "records.jsonl").touch()
    assert loaded(tmp_path)
    assert not loaded(tmp_path, SLUICE_RECORDS="off")


@pytest.mark.parametrize("use", ["sl.tune", "sl.Comparison", "sl.lab.what_if"])
def test_its_names_load_it(tmp_path, use):
    assert loaded(tmp_path, PROGRAM.replace("exe.explain()", use))


def test_a_setting_without_sense_is_an_error(tmp_path):
    with pytest.raises(subprocess.CalledProcessError) as raised:
        loaded(tmp_path, SLUICE_TUNE="mesure")
    assert "did you mean measure?" in raised.value.stderr
