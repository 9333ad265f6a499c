"""Losses, metrics, and ops on sequences and beams."""

import numpy as np

from .row import INF, NAN, row

LOG2 = np.log(2)


def offsets(*lengths):
    return np.cumsum([0, *lengths])


def column(*values):
    return np.float32(values)[:, None]


# One sequence of two times and two classes, of which 0 is the blank.
one = {"LogitsLength": [2]}
test, x = (
    "WarpCtc.StaysExactWhereProbabilitiesUnderflow",
    [[[1e4, 0]], [[1e4, 0]]],
)
how = one | {"Logits": x, "Label": [[1]], "LabelLength": [1]}
row(test, "warpctc", near=1e-6, Loss=[[1e4 - LOG2]], **how)
# Equal labels need a blank between them.
test, x = (
    "WarpCtc.AnImpossibleLabelHasAnInfiniteLossAndNoGradient",
    [[[0, 1]], [[2, 3]]],
)
how = one | {"Logits": x, "Label": [[1, 1]], "LabelLength": [2]}
row(test, "warpctc", Loss=[[INF]], **how)
grad = {"Loss_GRAD": [[1]], "Logits_GRAD": np.zeros((2, 1, 2), "f4")}
row(test, "warpctc_grad", **how, **grad)


def auc(test, scores, labels, before, auc, **how):
    how |= {"Predict": np.float32(scores)[:, None], "Label": labels}
    how |= {"StatPos": before, "StatNeg": before}
    how |= {} if auc is None else {"AUC": [auc]}
    row(test, "auc", **how)


# 3 of 4 pairs; then one pair is a tie.
test, four = "Auc.IsTheShareOfPairsInTheRightOrder", {"num_thresholds": 4}
zeros, positive = np.zeros((1, 5), "i8"), {"StatPosOut": [[0, 1, 0, 0, 1]]}
auc(test, [0.1, 0.6, 0.3, 1], [0, 0, 1, 1], zeros, 0.75, **positive, **four)
auc(test, [0.1, 0.3, 0.3, 1], [0, 0, 1, 1], zeros, 0.875, **four)
auc(test, [0.1, 0.3], [1, 1], zeros, 0, **four)
test, before = "Auc.AWindowForgetsTheOldestRun", [[9, 9, 9], [0, 1, 0]]
how = {
    "StatPosOut": [[0, 1, 0], [0, 1, 0]],
    "StatNegOut": [[0, 1, 0], [0, 0, 0]],
}
auc(test, [0.9], [1], before, None, num_thresholds=2, slide_steps=2, **how)

row(
    *("PrecisionRecall.AveragesOverClassesAndOverRows", "precision_recall"),
    near=1e-15,
    **{"Indices": [0, 1, 1, 1], "Labels": [[0], [0], [1], [1]]},
    **{"StatesInfo": [[1, 0, 0, 0], [0, 0, 1, 0]], "class_number": 2},
    # Precision, recall and their mean over classes, then over rows.
    BatchMetrics=[5 / 6, 0.75, 30 / 38, 0.75, 0.75, 0.75],
    AccumStatesInfo=[[2, 0, 2, 1], [2, 1, 2, 0]],
)


def distance(hyp, ref, out, **how):
    how |= {"Hyps": np.int64([hyp]), "Refs": np.int64([ref])}
    row(
        "EditDistance.CountsTheFewestChanges",
        "edit_distance",
        near=1e-6,
        Out=[[out]],
        **how,
    )


distance([1, 2, 3, 3, 4, 5], [6, 2, 3, 3, 2, 5, 7], 3)  # kitten, sitting
distance([], [1, 2], 2)
distance([1, 2], [], 2)
distance([1, 2], [1, 3, 4], 2 / 3, normalized=True)
distance([0, 1, 9, 2], [1, 2, 0, 0], 0, ignored_tokens=[0, 9])

for tags, scheme, chunks in [
    ([0, 1, 0, 4, 2, 3, 3], "IOB", 3),
    ([1, 1, 4, 3], "IOB", 2),  # without a begin
    ([0, 1, 1, 4, 2, 2], "IOE", 3),
    ([0, 1, 2, 3, 3, 8, 4, 6], "IOBES", 4),
    ([0, 0, 2, 1, 1, 0], "plain", 3),
    ([4, 4], "IOB", 0),
]:
    how = {"Inference": [tags], "Label": [tags], "chunk_scheme": scheme}
    how |= {"NumInferChunks": [chunks], "NumCorrectChunks": [chunks]}
    test, score = "ChunkEval.FindsTheChunksOfEachScheme", float(chunks > 0)
    row(test, "chunk_eval", F1Score=[score], num_chunk_types=2, **how)
