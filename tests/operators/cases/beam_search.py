"""Searches with beams."""

import numpy as np

from .case import Tensor, case
from .ragged import LENGTHS, offsets_of, sequences


def padded(values, *dims):
    """The last value again up to these dims."""
    rest = int(np.prod(dims)) - len(values)
    return np.reshape([*values, *(values or [0])[-1:] * rest], dims)


def beams(make, lengths, columns, count, dtype="int64"):
    rows = sum(lengths)
    return {
        "PreIds": make.integers(dtype, [rows, 1], 0, 3),
        "PreScores": make.values(rows, 1),
        "Ids": make.integers(dtype, [rows, columns], 0, 3),
        "Scores": make.values(rows, columns),
        "Offsets": offsets_of(lengths),
        "beam_size": count,
        "end_id": 1,
    }


def searches(make):
    for lengths in LENGTHS:
        yield beams(make, lengths, 3, 2)
    yield beams(make, [2, 3], 5, 7, "int32")
    yield beams(make, [2, 1], 0, 2)
    yield beams(make, [9] * 61, 101, 5)
    # Each row a source; and sources of groups of rows.
    example = beams(make, [3, 1], 4, 3)
    del example["Offsets"]
    yield example
    groups = {"SourceOffsets": offsets_of([3, 0, 1])}
    yield beams(make, [2, 0, 1, 3], 4, 3) | groups
    # Logarithms, of tokens without a list.
    example = beams(make, [3, 2], 5, 4)
    del example["Ids"]
    scores = make.integers("T", [5, 5], 1, 9)
    yield example | {"Scores": scores, "is_accumulated": False}


@case("beam_search", searches)
def beam_search(
    pre_ids,
    pre_scores,
    ids,
    scores,
    offsets,
    source_offsets,
    beam_size,
    end_id,
    is_accumulated,
):
    starts = np.arange(len(scores) + 1) if offsets is None else offsets
    if source_offsets is not None:
        starts = offsets[source_offsets]
    if ids is None:
        ids = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    if not is_accumulated:
        scores = pre_scores + np.log(scores)
    chosen = [[] for _ in scores]
    for rows in sequences(starts):
        candidates = []
        for row in rows:
            if pre_ids[row, 0] == end_id:
                candidates.append((pre_scores[row, 0], row, end_id))
            else:
                own = zip(scores[row], ids[row])
                candidates += [(score, row, token) for score, token in own]
        candidates.sort(key=lambda one: -one[0])
        candidates = candidates[:beam_size]
        if any(pre_ids[row, 0] != end_id for _, row, _ in candidates):
            for one in candidates:
                chosen[one[1]].append(one)
    every = [one for of_row in chosen for one in of_row]
    sources = len(starts) - 1
    most = sources * beam_size
    ends = [0, *np.cumsum([len(of_row) for of_row in chosen])]
    return {
        "SelectedIds": padded([token for _, _, token in every], most, 1),
        "SelectedScores": padded([score for score, _, _ in every], most, 1),
        "ParentIdx": padded([row for _, row, _ in every], most),
        "OutOffsets": padded(ends, max(most, len(scores)) + 1),
        "OutSourceOffsets": starts,
    }


def steps(make, count, sources, beam_size):
    """Steps of searches in which each row goes on with up to two rows."""
    rows = sources * beam_size
    offsets = np.zeros((count, rows + 1), int)
    outer = np.zeros((count, sources + 1), int)
    before = [1] * sources
    for t in range(count):
        ends = [0]
        for b in range(sources):
            left, prefixes, before[b] = make.integer(0, beam_size), before[b], 0
            for p in range(prefixes):
                more = left if p + 1 == prefixes else make.integer(0, left)
                left -= more
                before[b] += more
                ends.append(ends[-1] + more)
            outer[t, b + 1] = len(ends) - 1
        offsets[t] = padded(ends, rows + 1)
    return {
        "Ids": make.integers("int64", [count, rows, 1], 0, 2),
        "Scores": make.values(count, rows, 1),
        "Offsets": Tensor(offsets, "int64"),
        "SourceOffsets": Tensor(outer, "int64"),
        "beam_size": beam_size,
        "end_id": 0,
    }


def decodings(make):
    yield steps(make, 1, 1, 1)
    yield steps(make, 4, 3, 2)
    yield steps(make, 7, 2, 5) | {"Length": Tensor(np.array([6]), "int64")}
    yield steps(make, 3, 0, 2)
    yield steps(make, 0, 2, 3)
    yield steps(make, 60, 71, 5)


@case("beam_search_decode", decodings)
def beam_search_decode(
    ids, scores, offsets, source_offsets, length, beam_size, end_id
):
    words, values, ends, counts = [], [], [0], [0]
    sources = source_offsets.shape[1] - 1
    for b in range(sources):
        # The sentences after each step, as lists of (word, score), by row.
        last, kept = {}, {}
        for t in range(len(ids) if length is None else length[0]):
            now = {}
            for p in range(*source_offsets[t, b : b + 2]):
                for row in range(*offsets[t, p : p + 2]):
                    word = ids[t, row, 0], scores[t, row, 0]
                    now[row] = [*last.get(p, []), word]
            last, kept = now, now or kept
        for sentence in sorted(kept.values(), key=lambda one: -one[-1][1]):
            for i, (word, score) in enumerate(sentence, 1):
                if word != end_id or i == len(sentence):
                    words.append(word)
                    values.append(score)
            ends.append(len(words))
        counts.append(len(ends) - 1)
    most = len(ids) * sources * beam_size
    return {
        "SentenceIds": padded(words, most),
        "SentenceScores": padded(values, most),
        "OutOffsets": padded(ends, sources * beam_size + 1),
        "OutSourceOffsets": np.array(counts),
    }
