"""Records PyTorch's results for the cases (recorded.COMMAND).

Records that agree with this PyTorch are not changed, so that a second run
changes nothing. Remove a file to record all of its cases.
"""

from __future__ import annotations

import datetime
import sys

import numpy as np

from . import recorded
from .case import torch
from .recorded import Record
from .values import TOLERANCE, assert_all_close, theirs


def agrees(old: Record | None, new: Record) -> bool:
    if old is None or old.digest != new.digest:
        return False
    try:
        assert_all_close("", new.values, old.values, TOLERANCE["float64"])
    except AssertionError:
        return False
    return new.values.differentiable() == old.values.differentiable()


def record_of(make, parameter, origin) -> Record:
    case, inputs = recorded.draw(make, parameter, recorded.SEED)
    values = theirs(case, inputs["float64"])
    return Record(origin, recorded.digest_of(case), values)


def update():
    """The names of cases whose records are new, and all records by file."""
    today = datetime.date.today().isoformat()
    origin = f"torch {torch.__version__}, numpy {np.__version__}, {today}"
    old, new, files = recorded.load_all(), [], {}
    for name, _, make, parameter in recorded.all_cases():
        record = record_of(make, parameter, origin)
        if not agrees(old.get(name), record):
            old[name] = record
            new.append(name)
        files.setdefault(recorded.file_of(make), {})[name] = old[name]
    return new, files


def main():
    if torch is None:
        return "PyTorch is missing: ./dev bench train --peers installs it"
    torch.set_num_threads(1)
    new, files = update()
    for file, records in files.items():
        if recorded.load(file).keys() != records.keys() or {*new} & {*records}:
            recorded.save(file, records)
    for file in {*recorded.FOLDER.glob("*.npz")} - {*files}:
        file.unlink()
    total = sum(len(records) for records in files.values())
    print(f"{len(new)} of {total} cases recorded: {' '.join(new)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
