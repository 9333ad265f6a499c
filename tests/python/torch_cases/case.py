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

# Ops that are not compared with PyTorch, by the reason and the place that tests
# them.
ELSEWHERE = {
    "NumPy's functions are the reference in tests/operators/cases": """
        assign assign_value bias_add cast clip concat crop cumprod cumsum
        determinant expand expand_as fill_any_like fill_constant flatten gather
        gather_elements gather_nd gather_tree lookup_table manhattan_distance
        matmul maxout mean mul one_hot pad print range reshape roll scale
        scatter_elements scatter_nd shape slice softmax squeeze sum tile top_k
        transpose trilu unfold unsqueeze where""",
    "needs several processes: tests/python/ranks/collectives.py": """
        barrier c_allgather c_allreduce_max c_allreduce_sum c_broadcast
        c_reducescatter sync_batch_norm""",
    "torch's do not broadcast, and give NaN; tests/python/sweep has them":
        "logistic_loss xlogy",
    "a metric; tests/operators/cases has its formula":
        "accuracy auc chunk_eval edit_distance precision_recall",
    "torch has no offsets; tests/operators/cases has its formula": """
        beam_search beam_search_decode im2sequence lod_reset sequence_concat
        sequence_context sequence_enumerate sequence_erase sequence_expand
        sequence_expand_as sequence_expand_rows sequence_longest sequence_pad
        sequence_pool sequence_reduce sequence_reshape sequence_reverse
        sequence_rows sequence_scatter sequence_slice sequence_softmax
        sequence_unpad sequence_unpad_as""",
    "torch has none; tests/operators/cases has its formula": """
        array_read array_write average_embedding_mask batch_parts bitcast compress
        crf_decoding dequantize_linear discriminative_loss linear_attention
        linear_chain_crf pairwise_coupling quantize_linear
        regex_full_match string_concat string_normalize string_split
        tfidf_vectorize tokenize tree_ensemble""",
    "torch has another order, or rounds otherwise; tests/operators/cases": """
        merge_rows pairwise_sum quantize_and_dequantize rows_to_dense searchsorted
        unique""",
    "an op of torchvision; tests/operators/cases has its formula":
        "deformable_conv non_max_suppression roi_align",
    "own numbers; tests/operators/cases/random.py":
        "dropout gaussian_random truncated_gaussian_random uniform_random",
    "tests/python/optimizers compares 100 steps with PyTorch's":
        " ".join(OPTIMIZERS + SCHEDULES),
}  # fmt: skip
NOT_COMPARED = {op for ops in ELSEWHERE.values() for op in ops.split()}


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
