"""Metrics that are computed by ops; sluice.metrics adds up over batches."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..feed_values import positive
from ..initializer import Constant
from ..layer_helper import LayerHelper, make
from ..program import Variable
from .sequence import reduce_rows

__all__ = ["accuracy", "auc", "chunk_eval", "edit_distance", "topk"]


class TopK(NamedTuple):
    """The outputs of topk."""

    values: Variable
    indices: Variable


def topk(input: Variable, k: int = 1) -> TopK:
    """The k largest elements of each row, and their indices.

    Args:
        input: [..., columns].
        k: at most the number of columns.

    Returns:
        values and indices (int64), both [..., k].
    """
    outputs = input.program.append_op("top_k", {"X": input}, attrs={"k": k})
    return TopK(outputs["Out"], outputs["Indices"])


def accuracy(input: Variable, label: Variable, k: int = 1) -> Variable:
    """The share of rows whose label is among the k largest elements.

    Args:
        input: [N, classes] of scores.
        label: [N, 1] int64.
        k: at most the number of classes.

    Returns:
        A float32 variable of one element.
    """
    indices = topk(input, k).indices
    if input.lod_level:  # the share of true rows
        right = make("cast", indices == label, dtype="float32")
        return reduce_rows("mean", make("reduce_max", right, dim=[1]), {})
    inputs = {"Indices": indices, "Label": label}
    return input.program.append_op("accuracy", inputs)["Accuracy"]


class AucOutputs(NamedTuple):
    """The outputs of auc; counts are [1 or slide_steps, num_thresholds + 1]."""

    auc: Variable
    batch_auc: Variable
    states: list[Variable]


def auc(
    input: Variable,
    label: Variable,
    curve: str = "ROC",
    num_thresholds: int = 4095,
    slide_steps: int = 1,
    name: str | None = None,
) -> AucOutputs:
    """The area under a curve of a binary classifier.

    Rows are counted by score in persistables, which every run updates, also one
    of a clone for testing: ``scope[state.name] = zeros`` starts a state anew.

    Args:
        input: [N, k], probabilities; the last column counts.
        label: [N, 1] int64, 0 or 1.
        curve: ``"ROC"`` or ``"PR"`` (precision by recall; Fluid ignores it).
        num_thresholds: how many steps scores have.
        slide_steps: ``batch_auc`` is of this many batches, the last ones; 0
            for all.
        name: the layer's name.

    Returns:
        auc of all batches and batch_auc, float64 [1]; states: the counts of
        the last batches' positive and negative rows, then those of all.

    Raises:
        OutOfRangeError: at run time, for a score that is not from 0 to 1.
    """
    if slide_steps != 0:
        slide_steps = positive("auc: slide_steps", slide_steps)
    bins = positive("auc: num_thresholds", num_thresholds) + 1
    helper = LayerHelper("auc", name, input.program)
    areas, states = [], []
    for kind, steps in ("batch_", slide_steps), ("", 0):
        counts = [
            helper.create_persistable(
                f"{helper.name}.{kind}stat_{sign}",
                [max(steps, 1), bins],
                "int64",
                Constant(0),
            )
            for sign in ("pos", "neg")
        ]
        outputs = helper.append_op(
            "auc",
            {
                "Predict": input,
                "Label": label,
                "StatPos": counts[0],
                "StatNeg": counts[1],
            },
            {"StatPosOut": counts[0], "StatNegOut": counts[1]},
            {
                "curve": curve,
                "num_thresholds": num_thresholds,
                "slide_steps": steps,
            },
        )
        areas.append(outputs["AUC"])
        states += counts
    return AucOutputs(areas[1], areas[0], states)


def edit_distance(
    input: Variable,
    label: Variable,
    normalized: bool = True,
    ignored_tokens: Any = None,
    input_length: Variable | None = None,
    label_length: Variable | None = None,
) -> tuple[Variable, Variable]:
    """The Levenshtein distance of each pair of sequences.

    Args:
        input: tokens [batch, time] or [batch, time, 1].
        label: the right ones, of the same dtype; their time may differ.
        normalized: divide by the length of the right sequence.
        ignored_tokens: tokens that are left out first.
        input_length: [batch] int64; the whole rows if None.
        label_length: likewise for ``label``.

    Returns:
        The distances, float32 [batch, 1], and the batch, int64 [1].

    Raises:
        OutOfRangeError: at run time, if a right sequence is empty and the
            distance normalized, or for a wrong length.
    """
    inputs = {
        "Hyps": input,
        "Refs": label,
        "HypsLength": input_length,
        "RefsLength": label_length,
    }
    attrs = {
        "normalized": normalized,
        "ignored_tokens": list(ignored_tokens or ()),
    }
    outputs = input.program.append_op("edit_distance", inputs, attrs=attrs)
    return outputs["Out"], outputs["SequenceNum"]


class ChunkEvalOutputs(NamedTuple):
    """The outputs of chunk_eval, each of one element."""

    precision: Variable
    recall: Variable
    f1_score: Variable
    num_infer_chunks: Variable
    num_label_chunks: Variable
    num_correct_chunks: Variable


def chunk_eval(
    input: Variable,
    label: Variable,
    chunk_scheme: str,
    num_chunk_types: int,
    excluded_chunk_types: Any = None,
    seq_length: Variable | None = None,
) -> ChunkEvalOutputs:
    """Precision, recall and F1 of the chunks (phrases) in predicted tags.

    Args:
        input: predicted tags, [batch, time] int64: chunk type * tags of the
            scheme + position; num_chunk_types * tags is outside.
        label: the right tags.
        chunk_scheme: ``"IOB"``, ``"IOE"``, ``"IOBES"`` or ``"plain"``.
        num_chunk_types: how many types of chunks there are.
        excluded_chunk_types: types that do not count.
        seq_length: [batch] int64; the whole rows if None.

    Raises:
        OutOfRangeError: at run time, for a wrong tag or length.
    """
    inputs = {"Inference": input, "Label": label, "SeqLength": seq_length}
    attrs = {
        "chunk_scheme": chunk_scheme,
        "num_chunk_types": num_chunk_types,
        "excluded_chunk_types": list(excluded_chunk_types or ()),
    }
    outputs = input.program.append_op("chunk_eval", inputs, attrs=attrs)
    return ChunkEvalOutputs(*outputs.values())
