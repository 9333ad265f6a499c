"""What all contestants of `./dev bench fluid` compute: the same sizes, first
values and inputs, made by NumPy. Gates of an LSTM are in the order i, f, g, o,
one after the other along the first dim of a weight; peers reorder them.
"""

import dataclasses

import numpy as np

RATE = 0.1  # of SGD for the networks and the table
ADAM_RATE = 0.01
IDS = 8  # batches of ids, taken in turns


@dataclasses.dataclass(frozen=True)
class Sizes:
    batch: int = 64
    steps: int = 100
    units: int = 128  # inputs of a step, and hidden units
    classes: int = 10
    rows: int = 1_000_000
    columns: int = 64
    touched: float = 0.01  # of the rows, in a step
    large: int = 10_000_000  # elements of the one parameter for Adam
    tensors: int = 200
    side: int = 64  # of each of these
    batches: int = 100  # of an epoch of the loader


SMALL = Sizes(batch=8, steps=6, units=8, rows=1000, columns=8,
              large=10_000, tensors=5, side=8, batches=4)


def weights(random, *shape):
    """Uniform numbers, as PyTorch's recurrent layers have them at first."""
    values = random.random(shape, np.float32) * 2 - 1
    return values / np.float32(np.sqrt(shape[-1]))


class Sequences:
    """A classifier of sequences by the last state of LSTM layers. x is [steps,
    batch, units], label [batch], and lengths [batch] has each number of steps
    about equally often, so that half of x is padding where lengths count."""

    def __init__(self, sizes, layers):
        random = np.random.default_rng(0)
        units = sizes.units
        self.sizes = sizes
        self.x = random.standard_normal((sizes.steps, sizes.batch, units),
                                        np.float32)
        self.label = random.integers(0, sizes.classes, sizes.batch)
        spread = np.linspace(1, sizes.steps, sizes.batch).round()
        self.lengths = random.permutation(spread).astype(np.int64)
        self.layers = [
            tuple(weights(random, *shape) for shape in
                  ((4 * units, units), (4 * units, units),
                   (4 * units,), (4 * units,)))
            for _ in range(layers)
        ]
        self.weight = weights(random, sizes.classes, units)
        self.bias = weights(random, sizes.classes)

    def packed(self):
        """The rows of x that are no padding, sequence by sequence, and their
        offsets."""
        rows = [self.x[:length, i] for i, length in enumerate(self.lengths)]
        return np.concatenate(rows), np.cumsum([0, *self.lengths])


def reordered(value, order):
    """The four gates of a weight or bias in another order, such as "iofg"."""
    parts = dict(zip("ifgo", np.split(value, 4), strict=True))
    return np.concatenate([parts[gate] for gate in order])


def table(sizes):
    """An embedding table, and batches of ids with some of them twice. Batches 1
    to 3 are one, so that their losses depend on the updates."""
    random = np.random.default_rng(0)
    values = random.random((sizes.rows, sizes.columns), np.float32)
    count = round(sizes.rows * sizes.touched)
    batches = random.integers(0, sizes.rows, (IDS, count))
    batches[2:4] = batches[1]
    return values, batches


def parameters(sizes, many):
    """Pairs of a parameter and its gradient."""
    random = np.random.default_rng(0)
    shapes = ([(sizes.side, sizes.side)] * sizes.tensors if many
              else [(sizes.large,)])
    return [(random.random(shape, np.float32),
             random.random(shape, np.float32) + np.float32(0.5))
            for shape in shapes]
