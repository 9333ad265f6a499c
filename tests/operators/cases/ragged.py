"""Ops of sequences of rows, which offsets divide."""

import numpy as np

from .case import Tensor, case, moves, outputs_of, with_grads

# Empty sequences at the ends and inside; none; one; and rows for two threads.
LENGTHS = [[3, 0, 1, 4], [], [0, 0], [1], [97] * 90, [0, 2, 0]]


def offsets_of(lengths):
    return Tensor(np.cumsum([0, *lengths]), "int64")


def sequences(offsets):
    """The numbers of the rows of each sequence."""
    return [np.arange(*ends) for ends in zip(offsets, offsets[1:])]


def flat(lists):
    return np.concatenate([np.zeros(0, int), *lists])


def rows_of(x, lists):
    """Sequences of these rows of X."""
    return {
        "Out": x[flat(lists)],
        "OutOffsets": np.cumsum([0, *map(len, lists)]),
    }


def ragged(make, width=3):
    for lengths in LENGTHS:
        yield {
            "X": make.values(sum(lengths), width),
            "Offsets": offsets_of(lengths),
        }


@moves("sequence_reverse", ragged)
def sequence_reverse(x, offsets):
    return x[flat(rows[::-1] for rows in sequences(offsets))]


def one_each(*dims):
    """An X of these dims for each sequence."""

    def examples(make):
        for lengths in LENGTHS:
            yield {
                "X": make.values(len(lengths), *dims),
                "Y": make.integers("int64", [sum(lengths)], 0, 1),
                "Offsets": offsets_of(lengths),
            }

    return examples


@moves("sequence_expand_as", one_each(3))
def sequence_expand_as(x, offsets):
    return np.repeat(x, np.diff(offsets), 0)


@moves("sequence_unpad_as", one_each(98, 3))
def sequence_unpad_as(x, offsets):
    lengths = np.diff(offsets)
    return x[
        np.repeat(np.arange(len(x)), lengths), flat(map(np.arange, lengths))
    ]


def expansions(make):
    for lengths, times in [
        ([3, 0, 1, 4], [2, 3, 0, 1]),
        ([], []),
        ([1], [1]),
        ([41] * 70, [3] * 70),
    ]:
        yield {
            "X": make.values(sum(lengths), 3),
            "Y": make.integers("int64", [sum(times)], 0, 1),
            "Offsets": offsets_of(lengths),
            "YOffsets": offsets_of(times),
            "capacity": int(np.dot(lengths, times)),
        }


@moves("sequence_expand", expansions, forward=["capacity"])
def sequence_expand(x, offsets, yoffsets):
    lists = zip(sequences(offsets), np.diff(yoffsets))
    return rows_of(x, [rows for rows, times in lists for _ in range(times)])


def rows_and_more(make):
    for number, lengths in enumerate(LENGTHS):
        rows, more = sum(lengths), (number + 2) % 3
        yield {
            "X": make.values(rows + more, 1 + more),
            "Offsets": offsets_of(lengths),
            "rows": rows,
        }


@moves("sequence_rows", rows_and_more, forward=["rows"])
def sequence_rows(x, offsets):
    return x[flat(sequences(offsets))]


def slices(make):
    """Whole sequences, so that nothing is padding."""
    for example, lengths in zip(ragged(make), LENGTHS):
        zeros = np.zeros((len(lengths), 1), int)
        yield example | {
            "Offset": Tensor(zeros, "int64"),
            "Length": Tensor(np.reshape(lengths, zeros.shape), "int64"),
        }


@moves("sequence_slice", slices)
def sequence_slice(x, offsets, offset, length):
    lists = zip(sequences(offsets), offset[:, 0], length[:, 0])
    return rows_of(x, [rows[at:][:count] for rows, at, count in lists])


def pads(make):
    for number, example in enumerate(list(ragged(make))):
        value = make.values(3 if number % 2 else 1)
        yield example | {"PadValue": value, "padded_length": 98}


@moves("sequence_pad", pads, fill="pad_value", forward=["padded_length"])
def sequence_pad(x, offsets, pad_value, padded_length, out_grad):
    length = padded_length if out_grad is None else out_grad.shape[1]
    out = np.zeros((len(offsets) - 1, length, *x.shape[1:]), x.dtype)
    out[:] = pad_value
    for sequence, rows in zip(out, sequences(offsets)):
        sequence[: len(rows)] = x[rows]
    return {"Out": out, "Length": np.diff(offsets)}


def full(make):
    for batch, length in [(3, 5), (0, 4), (1, 1), (90, 97)]:
        yield {
            "X": make.values(batch, length, 2),
            "Length": Tensor(np.full(batch, length), "int64"),
        }


@moves("sequence_unpad", full)
def sequence_unpad(x, length):
    offsets = np.append(0, np.cumsum(length))
    return {"Out": sequence_unpad_as(x, offsets), "OutOffsets": offsets}


