import os

# What the user has measured on this machine is not for tests.
os.environ.setdefault("SLUICE_RECORDS", "off")

import numpy as np
import pytest

import sluice as sl


@pytest.fixture(autouse=True)
def fresh():
    """Programs, names and a scope of its own for every test."""
    with (
        sl.program_guard(sl.Program(), sl.Program()),
        sl.unique_name.guard(),
        sl.scope_guard(sl.Scope()),
    ):
        yield


@pytest.fixture
def exe():
    return sl.Executor(sl.CPUPlace())


@pytest.fixture
def rng():
    return np.random.default_rng(0)
