"""The cases of test_against_torch.py: for each op some inputs and attributes,
and the same function in PyTorch.

Sizes are odd and random, and differ for each seed. A case has its inputs in
float64, which the test casts. Functions that make cases do not need PyTorch,
but the functions `same` do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sluice.layers import ops

try:
    import torch
    from torch.nn import functional
except ImportError:
    torch = functional = None

CASES: dict[str, list[Any]] = {}

OPTIMIZERS = [
    name
    for name in ops.names()
    if any(i["name"] == "LearningRate" for i in ops.schema(name)["inputs"])
]
SCHEDULES = [name for name in ops.names() if name.endswith("_decay")]

# Ops that PyTorch lacks, and the places where they are tested instead.
NO_COUNTERPART = {
    "crf_decoding": "all paths are tried in tests/operators/cases/sequence.py",
    **dict.fromkeys(
        (
            "barrier",
            "c_allgather",
            "c_allreduce_max",
            "c_allreduce_sum",
            "c_broadcast",
            "c_reducescatter",
            "sync_batch_norm",
        ),
        "needs several processes: tests/python/ranks/collectives.py",
    ),
    **dict.fromkeys(
        ("logistic_loss", "xlogy"),
        "torch's do not broadcast, and give NaN; tests/python/sweep has them",
    ),
    **dict.fromkeys(
        ("auc", "chunk_eval", "edit_distance", "precision_recall"),
        "a metric; tests/operators/cases/metric.py has its formula",
    ),
    **dict.fromkeys(
        (
            "beam_search",
            "beam_search_decode",
            "im2sequence",
            "lod_reset",
            "sequence_concat",
            "sequence_context",
            "sequence_enumerate",
            "sequence_erase",
            "sequence_expand",
            "sequence_expand_as",
            "sequence_expand_rows",
            "sequence_longest",
            "sequence_pad",
            "sequence_pool",
            "sequence_reduce",
            "sequence_reshape",
            "sequence_reverse",
            "sequence_rows",
            "sequence_scatter",
            "sequence_slice",
            "sequence_softmax",
            "sequence_unpad",
            "sequence_unpad_as",
        ),
        "torch has no offsets; tests/operators/cases has its formula",
    ),
    **dict.fromkeys(
        ("array_read", "array_write"),
        "tests/operators/cases/indexing.py has their formulas",
    ),
    "batch_parts": "a view of a batch; tests/operators/cases/collective.py",
    "pairwise_sum": "torch's order of sums is its own; "
    "tests/operators/cases/collective.py has its formula",
    "bitcast": "tests/operators/cases/conversion.py has all dtypes",
    "compress": "tests/operators/cases/search.py has its formula",
    **dict.fromkeys(
        ("dequantize_linear", "quantize_linear"),
        "tests/operators/cases/conversion.py has their formulas",
    ),
    **dict.fromkeys(
        ("expand_as", "fill_any_like", "gather_tree", "roll", "unfold"),
        "tests/python/everyday has their formulas in NumPy",
    ),
    **dict.fromkeys(
        ("merge_rows", "rows_to_dense"),
        "torch coalesces in its own order; tests/operators/cases has the formula",
    ),
    **dict.fromkeys(
        ("gaussian_random", "truncated_gaussian_random", "uniform_random"),
        "own numbers; tests/operators/cases/random.py",
    ),
    "linear_attention": "tests/operators/cases/recurrent.py has its formula",
    "linear_chain_crf": "all paths are summed in tests/operators/cases/sequence.py",
    "non_max_suppression": "tests/operators/cases/search.py has its "
    "formula; it is an op of torchvision",
    "quantize_and_dequantize": "torch rounds halves to even and has no ranges "
    "without a zero; tests/operators/cases/conversion.py has its formula",
    "searchsorted": "tests/operators/cases/search.py has its formula; "
    "torch has no order for NaN",
    **dict.fromkeys(
        OPTIMIZERS + SCHEDULES,
        "tests/python/optimizers compares 100 steps with PyTorch's",
    ),
    "unique": "tests/operators/cases/search.py has its formula; "
    "torch has no indices of the first ones",
}


@dataclass
class Case:
    """One op with its inputs by argument name.

    `same(tensors)` returns PyTorch's outputs by argument name, given the inputs
    as tensors; an output that it leaves out is not compared. `grads` names the
    inputs whose gradients are also compared.
    """

    inputs: dict[str, Any]
    same: Any
    attrs: dict[str, Any] = field(default_factory=dict)
    grads: tuple[str, ...] = ()


def case(op, *parameters):
    """Decorates a function of (rng, *parameter) that makes a case of `op`;
    there is one for each of `parameters`, each a tuple."""

    def add(make):
        CASES.setdefault(op, []).extend(
            (make, parameter) for parameter in parameters or [()]
        )
        return make

    return add


def odd(rng, count=1, most=9):
    """Odd sizes, 1 among them."""
    return [int(n) for n in 2 * rng.integers(0, (most + 1) // 2, count) + 1]


def away_from(rng, shape, kink=0.0):
    """Numbers between 0.1 and 2 to both sides of `kink`."""
    sign = rng.choice([-1.0, 1.0], shape)
    return kink + sign * rng.uniform(0.1, 2, shape)


def distinct(rng, shape):
    """Distinct numbers, so that maxima are unique."""
    count = int(np.prod(shape))
    return (rng.permutation(count) - count / 2).reshape(shape) * 0.1
