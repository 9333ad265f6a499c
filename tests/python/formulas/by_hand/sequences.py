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
test = "WarpCtc.StaysExactWhereProbabilitiesUnderflow"
x = [[[1e4, 0]], [[1e4, 0]]]
how = one | {"Logits": x, "Label": [[1]], "LabelLength": [1]}
row(test, "warpctc", near=1e-6, Loss=[[1e4 - LOG2]], **how)
# Equal labels need a blank between them.
test = "WarpCtc.AnImpossibleLabelHasAnInfiniteLossAndNoGradient"
x = [[[0, 1]], [[2, 3]]]
how = one | {"Logits": x, "Label": [[1, 1]], "LabelLength": [2]}
row(test, "warpctc", Loss=[[INF]], **how)
grad = {"Loss_GRAD": [[1]], "Logits_GRAD": np.zeros((2, 1, 2), "f4")}
row(test, "warpctc_grad", **how, **grad)


# Beams.
two = {"beam_size": 2, "end_id": 0}
test = "BeamSearch.TakesEqualScoresFromTheFirstRowAndColumnOn"
how = {
    "PreIds": [[1], [2]], "PreScores": [[0], [0]], "Scores": [[7] * 3, [7] * 3],
}
how |= {"SelectedIds": [[0], [1]], "ParentIdx": [0, 0], "Offsets": offsets(2)}
row(test, "beam_search", **how, **two)
test = "BeamSearch.CountsNaNAsTheLargestScore"
how = {"PreIds": [[1]], "PreScores": [[0]]}
how |= {"Scores": [[9, NAN, 8]], "SelectedIds": [[1], [0]]}
row(test, "beam_search", SelectedScores=[[NAN], [9]], **how, **two)
for second, out in [
    (5, {"SelectedScores": [[3], [2]], "OutOffsets": [0, 1, 2]}),
    (0, {"OutOffsets": [0, 0, 0]}),
]:
    test = "BeamSearch.KeepsWhatEndedUntilAllOfASourceDid"
    how = {"PreIds": [[0], [second]]}
    how |= {
        "PreScores": [[3], [1]], "Scores": [[9, 9], [2, 1]],
        "Offsets": offsets(2),
    }
    row(test, "beam_search", **how, **out, **two)
# Ragged rows.
test, x = "RowMap.RepeatsTheLastRowAsPadding", column(1, 2, 3, 9, 9)
out = column(2, 1, 3, 3, 3)
row(test, "sequence_reverse", X=x, Offsets=offsets(2, 1), Out=out)
test = "RowMap.IgnoresTheGradientOfPadding"
how = {"X": column(0, 0, 0), "Offsets": offsets(2)}
how |= {"Out_GRAD": column(1, 2, NAN), "X_GRAD": column(2, 1, 0)}
row(test, "sequence_reverse_grad", **how)
test = "LodReset.EndsWhereTheTrueRowsDo"
x = column(1, 2, 3, 4)
how = {"XOffsets": offsets(3)}
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
        "Emission": [emission], "Transition": transition, "Length": [length],
    }
    row(test, "crf_decoding", ViterbiPath=[path], **how)


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
    emission = rng.integers(-2, 3, (9, tags))
    transition = rng.integers(-2, 3, (tags + 2, tags))
    test = "CrfDecoding.FindsTheFirstOfTheBestPathsOfAnyNumberOfTags"
    decode(test, emission.tolist(), transition.tolist(), 9,
           best_path(emission, transition))


def cost(test, emission, transition, label, length, out):
    how = {"Emission": [emission], "Transition": transition, "Label": [label]}
    how |= {"Length": [length], "LogLikelihood": [[out]], "near": 1e-6}
    row(test, "linear_chain_crf", **how)


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
test = "DiscriminativeLoss.DoesNotLoseDigitsFarFromZero"
how = masked(np.float32([9999, 10001]), [2])
weights = {
    "variance_weight": 1.0, "distance_weight": 0.0,
    "regularization_weight": 0.0,
}
row(test, "discriminative_loss", Loss=[0.25], **how, **weights)

# B = 1, X = 2, Y = 3, N = 2: pixel (x, y) has the features 10 x + y and -y.
x, y = np.indices([2, 3])
image = np.stack([10 * x + y, -y], -1)[None]
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
test = "Recurrent.ANaNStaysInItsRowAndPastTheEndIsNotSeen"
x = np.float32([[1, NAN, 2], [3, 4, NAN]])[..., None]
last = np.float32([np.tanh(2), NAN, np.tanh(2)])[None, :, None]
ones = {"W": [[[1]]], "R": [[[1]]]}
how = ones | {"SequenceLens": np.int32([2, 2, 1]), "clip": 2.0}
row(test, "simple_rnn", X=x, near=1e-7, LastH=last, **how)
ones["activations"] = ["affine"]  # h = x + h
test = "Recurrent.RaggedRowsAreSequencesAndTheirPaddingIsNotRead"
x, start = [1, 10, 20, NAN, NAN], {"InitialH": [[[100], [200], [300]]]}
how = ones | {"Offsets": offsets(1, 0, 2), "X": column(*x)}
for direction, y, last in [
    ("forward", [101, 310, 330, 330, 330], [101, 200, 330]),
    ("reverse", [101, 330, 320, 320, 320], [101, 200, 330]),
]:
    how |= start | {"direction": direction, "LastH": column(*last)[None]}
    row(test, "simple_rnn", Y=column(*y)[:, None], **how)
test = "Recurrent.PaddingOfRaggedRowsHasNoGradient"
how = ones | {"Offsets": offsets(2), "X": column(1, 10, NAN, NAN)}
how["Y"] = column(1, 11, 0, 0)[:, None]
how["Y_GRAD"] = column(1, 1, NAN, NAN)[:, None]
how |= {"X_GRAD": column(2, 1, 0, 0), "W_GRAD": [[[12]]], "R_GRAD": [[[1]]]}
row(test, "simple_rnn_grad", Bias_GRAD=[[3, 3]], **how)
