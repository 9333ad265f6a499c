"""Texts, drawings and summaries of programs, executors, plans and values.

The modules here import programs and executors, and this file gives these their
methods. Modules that few runs need are imported when they are first used.
"""

from __future__ import annotations

import os

from .. import _core
from ..display import Text
from ..executor import Executor
from ..program import Program
from . import explanation, objects


def summarize_program(self: Program, all: bool = False) -> Text:
    """A line a layer: its op, output and parameters; then the totals.

    Args:
        all: whether to list the backward and the optimizer's ops, too, and
            each of more than 60 layers.

    Returns:
        Text of at most 80 columns, which a notebook shows as a table.
    """
    from .summary import summary

    return summary(self, all)


def draw_program(
    self: Program,
    path: str | os.PathLike[str] | None = None,
    all: bool = False,
    columns: int = 1,
) -> str:
    """Draw the graph as SVG, for light and dark pages.

    Args:
        path: a file to write it to, too.
        all: also draw the ops of the backward pass, of the optimizer and of
            repeated blocks and large layers, which are one box each
            otherwise.
        columns: 2 puts the lower half beside the upper one.

    Returns:
        The SVG's text, which a notebook shows as a picture.
    """
    from .program_drawing import draw

    return draw(self, path, all, columns)


def draw_plan(
    self: _core.Plan,
    path: str | os.PathLike[str] | None = None,
    by: str = "library",
    all: bool = False,
    columns: int = 1,
) -> str:
    """Draw the plan as SVG: kernels, times and copies between places.

    Args:
        self: the plan.
        path: a file to write it to, too.
        by: what the colours show: "library", "place" or "time".
        all: also draw each op of the backward pass and of the optimizer.
        columns: 2 puts the lower half beside the upper one.

    Returns:
        The SVG's text, which a notebook shows as a picture.

    Raises:
        InvalidArgumentError: for another ``by`` or ``columns``.
    """
    from .plan_drawing import draw

    return draw(self, path, by, all, columns)


objects.attach(
    Program,
    draw=draw_program,
    explain=explanation.explain_program,
    summary=summarize_program,
    _repr_html_=objects.program_html,
)
objects.attach(Executor, explain=explanation.explain_executor)
objects.attach(_core.Plan, draw=draw_plan, explain=explanation.explain_plan)
objects.attach(
    _core.Tensor,
    __repr__=objects.tensor_repr,
    _repr_html_=objects.tensor_html,
)
objects.equip(_core)
