"""What tests of Fluid begin with: programs of their own, runs and loops."""

import contextlib

import sluice.fluid as fluid


@contextlib.contextmanager
def new_programs():
    """Programs, names and a scope of their own."""
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.unique_name.guard(),
        fluid.scope_guard(fluid.core.Scope()),
    ):
        yield


def started():
    """An executor that has run the startup program."""
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe


def run(fetches, feed=None, program=None):
    """What a program gives after the startup program."""
    return started().run(program, feed, fetches)


def number(value, dtype="int64"):
    """A variable [1]."""
    return fluid.layers.fill_constant([1], dtype, value)


@contextlib.contextmanager
def loop(limit):
    """Repeat the ops of the block for each i below a limit; gives i."""
    i = number(0)
    goes_on = fluid.layers.less_than(i, limit)
    with fluid.layers.While(goes_on).block():
        yield i
        fluid.layers.increment(i)
        fluid.layers.less_than(i, limit, cond=goes_on)