row(
    *("ChunkEval.ComparesWholeChunks", "chunk_eval"),
    **{"Inference": [[0, 1, 4, 2, 2, 0]], "Label": [[0, 1, 1, 2, 3, 0]]},
    **{"num_chunk_types": 2, "near": 1e-6},
    **{"NumInferChunks": [4], "NumLabelChunks": [3], "NumCorrectChunks": [1]},
    **{"Precision": [0.25], "F1Score": [2 / 7]},
)

# Beams.
two = {"beam_size": 2, "end_id": 0}
test = "BeamSearch.SelectsTheBestOfAllRowsOfASource"
how = {"PreIds": [[1], [2], [3]], "PreScores": [[0], [0], [0]]}
how |= {"Scores": [[1, 5], [4, 6], [2, 3]], "Offsets": offsets(2, 1)}
how |= {"SelectedIds": [[1], [1], [1], [0]], "ParentIdx": [0, 1, 2, 2]}
how |= {
    "SelectedScores": [[5], [6], [3], [2]],
    "OutSourceOffsets": offsets(2, 1),
}
row(test, "beam_search", OutOffsets=[0, 1, 2, 4, 4], **how, **two)
test = "BeamSearch.TakesEqualScoresFromTheFirstRowAndColumnOn"
how = {
    "PreIds": [[1], [2]],
    "PreScores": [[0], [0]],
    "Scores": [[7] * 3, [7] * 3],
}
how |= {"SelectedIds": [[0], [1]], "ParentIdx": [0, 0], "Offsets": offsets(2)}
row(test, "beam_search", **how, **two)
test, how = (
    "BeamSearch.CountsNaNAsTheLargestScore",
    {"PreIds": [[1]], "PreScores": [[0]]},
)
how |= {"Scores": [[9, NAN, 8]], "SelectedIds": [[1], [0]]}
row(test, "beam_search", SelectedScores=[[NAN], [9]], **how, **two)
for second, out in [
    (5, {"SelectedScores": [[3], [2]], "OutOffsets": [0, 1, 2]}),
    (0, {"OutOffsets": [0, 0, 0]}),
]:
    test, how = (
        "BeamSearch.KeepsWhatEndedUntilAllOfASourceDid",
        {"PreIds": [[0], [second]]},
    )
    how |= {
        "PreScores": [[3], [1]],
        "Scores": [[9, 9], [2, 1]],
        "Offsets": offsets(2),
    }
    row(test, "beam_search", **how, **out, **two)
# Two steps of one source: row 0 of step 1 goes on from row 1 of step 0.
test, how = (
    "BeamSearchDecode.GivesTheBestSentenceFirst",
    {"Ids": [[[1], [2]], [[3], [0]]]},
)
how |= {"Scores": [[[1], [2]], [[3], [4]]], "Offsets": [[0, 2, 2], [0, 0, 2]]}
how |= {"SourceOffsets": [[0, 1], [0, 2]], "OutOffsets": [0, 2, 4]}
how |= {"SentenceIds": [2, 0, 2, 3], "SentenceScores": [2, 4, 2, 3]}
row(test, "beam_search_decode", OutSourceOffsets=[0, 2], **how, **two)

# Ragged rows.
test, x = "RowMap.RepeatsTheLastRowAsPadding", column(1, 2, 3, 9, 9)
out = column(2, 1, 3, 3, 3)
row(test, "sequence_reverse", X=x, Offsets=offsets(2, 1), Out=out)
test, how = (
    "RowMap.IgnoresTheGradientOfPadding",
    {"X": column(0, 0, 0), "Offsets": offsets(2)},
)
how |= {"Out_GRAD": column(1, 2, NAN), "X_GRAD": column(2, 1, 0)}
row(test, "sequence_reverse_grad", **how)
test, x, how = (
    "LodReset.EndsWhereTheTrueRowsDo",
    column(1, 2, 3, 4),
    {"XOffsets": offsets(3)},
)
row(test, "lod_reset", X=x, Offsets=offsets(1, 2), Out=x, **how)
test, x = "SequencePool.TakesNaNForTheMaximum", column(1, NAN, 3, NAN)
how = {"Offsets": offsets(3, 0), "pooltype": "MAX", "pad_value": -1.0}
row(test, "sequence_pool", X=x, Out=[[NAN], [-1]], MaxIndex=[[1], [-1]], **how)
test, x = "SequenceReduce.LeavesPaddingOut", column(1, 2, 3, 100)
row(test, "sequence_reduce", X=x, Offsets=offsets(2, 1), Out=[6])

