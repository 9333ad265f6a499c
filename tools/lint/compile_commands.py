"""The compile commands of a build folder, and work on many files at once."""

import argparse
import concurrent.futures
import json
import pathlib
import shlex

import rooms


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("-j", type=int, default=2, dest="jobs")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    return parser.parse_args()


def room_commands(build):
    """{source in a room, relative to the root: its arguments}."""
    commands = {}
    database = json.loads((build / "compile_commands.json").read_text())
    for entry in database:
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(rooms.ROOT):
            path = path.relative_to(rooms.ROOT)
            if rooms.room_of(path):
                commands[path] = shlex.split(entry["command"])
    return commands


def run_all(jobs, function, items):
    """The problems that function(item) returned, in the items' order."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [p for p in pool.map(function, items) if p]
