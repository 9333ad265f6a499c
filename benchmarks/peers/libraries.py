"""Measures other libraries for comparison with a benchmark of ours, each with
the Python of its own virtual environment, since they conflict."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import threading
import venv

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "peers"


def environment(library: str) -> pathlib.Path:
    """Returns the Python of a library's environment, BUILD/<library>, which is
    created on first use from requirements/<library>.txt."""
    home = BUILD / library
    python = home / "bin" / "python"
    requirements = HERE / "requirements" / f"{library}.txt"
    wanted = requirements.read_text()
    stamp = home / "installed.txt"
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"peers: installing {library} into {home}", file=sys.stderr)
        venv.create(home, with_pip=True, clear=True)
        said_by([python, "-m", "pip", "install", "--quiet", "-r",
                 requirements])
        stamp.write_text(wanted)
    return python


def thread_variables(threads: int) -> dict[str, str]:
    """The variables that libraries read at import."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
             "NUMBA_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
    variables = dict.fromkeys(names, str(threads))
    variables |= {"TF_NUM_INTEROP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2",
                  "GLOG_minloglevel": "2"}
    if threads == 1:
        variables["XLA_FLAGS"] = ("--xla_cpu_multi_thread_eigen=false "
                                  "intra_op_parallelism_threads=1")
    return variables


def said_by(command: list, **more) -> str:
    """Runs a program and returns its output. Its stderr is copied to ours; if
    it fails, the last line is the message of a RuntimeError."""
    with subprocess.Popen(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, **more) as child:
        lines = collections.deque(maxlen=1)

        def pass_on():
            for line in child.stderr:
                sys.stderr.write(line)
                if line.strip():
                    lines.append(line.strip())

        reader = threading.Thread(target=pass_on)
        reader.start()
        said = child.stdout.read()
        reader.join()
    if child.returncode != 0:
        raise RuntimeError(lines[0] if lines else
                           f"exit status {child.returncode}")
    return said


def measure(suite: str, arguments: list[str], only: str | None) -> tuple:
    """Runs every <suite>_<library>.py beside this file with the arguments, one
    after the other, or that of one library.

    Returns:
        {row id: {peer name: value}}, as the scripts print it, together; and
        {library: reason} of those that could not be installed or measured: the
        last line of their output.
    """
    rows: dict[str, dict[str, float]] = {}
    left_out: dict[str, str] = {}
    variables = dict(os.environ, CUDA_VISIBLE_DEVICES="")
    for script in sorted(HERE.glob(f"{suite}_*.py")):
        library = script.stem[len(suite) + 1:]
        if only not in (None, library):
            continue
        try:
            said = said_by([environment(library), script, *arguments],
                           env=variables)
            found = json.loads(said.splitlines()[-1])
        except (OSError, ValueError, IndexError, RuntimeError,
                subprocess.CalledProcessError) as error:
            print(f"peers: {library} left out: {error}", file=sys.stderr)
            left_out[library] = str(error)
            continue
        for row, values in found.items():
            rows.setdefault(row, {}).update(values)
    return rows, left_out