# Conditional random fields of two tags.
none = np.zeros((4, 2), "f4")


def decode(test, emission, transition, length, path, **how):
    how |= {
        "Emission": [emission],
        "Transition": transition,
        "Length": [length],
    }
    row(test, "crf_decoding", ViterbiPath=[path], **how)


test = "CrfDecoding.FindsTheBestPath"
# Transitions to the other tag have a higher score.
changing = [[0, 0], [0, 0], [-1, 1], [1, -1]]
decode(test, [[5, 0], [0, 0], [0, 0]], changing, 3, [0, 1, 0])
decode(test, [[0, 0], [0, 0], [5, 0]], changing, 2, [1, 0, 0])
# The first tag and the last.
decode(test, [[0, 0], [0, 0]], [[0, 1], [2, 0], [0, 0], [0, 0]], 2, [1, 0])
test = "CrfDecoding.TakesTheSmallestOfEqualTags"
decode(test, [[0, 0]] * 3, none, 3, [0, 0, 0])
test, forbidding = "CrfDecoding.NeverTakesAForbiddenTransition", none.copy()
forbidding[2, 0] = -INF
decode(test, [[9, 0], [8, 0]], forbidding, 2, [0, 1])
test, labels = "CrfDecoding.ComparesWithLabels", [[0, 0, 0, -1]]
decode(
    test, [[1, 0], [0, 1], [1, 0], [0, 1]], none, 3, [1, 0, 1, 0], Label=labels
)
decode("CrfDecoding.OfLengthZeroHasNoTags", [[1, 0], [0, 1]], none, 0, [0, 0])


def best_path(emission, transition):
    """Viterbi's algorithm as it is written down."""
    scores, before = transition[0] + emission[0], []
    for now in emission[1:]:
        sums = scores[:, None] + transition[2:]
        before.append(sums.argmax(0))
        scores = sums.max(0) + now
    path = [(scores + transition[1]).argmax()]
    for best in reversed(before):
        path.insert(0, best[path[0]])
    return path


# Weights are whole numbers, so that many paths are equally good.
rng = np.random.default_rng(5)
for tags in 1, 3, 7, 8, 9, 16, 31, 33, 40, 57, 130:
    emission, transition = (
        rng.integers(-2, 3, (9, tags)),
        rng.integers(-2, 3, (tags + 2, tags)),
    )
    test = "CrfDecoding.FindsTheFirstOfTheBestPathsOfAnyNumberOfTags"
    decode(
        test,
        emission.tolist(),
        transition.tolist(),
        9,
        best_path(emission, transition),
    )


def cost(test, emission, transition, label, length, out):
    how = {"Emission": [emission], "Transition": transition, "Label": [label]}
    how |= {"Length": [length], "LogLikelihood": [[out]], "near": 1e-6}
    row(test, "linear_chain_crf", **how)


test = "LinearChainCrf.IsMinusTheLogarithmOfTheProbability"
cost(test, [[0, 0]], none, [1], 1, LOG2)
cost(test, [[0, 0]] * 3, none, [1, 0, 1], 3, 3 * LOG2)
# P(1) = e^2 / (e^2 + 1), from the start, the end and the emission.
weights = [[0, 0.5], [0, 0.5], [0, 0], [0, 0]]
cost(test, [[0, 1]], weights, [1], 1, np.log1p(np.exp(-2)))
test = "LinearChainCrf.DoesNotReadPastTheLength"
cost(test, [[0, 0], [NAN, NAN]], none, [1, -7], 1, LOG2)
test, large = "LinearChainCrf.TakesAnyWeights", none.copy()
large[0] = 1e4, -1e4
cost(test, [[0, 0]], large, [0], 1, 0)
cost(test, [[0, 0]], large, [1], 1, 2e4)
# Tag 1 never follows itself, tag 0 never follows tag 0.
forbidding = [[0, 0], [0, 0], [-INF, 0], [0, -INF]]
cost(test, [[0, 0], [0, 0]], forbidding, [0, 1], 2, LOG2)
test = "LinearChainCrf.OfLengthZeroCostsNothing"
cost(test, [[1, 2]], [[1, 2], [3, 4], [5, 6], [7, 8]], [9], 0, 0)
how = {"Transition": none + 1, "LogLikelihood_GRAD": [[2]]}
zeros = {"Emission_GRAD": [[[0, 0]]], "Transition_GRAD": none}
x = {"Emission": [[[1, 1]]], "Label": [[9]], "Length": [0]}
row(test, "linear_chain_crf_grad", **x, **zeros, **how)
test, x = "LinearChainCrfGrad.IsZeroPastTheLength", [[[0, 0], [NAN, NAN]]]
how |= {"Emission_GRAD": [[[1, -1], [0, 0]]]}
how |= {"Transition_GRAD": [[1, -1], [1, -1], [0, 0], [0, 0]]}
row(
    test, "linear_chain_crf_grad", Emission=x, Label=[[1, 9]], Length=[1], **how
)

