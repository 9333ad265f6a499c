"""Reads the compile commands of a build folder, and runs parallel work."""

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


def commands(build):
    """{source, relative to the root: its command}."""
    database = json.loads((build / "compile_commands.json").read_text())
    entries = [(pathlib.Path(each["file"]), each["command"]) for each in database]
    return {
        path.relative_to(rooms.ROOT): command
        for path, command in entries
        if path.is_relative_to(rooms.ROOT)
    }


def room_commands(build):
    """{source in a room, relative to the root: its arguments}."""
    return {
        path: shlex.split(command)
        for path, command in commands(build).items()
        if rooms.room_of(path)
    }


def run_all(jobs, function, items):
    """The problems that function(item) returned, in the items' order."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return [p for p in pool.map(function, items) if p]
