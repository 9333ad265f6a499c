"""Other processes, and threads beside a call."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest


def python(*arguments, **more):
    """Run Python to its end; what it wrote is text."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **more)


@contextlib.contextmanager
def interrupted(seconds):
    """What runs here gets Ctrl-C after some seconds, and ends by it."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        yield
    timer.join()


def together(functions):
    """Runs functions at the same time, and waits for all."""
    threads = [threading.Thread(target=f, daemon=True) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def turns_beside(run):
    """How often this thread has its turn while another one runs a function."""
    thread = threading.Thread(target=run)
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
        time.sleep(0.001)
    thread.join()
    return turns
