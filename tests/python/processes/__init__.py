"""Other processes, and threads beside a call."""

import subprocess
import sys
import threading
import time


def python(*arguments, **more):
    """Run Python to its end; what it wrote is text."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **more)


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
