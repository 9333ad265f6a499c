"""The package works, and explains what it lacks, without the annex Fluid."""

import subprocess
import sys

PROGRAM = """
import sys
if "without" in sys.argv:
    sys.modules["sluice.fluid"] = None  # as if it were not installed
import sluice as sl
momentum = sl.optimizer.Momentum(0.1)
assert not sys.modules.get("sluice.fluid"), "an optimizer needs no Fluid"
assert not hasattr(momentum, "sequence_erase")
for thing, name in ((momentum, "lr"), (sl.layers, "Conv2d"), (sl, "fc")):
    try:
        getattr(thing, name)
    except AttributeError as error:
        print(error)
"""


def printed(*arguments):
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_without_fluid_everything_else_is_the_same():
    without = printed("without")
    assert without == printed() and len(without) == 3
    assert "use sl.layers.fc" in without[2]
