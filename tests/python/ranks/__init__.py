"""Scripts for several ranks, and their start, for tests."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent

needs_mpi = pytest.mark.skipif(
    shutil.which("mpirun") is None, reason="no mpirun"
)


def start(ranks, script, *arguments, mpirun=(), ends=100, **environment):
    """Starts a script of this folder on several ranks; `mpirun` has more
    options. Kills all of them after `ends` seconds."""
    command = [
        "timeout", str(ends), "mpirun", "-n", str(ranks), "--oversubscribe",
        "--mca", "btl_vader_single_copy_mechanism", "none", *mpirun,
        sys.executable, str(FOLDER / script), *map(str, arguments),
    ]
    variables = {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMP_NUM_THREADS": "1",
        **environment,
    }
    return subprocess.run(
        command, env=variables, capture_output=True, text=True, timeout=120,
        check=False,
    )


def finished(*arguments, **options):
    """Like `start`; every rank ends well."""
    run = start(*arguments, **options)
    assert run.returncode == 0, run.stderr
    return run
