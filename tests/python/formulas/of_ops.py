"""What ops compute, by the references of their cases (tests/operators/cases)."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "operators"))
import cases.conv  # noqa: E402
import cases.norm  # noqa: E402
import cases.optimizer  # noqa: E402
import cases.ragged  # noqa: E402, F401
from cases.case import CASES, compute  # noqa: E402


def outputs_of(op, inputs, attributes):
    """The outputs by name; those of float64 are in float64."""
    return compute(CASES[op].reference, inputs, attributes)
