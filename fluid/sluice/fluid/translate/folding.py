"""Ops whose inputs are all known: their results are computed while a program
for inference is made, such as the layout of a recurrent layer's weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import _core, unique_name
from ...display import Shown
from ...framework import Program, Variable
from ...tools import run_op


class Folding(Shown):
    """Known values of a program, which is not trained.

    Attributes:
        scope: where the values are.
        known: the names of the variables that have one.
    """

    def __init__(self, scope: _core.Scope, known: set[str]) -> None:
        self.scope, self.known = scope, known

    def folded(
        self, program: Program, type: str, inputs: Mapping[str, Any], attrs: Any
    ) -> dict[str, Any] | None:
        """The outputs of an op as persistable variables; None if an input is
        not known.
        """
        several = {
            slot: given if isinstance(given, (list, tuple)) else [given]
            for slot, given in inputs.items()
        }
        if not several or not all(
            isinstance(x, Variable) and x.name in self.known
            for each in several.values()
            for x in each
        ):
            return None
        values: dict[str, Any] = {}
        for slot, each in several.items():
            arrays = [self.scope[x.name] for x in each]
            values[slot] = arrays if each is inputs[slot] else arrays[0]
        made: dict[str, Any] = {}
        for slot, array in run_op(type, values, attrs).items():
            name = unique_name.generate(f"{type}.folded")
            made[slot] = program.persistable(name, array.shape, array.dtype)
            made[slot].stop_gradient = True
            self.scope[name] = array
            self.known.add(name)
        return made
