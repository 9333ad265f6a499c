"""Beam search and its decoding: against all sequences, and a search in Python."""

import itertools
import math

import numpy as np
import pytest
from formulas.searches import beam_search

import sluice as sl

layers = sl.layers
END = 0


def table_of(rng, tokens):
    """The log probabilities of each token after each other one."""
    raw = rng.standard_normal((tokens, tokens))
    return raw - np.log(np.exp(raw).sum(1, keepdims=True))


def decoder(tokens, beam_size, most, top_k=None):
    """Sentences of a fixed table, from first tokens [sources, 1] on."""
    starts = sl.data("starts", [None, 1], "int64")
    nothing = layers.cast(starts, dtype="float64") * 0.0
    # The first beam: each source has its first token as the only candidate.
    ids, scores = layers.beam_search(
        starts, nothing, starts, nothing, beam_size, END
    )
    arrays = [
        layers.array_write(
            each, 0, layers.create_array(each.dtype, capacity=most + 1)
        )
        for each in (ids, scores)
    ]

    def goes_on(i, ids, scores):
        some = layers.logical_not(layers.is_empty(layers.array_read(ids, i)))
        return layers.logical_and(some, i < most)

    def body(i, ids, scores):
        pre_scores = layers.array_read(scores, i)
        pre_ids = layers.lod_reset(layers.array_read(ids, i), pre_scores)
        following = layers.embedding(
            pre_ids, [tokens, tokens], param_attr="table", dtype="float64"
        )
        candidates = None
        if top_k:
            following, candidates = layers.topk(following, top_k)
        ids_of_step, scores_of_step = layers.beam_search(
            pre_ids,
            pre_scores,
            candidates,
            layers.elementwise_add(following, pre_scores),
            beam_size,
            END,
        )
        return [
            i + 1,
            layers.array_write(ids_of_step, i + 1, ids),
            layers.array_write(scores_of_step, i + 1, scores),
        ]

    first = layers.fill_constant(shape=[1], dtype="int64", value=0)
    steps, ids, scores = layers.while_loop(goes_on, body, [first, *arrays])
    return [*layers.beam_search_decode(ids, scores, beam_size, END), steps]


def run(exe, table, starts, fetch):
    exe.run(sl.default_startup_program())
    sl.global_scope()["table"] = table
    starts = np.array(starts, np.int64).reshape(-1, 1)
    return exe.run(feed={"starts": starts}, fetch_list=fetch)


def listed(ids, scores):
    """For each source (tokens, scores of tokens) of each sentence."""
    assert ids.lod == scores.lod
    sentences = zip(ids.sequences(), scores.sequences())
    pairs = [(tuple(i.tolist()), s.tolist()) for i, s in sentences]
    return [pairs[a:b] for a, b in itertools.pairwise(ids.lod[0])]


def all_sentences(table, start, most):
    """Every sentence that ends, or has ``most`` tokens after the first."""
    found, open_ones = [], [((start,), [0.0])]
    for step in range(most):
        longer = [
            ((*words, token), [*scores, scores[-1] + table[words[-1], token]])
            for words, scores in open_ones
            for token in range(len(table))
        ]
        ended = [each for each in longer if each[0][-1] == END]
        open_ones = [each for each in longer if each[0][-1] != END]
        found += ended if step + 1 < most else longer
    return found


def search(table, start, beam_size, most):
    def follow(state, token):
        return list(enumerate(table[token])), None

    return beam_search(start, None, follow, beam_size, most, END)


def same(got, want):
    assert [words for words, _ in got] == [words for words, _ in want]
    for (_, scores), (_, expected) in zip(got, want, strict=True):
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)


def test_a_large_beam_finds_the_best_of_all_sentences(exe, rng):
    tokens, most = 4, 5
    table = table_of(rng, tokens)
    fetch = decoder(tokens, beam_size=tokens**most, most=most)
    *found, steps = run(exe, table, [1, 3, 2, 3], fetch)
    for got, start in zip(listed(*found), [1, 3, 2, 3], strict=True):
        want = all_sentences(table, start, most)
        assert len(got) == len(want) == 364
        last = [scores[-1] for _, scores in got]
        assert last == sorted(last, reverse=True)
        assert sum(map(math.exp, last)) == pytest.approx(1)
        # Orders of the same steps differ by rounding alone.
        same(sorted(got), sorted(want))
    assert steps.item() == most


@pytest.mark.parametrize("beam_size", [1, 2, 3, 7])
@pytest.mark.parametrize("top_k", [None, 4])
def test_a_small_beam_is_that_of_a_search_in_python(exe, rng, beam_size, top_k):
    tokens, most = 9, 12
    starts = rng.integers(1, tokens, 13).tolist()
    fetch = decoder(tokens, beam_size, most, top_k and max(top_k, beam_size))
    ends = set()
    for _ in range(10):
        table = table_of(rng, tokens)
        table[:, END] += rng.uniform(0, 2)
        *found, steps = run(exe, table, starts, fetch)
        longest = 0
        for got, start in zip(listed(*found), starts, strict=True):
            want, count = search(table, start, beam_size, most)
            same(got, want)
            longest = max(longest, count)
            ends.add(count)
        # One more step finds that all have ended.
        assert steps.item() == min(longest + 1, most)
    assert len(ends) > 2
    assert exe.cached_plans <= 2


def test_sources_end_on_their_own(exe):
    """Token 1 ends at once, token 2 counts up to 5 and ends."""
    table = np.full((6, 6), -100.0)
    for token, following in ((1, 0), (2, 3), (3, 4), (4, 5), (5, 0)):
        table[token, following] = -0.5
    fetch = decoder(6, beam_size=1, most=20)
    *found, steps = run(exe, table, [1, 2, 1, 5], fetch)
    words = [each[0][0] for each in listed(*found)]
    assert words == [(1, 0), (2, 3, 4, 5, 0), (1, 0), (5, 0)]
    assert [each[0][1][-1] for each in listed(*found)] == [-0.5, -2, -0.5, -0.5]
    assert steps.item() == 5  # of 20, the last one selects nothing


