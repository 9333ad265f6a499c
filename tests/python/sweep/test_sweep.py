"""Every public formula against float64 and more; see sweeping.py."""

import re
from pathlib import Path

import elsewhere
import mistakes
import pytest
import rows_of_fluid
import rows_of_layers
import rows_of_losses
import rows_of_training
from torch_cases.case import OPTIMIZERS

import sluice as sl

TABLES = (rows_of_layers, rows_of_losses, rows_of_training, rows_of_fluid)
ROWS = [row for table in TABLES for row in table.ROWS]
TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row(row):
    row.verify()


@pytest.mark.parametrize("mistake", mistakes.MISTAKES, ids=lambda m: m.kind)
def test_a_planted_mistake_is_found(mistake):
    mistake.right.verify()  # is right without the mistake
    with pytest.raises(AssertionError, match=re.escape(mistake.wrong.name)):
        mistake.wrong.verify()


def test_every_public_name_has_a_row_or_a_file():
    names = {*sl.layers.ops.names(), *sl.layers.__all__}
    for module in (
        sl.optimizer, sl.metrics, sl.initializer, sl.clip, sl.regularizer
    ):  # fmt: skip
        names |= set(module.__all__)
    own = [table for table in TABLES if table is not rows_of_fluid]
    rows = {row.name for table in own for row in table.ROWS}
    far = "".join((TESTS / file).read_text() for file in elsewhere.FAR)
    rows |= {name for name in names if f'"{name}"' in far}
    for file, known in elsewhere.ELSEWHERE.items():
        text = (TESTS / file).read_text()
        for name in known.split():
            assert re.search(rf"\b{name}\b", text), f"{name} is not in {file}"
            assert name not in rows, f"{name} has a row"
        rows |= set(known.split())
    rows |= {*elsewhere.NO_FORMULA, *OPTIMIZERS}  # whose classes have rows
    missing = sorted(name for name in names - rows if name[:8] != "py_func_")
    assert not missing, "add rows to tests/python/sweep/rows_of_*.py"


def test_every_function_of_nn_has_a_test_in_cpp():
    root = TESTS.parents[1]
    text = "".join(p.read_text() for p in (root / "tests/nn").rglob("*.cc"))
    for header in (root / "nn").glob("*.h"):
        for name in re.findall(r"^SLUICE_API [\w:<>]+\s+(\w+)\(",
                               header.read_text(), re.M):  # fmt: skip
            assert re.search(rf"\b{name}\(", text), f"{header.name}: {name}"
