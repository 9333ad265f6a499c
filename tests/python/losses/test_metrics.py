"""Metrics as layers and as classes."""

import numpy as np
import pytest

import sluice as sl
from sluice import metrics


def pairs_in_order(scores, labels):
    """The area under the ROC curve: the share of pairs in the right order."""
    up, down = scores[labels == 1], scores[labels == 0]
    difference = up[:, None] - down
    return ((difference > 0) + 0.5 * (difference == 0)).mean()


def area_of_precision(scores, labels):
    """Precision by recall, from precision 1, by trapezoids."""
    recall, precision, area = 0.0, 1.0, 0.0
    for least in np.unique(scores)[::-1]:
        said = scores >= least
        now = labels[said].mean()
        hit = labels[said].sum() / labels.sum()
        area += (hit - recall) * (now + precision) / 2
        recall, precision = hit, now
    return area


AREAS = {"ROC": pairs_in_order, "PR": area_of_precision}


@pytest.mark.parametrize("curve", AREAS)
def test_auc_adds_up_batches_and_keeps_a_window(exe, rng, curve):
    x, y = sl.data("x", [None, 2]), sl.data("y", [None, 1], "int64")
    made = sl.layers.auc(x, y, curve, num_thresholds=100, slide_steps=2)
    exe.run(sl.default_startup_program())
    whole = metrics.Auc(curve=curve, num_thresholds=100)
    seen = []
    for n in (30, 20, 40):
        # Scores in the middle of steps, which rounding does not move.
        score = (rng.integers(0, 100, n) + 0.5) / 100
        label = rng.integers(0, 2, n)
        feed = {"x": np.stack([1 - score, score], 1), "y": label[:, None]}
        feed["x"] = feed["x"].astype("f4")
        area, last = exe.run(feed=feed, fetch_list=[made.auc, made.batch_auc])
        seen.append((score, label))
        whole.update(feed["x"], label)
        for found, batches in ((area, seen), (last, seen[-2:])):
            together = [np.concatenate(part) for part in zip(*batches)]
            np.testing.assert_allclose(found, AREAS[curve](*together))
        np.testing.assert_allclose(whole.eval(), area[0])
    whole.reset()
    assert whole.eval() == 0


def test_edit_distance_layer_and_class(exe):
    x, y = (sl.data(name, [None, None], "int64") for name in "xy")
    length = sl.data("length", [None], "int64")
    fetch = sl.layers.edit_distance(x, y, False, [9], label_length=length)
    feed = {
        "x": [[1, 2, 3], [4, 4, 9]],
        "y": [[1, 3, 0, 0], [4, 9, 4, 7]],
        "length": [2, 3],
    }
    feed = {name: np.array(value) for name, value in feed.items()}
    distance, count = exe.run(feed=feed, fetch_list=list(fetch))
    np.testing.assert_array_equal(distance, [[1], [0]])
    assert count == [2]
    metric = metrics.EditDistance()
    metric.update(distance, count)
    assert metric.eval() == (0.5, 0.5)


def test_chunk_eval_layer_and_class(exe):
    x, y = (sl.data(name, [None, None], "int64") for name in "xy")
    made = sl.layers.chunk_eval(x, y, "IOB", 2)
    metric = metrics.ChunkEvaluator()
    feed = {"x": np.array([[0, 1, 4, 2]]), "y": np.array([[0, 1, 2, 3]])}
    for _ in range(2):
        *_, ours, right, both = exe.run(feed=feed, fetch_list=list(made))
        metric.update(ours, right, both)
    assert (ours, right, both) == (2, 2, 1)
    assert metric.eval() == (0.5, 0.5, 0.5)


def test_precision_recall_layer(exe):
    x, y = (sl.data(name, [None], "int64") for name in "xy")
    made = sl.layers.precision_recall(x, y, class_number=2)
    feed = {"x": np.array([0, 1, 1, 1]), "y": np.array([0, 0, 1, 1])}
    (found,) = exe.run(feed=feed, fetch_list=[made.batch_metrics])
    macro, micro = (5 / 6, 0.75), (0.75, 0.75)
    for at, (p, r) in ((0, macro), (3, micro)):
        expected = [p, r, 2 * p * r / (p + r)]
        np.testing.assert_allclose(found[at : at + 3], expected)


def test_accuracy_is_weighed():
    metric = metrics.Accuracy("top1")
    metric.update(np.array([0.5], "f4"), 10)
    metric.update(1.0, 30)
    assert metric.eval() == 0.875
    assert metric.get_config() == {"value": 35.0, "weight": 40}
    metric.reset()
    with pytest.raises(sl.InvalidArgumentError, match="top1: there is no"):
        metric.eval()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: metrics.Accuracy().update([1, 2], 3), "one number"),
        (lambda: metrics.Accuracy().update(1, -3), "weight"),
        (lambda: metrics.Precision().update([1.0], [1, 0]), "2 labels"),
        (lambda: metrics.Recall().update([np.nan, 1.0], [1, 0]), "0 to 1"),
        (lambda: metrics.Precision().update([3.5, 1.0], [1, 0]), "0 to 1"),
        (lambda: metrics.Precision().update([1.0], [2]), "0 or 1"),
        (lambda: metrics.Auc().update([[1.0]], [2]), "0 or 1"),
        (lambda: metrics.Auc(curve="PRC"), "ROC or PR"),
        (lambda: metrics.Auc().update([[1.5]], [1]), "0 to 1"),
        (lambda: metrics.Auc().update([[np.nan]], [1]), "0 to 1"),
        (lambda: metrics.EditDistance().update([[1.0]], 2), "seq_num 2"),
        (lambda: metrics.EditDistance().eval(), "no batch"),
        (lambda: metrics.CompositeMetric().add_metric(3), "metric"),
    ],
)
def test_wrong_arguments_of_metrics(call, words):
    with pytest.raises(sl.InvalidArgumentError, match=words) as error:
        call()
    assert error.value.check_id == "python.metric"


def test_a_perfect_classifier_has_all_of_the_area():
    for curve in AREAS:
        metric = metrics.Auc(curve=curve)
        metric.update([[0.9], [0.1]], [1, 0])
        assert metric.eval() == 1
