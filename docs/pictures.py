"""Writes docs/img/lenet.svg and docs/img/plan.svg, the drawing of LeNet and the
plan of its predictions for 64 images:  python docs/pictures.py [folder]"""

import os
import pathlib
import re
import sys

# Predictions only: neither records nor costs of this machine.
os.environ.update(SLUICE_RECORDS="off", SLUICE_COSTS="default")

import numpy as np

import sluice as sl
from sluice.lab import networks


def in_two_columns(svg: str) -> str:
    """The upper half of a drawing, and the lower half beside it, so that a
    page can show it in the size of its texts."""
    start, style, page, *parts = svg.removesuffix("</svg>\n").splitlines()
    width, height = map(int, re.search(r'viewBox="0 0 (\d+) (\d+)"', start).groups())
    boxes = [
        [float(number) for number in re.search(r' x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)"', part).groups()]
        for part in parts
        if 'class="box' in part
    ]
    # Below a box and the shape under it, where only arrows are.
    ends = [
        end
        for end in (int(y + high) + 22 for _, y, _, high in boxes)
        if not any(y < end < y + high for _, y, _, high in boxes)
    ]
    cut = min(ends, key=lambda end: max(end, height - end))
    left = int(min(x for x, *_ in boxes)) - 16
    second = width - 2 * left
    high = max(cut, height - cut)
    start = re.sub(r'width.*viewBox="[^"]*"', f'width="{width + second}" height="{high}" '
                   f'viewBox="0 0 {width + second} {high}"', start)
    return "\n".join([
        start, style, page,
        f'<svg width="{width}" height="{cut}"><g id="plan" class="sluice-drawing">', *parts, "</g></svg>",
        f'<svg x="{width}" width="{second}" height="{height - cut}" '
        f'viewBox="{left} {cut} {second} {height - cut}"><use href="#plan"/></svg>',
        "</svg>\n",
    ])


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
    (folder / f"{name}.svg").write_text(in_two_columns(drawn.draw()), encoding="utf-8")
