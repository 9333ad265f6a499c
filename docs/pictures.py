"""Writes docs/img/lenet.svg and docs/img/plan.svg, the drawing of LeNet and the
plan of its predictions for 64 images:  python docs/pictures.py [folder]"""

import os
import pathlib
import sys

# Predictions only: neither records nor costs of this machine.
os.environ.update(SLUICE_RECORDS="off", SLUICE_COSTS="default")

import numpy as np

import sluice as sl
from sluice.lab import networks


folder = pathlib.Path(sys.argv[1] if sys.argv[1:] else pathlib.Path(__file__).parent / "img")
folder.mkdir(exist_ok=True)
sl.set_num_threads(2)
with sl.program_guard(sl.Program(), sl.Program()):
    image = sl.data("image", [None, 1, 28, 28])
    logits = networks.lenet(image)
    feed = {"image": np.zeros((64, 1, 28, 28), np.float32)}
    plan = sl.Executor().prepare(sl.default_main_program(), feed, [logits])
    drawings = {"lenet": sl.default_main_program(), "plan": plan}
for name, drawn in drawings.items():
    drawn.draw(folder / f"{name}.svg", columns=2)
