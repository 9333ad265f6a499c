"""Reads the compile commands of a build folder, and runs parallel work."""

import argparse
import concurrent.futures
import json
import pathlib
import re
import shlex

import rooms


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("-j", type=int, default=2, dest="jobs")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    return parser.parse_args()


def units(build):
    """{sources, relative to the root: their command, without precompiled
    headers}. A file of sluice_compile_together (cmake/) includes its sources."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        sources = [path]
        if "together" in path.parts:
            names = re.findall(r'#include "(?:sluice/)?(.*)"', path.read_text())
            sources = [rooms.ROOT / name for name in names]
        if all(source.is_relative_to(rooms.ROOT) for source in sources):
            key = tuple(source.relative_to(rooms.ROOT) for source in sources)
            found[key] = re.sub(
                r" -Winvalid-pch| -include \S+cmake_pch\S+", "", entry["command"]
            )
    return found


def flags_of(command):
    """The flags of a compile command that affect what a source means."""
    flags, words = [], iter(shlex.split(command)[1:])
    for word in words:
        if word == "-isystem":
            flags += [word, next(words)]
        elif word.startswith(("-I", "-D", "-std=", "-W", "-f", "-m")):
            flags.append(word)
    return flags


def run_all(jobs, function, items):
    """The problems that function(item) returned, in the items' order."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [p for p in pool.map(function, items) if p]