# Embeddings in masks: an image of one row with one feature.


def masked(pixels, ends):
    """Masks of consecutive columns up to `ends`."""
    runs = np.reshape(list(zip([0, *ends], ends)), (1, len(ends), 1, 2))
    return {
        "Embedding": np.reshape(pixels, (1, 1, -1, 1)),
        "Mask": runs.astype("i8"),
    }


def discriminative(test, pixels, ends, loss=None, grad=None, **how):
    pixels = np.array(pixels, float)
    how |= masked(pixels, ends)
    if loss is not None:
        row(test, "discriminative_loss", Loss=[loss], **how)
    if grad is not None:
        grad = {
            "Loss_GRAD": np.ones(1),
            "Embedding_GRAD": np.reshape(grad, (1, 1, -1, 1)),
        }
        row(test, "discriminative_loss_grad", **grad, **how)


test = "DiscriminativeLoss.HasNoLossWithoutMasks"
discriminative(test, [1, 2], [], 0)
discriminative(test, [1, 2], [0, 0], 0, [0.0, 0.0])
# Equal means, at 0, and pixels that are their means.
test = "DiscriminativeLossGrad.IsZeroForNormsOfZero"
discriminative(test, [0, 0, 0], [1, 3], grad=[0.0, 0.0, 0.0], delta_v=0.0)
# In float, the mean of squares minus the square of the mean would be 0.
test, how = (
    "DiscriminativeLoss.DoesNotLoseDigitsFarFromZero",
    masked(np.float32([9999, 10001]), [2]),
)
weights = {
    "variance_weight": 1.0,
    "distance_weight": 0.0,
    "regularization_weight": 0.0,
}
row(test, "discriminative_loss", Loss=[0.25], **how, **weights)

# B = 1, X = 2, Y = 3, N = 2: pixel (x, y) has the features 10 x + y and -y.
x, y = np.indices([2, 3])
image = np.stack([10 * x + y, -y], -1)[None]
# Masks: one pixel; a run on both x; nothing; everything.
mask = [
    [[[2, 3], [0, 0]], [[1, 3], [0, 2]], [[0, 0], [3, 3]], [[0, 3], [0, 3]]]
]
for dtype in "float32", "float64":
    for index in "int32", "int64":
        test = "AverageEmbeddingMaskTest.AveragesThePixelsOfEachMask"
        how = {"Embedding": image.astype(dtype), "Mask": np.array(mask, index)}
        out = [[[2, -2], [6, -1], [0, 0], [6, -1]]]
        row(
            test, "average_embedding_mask", Out=out, Count=[[1, 4, 0, 6]], **how
        )
for features in 1, 3, 16, 19:
    test = "AverageEmbeddingMaskTest.AgreesWithAddingEachPixel"
    pixels = rng.integers(0, 1000, (2, 7, 33, features)) / 1000
    runs = np.sort(rng.integers(0, 34, (2, 5, 7, 2)), -1)
    y = np.arange(33)
    inside = (runs[..., :1] <= y) & (y < runs[..., 1:])
    count = inside.sum((2, 3))
    sums = np.einsum("bmxy,bxyf->bmf", inside.astype(float), pixels)
    how = {"Out": sums / np.maximum(count, 1)[..., None], "Count": count}
    for dtype in "float32", "float64":
        for index in "int32", "int64":
            how |= {
                "Embedding": pixels.astype(dtype),
                "Mask": runs.astype(index),
            }
            how["Out"] = how["Out"].astype(dtype)
            row(test, "average_embedding_mask", close=1e-5, **how)
