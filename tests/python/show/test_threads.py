"""What Explain says about threads is what runs, whatever libgomp there is."""

import os
import subprocess
import sys

# Prints the threads that are said, those of a plan, and how many others than
# this one worked for 20 ms and more, which is two ticks of the clock.
WORK = """
import os
import numpy as np
import sluice as sl

def worked():
    tasks = (f"/proc/self/task/{task}" for task in os.listdir("/proc/self/task"))
    return {task: int(open(f"{task}/stat").read().rpartition(")")[2].split()[11]) for task in tasks}

sl.set_num_threads(2)
x = sl.data("x", [None, 512])
y = sl.layers.matmul(x, x, transpose_y=True)
exe = sl.Executor(sl.CPUPlace())
before = worked()
for _ in range(20):
    exe.run(feed={"x": np.ones([1024, 512], "float32")}, fetch_list=[y])
after = worked()
busy = [task for task in after if after[task] - before.get(task, 0) >= 2]
title = str(exe.explain()).splitlines()[0]
print(sl.num_threads(), title.split("cpu, ")[1].split()[0], len(busy))
"""


def threads(**environment):
    done = subprocess.run(
        [sys.executable, "-c", WORK], env={**os.environ, **environment},
        capture_output=True, text=True, timeout=300, check=True)
    return done.stdout.split(), done.stderr


def test_two_threads_are_said_and_run():
    assert threads() == (["2", "2", "2"], "")


def test_a_limit_of_openmp_is_said():
    assert threads(OMP_THREAD_LIMIT="1") == (["1", "1", "1"], "")


def test_without_libgomp_one_thread_is_said_and_why(tmp_path):
    (tmp_path / "libgomp.so.1").write_text("no library")
    said, log = threads(LD_LIBRARY_PATH=str(tmp_path), SLUICE_ENABLE_ONEDNN="0")
    assert said == ["1", "1", "1"]
    assert log.count("libgomp.so.1 cannot be loaded (Debian: libgomp1)") == 1
