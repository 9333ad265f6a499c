"""Ops between ranks, on one of them, and those that prepare for them."""

from .case import case

SHAPES = [[3, 5], [1], [4, 0], [0], [7], [271, 301]]


def one_rank(**attributes):
    def examples(make):
        for dims in SHAPES:
            yield {"X": make.values(*dims)} | attributes

    return examples


def buckets(make):
    """The check of gradients, which asks for float64, takes one output only."""
    yield from one_rank()(make)
    if make.dtype != "float64":
        sizes = [3, 5], [], [0, 2], [17]
        yield {"X": [make.values(*dims) for dims in sizes]}


def same(*x):
    names = ["Out", *(f"Out[{i}]" for i in range(1, len(x)))]
    return dict(zip(names, x))


for op in "c_allreduce_sum", "c_allreduce_max", "c_broadcast", "barrier":
    case(op, buckets)(same)
for op in "c_allgather", "c_reducescatter":
    case(op, one_rank(nranks=1))(same)


def batches(make):
    yield from one_rank(parts=1)(make)
    yield {"X": make.values(6, 3), "parts": 3}


@case("batch_parts", batches)
def batch_parts(x, parts):
    return x.reshape(parts, x.shape[0] // parts, *x.shape[1:])


# Half types are rounded after each addition of a sum of 271 terms.
@case("pairwise_sum", one_rank(), slack=30)
def pairwise_sum(x):
    return x.sum(0)
