"""Ragged variables: feeds, results, plans, and what ops do with padding."""

import numpy as np
import pytest

import sluice as sl

layers = sl.layers


def ids(name="x", levels=1):
    return sl.data(name, [None, 1], "int64", lod_level=levels)


def classifier():
    """Sentiment: embedding, convolution, pooling, two classes."""
    words = ids("words")
    label = sl.data("label", [None, 1], "int64")
    embedded = layers.embedding(words, [50, 8])
    features = [
        layers.sequence_pool(
            layers.sequence_conv(embedded, 8, size, act="tanh"), "max"
        )
        for size in (2, 3)
    ]
    scores = layers.fc(layers.concat(features, axis=1), 2)
    loss = layers.mean(layers.softmax_with_cross_entropy(scores, label))
    accuracy = layers.accuracy(layers.softmax(scores), label)
    return loss, accuracy


def sentences(rng, count):
    """Word 7 followed by word 8 makes a sentence positive."""
    batch, labels = [], []
    for _ in range(count):
        words = rng.integers(10, 50, rng.integers(2, 60))
        positive = bool(rng.integers(2))
        at = rng.integers(0, len(words) - 1)
        words[at : at + 2] = (7, 8) if positive else (8, 7)
        batch.append(words.tolist())
        labels.append([int(positive)])
    return batch, np.array(labels)


def test_a_classifier_learns_ragged_text_with_few_plans(rng):
    loss, accuracy = classifier()
    for_test = sl.default_main_program().clone(for_test=True)
    sl.optimizer.Adam(0.02).minimize(loss)
    exe = sl.Executor()
    exe.run(sl.default_startup_program())
    before = exe.cached_plans
    for _ in range(150):
        batch, labels = sentences(rng, int(rng.integers(15, 17)))
        exe.run(feed={"words": batch, "label": labels}, fetch_list=[loss])
    assert exe.cached_plans - before <= 16
    batch, labels = sentences(rng, 200)
    (right,) = exe.run(
        for_test, {"words": batch, "label": labels}, [accuracy]
    )
    assert right > 0.95


def test_sentences_of_all_lengths_prepare_at_most_16_plans():
    pooled = layers.sequence_pool(layers.cast(ids(), dtype="float32"), "sum")
    exe = sl.Executor()
    for length in range(1, 301):
        (got,) = exe.run(feed={"x": [[1] * length]}, fetch_list=[pooled])
        assert got.item() == length
    assert exe.cached_plans <= 16


@pytest.mark.parametrize(
    "value",
    [
        [[1, 2], [], [3]],
        [np.array([[1], [2]]), np.zeros((0, 1), "int64"), np.array([[3]])],
        (np.array([[1], [2], [3]]), [0, 2, 2, 3]),
        (np.array([1, 2, 3]), np.array([0, 2, 2, 3])),
        (np.array([[1], [2], [3]]), [[2, 0, 1]]),
        sl.Ragged([[1], [2], [3]], [[0, 2, 2, 3]]),
    ],
)
def test_forms_of_a_feed(exe, value):
    x = ids()
    (got,) = exe.run(feed={"x": value}, fetch_list=[layers.scale(x, scale=2.0)])
    assert got.lod == [[0, 2, 2, 3]]
    assert [s.ravel().tolist() for s in got.sequences()] == [[2, 4], [], [6]]


def test_rows_and_offsets_may_be_fed_apart(exe):
    x = ids()
    feed = {"x": np.array([[1], [2], [3]]), "x@LOD": np.array([0, 3])}
    (got,) = exe.run(feed=feed, fetch_list=[layers.scale(x)])
    assert got.lod == [[0, 3]]


@pytest.mark.parametrize(
    ("offsets", "words"),
    [
        ([0, 2, 1, 3], r"must not fall: offsets\[1\] = 2, offsets\[2\] = 1"),
        ([1, 3], r"must start at 0, got \[1, 3\]"),
        ([0, 2], "end at 2; expected 3"),
        ([0, 4], "end at 4; expected 3"),
        ([], "must start at 0"),
        ([[2, 2]], r"lengths \[2, 2\] .*add up to 4; there are 3 rows"),
        ([[4, -1]], r"a length is negative: \[4, -1\]"),
        ([[2], [1, 1, 1]], "add up to 2; there are 3 sequences below"),
        ([[1, 2], [1, 1, 1]], "expected 1 levels of sequences, got 2"),
    ],
)
def test_wrong_offsets_are_refused_and_the_next_run_works(exe, offsets, words):
    out = layers.sequence_pool(ids(), "sum")
    rows = np.array([[1], [2], [3]])
    with pytest.raises(sl.InvalidArgumentError, match=words):
        exe.run(feed={"x": (rows, offsets)}, fetch_list=[out])
    with pytest.raises(sl.InvalidArgumentError, match="lod is a list of levels"):
        sl.Ragged(rows, [0, 1, 3])
    (got,) = exe.run(feed={"x": (rows, [0, 1, 3])}, fetch_list=[out])
    assert got.tolist() == [[1], [5]]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.array([[1], [2]]), "it is ragged: expected a list of sequences"),
        ([[1.5]], "expected numbers that int64 can hold"),
        ([np.zeros((2, 2), "int64")], r"shape \[None, 1\], got \[2, 2\]"),
        (3, "it is ragged"),
    ],
)
def test_other_values_are_refused(exe, value, words):
    out = layers.sequence_pool(ids(), "sum")
    with pytest.raises(sl.InvalidArgumentError, match=words):
        exe.run(feed={"x": value}, fetch_list=[out])


