"""Each test has programs, names and a scope of its own."""

import pytest

import sluice.fluid as fluid


@pytest.fixture(autouse=True)
def new_programs():
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.unique_name.guard(),
        fluid.scope_guard(fluid.core.Scope()),
    ):
        yield
