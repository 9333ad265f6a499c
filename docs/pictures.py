"""Writes docs/img/lenet.svg and docs/img/plan.svg, the drawings of LeNet and of
the plan of its training step:  python docs/pictures.py [folder]"""

import os
import pathlib
import sys

# Predictions only: neither records nor costs of this machine.
os.environ.update(SLUICE_RECORDS="off", SLUICE_COSTS="default")

import sluice as sl
from sluice.lab import networks

folder = pathlib.Path(sys.argv[1] if sys.argv[1:] else pathlib.Path(__file__).parent / "img")
folder.mkdir(exist_ok=True)
sl.set_num_threads(1)
with sl.program_guard(sl.Program(), sl.Program()):
    networks.lenet(sl.data("image", [None, 1, 28, 28]))
    sl.default_main_program().draw(folder / "lenet.svg")
job = networks.build("lenet", 64)
plan = sl.Executor().prepare(job.program, job.feed, job.fetch_list)
plan.draw(folder / "plan.svg")
