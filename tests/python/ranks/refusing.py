"""Errors of saving, loading and resuming; each rank prints its own.

    refusing.py FOLDER
"""

import pathlib
import resource
import sys

import numpy as np
from telling import tell

import sluice as sl

sl.distributed.init()
rank = sl.distributed.rank()
folder = pathlib.Path(sys.argv[1])
path = folder / "a.safetensors"
program = sl.default_main_program()
program.persistable("w", [100_000])
scope = sl.global_scope()
scope["w"] = np.full(100_000, 1, np.float32)

save, load = sl.distributed.save_checkpoint, sl.distributed.load_checkpoint
tell("whole", save, path, step=5)

# The disk is full for rank 0 only.
scope["w"] = np.full(100_000, 2, np.float32)
if rank == 0:
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, -1))
tell("full", save, path, step=6)
if rank == 0:
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
assert rank > 0 or [p.name for p in folder.iterdir()] == [path.name]
tell("old", load, path)
assert scope["w"].numpy()[[0, -1]].tolist() == [1, 1]

tell("folder", save, folder / "no" / "a", step=7)
tell("step", save, path, step=7 + rank // 2)
tell("text", save, path, step="7" if rank == 1 else 7)
tell("none", load, folder / "none")
if rank == 0:
    (folder / "half").write_bytes(path.read_bytes()[:200_000])
tell("half", load, folder / "half")
sl.io.save_params(folder / f"plain{rank}")
tell("plain", load, folder / f"plain{rank}")
assert scope["w"].numpy()[[0, -1]].tolist() == [1, 1]

if rank == 1:
    value = np.array([[1, 2], [3, np.nan]], np.float32)
else:
    value = np.float32(np.inf if rank == 2 else 1)
tell("nan", sl.distributed.check_finite, value)
tell("finite", sl.distributed.check_finite, 1.5)
tell("text value", sl.distributed.check_finite, "a" if rank == 2 else 1)

# All ranks can continue.
x = sl.data("x", [1])
(total,) = sl.layers.c_allreduce_sum([x])
(value,) = sl.Executor().run(feed={"x": [rank]}, fetch_list=[total])
tell("sum", lambda: None if value.item() == 3 else 1 / 0)

if len(sys.argv) > 2:  # this is the last thing that ranks can do together
    if rank == 1:
        program.persistable("v", [2])
    tell("programs", load, path)
