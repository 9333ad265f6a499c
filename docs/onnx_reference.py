"""Which operators of ONNX are read, and as which ops: found by loading the
models of the onnx package's own tests that have one node."""

from __future__ import annotations

import collections
import warnings

import onnx.defs
from onnx.backend.test.loader import load_model_tests

import sluice.onnx

import op_reference

# Ops that bring operands into the form that others want.
OPERANDS = {"assign_value", "fill_constant"}


class Operator:
    """An operator of ONNX: how many of its tests load, and what they become."""

    def __init__(self) -> None:
        self.tests = self.loaded = 0
        self.ops: collections.Counter[str] = collections.Counter()
        self.alone: set[str] = set()  # what a model becomes without other ops


def operators() -> dict[str, Operator]:
    """All operators of ONNX's own domain, by name."""
    found = {
        schema.name: Operator()
        for schema in onnx.defs.get_all_schemas()
        if schema.domain == "" and not schema.deprecated
    }
    with warnings.catch_warnings():
        # The tests cast values out of range.
        warnings.simplefilter("ignore", RuntimeWarning)
        cases = load_model_tests(kind="node")
    for case in cases:
        nodes = case.model.graph.node
        if len(nodes) != 1 or nodes[0].domain or nodes[0].op_type not in found:
            continue
        operator = found[nodes[0].op_type]
        operator.tests += 1
        try:
            model = sluice.onnx.load(case.model.SerializeToString())
        except sluice.SluiceError:
            continue
        operator.loaded += 1
        types = {op.type for op in model.program.global_block().ops}
        types = types - OPERANDS or types
        operator.ops.update(types)
        operator.alone |= types if len(types) == 1 else set()
    return found


def counterparts(found: dict[str, Operator], alone: bool = False) -> dict[str, set[str]]:
    """The operators that an op is used for, or is `alone`, by the name of the op."""
    uses = collections.defaultdict(set)
    for name, operator in found.items():
        for op in operator.alone if alone else operator.ops:
            uses[op].add(name)
    return uses


def page(found: dict[str, Operator]) -> str:
    """The page about all operators."""
    rows = []
    for name, operator in sorted(found.items()):
        ops = [f"[`{op}`](ops/{op}.md)" for op, _ in operator.ops.most_common()]
        state = (
            "no test"
            if not operator.tests
            else (f"{operator.loaded} of {operator.tests}" if operator.loaded else "no")
        )
        rows.append([op_reference.onnx_link(name), state, ", ".join(ops)])
    read = sum(operator.loaded > 0 for operator in found.values())
    return "\n".join(
        [
            "# ONNX operators",
            "",
            f"{read} of the {len(found)} operators of onnx {onnx.__version__} are read, "
            "in all or in some of their forms. The number is that of the tests with this one node, from the "
            "backend suite of the package `onnx`, that load; tests that do not run, or "
            "give other values, are in `tests/onnx/suite_failures.txt`. The ops are "
            "those of all these models: one model has some of them.",
            "",
            *op_reference.table(["operator", "read", "as"], rows),
        ]
    )
