#!/usr/bin/env python3
"""Measures other libraries for comparison with a benchmark of ours.

    run.py SUITE --build FOLDER --output FILE [--only LIBRARY] [-- ARGUMENTS]

Runs every <suite>_<library>.py beside this file with the ARGUMENTS, one after
the other, each with the Python of its own virtual environment FOLDER/<library>,
since the libraries conflict. An environment is created on first use from
requirements/<library>.txt. The scripts print one JSON object {row id: {peer
name: value}}; FILE gets them merged: {"rows": {row id: {peer name: value}},
"left_out": {library: reason}}, where the reason why a library could not be
installed or measured is the last line of its output.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import threading
import venv

HERE = pathlib.Path(__file__).resolve().parent


def environment(library: str, folder: pathlib.Path) -> pathlib.Path:
    """Returns the Python of the library's environment, created if missing."""
    home = folder / library
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


def measure(script: pathlib.Path, library: str, folder: pathlib.Path,
            arguments: list[str]) -> dict:
    """Runs one script and returns its output."""
    python = environment(library, folder)
    variables = dict(os.environ, CUDA_VISIBLE_DEVICES="")
    said = said_by([python, script, *arguments], env=variables)
    return json.loads(said.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suite")
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--only")
    words, arguments = sys.argv[1:], []
    if "--" in words:  # the scripts' own arguments
        split = words.index("--")
        words, arguments = words[:split], words[split + 1:]
    options = parser.parse_args(words)

    merged: dict[str, dict[str, float]] = {}
    left_out: dict[str, str] = {}
    for script in sorted(HERE.glob(f"{options.suite}_*.py")):
        library = script.stem[len(options.suite) + 1:]
        if options.only not in (None, library):
            continue
        try:
            rows = measure(script, library, options.build, arguments)
        except (OSError, ValueError, IndexError, RuntimeError,
                subprocess.CalledProcessError) as error:
            print(f"peers: {library} left out: {error}", file=sys.stderr)
            left_out[library] = str(error)
            continue
        for row, values in rows.items():
            merged.setdefault(row, {}).update(values)
    result = {"rows": merged, "left_out": left_out}
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
