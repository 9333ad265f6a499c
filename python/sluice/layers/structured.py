"""Structured prediction: beam search, and linear-chain conditional random
fields over ragged or padded sequences.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import UnimplementedError, argument_error
from ..feed_values import positive
from ..layer_helper import LayerHelper, make
from ..program import Variable, require_variable
from .sequence import lod_reset
from .tensor_array import TensorArray, _filled

__all__ = [
    "beam_search", "beam_search_decode", "crf_decoding", "is_empty",
    "linear_chain_crf",
]


class Beams(NamedTuple):
    """The outputs of beam_search and of beam_search_decode."""

    ids: Variable
    scores: Variable


class BeamsWithParents(NamedTuple):
    """The outputs of beam_search with return_parent_idx."""

    ids: Variable
    scores: Variable
    parent_idx: Variable


def beam_search(
    pre_ids: Variable,
    pre_scores: Variable,
    ids: Variable | None,
    scores: Variable,
    beam_size: int,
    end_id: int,
    level: int = 0,
    is_accumulated: bool = True,
    name: str | None = None,
    return_parent_idx: bool = False,
) -> Beams | BeamsWithParents:
    """One step of a beam search: the best candidates of each source.

    The rows of a source are its hypotheses so far. A hypothesis has the
    candidates of its row, or, after ``end_id``, only itself. Of all candidates
    of a source the best are selected: equal scores from the first row and
    column on, NaN before all numbers. A source whose hypotheses all ended in an
    earlier step selects nothing.

    Args:
        pre_ids: [N, 1], int64 or int32: the last token of each hypothesis.
        pre_scores: [N, 1]: its score.
        ids: [N, K]: the tokens of its candidates; 0 to K - 1 if None.
        scores: [N, K], float32 or float64: the scores of the candidates. Their
            sequences are the sources; or those of one of the others, or else
            each row is a source.
        beam_size: the most candidates that are selected of a source.
        end_id: the token that ends a hypothesis.
        level: 0: the sources are the outermost level of sequences.
        is_accumulated: whether ``scores`` are those of whole hypotheses; if
            not, the logarithms of ``scores`` are added to ``pre_scores``.
        name: has no effect.
        return_parent_idx: whether to return parent_idx.

    Returns:
        ids and scores, [sources * beam_size, 1], ragged in two levels: of each
        source its rows of ``pre_ids``, and of each row what goes on from it,
        the best first. With ``return_parent_idx`` parent_idx, [sources *
        beam_size], int64: the row that each goes on from.

    Raises:
        InvalidArgumentError: the shapes do not fit; at run time, for offsets
            that end at other rows.
        UnimplementedError: another ``level``, or more than two.
    """
    variables = {"Scores": scores, "PreScores": pre_scores, "PreIds": pre_ids}
    if ids is not None:
        variables["Ids"] = ids
    cut = next((each for each in variables.values() if each.lod_level), None)
    inputs: dict[str, Any] = dict(variables)
    if cut is not None:
        levels = cut.lod
        if level != 0 or len(levels) > 2:
            raise argument_error(
                f"beam_search: level = {level}, and {cut!r} has {len(levels)} "
                "levels of sequences; expected level = 0, the sources, of one "
                "level or two",
                "python.beam_level",
                UnimplementedError,
            )
        inner = levels[-1].name
        inputs = {
            argument: x
            if x.offsets is None or x.offsets.name == inner
            else lod_reset(x, cut)
            for argument, x in variables.items()
        }
    attrs = {
        "beam_size": positive("beam_search: beam_size", beam_size),
        "end_id": end_id,
        "is_accumulated": is_accumulated,
    }
    outputs = scores.program.append_op("beam_search", inputs, attrs=attrs)
    found = outputs["SelectedIds"], outputs["SelectedScores"]
    if return_parent_idx:
        return BeamsWithParents(*found, outputs["ParentIdx"])
    return Beams(*found)


def beam_search_decode(
    ids: TensorArray,
    scores: TensorArray,
    beam_size: int,
    end_id: int,
    name: str | None = None,
) -> Beams:
    """The sentences that the steps of a beam search found.

    Args:
        ids: an array with what beam_search selected in each step.
        scores: an array with the scores.
        beam_size: as beam_search had it.
        end_id: as beam_search had it.
        name: has no effect.

    Returns:
        ids and scores of all tokens, ragged in two levels: of each source its
        sentences, from the best on, and of each sentence its tokens. The score
        of a sentence is that of its last token.

    Raises:
        InvalidArgumentError: the arrays have elements of other levels of
            sequences.
    """
    inputs = {}
    for argument, array in (("Ids", ids), ("Scores", scores)):
        what = f"beam_search_decode: {argument.lower()}"
        if len(_filled(what, array)._stacks) != 3:
            raise argument_error(
                f"{what}: expected an array of what beam_search selects, "
                "ragged in 2 levels; the elements have "
                f"{len(array._stacks) - 1}",
                "python.beam_levels",
            )
        inputs[argument] = array._stacks[0]
    inputs["Offsets"], inputs["SourceOffsets"] = ids._stacks[1:]
    outputs = ids.program.append_op(
        "beam_search_decode",
        {**inputs, "Length": ids._length},
        attrs={
            "beam_size": positive("beam_search_decode: beam_size", beam_size),
            "end_id": end_id,
        },
    )
    return Beams(outputs["SentenceIds"], outputs["SentenceScores"])


def is_empty(x: Variable, name: str | None = None) -> Variable:
    """Whether a variable has no elements; of a ragged one, no rows.

    Args:
        x: of any dtype.
        name: of the result.

    Returns:
        [1], bool.
    """
    if x.lod_level:
        count = make("sequence_longest", x)
    else:
        sizes = make("shape", x)
        count = make("reduce_prod", sizes, keep_dim=True)
    zero = make("scale", count, scale=0.0)
    return make("equal", {"X": count, "Y": zero}, name)


def _crf(
    op: str,
    input: Variable,
    label: Variable | None,
    length: Variable | None,
    param_attr: Any,
    name: str | None = None,
) -> Any:
    """Append an op with its parameter, the transitions; return its outputs."""
    require_variable(f"{op}: input", input)
    tags = (input.shape or (None,))[-1]
    if tags is None:
        raise argument_error(
            f"{op}: the number of tags must be known, got {input!r}",
            "python.crf_tags",
        )
    helper = LayerHelper(op, name, input.program)
    inputs = {"Emission": input, "Label": label, "Length": length}
    inputs["Transition"] = helper.create_parameter(
        param_attr, [tags + 2, tags], input.dtype
    )
    return helper.append_op(op, inputs)


def linear_chain_crf(
    input: Variable,
    label: Variable,
    length: Variable | None = None,
    param_attr: Any = None,
    name: str | None = None,
) -> Variable:
    """Negative log-likelihood of tag sequences.

    Args:
        input: emissions: ragged [rows, N], or padded [B, T, N].
        label: tags, int64: ragged [rows, 1], or padded [B, T].
        length: lengths of padded sequences, [B], int64.
        param_attr: attribute of the transitions [N + 2, N]: from the start, to
            the end, and from tag to tag. It needs a name for decoding.
        name: the layer's name.

    Returns:
        The cost of each sequence, [B, 1].

    Raises:
        InvalidArgumentError: N is unknown.
        OutOfRangeError: at run time, for a length outside of [0, T].
    """
    outputs = _crf("linear_chain_crf", input, label, length, param_attr, name)
    return outputs["LogLikelihood"]


def crf_decoding(
    input: Variable,
    length: Variable | None = None,
    param_attr: Any = None,
    label: Variable | None = None,
) -> Variable:
    """The likeliest tags of each sequence, by Viterbi's algorithm.

    Args:
        input: emissions: ragged [rows, N], or padded [B, T, N].
        length: lengths of padded sequences, [B], int64.
        param_attr: the name (or attribute) of the transitions.
        label: tags; if given, returns where they are right.

    Returns:
        Tags, int64: ragged [rows, 1], or [B, T] with zeros after the end.
    """
    outputs = _crf("crf_decoding", input, label, length, param_attr)
    return outputs["ViterbiPath"]
