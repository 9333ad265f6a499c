"""Metrics over many batches, from arrays: the classes of fluid.metrics."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from .display import Shown
from .elsewhere import checked, help_with_names
from .errors import InvalidArgumentError
from .feed_values import positive

__all__ = [
    "Accuracy", "Auc", "ChunkEvaluator", "CompositeMetric", "EditDistance",
    "MetricBase", "Precision", "Recall",
]


class MetricBase(Shown):
    """A metric; numbers and arrays among its attributes are its state."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name or type(self).__name__

    def reset(self) -> None:
        """Begin again: set the numbers and arrays of the state to 0."""
        for key, value in self.get_config().items():
            setattr(self, key, value * 0)

    def get_config(self) -> dict[str, Any]:
        """The state, by attribute."""
        return {
            key: value
            for key, value in vars(self).items()
            if isinstance(value, (int, float, np.ndarray)) and key[0] != "_"
        }

    def update(self, *args: Any) -> None:
        """Add a batch."""
        raise NotImplementedError

    def eval(self) -> Any:
        """The metric of all batches since the beginning."""
        raise NotImplementedError

    def _fail(self, text: str) -> None:
        raise InvalidArgumentError(f"{self.name}: {text}", "python.metric")

    def _number(self, what: str, value: Any) -> float:
        array = np.asarray(value)
        if array.size != 1 or array.dtype.kind not in "biuf":
            shown = _core._shown(value)
            self._fail(f"{what}: expected one number, got {shown}")
        return array.item()

    def _shares(self, preds: np.ndarray) -> np.ndarray:
        if not ((preds >= 0) & (preds <= 1)).all():
            self._fail("preds: expected probabilities, 0 to 1")
        return preds

    def _labels_of(self, preds: np.ndarray, labels: Any) -> np.ndarray:
        labels = np.asarray(labels).ravel()
        if preds.shape != labels.shape:
            self._fail(f"{preds.size} predictions, but {labels.size} labels")
        if not ((labels == 0) | (labels == 1)).all():
            self._fail("labels: expected 0 or 1")
        return labels

    def _nothing(self) -> None:
        self._fail("there is no batch yet: call update first")


@checked
class CompositeMetric(MetricBase):
    """Several metrics of the same predictions and labels."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self._metrics: list[MetricBase] = []

    def add_metric(self, metric: MetricBase) -> None:
        """Add one."""
        if not isinstance(metric, MetricBase):
            self._fail(f"expected a metric, got {_core._shown(metric)}")
        self._metrics.append(metric)

    def reset(self) -> None:
        """Reset all."""
        for metric in self._metrics:
            metric.reset()

    def update(self, preds: Any, labels: Any) -> None:
        """Add a batch to all."""
        for metric in self._metrics:
            metric.update(preds, labels)

    def eval(self) -> list[Any]:
        """A list with that of each."""
        return [metric.eval() for metric in self._metrics]


class _Binary(MetricBase):
    """Counts predictions, which are rounded, against labels 0 and 1."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.tp = self.fp = self.fn = 0

    def update(self, preds: Any, labels: Any) -> None:
        """Add a batch: probabilities of class 1, and labels, as many."""
        predicted = np.rint(self._shares(np.asarray(preds).ravel())) == 1
        right = self._labels_of(predicted, labels) == 1
        self.tp += int((predicted & right).sum())
        self.fp += int((predicted & ~right).sum())
        self.fn += int((~predicted & right).sum())


@checked
class Precision(_Binary):
    """The share of rows that are 1 among those predicted as 1."""

    def eval(self) -> float:
        """True positives over all that were predicted; 0 of none."""
        return self.tp / max(self.tp + self.fp, 1)


@checked
class Recall(_Binary):
    """The share of rows predicted as 1 among those that are 1."""

    def eval(self) -> float:
        """True positives over all that are; 0 of none."""
        return self.tp / max(self.tp + self.fn, 1)


