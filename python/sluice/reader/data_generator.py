"""``fluid.incubate.data_generator``: samples as the lines of a data feed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from ..errors import InvalidArgumentError

__all__ = ["MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]


class DataGenerator:
    """Prints the samples of :meth:`generate_sample`, which a class derived from
    one of those below defines, a line for each.
    """

    batch_size_ = 32

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: batches of {self.batch_size_}>"

    def set_batch(self, batch_size: int) -> None:
        """How many samples :meth:`generate_batch` gets."""
        self.batch_size_ = batch_size

    def run_from_memory(self) -> None:
        """Print the samples of ``generate_sample(None)``."""
        self._print([None])

    def run_from_stdin(self) -> None:
        """Print the samples of each line of the standard input."""
        self._print(sys.stdin)

    def _print(self, lines: Iterable[str | None]) -> None:
        of_lines = (self.generate_sample(line)() for line in lines)
        samples = (s for of_line in of_lines for s in of_line if s is not None)
        while batch := list(islice(samples, self.batch_size_)):
            for sample in self.generate_batch(batch)():
                sys.stdout.write(self._gen_str(sample))

    def generate_sample(self, line: str | None) -> Callable[[], Iterable[Any]]:
        """A function whose results are samples, ``[(name, values), ...]``, or
        None for nothing.
        """
        raise NotImplementedError("generate_sample: the class must define it")

    def generate_batch(self, samples: list[Any]) -> Callable[[], Iterable[Any]]:
        """A function that gives the samples of a batch, here as they are."""
        return lambda: iter(samples)

    def _gen_str(self, line: Any) -> str:
        raise NotImplementedError("use MultiSlotDataGenerator")


class MultiSlotStringDataGenerator(DataGenerator):
    """Values are texts: ``[("words", ["19", "26"]), ("label", ["1"])]`` is the
    line ``2 19 26 1 1``.
    """

    def _gen_str(self, line: Any) -> str:
        if not isinstance(line, (list, tuple)):
            raise _wrong("[(name, values), ...]", line)
        parts = [" ".join([str(len(values)), *values]) for _, values in line]
        return " ".join(parts) + "\n"


class MultiSlotDataGenerator(MultiSlotStringDataGenerator):
    """Values are numbers, some of each; all samples have the same slots."""

    _names: list[str] | None = None

    def _gen_str(self, line: Any) -> str:
        texts = []
        for name, values in line if isinstance(line, (list, tuple)) else ():
            known = isinstance(name, str) and isinstance(values, list)
            if not known or not values or not all(map(_is_number, values)):
                raise _wrong("[(name, [number, ...]), ...]", line)
            texts.append((name, [str(each) for each in values]))
        names = [name for name, _ in texts]
        if self._names not in (None, names):
            raise _wrong(f"the slots {self._names}", line)
        self._names = names
        return super()._gen_str(texts or line)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _wrong(expected: str, line: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"a sample must be {expected}, got {line!r}", "fluid.sample"
    )