def pairs(make):
    for lengths in LENGTHS:
        more = lengths[::-1]
        yield {
            "X": [make.values(sum(one), 3) for one in (lengths, more)],
            "Offsets": [offsets_of(lengths), offsets_of(more)],
        }


def joined(x, offsets):
    """Rows of both X, one after the other."""
    both = zip(*map(sequences, offsets))
    return [np.append(rows, len(x[0]) + more) for rows, more in both]


@case("sequence_concat", pairs)
def sequence_concat(x, offsets):
    return rows_of(np.concatenate(x), joined(x, offsets))


@case("sequence_concat_grad", with_grads(pairs, sequence_concat))
def sequence_concat_grad(x, offsets, out_grad):
    grad = np.zeros(out_grad.shape)
    grad[flat(joined(x, offsets))] = out_grad
    first = len(x[0])
    return {"X@GRAD": grad[:first], "X@GRAD[1]": grad[first:]}


def contexts(make):
    for number, example in enumerate(ragged(make)):
        start, length = [(-1, 3), (0, 2), (-3, 2), (2, 1)][number % 4]
        yield example | {"start": start, "length": length}


@moves("sequence_context", contexts)
def sequence_context(x, offsets, start, length, fill=0):
    lengths = np.diff(offsets)
    at = np.arange(len(x))[:, None] + np.arange(start, start + length)
    inside = at >= np.repeat(offsets[:-1], lengths)[:, None]
    inside &= at < np.repeat(offsets[1:], lengths)[:, None]
    out = np.where(inside[..., None], x[np.where(inside, at, 0)], fill)
    return out.reshape(len(x), length * x.shape[1])


def integers(low, **attributes):
    def examples(make):
        for lengths in LENGTHS:
            yield {
                "X": make.integers("T", [sum(lengths), 1], low, 9),
                "Offsets": offsets_of(lengths),
            } | attributes

    return examples


@case("sequence_enumerate", integers(0, win_size=3, pad_value=7))
def sequence_enumerate(x, offsets, win_size, pad_value):
    return sequence_context(x, offsets, 0, win_size, pad_value)


# No token is there; the tests in Python erase some.
@case("sequence_erase", integers(2, tokens=[0, 1]))
def sequence_erase(x, offsets, tokens):
    lists = sequences(offsets)
    return rows_of(x, [rows[~np.isin(x[rows, 0], tokens)] for rows in lists])


def reshapes(make):
    for columns in 1, 2, 12:
        for lengths in [2, 0, 4, 2], [], [92] * 40:
            yield {
                "X": make.values(sum(lengths), 6),
                "Offsets": offsets_of(lengths),
                "new_dim": columns,
            }


@moves("sequence_reshape", reshapes)
def sequence_reshape(x, offsets, new_dim):
    return {
        "Out": x.reshape(x.size // new_dim, new_dim),
        "OutOffsets": offsets * x.shape[1] // new_dim,
    }


def images(make):
    for x, kernels, strides, paddings in [
        ([2, 3, 5, 4], [2, 2], [1, 1], [0, 0, 0, 0]),
        ([1, 2, 5, 7], [3, 2], [2, 1], [1, 0, 2, 1]),
        ([1, 1, 1, 1], [1, 1], [1, 1], [0, 0, 0, 0]),
        ([0, 2, 3, 3], [2, 2], [1, 1], [0, 0, 0, 0]),
        ([2, 3, 40, 40], [3, 3], [1, 1], [1, 1, 1, 1]),
    ]:
        yield {
            "X": make.values(*x),
            "kernels": kernels,
            "strides": strides,
            "paddings": paddings,
        }


@moves("im2sequence", images)
def im2sequence(x, kernels, strides, paddings):
    ends = [(0, 0), (0, 0), paddings[::2], paddings[1::2]]
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x, ends), kernels, (2, 3)
    )[:, :, :: strides[0], :: strides[1]]
    count, channels, rows, columns = windows.shape[:4]
    width = channels * int(np.prod(kernels))
    windows = windows.transpose(0, 2, 3, 1, 4, 5)
    return {
        "Out": windows.reshape(count * rows * columns, width),
        "OutOffsets": np.arange(count + 1) * rows * columns,
    }


@case("lod_reset", ragged)
def lod_reset(x):
    return x


@case("sequence_longest", ragged)
def sequence_longest(offsets):
    return np.max(np.diff(offsets), initial=0).reshape(1)


def expanded_rows(make):
    for example, lengths in zip(list(ragged(make)), LENGTHS):
        yield {
            "X": example["X"],
            "Y": make.values(sum(lengths), 1),
            "Offsets": example["Offsets"],
            "YOffsets": offsets_of(lengths[::-1]),
        }


@case("sequence_expand_rows", expanded_rows)
def sequence_expand_rows(offsets, yoffsets):
    """The capacity for the rows: 0, 16, 20, 25, ..., each a quarter more."""
    rows = np.dot(np.diff(offsets), np.diff(yoffsets))
    capacity = 16 if rows else 0
    while capacity < rows:
        capacity = capacity * 5 // 4
    return np.array([capacity])


