"""Each test has programs, names and a scope of its own."""

import pytest
from fluid_runs import new_programs


@pytest.fixture(autouse=True)
def own_programs():
    with new_programs():
        yield
