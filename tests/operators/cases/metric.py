"""Ops that judge what a model found."""

import functools

import numpy as np

from .case import Tensor, case


def scores(make):
    for window, dims in enumerate([[9, 2], [1, 1], [0, 2], [8, 1], [20001, 2]]):
        numbers = np.abs(make.values(*dims).values) / 4
        counts = "int64", [max(window, 1), 9], 0, 3
        yield {
            "Predict": Tensor(np.minimum(1, numbers)),
            "Label": make.integers("int64", [dims[0], 1], 0, 1),
            "StatPos": make.integers(*counts),
            "StatNeg": make.integers(*counts),
            "num_thresholds": 8,
            "slide_steps": window,
            "curve": "PR" if window % 2 else "ROC",
        }


@case("auc", scores, slack=4)
def auc(predict, label, stat_pos, stat_neg, slide_steps, curve):
    """The counts of both kinds, and the area from all pairs or thresholds."""
    bins, counts = np.floor(predict[:, -1] * 8).astype(int), []
    for kind, before in enumerate([stat_neg, stat_pos]):
        runs = before.copy()
        if slide_steps:
            runs = np.append(runs[1:], 0 * runs[:1], 0)
        runs[-1] += np.bincount(bins[label[:, 0] == kind], minlength=9)
        counts.append(runs)
    negative, positive = (runs.sum(0) for runs in counts)
    pairs, under, recall, precision = 0.0, 0.0, 0.0, 1.0
    for i in reversed(range(9)):
        pairs += positive[i] * (negative[:i].sum() + negative[i] / 2)
        hits, alarms = positive[i:].sum(), negative[i:].sum()
        if hits + alarms and positive.any():
            before, recall = recall, hits / positive.sum()
            last, precision = precision, hits / (hits + alarms)
            under += (recall - before) * (precision + last) / 2
    both = positive.sum() * negative.sum()
    area = pairs / max(both, 1) if curve == "ROC" else under
    return {
        "AUC": np.array([area if both else 0]),
        "StatPosOut": counts[1],
        "StatNegOut": counts[0],
    }


def found_classes(make):
    for rows in 7, 1, 0, 30001:
        example = {
            "Indices": make.integers("int64", [rows, 1], 0, 3),
            "Labels": make.integers("int64", [rows, 1], 0, 3),
            "class_number": 4,
        }
        if rows != 1:
            example["Weights"] = make.integers("float32", [rows, 1], 1, 3)
            example["StatesInfo"] = make.integers("float32", [4, 4], 0, 9)
        yield example


def share(part, rest):
    total = part + rest
    return np.where(total > 0, part / np.where(total > 0, total, 1), 1)


def metrics_of(counts):
    """The means over classes, and the metrics of all rows."""
    found = []
    for right, wrong, _, missed in counts.T, counts.sum(0):
        precision = np.mean(share(right, wrong))
        recall = np.mean(share(right, missed))
        total = precision + recall
        f1 = 2 * precision * recall / total if total > 0 else 0
        found += [precision, recall, f1]
    return np.array(found)


@case("precision_recall", found_classes, slack=4)
def precision_recall(indices, labels, weights, states_info, class_number):
    classes = np.arange(class_number)
    found, right = indices.reshape(-1, 1) == classes, labels == classes
    # True and false positives, true and false negatives.
    each = np.stack(
        [found & right, found & ~right, ~found & ~right, ~found & right], -1
    )
    each = each * (1.0 if weights is None else weights[..., None])
    counts = each.sum(0)
    every = counts + (0 if states_info is None else states_info)
    return {
        "BatchMetrics": metrics_of(counts),
        "AccumMetrics": metrics_of(every),
        "AccumStatesInfo": every,
    }