def pools(*types):
    def examples(make):
        for pooltype in types:
            if pooltype in ("AVERAGE", "SQRT") and not make.kind["float"]:
                continue
            for example in ragged(make):
                yield example | {"pooltype": pooltype, "pad_value": -2.0}

    return examples


def weights(pooltype, rows, best):
    """How much each element of the rows counts; `best` are the rows of the
    largest elements."""
    count, ones = len(rows), np.ones((len(rows), *best.shape))
    number = rows.reshape(-1, *[1] * best.ndim)
    return {
        "SUM": ones,
        "AVERAGE": ones / count,
        "SQRT": ones / count**0.5,
        "MAX": ones * (number == best),
        "FIRST": ones * (number == rows[0]),
        "LAST": ones * (number == rows[-1]),
    }[pooltype]


def pool_cases(op, types, lists_of, of_all=False):
    """The cases of a pool over these lists of rows, or `of_all` rows, and of its
    gradient."""

    @case(op, pools(*types), slack=8)
    def pool(x, offsets, pooltype, pad_value):
        lists = lists_of(offsets)
        out = np.full((len(lists), *x.shape[1:]), pad_value)
        index = np.full(out.shape, -1)
        for at, rows in enumerate(lists):
            if len(rows):
                index[at] = rows[0] + np.argmax(x[rows], 0)
                parts = weights(pooltype, rows, index[at])
                out[at] = np.where(parts, parts * x[rows], 0).sum(0)
        if of_all:
            out, index = out[0], index[0]
        return {
            "Out": out,
            "MaxIndex": index if pooltype == "MAX" else np.zeros(0),
        }

    def grads(make):
        for example in list(pools(*types)(make)):
            outputs = outputs_of(pool, example)
            yield example | {
                "MaxIndex": Tensor(outputs["MaxIndex"], "int64"),
                "Out@GRAD": make.values(*outputs["Out"].shape),
            }

    @case(f"{op}_grad", grads, slack=8)
    def pool_grad(x, offsets, max_index, out_grad, pooltype):
        grad, lists = np.zeros(x.shape), lists_of(offsets)
        out_grad = out_grad.reshape(len(lists), *x.shape[1:])
        best = np.zeros(out_grad.shape)
        if pooltype == "MAX":
            best = max_index.reshape(out_grad.shape)
        for at, rows in enumerate(lists):
            if len(rows):
                grad[rows] = weights(pooltype, rows, best[at]) * out_grad[at]
        return {"X@GRAD": grad}


TYPES = ["SUM", "AVERAGE", "SQRT", "MAX", "FIRST", "LAST"]
pool_cases("sequence_pool", TYPES, sequences)
pool_cases(
    "sequence_reduce",
    ["SUM", "AVERAGE", "MAX"],
    lambda offsets: [np.arange(offsets[-1])],
    of_all=True,
)


def scatters(make):
    for lengths in LENGTHS:
        yield {
            "X": make.values(len(lengths), 4),
            "Ids": make.integers("int64", [sum(lengths), 1], 0, 3),
            "Offsets": offsets_of(lengths),
            "Updates": make.values(sum(lengths), 1),
        }


def places(ids, offsets):
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), ids[:, 0]


@case("sequence_scatter", scatters, slack=8)
def sequence_scatter(x, ids, offsets, updates):
    out = x.copy()
    np.add.at(out, places(ids, offsets), updates[:, 0])
    return out


def scatter_grads(make):
    for example in list(scatters(make)):
        x = example.pop("X").values
        yield example | {"Out@GRAD": make.values(*x.shape)}


@case("sequence_scatter_grad", scatter_grads)
def sequence_scatter_grad(ids, offsets, out_grad):
    return {"Updates@GRAD": out_grad[places(ids, offsets)][:, None]}


def softmaxes(make):
    for width in 1, 3:
        yield from ragged(make, width)


@case("sequence_softmax", softmaxes, slack=8)
def sequence_softmax(x, offsets):
    out = np.zeros(x.shape)
    for rows in sequences(offsets):
        out[rows] = np.exp(x[rows]) / np.exp(x[rows]).sum(0)
    return out


def softmax_grads(make):
    for example in list(softmaxes(make)):
        x = example["X"].values
        out = sequence_softmax(x, example["Offsets"].values)
        yield {
            "Out": Tensor(out),
            "Offsets": example["Offsets"],
            "Out@GRAD": make.values(*x.shape),
        }


@case("sequence_softmax_grad", softmax_grads, slack=16)
def sequence_softmax_grad(out, out_grad, offsets):
    x_grad = np.zeros(out.shape)
    for rows in sequences(offsets):
        sums = (out[rows] * out_grad[rows]).sum(0)
        x_grad[rows] = out[rows] * (out_grad[rows] - sums)
    return {"X@GRAD": x_grad}
