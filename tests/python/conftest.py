import os

# Tests must not use what was measured on this machine, so that they choose the
# same kernels on every one.
os.environ.setdefault("SLUICE_RECORDS", "off")
os.environ.setdefault("SLUICE_COSTS", "default")

import numpy as np
import pytest

import sluice as sl


@pytest.fixture(autouse=True)
def fresh():
    """New programs, names and scope for every test."""
    with (
        sl.program_guard(sl.Program(), sl.Program()),
        sl.unique_name.guard(),
        sl.scope_guard(sl.Scope()),
    ):
        yield


@pytest.fixture
def one_thread():
    threads = sl.num_threads()
    sl.set_num_threads(1)
    yield
    sl.set_num_threads(threads)


@pytest.fixture(scope="session")
def in_peace():
    """Calls until the other programs of the machine let a measurement hold."""

    def call(measure, holds):
        for _ in range(30):
            if holds(measured := measure()):
                return measured
        pytest.skip("other programs take the CPUs")

    return call


@pytest.fixture
def exe():
    return sl.Executor(sl.CPUPlace())


@pytest.fixture
def rng():
    return np.random.default_rng(0)