@checked
class Accuracy(MetricBase):
    """The mean of the accuracies of batches, by weight."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.value = self.weight = 0.0

    def update(self, value: Any, weight: Any) -> None:
        """Add a batch: its accuracy, and how many rows it has."""
        weight = self._number("weight", weight)
        if not weight >= 0:
            self._fail(f"weight: expected a number from 0 on, got {weight}")
        self.value += self._number("value", value) * weight
        self.weight += weight

    def eval(self) -> float:
        """The mean; an error before the first batch."""
        if self.weight == 0:
            self._nothing()
        return self.value / self.weight


@checked
class ChunkEvaluator(MetricBase):
    """Precision, recall and F1 of chunks; ``sl.layers.chunk_eval`` counts."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.num_infer_chunks = self.num_label_chunks = 0
        self.num_correct_chunks = 0

    def update(self, num_infer: Any, num_label: Any, num_correct: Any) -> None:
        """Add a batch: chunks that were predicted, that are right, both."""
        self.num_infer_chunks += self._number("num_infer_chunks", num_infer)
        self.num_label_chunks += self._number("num_label_chunks", num_label)
        self.num_correct_chunks += self._number(
            "num_correct_chunks", num_correct
        )

    def eval(self) -> tuple[float, float, float]:
        """Precision, recall and F1; 0 of none."""
        precision = self.num_correct_chunks / max(self.num_infer_chunks, 1)
        recall = self.num_correct_chunks / max(self.num_label_chunks, 1)
        both = 2 * self.num_correct_chunks
        total = self.num_infer_chunks + self.num_label_chunks
        return precision, recall, both / max(total, 1)


@checked
class EditDistance(MetricBase):
    """The mean of distances; ``sl.layers.edit_distance`` computes them."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.total_distance = 0.0
        self.seq_num = self.instance_error = 0

    def update(self, distances: Any, seq_num: Any) -> None:
        """Add a batch: the distances [N, 1] and N."""
        distances = np.asarray(distances)
        count = self._number("seq_num", seq_num)
        if distances.size != count:
            self._fail(f"{distances.size} distances, but seq_num {count}")
        self.total_distance += float(distances.sum())
        self.instance_error += int((distances != 0).sum())
        self.seq_num += count

    def eval(self) -> tuple[float, float]:
        """The mean distance, and the share of sequences with one above 0."""
        if self.seq_num == 0:
            self._nothing()
        return (
            self.total_distance / self.seq_num,
            self.instance_error / self.seq_num,
        )


@checked
class Auc(MetricBase):
    """The area under a curve; the same numbers as ``sl.layers.auc``."""

    def __init__(
        self,
        name: str | None = None,
        curve: str = "ROC",
        num_thresholds: int = 4095,
    ) -> None:
        super().__init__(name)
        if curve not in ("ROC", "PR"):
            self._fail(f"curve: expected ROC or PR, got {_core._shown(curve)}")
        self._curve = curve
        self._steps = positive("Auc: num_thresholds", num_thresholds)
        self.positive = np.zeros(self._steps + 1, "int64")
        self.negative = np.zeros(self._steps + 1, "int64")

    def update(self, preds: Any, labels: Any) -> None:
        """Add a batch: [N, k], the last column of probabilities of class 1,
        and N labels."""
        scores = np.asarray(preds)
        scores = (scores if scores.ndim > 1 else scores[:, None])[:, -1]
        right = self._labels_of(self._shares(scores), labels) == 1
        bins = (scores.astype("float64") * self._steps).astype("int64")
        for counts, rows in (self.positive, right), (self.negative, ~right):
            counts += np.bincount(bins[rows], minlength=self._steps + 1)

    def eval(self) -> float:
        """The area; 0 while one of the two classes is missing."""
        hits = np.cumsum(self.positive[::-1]).astype("float64")
        alarms = np.cumsum(self.negative[::-1]).astype("float64")
        if hits[-1] == 0 or alarms[-1] == 0:
            return 0.0
        if self._curve == "ROC":
            x, y = alarms / alarms[-1], hits / hits[-1]
            x, y = np.append(0, x), np.append(0, y)
        else:
            some = hits + alarms > 0
            x = np.append(0, hits[some] / hits[-1])
            y = np.append(1, hits[some] / (hits + alarms)[some])
        return float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum())

help_with_names(globals())
