"""Datasets for the tests of loaders, some of which fail."""

import os
import random
import signal
import time

import numpy as np

import sluice as sl


class Numbers(sl.io.Dataset):
    """Sample i is (i, three random numbers)."""

    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        drawn = [random.random(), np.random.rand(), np.random.rand()]
        return index, np.asarray(drawn, np.float32)

    def __len__(self):
        return self.count


class Failing(Numbers):
    """Does something wrong at one index, in `how`."""

    def __init__(self, count, at, how):
        super().__init__(count)
        self.at, self.how = at, how

    def __getitem__(self, index):
        if index == self.at:
            if self.how == "raise":
                raise OSError("no such picture")
            if self.how == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "exit":
                os._exit(3)
            if self.how == "hang":
                time.sleep(60)
            if self.how == "shape":
                return index, np.zeros((3, 2), np.float32)
            if self.how == "dtype":
                return index, np.zeros(3)
        return super().__getitem__(index)


class Stream(sl.io.IterableDataset):
    """The numbers below `count`, with a random one each."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        for number in range(self.count):
            yield number, np.float32(np.random.rand())


def indices(batches):
    """The first fields of batches of these datasets."""
    return [batch[0].tolist() for batch in batches]


def flat(batches):
    """The bits of batches, to compare."""
    return [[array.tobytes() for array in batch] for batch in batches]
