"""Rank 0 is killed while it writes its second checkpoint.

    killed.py PATH SECONDS

The rank is killed after SECONDS of writing.
"""

import contextlib
import itertools
import os
import pathlib
import signal
import sys
import threading
import time

import numpy as np

import sluice as sl


def kill_while_writing(path, seconds):
    def look():
        sizes = {}
        for file in path.parent.iterdir():
            with contextlib.suppress(FileNotFoundError):  # it has another name now
                sizes[file.name] = file.stat().st_size
        return sizes

    whole = look()
    while look() == whole:
        pass
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)


sl.distributed.init()
path, seconds = pathlib.Path(sys.argv[1]), float(sys.argv[2])
sl.default_main_program().persistable("w", [1 << 21])
for step in itertools.count():
    sl.global_scope()["w"] = np.full(1 << 21, step, np.float32)
    sl.distributed.save_checkpoint(path, step=step)
    if step == 0 and sl.distributed.rank() == 0:
        threading.Thread(target=kill_while_writing, args=(path, seconds)).start()