def test_an_empty_batch_and_empty_sequences(exe):
    x = sl.data("x", [None, 2], lod_level=1)
    pooled = layers.sequence_pool(layers.fc(x, 3), "sum")
    loss = layers.reduce_sum(pooled)
    sl.optimizer.SGD(0.1).minimize(loss)
    exe.run(sl.default_startup_program())
    (got,) = exe.run(feed={"x": []}, fetch_list=[pooled])
    assert got.shape == (0, 3)
    (got,) = exe.run(feed={"x": [[], []]}, fetch_list=[pooled])
    assert got.tolist() == [[0] * 3] * 2


def test_reductions_count_true_rows_only(exe, rng):
    x = sl.data("x", [None, 3], "float64", lod_level=1)
    shifted = layers.scale(x, bias=5.0)  # padding is not 0
    fed = [rng.standard_normal((n, 3)) for n in (2, 0, 5)]
    rows = np.concatenate(fed) + 5
    cases = [
        (layers.mean(shifted), rows.mean()),
        (layers.reduce_sum(shifted), rows.sum()),
        (layers.reduce_mean(shifted, dim=[0]), rows.mean(0)),
        (layers.reduce_max(shifted, dim=[0, 1]), rows.max()),
        (layers.reduce_min(shifted, dim=[0], keep_dim=True), rows.min(0)[None]),
    ]
    got = exe.run(feed={"x": fed}, fetch_list=[out for out, _ in cases])
    for value, (_, expected) in zip(got, cases, strict=True):
        np.testing.assert_allclose(value, expected)
        assert value.shape == np.shape(expected)
    by_row = layers.reduce_sum(shifted, dim=[1])
    assert by_row.lod_level == 1


def test_accuracy_counts_true_rows_only(exe):
    scores = sl.data("scores", [None, 2], lod_level=1)
    label = sl.data("label", [None, 1], "int64", lod_level=1)
    feed = {
        "scores": [np.array([[1, 0], [0, 1]], "f4"), np.array([[0, 1]], "f4")],
        "label": [[0, 0], [1]],
    }
    (got,) = exe.run(feed=feed, fetch_list=[layers.accuracy(scores, label)])
    np.testing.assert_allclose(got, 2 / 3, rtol=1e-6)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: layers.batch_norm(layers.reshape(x, shape=[0, 4, 1, 1])),
        lambda x: layers.transpose(x, axis=[1, 0]),
        lambda x: layers.softmax(x, axis=0),
        lambda x: layers.concat([x, x], axis=0),
        lambda x: layers.reshape(x, shape=[-1]),
        lambda x: layers.matmul(x, x, transpose_x=True),
        lambda x: layers.gather(x, sl.data("at", [1], "int64")),
    ],
)
def test_ops_that_would_mix_padding_in_are_refused(build):
    x = sl.data("x", [None, 4], lod_level=1)
    with pytest.raises(
        sl.InvalidArgumentError,
        match=r"x@LOD.*would mix in; make them dense first, by sequence_pool",
    ):
        build(x)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: layers.relu(x),
        lambda x: x + x,
        lambda x: layers.fc(x, 3, act="relu"),
        lambda x: layers.softmax(x),
        lambda x: layers.dropout(x, 0.5),
        lambda x: layers.concat([x, x], axis=1),
        lambda x: layers.reshape(x, shape=[0, 2, 2]),
        lambda x: layers.transpose(
            layers.reshape(x, shape=[-1, 2, 2]), axis=[0, 2, 1]
        ),
        lambda x: layers.cast(x, dtype="float64"),
        lambda x: layers.ops.layer_norm(x, begin_norm_axis=1),
        lambda x: layers.topk(x, 2).indices,
        lambda x: layers.arg_max(x, axis=1),
        lambda x: layers.slice(x, starts=[1], ends=[3], axes=[1]),
    ],
)
def test_row_wise_layers_keep_the_sequences(exe, build):
    x = sl.data("x", [None, 4], lod_level=1)
    out = build(x)
    assert out.offsets.name == "x@LOD"
    exe.run(sl.default_startup_program())
    fed = [np.ones((2, 4), "f4"), np.ones((1, 4), "f4")]
    (got,) = exe.run(feed={"x": fed}, fetch_list=[out])
    assert got.lod == [[0, 2, 3]]
    assert len(got) == 3