test, x = (
    "AverageEmbeddingMask.CountsAlsoWithoutFeatures",
    np.zeros((1, 1, 3, 0), "f4"),
)
row(test, "average_embedding_mask", Embedding=x, Mask=[[[[1, 3]]]], Count=[[2]])
# Pixels (0, 0) and (0, 1) are in the first mask, (0, 1) in the second; the
# third is empty.
mask = [[[[0, 2], [3, 3]], [[1, 2], [0, 0]], [[0, 0], [0, 0]]]]
how = {"Embedding": np.float32(image), "Mask": np.int32(mask)}
for first, a, b in (4, 2, 10), (NAN, NAN, NAN):
    test = "AverageEmbeddingMaskGrad.SharesOutAmongThePixelsOfEachMask"
    how["Out_GRAD"] = [[[first, 6], [8, 10], [NAN, NAN]]]
    grad = [[[[a, 3], [b, 13], [0, 0]], [[0, 0], [0, 0], [0, 0]]]]
    row(test, "average_embedding_mask_grad", Embedding_GRAD=grad, **how)


# Recurrent layers.
def attention(test, rule, query, key, value, **how):
    how |= {"q_num_heads": 1, "kv_num_heads": 1, "update_rule": rule}
    parts = {"Query": query, "Key": key, "Value": value}
    parts = {name: np.float32(x).reshape(1, -1, 1) for name, x in parts.items()}
    row(test, "linear_attention", **parts, **how)


test = "LinearAttention.TheDeltaRuleReplacesWhatAKeyHolds"
how = {"Beta": [[[1], [1]]], "Out": [[[5], [7]]], "PresentState": [[[[7]]]]}
attention(test, "delta", [1, 1], [1, 1], [5, 7], **how)
test, how = (
    "LinearAttention.TheLinearRuleAddsToThePast",
    {"PastState": [[[[100]]]]},
)
attention(test, "linear", [1, 2], [1, 1], [5, 7], Out=[[[105], [224]]], **how)


def rnn(test, x, of_y=None, last=None, **how):
    """One input and one unit, whose weights are 1."""
    how |= {"W": [[[1]]], "R": [[[1]]]}
    how |= {} if of_y is None else {"Y": np.float32(of_y)[..., None, :, None]}
    how |= {} if last is None else {"LastH": np.float32(last)[None, :, None]}
    row(test, "simple_rnn", X=np.float32(x)[..., None], near=1e-7, **how)


sums = {"activations": ["affine"]}  # h = x + h
test = "Recurrent.StepsPastTheEndOfARowGiveZeroAndKeepItsState"
x, y = (
    [[1, 10, 5], [2, 20, 6], [3, 30, 7]],
    [[101, 210, 0], [103, 0, 0], [106, 0, 0]],
)
how = {"SequenceLens": np.int32([3, 1, 0]), "InitialH": [[[100], [200], [300]]]}
rnn(test, x, y, [106, 210, 300], **how, **sums)
test, x = (
    "Recurrent.ReverseStartsAtTheEndOfEachRow",
    [[1, 10], [2, 20], [3, 30]],
)
how = {"SequenceLens": np.int32([3, 2]), "direction": "reverse"} | sums
rnn(test, x, [[6, 30], [5, 20], [3, 0]], [6, 30], **how)
test = "Recurrent.ANaNStaysInItsRowAndPastTheEndIsNotSeen"
last = [np.tanh(2), NAN, np.tanh(2)]
how = {"SequenceLens": np.int32([2, 2, 1]), "clip": 2.0}
rnn(test, [[1, NAN, 2], [3, 4, NAN]], None, last, **how)
test = "Recurrent.RaggedRowsAreSequencesAndTheirPaddingIsNotRead"
x, start = [1, 10, 20, NAN, NAN], {"InitialH": [[[100], [200], [300]]]}
how = {
    "Offsets": offsets(1, 0, 2),
    "W": [[[1]]],
    "R": [[[1]]],
    "X": column(*x),
} | sums
for direction, y, last in [
    ("forward", [101, 310, 330, 330, 330], [101, 200, 330]),
    ("reverse", [101, 330, 320, 320, 320], [101, 200, 330]),
]:
    how |= start | {"direction": direction, "LastH": column(*last)[None]}
    row(test, "simple_rnn", Y=column(*y)[:, None], **how)
test = "Recurrent.PaddingOfRaggedRowsHasNoGradient"
how = {
    "Offsets": offsets(2),
    "W": [[[1]]],
    "R": [[[1]]],
    "X": column(1, 10, NAN, NAN),
} | sums
how |= {
    "Y": column(1, 11, 0, 0)[:, None],
    "Y_GRAD": column(1, 1, NAN, NAN)[:, None],
}
how |= {"X_GRAD": column(2, 1, 0, 0), "W_GRAD": [[[12]]], "R_GRAD": [[[1]]]}
row(test, "simple_rnn_grad", Bias_GRAD=[[3, 3]], **how)
