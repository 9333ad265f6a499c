"""Conditional random fields, and embeddings of pixels in masks."""

import numpy as np

from .case import Tensor, case


def tagged(make, values):
    for batch, positions, tags in [
        (2, 4, 3),
        (3, 5, 2),
        (1, 1, 1),
        (2, 3, 1),
        (5, 1, 4),
        (1, 7, 2),
        (0, 3, 2),
        (61, 5, 3),
        (3, 3, 9),
    ]:
        yield {
            "Emission": values([batch, positions, tags]),
            "Transition": values([tags + 2, tags]),
            "Length": make.integers("int64", [batch], 1, positions),
            "Label": make.integers("int64", [batch, positions], 0, tags - 1),
        }


def sequences(make):
    yield from tagged(make, lambda dims: make.values(*dims))


def whole_sequences(make):
    """With and without labels. Whole weights have exact sums, so that paths are
    equal or not whatever the order of adding."""
    found = list(tagged(make, lambda dims: make.integers("T", dims, -4, 4)))
    for example in found:
        yield {name: x for name, x in example.items() if name != "Label"}
    yield from found


def scores_of(paths, emission, transition):
    """The scores of paths [position, path]."""
    steps = np.arange(len(paths))[:, None]
    inside = transition[2 + paths[:-1], paths[1:]].sum(0)
    ends = transition[0, paths[0]] + transition[1, paths[-1]]
    return emission[steps, paths].sum(0) + inside + ends


def all_paths(emission, transition, length):
    """(paths, scores) of each sequence, those with the smallest last tag first,
    then with the smallest tag before it, and so on."""
    tags = emission.shape[2]
    for b, size in enumerate(length):
        paths = np.indices([tags] * size).reshape(size, tags**size)[::-1]
        yield paths, scores_of(paths, emission[b], transition)


@case("crf_decoding", whole_sequences)
def crf_decoding(emission, transition, length, label):
    out = np.zeros(emission.shape[:2])
    found = all_paths(emission, transition, length)
    for b, (paths, scores) in enumerate(found):
        best, size = paths[:, scores.argmax()], length[b]
        out[b, :size] = best if label is None else best == label[b, :size]
    return {"ViterbiPath": out}


def log_z(scores):
    largest = scores.max()
    return largest + np.log(np.exp(scores - largest).sum())


@case("linear_chain_crf", sequences, slack=4)
def linear_chain_crf(emission, transition, length, label):
    cost = np.zeros((len(length), 1))
    found = all_paths(emission, transition, length)
    for b, (_, scores) in enumerate(found):
        right = label[b, : length[b], None]
        cost[b] = log_z(scores) - scores_of(right, emission[b], transition)
    return {"LogLikelihood": cost}


def sequence_grads(make):
    for example in list(sequences(make)):
        batch = example["Length"].values.size
        yield example | {"LogLikelihood@GRAD": make.values(batch, 1)}


@case("linear_chain_crf_grad", sequence_grads, slack=8)
def linear_chain_crf_grad(
    emission, transition, length, label, log_likelihood_grad
):
    """Each path counts by its probability; the correct one is subtracted."""
    grad, transition_grad = np.zeros(emission.shape), np.zeros(transition.shape)
    found = all_paths(emission, transition, length)
    for b, (paths, scores) in enumerate(found):
        right = label[b, : length[b], None]
        paths = np.concatenate([paths, right], 1)
        weights = np.append(np.exp(scores - log_z(scores)), -1)
        weights *= log_likelihood_grad[b]
        np.add.at(transition_grad[0], paths[0], weights)
        np.add.at(transition_grad[1], paths[-1], weights)
        for t, tags in enumerate(paths):
            np.add.at(grad[b, t], tags, weights)
            if t > 0:
                moves = 2 + paths[t - 1], tags
                np.add.at(transition_grad, moves, weights)
    return {"Emission@GRAD": grad, "Transition@GRAD": transition_grad}


def runs(make, dtype, dims, size):
    """Runs with 0 <= start <= end <= size, many of them empty."""
    found = []
    for _ in range(int(np.prod(dims))):
        start = make.integer(0, size)
        empty = make.integer(0, 2) == 0
        found.append([start, start if empty else make.integer(start, size)])
    return Tensor(np.reshape(found, (*dims, 2)), dtype)


def masked(make):
    for dtype in "int32", "int64":
        for b, m, x, y, n in [
            (2, 3, 5, 7, 3),
            (1, 1, 1, 1, 1),
            (3, 2, 4, 9, 16),
            (1, 5, 3, 8, 33),
            (0, 2, 3, 4, 5),
            (2, 0, 3, 4, 5),
            (2, 3, 0, 4, 5),
            (2, 3, 4, 0, 5),
            (2, 3, 4, 5, 0),
            (1, 4, 5, 6, 2),
            (2, 9, 37, 41, 16),
        ]:
            yield {
                "Embedding": make.values(b, x, y, n),
                "Mask": runs(make, dtype, (b, m, x), y),
            }