def sentences(make):
    for batch, hyps, refs in [
        (3, 4, 5),
        (1, 1, 1),
        (0, 2, 3),
        (2, 0, 3),
        (2, 3, 0),
        (1201, 5, 4),
    ]:
        example = {
            "Hyps": make.integers("T", [batch, hyps], 0, 3),
            "Refs": make.integers("T", [batch, refs, 1], 0, 3),
        }
        if batch > 2:
            example["HypsLength"] = make.integers("int64", [batch], 0, hyps)
            example["RefsLength"] = make.integers("int64", [batch], 1, refs)
            yield example | {"normalized": True}
        else:
            yield example | {"ignored_tokens": [3]}


def tokens_of(rows, lengths, ignored=()):
    """Lists of the tokens of each row."""
    for b, row in enumerate(rows):
        row = row.ravel()[: None if lengths is None else lengths[b]]
        yield [token for token in row.tolist() if token not in ignored]


@case("edit_distance", sentences)
def edit_distance(
    hyps, refs, hyps_length, refs_length, ignored_tokens, normalized
):
    out = []
    for hyp, ref in zip(
        tokens_of(hyps, hyps_length, ignored_tokens),
        tokens_of(refs, refs_length, ignored_tokens),
    ):

        @functools.cache
        def changes(i, j, hyp=hyp, ref=ref):
            """The fewest that make the rest of hyp that of ref."""
            if i == len(hyp) or j == len(ref):
                return len(ref) - j + len(hyp) - i
            if hyp[i] == ref[j]:
                return changes(i + 1, j + 1)
            ways = changes(i + 1, j), changes(i, j + 1), changes(i + 1, j + 1)
            return 1 + min(ways)

        out.append([changes(0, 0) / (len(ref) if normalized else 1)])
    return {
        "Out": np.reshape(out, (len(out), 1)),
        "SequenceNum": np.array([len(out)]),
    }


LETTERS = {"IOB": "BI", "IOE": "IE", "IOBES": "BIES", "plain": "I"}


def tags(make):
    for scheme, letters in LETTERS.items():
        for dims in [3, 40], [1, 1], [0, 4], [2, 0], [300, 50]:
            example = {
                "Inference": make.integers("int64", dims, 0, 2 * len(letters)),
                "Label": make.integers("int64", dims, 0, 2 * len(letters)),
                "num_chunk_types": 2,
                "chunk_scheme": scheme,
            }
            if dims[0] == 3:
                lengths = make.integers("int64", [3], 0, dims[1])
                example["SeqLength"] = lengths
                example["excluded_chunk_types"] = [1]
            yield example


def chunks(row, letters, excluded):
    """(first, last, type) of each, by conlleval's rules, with the letters of
    tags."""
    count, found, first = len(letters), set(), 0
    tags = [(letters[t % count], t // count) for t in row]
    tags = [("O", None) if kind == 2 else (tag, kind) for tag, kind in tags]
    tags = [("O", None), *tags, ("O", None)]
    for i, (tag, kind) in enumerate(tags[1:-1], 1):
        before, after = tags[i - 1], tags[i + 1]
        if tag == "O":
            continue
        if before[1] != kind or tag in "BS" or before[0] in "ES":
            first = i
        ends = after[1] != kind or tag in "ES" or after[0] in "BS"
        if ends and kind not in excluded:
            found.add((first, i, kind))
    return found


@case("chunk_eval", tags)
def chunk_eval(
    inference, label, seq_length, chunk_scheme, excluded_chunk_types
):
    ours = right = both = 0
    how = LETTERS[chunk_scheme], excluded_chunk_types
    for inferred, labels in zip(
        tokens_of(inference, seq_length), tokens_of(label, seq_length)
    ):
        inferred, labels = chunks(inferred, *how), chunks(labels, *how)
        ours += len(inferred)
        right += len(labels)
        both += len(inferred & labels)
    outputs = {
        "Precision": both / max(ours, 1),
        "Recall": both / max(right, 1),
        "F1Score": 2 * both / max(ours + right, 1),
        "NumInferChunks": ours,
        "NumLabelChunks": right,
        "NumCorrectChunks": both,
    }
    return {name: np.array([value]) for name, value in outputs.items()}