def test_offsets_of_two_feeds_must_be_equal(exe):
    x, y = ids("x"), ids("y")
    out = x + y
    (got,) = exe.run(feed={"x": [[1], [2]], "y": [[3], [4]]}, fetch_list=[out])
    assert got.ravel().tolist() == [4, 6]
    with pytest.raises(sl.InvalidArgumentError, match="x and y must have"):
        exe.run(feed={"x": [[1, 2]], "y": [[3], [4]]}, fetch_list=[out])
    with pytest.raises(sl.InvalidArgumentError, match="by lod_reset"):
        layers.sequence_erase(x, [1]) + y


def test_padding_makes_no_nan_in_gradients_of_weights(exe, rng):
    x = sl.data("x", [None, 2], lod_level=1)
    scores = layers.exp(layers.fc(x, 1, bias_attr=False))
    sums = layers.sequence_pool(scores, "sum")
    shares = scores / layers.sequence_expand_as(sums, scores)
    loss = layers.reduce_sum(layers.square(shares))
    ((_, gradient),) = sl.append_backward(loss)
    exe.run(sl.default_startup_program())
    fed = [rng.standard_normal((n, 2)).astype("f4") for n in (3, 0, 2)]
    (got,) = exe.run(feed={"x": fed}, fetch_list=[gradient])
    assert np.isfinite(got).all()


def test_programs_keep_their_sequences_in_files_and_clones(exe):
    pooled = layers.sequence_pool(layers.scale(ids(), scale=2.0), "sum")
    main = sl.default_main_program()
    for program in (
        main.clone(for_test=True),
        sl.Program.parse(main.serialize()),
        main.prune([pooled]),
    ):
        assert program.var("x").lod_level == 1
        (got,) = exe.run(
            program, feed={"x": [[1, 2], [3]]}, fetch_list=[pooled.name]
        )
        assert got.tolist() == [[6], [6]]


def test_results_of_other_runs_have_true_rows(exe):
    out = layers.scale(ids(), scale=2.0)
    feed = {"x": [[1, 2], [3]]}
    for got in (
        exe.run_checked(feed=feed, fetch_list=[out])[0],
        exe.run_traced(feed=feed, fetch_list=[out]).results[0],
    ):
        assert got.lod == [[0, 2, 3]]
    (tensor,) = exe.run(feed=feed, fetch_list=[out], return_numpy=False)
    assert tensor.shape == (3, 1)


def test_programs_are_explained_without_a_feed():
    layers.sequence_pool(layers.cast(ids(levels=2), dtype="float32"), "sum")
    assert "sequence_pool" in str(sl.default_main_program().explain())


def test_arrays_computed_from_a_ragged_one_are_plain():
    ragged = sl.Ragged([[1.0], [2.0]], [[0, 2]])
    assert type(ragged + 1) is np.ndarray
    assert type(ragged[0]) is np.ndarray
    with pytest.raises(sl.InvalidArgumentError, match="end at 3"):
        sl.Ragged([[1.0]], [[0, 3]])


@pytest.mark.parametrize("shape", [[4, 1], []])
def test_ragged_data_needs_an_open_first_size(shape):
    with pytest.raises(sl.InvalidArgumentError, match="unknown dim 0"):
        sl.data("x", shape, lod_level=1)


def test_other_numbers_of_rows_are_named_with_the_sequences(exe):
    pooled = layers.sequence_pool(layers.embedding(ids(), [9, 2]), "sum")
    label = sl.data("label", [None, 1], "int64")
    loss = layers.softmax_with_cross_entropy(pooled, label)
    exe.run(sl.default_startup_program())
    labels = np.zeros((3, 1), "int64")
    for words in ([[1, 2, 3], [4]], (np.arange(4), [0, 3, 4])):
        with pytest.raises(sl.InvalidArgumentError) as error:
            exe.run(feed={"x": words, label: labels}, fetch_list=[loss])
        assert str(error.value).endswith(
            "\nfeed x has 2 sequences of 4 rows\nfeed label has 3 rows"
        )
    apart = {"x": np.arange(4), "x@LOD": [0, 3, 4], "label": labels}
    with pytest.raises(sl.InvalidArgumentError, match="label has 3 rows"):
        exe.run(feed=apart, fetch_list=[loss])


@pytest.mark.parametrize("value", [[[1, 2], [3]], ([1, 2], [0, 2])])
def test_a_feed_of_two_levels_is_shown(exe, value):
    x = sl.data("x", [None, 1], "int64", lod_level=2)
    with pytest.raises(
        sl.InvalidArgumentError,
        match=r"lod_level=1 is fed as .*, 2 as \[\[\[3, 5\], \[7\]\], \[\[4\]\]\]",
    ):
        exe.run(feed={"x": value}, fetch_list=[layers.scale(x)])
    given = [[[3, 5], [7]], [[4]]]
    (got,) = exe.run(feed={"x": given}, fetch_list=[layers.scale(x)])
    assert got.recursive_sequence_lengths() == [[2, 1], [2, 1, 1]]