def pixels_of(mask, embedding):
    """Whether each pixel is in each mask: [image, mask, x, y]."""
    y = np.arange(embedding.shape[2])
    return (y >= mask[..., :1]) & (y < mask[..., 1:])


@case("average_embedding_mask", masked, slack=4)
def average_embedding_mask(embedding, mask):
    pixels = pixels_of(mask, embedding)
    count = pixels.sum((2, 3))
    sums = np.einsum("bmxy,bxyn->bmn", pixels, embedding)
    return {"Out": sums / np.maximum(count, 1)[..., None], "Count": count}


def average_grads(make):
    for example in list(masked(make)):
        dims = example["Mask"].values.shape[:2]
        features = example["Embedding"].values.shape[3]
        yield example | {"Out@GRAD": make.values(*dims, features)}


@case("average_embedding_mask_grad", average_grads, slack=4)
def average_embedding_mask_grad(embedding, mask, out_grad):
    pixels = pixels_of(mask, embedding)
    count = np.maximum(pixels.sum((2, 3)), 1)
    own = out_grad / count[..., None]
    return {"Embedding@GRAD": np.einsum("bmxy,bmn->bxyn", pixels, own)}


def losses(make):
    """Each hinge is active for some distances, and inactive for others."""
    attributes = [
        {},
        {"delta_v": 0.0, "delta_d": 0.25, "regularization_weight": 0.5},
        {
            "delta_v": 0.125,
            "variance_weight": 2.0,
            "distance_weight": 0.25,
            "regularization_weight": 0.0,
        },
    ]
    for number, example in enumerate(masked(make)):
        yield example | attributes[number % 3]


def images(embedding, mask):
    """For each image the pixels of masks that are not empty, as an index."""
    for masks in pixels_of(mask, embedding):
        yield [np.nonzero(pixels) for pixels in masks if pixels.any()]


def pairs(means, delta_d):
    """(mask, other, their distance, what is missing to twice delta_d)"""
    for m in range(len(means)):
        for other in range(m):
            apart = means[m] - means[other]
            missing = max(2 * delta_d - np.linalg.norm(apart), 0)
            yield m, other, apart, missing


@case("discriminative_loss", losses, slack=8)
def discriminative_loss(
    embedding,
    mask,
    delta_v,
    delta_d,
    variance_weight,
    distance_weight,
    regularization_weight,
):
    loss = np.zeros(len(embedding))
    for b, masks in enumerate(images(embedding, mask)):
        means = [embedding[b][pixels].mean(0) for pixels in masks]
        count = len(masks)
        for pixels, mean in zip(masks, means):
            away = np.linalg.norm(embedding[b][pixels] - mean, axis=1)
            variance = (np.maximum(away - delta_v, 0) ** 2).mean()
            length = np.linalg.norm(mean)
            loss[b] += variance_weight * variance / count
            loss[b] += regularization_weight * length / count
        for *_, missing in pairs(means, delta_d):
            part = missing**2 / (count * (count - 1) / 2)
            loss[b] += distance_weight * part
    return {"Loss": loss}


def loss_grads(make):
    for example in list(losses(make)):
        batch = len(example["Embedding"].values)
        yield example | {"Loss@GRAD": make.values(batch)}


def unit(vector):
    """The derivative of its length, 0 at 0."""
    length = np.linalg.norm(vector, axis=-1, keepdims=True)
    return vector / np.where(length == 0, 1, length)


@case("discriminative_loss_grad", loss_grads, slack=8)
def discriminative_loss_grad(
    embedding,
    mask,
    loss_grad,
    delta_v,
    delta_d,
    variance_weight,
    distance_weight,
    regularization_weight,
):
    """Adds the gradient of each norm separately; the gradient through a mean is
    divided equally among the pixels of its mask."""
    grad = np.zeros(embedding.shape)
    for b, masks in enumerate(images(embedding, mask)):
        means = [embedding[b][pixels].mean(0) for pixels in masks]
        count = len(masks)
        of_means = [regularization_weight / count * unit(one) for one in means]
        for m, pixels in enumerate(masks):
            away = embedding[b][pixels] - means[m]
            over = np.linalg.norm(away, axis=1, keepdims=True) - delta_v
            own = 2 * np.maximum(over, 0) * unit(away) / len(away)
            own *= variance_weight / count
            grad[b][pixels] += own
            of_means[m] = of_means[m] - own.sum(0)
        for m, other, apart, missing in pairs(means, delta_d):
            part = 2 * missing / (count * (count - 1) / 2) * unit(apart)
            of_means[m] = of_means[m] - distance_weight * part
            of_means[other] = of_means[other] + distance_weight * part
        for pixels, of_mean in zip(masks, of_means):
            grad[b][pixels] += of_mean / len(pixels[0])
        grad[b] *= loss_grad[b]
    return {"Embedding@GRAD": grad}