def test_an_empty_batch_has_no_sentences(exe, rng):
    fetch = decoder(5, beam_size=2, most=4)
    ids, scores, steps = run(exe, table_of(rng, 5), [], fetch)
    assert ids.lod == [[0], [0]]
    assert ids.size == scores.size == steps.item() == 0


def test_a_sentence_whose_score_is_nan_is_the_first(exe, rng):
    table = table_of(rng, 4)
    table[2, 3] = math.nan
    fetch = decoder(4, beam_size=2, most=3)
    ids, scores, _ = run(exe, table, [2, 2], fetch)
    for sentences in listed(ids, scores):
        words, numbers = sentences[0]
        assert words[:2] == (2, 3)
        assert np.isnan(numbers[1:]).all()


def step_of(beam_size=2, **more):
    """One step over ragged rows of two levels."""
    pre_ids = sl.data("pre_ids", [None, 1], "int64", lod_level=2)
    pre_scores = sl.data("pre_scores", [None, 1], lod_level=2)
    scores = sl.data("scores", [None, 3], lod_level=2)
    return layers.beam_search(
        pre_ids, pre_scores, None, scores, beam_size, END, **more
    )


LOD = [[0, 2, 3], [0, 1, 3, 4]]  # rows 0 to 2 are of source 0
FEED = {
    "pre_ids": sl.Ragged(np.array([[1], [2], [0], [3]]), LOD),
    "pre_scores": sl.Ragged(np.full((4, 1), 0.5, "f4"), LOD),
    "scores": sl.Ragged(
        np.array([[1, 2, 3], [3, 9, 4], [8, 8, 8], [1, 2, 1]], "f4"), LOD
    ),
}


def test_a_step_takes_fluids_levels_and_gives_them(exe):
    ids, scores, parents = step_of(return_parent_idx=True)
    got, numbers, rows = exe.run(feed=FEED, fetch_list=[ids, scores, parents])
    assert got.lod == numbers.lod == [[0, 3, 4], [0, 0, 2, 2, 4]]
    assert got.ravel().tolist() == [1, 2, 1, 0]
    assert numbers.ravel().tolist() == [9, 4, 2, 1]
    assert rows[: len(got)].tolist() == [1, 1, 3, 3]


def test_a_step_may_add_logarithms(exe):
    ids, scores = step_of(is_accumulated=False)
    got, numbers = exe.run(feed=FEED, fetch_list=[ids, scores])
    assert got.ravel().tolist() == [1, 2, 1, 0]
    want = np.log(np.array([9, 4, 2, 1], "f4")) + np.float32(0.5)
    np.testing.assert_allclose(numbers.ravel(), want, rtol=1e-6)


def test_states_follow_their_hypotheses(exe):
    """By parent_idx, or as in Fluid by sequence_expand."""
    ids, scores, parents = step_of(return_parent_idx=True)
    state = sl.data("state", [None, 2])
    picked = layers.gather(state, parents)
    expanded = layers.sequence_expand(state, scores)
    rows = np.arange(32, dtype="f4").reshape(16, 2)
    feed = {**FEED, "state": rows}
    got, fluid = exe.run(feed=feed, fetch_list=[picked, expanded])
    np.testing.assert_array_equal(got, rows[[1, 1, 3, 3]])
    np.testing.assert_array_equal(fluid, got)


def test_what_cannot_be_searched_is_refused(exe):
    with pytest.raises(sl.UnimplementedError, match="level = 1"):
        step_of(level=1)
    x = sl.data("x", [None, 1])
    tokens = layers.cast(x, dtype="int64")
    with pytest.raises(sl.InvalidArgumentError, match="beam_size: expected an"):
        layers.beam_search(tokens, x, None, x, 0, END)
    with pytest.raises(sl.InvalidArgumentError, match="Ids"):
        layers.beam_search(tokens, x, layers.concat([tokens] * 2, 1), x, 1, END)
    array = layers.array_write(x, 0)
    with pytest.raises(
        sl.InvalidArgumentError, match=r"ragged in 2 levels; .* have 0"
    ):
        layers.beam_search_decode(array, array, 2, END)
    with pytest.raises(sl.InvalidArgumentError, match="no element yet"):
        layers.beam_search_decode(layers.create_array("int64"), array, 2, END)


def test_offsets_that_end_at_other_rows_are_refused(exe):
    fetch = step_of()
    rows = FEED["pre_ids"][:3]
    short = sl.Ragged(rows, [[0, 2, 3], [0, 1, 2, 3]])
    with pytest.raises(sl.InvalidArgumentError, match="end at 4; input X has 3 rows"):
        exe.run(feed={**FEED, "pre_ids": short}, fetch_list=list(fetch))


@pytest.mark.parametrize("shape", [(0, 2), (3, 0), (2, 2)])
def test_is_empty_counts_elements_and_true_rows(exe, shape):
    x, rows = sl.data("x", [None, None]), sl.data("r", [None, 1], lod_level=1)
    fetch = [layers.is_empty(x), layers.is_empty(rows)]
    lists = [[[1.0]] * shape[0], []]
    feed = {"x": np.zeros(shape, "f4"), "r": lists}
    dense, ragged = exe.run(feed=feed, fetch_list=fetch)
    assert (dense.shape, ragged.shape) == ((1,), (1,))
    assert dense.item() == (0 in shape)
    assert ragged.item() == (shape[0] == 0)
