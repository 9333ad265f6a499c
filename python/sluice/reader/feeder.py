"""From samples to what Executor.run is fed, with checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..defaults import default_main_program
from ..display import Shown
from ..errors import InvalidArgumentError
from ..feed_values import as_dtype
from ..program import Program, Variable, fetch_names


class Feed:
    """The variables that a batch is for, and the checks that it fits."""

    def __init__(
        self, feed_list: Sequence[Variable | str], program: Program | None
    ) -> None:
        program = program or default_main_program()
        names = fetch_names("feed_list", feed_list)
        found = [
            item if isinstance(item, Variable) else program.var(name)
            for item, name in zip(feed_list, names, strict=True)
        ]
        if not names or len(set(names)) < len(names):
            raise InvalidArgumentError(
                f"feed_list: expected variables, each once, got {names}",
                "feeder.names",
            )
        self.ragged = {v.name for v in found if getattr(v, "lod_level", 0)}
        # Asking a variable costs a call each time.
        self.wanted = {v.name: (v.shape, np.dtype(v.dtype)) for v in found}

    def of_batch(self, batch: Any) -> dict[str, Any]:
        """A dict to feed, of a tuple, dict or single array of a loader."""
        if isinstance(batch, Mapping):
            lost = [name for name in self.wanted if name not in batch]
            if lost:
                raise InvalidArgumentError(
                    f"feed_list: the batch lacks {', '.join(lost)}; it has "
                    f"{', '.join(map(str, batch))}",
                    "feeder.lacks",
                )
            columns = [batch[name] for name in self.wanted]
        else:
            columns = batch if isinstance(batch, (tuple, list)) else [batch]
        self.require_fields("the batch", columns)
        return {
            name: self.fitting(name, column)
            for name, column in zip(self.wanted, columns, strict=True)
        }

    def require_fields(self, what: str, fields: Sequence[Any]) -> None:
        """Raise unless there is a field for each variable."""
        if len(fields) != len(self.wanted):
            raise InvalidArgumentError(
                f"feed_list: {what} has {len(fields)} fields; expected "
                f"{len(self.wanted)}: {', '.join(self.wanted)}",
                "feeder.fields",
            )

    def fitting(self, name: str, value: Any) -> Any:
        """An array of the variable's dtype and, if need be reshaped, shape.

        As in Fluid, each row may come flat: 784 numbers for [1, 28, 28]. The
        executor itself takes and checks the sequences of a ragged variable.
        """
        if name in self.ragged:
            return value
        shape, dtype = self.wanted[name]
        array = as_dtype(name, value, dtype)
        if shape is None or _fits(array.shape, shape):
            return array
        if array.ndim and None not in shape[1:]:
            size = len(array) * int(np.prod(shape[1:], dtype=int))
            if shape and array.size == size:
                array = array.reshape(len(array), *shape[1:])
        if not _fits(array.shape, shape):
            want = [-1 if n is None else n for n in shape]
            raise InvalidArgumentError(
                f"feed {name}: expected shape {want}, got {list(array.shape)}",
                "feeder.shape",
            )
        return array


def _fits(got: Sequence[int], wanted: Sequence[int | None]) -> bool:
    return len(got) == len(wanted) and all(
        want in (None, have) for have, want in zip(got, wanted, strict=True)
    )


class DataFeeder(Shown):
    """Makes of samples, e.g. of :func:`batch`, what ``Executor.run`` is fed.

    Args:
        feed_list: data variables or their names, one for each field of a
            sample.
        place: where the values go; arrays for the CPU if None.
        program: of names; the default main program if None.

    Raises:
        NotFoundError: the program has no such variable.
        InvalidArgumentError: ``feed_list`` is empty or names one twice.
    """

    def __init__(
        self,
        feed_list: Sequence[Variable | str],
        place: Any = None,
        program: Program | None = None,
    ) -> None:
        self._feed = Feed(feed_list, program)
        self.feed_names = list(self._feed.wanted)
        on_host = place is None or place == _core.CPUPlace()
        self._place = None if on_host else place

    def _fields(self, sample: Any) -> Any:
        """The fields of a sample: a tuple, a dict, or one array."""
        if isinstance(sample, Mapping):
            return [sample[name] for name in self.feed_names]
        return sample if isinstance(sample, (tuple, list)) else [sample]

    def feed(self, iterable: Iterable[Sequence[Any]]) -> dict[str, Any]:
        """Return a dict for ``Executor.run``: a batch of the samples.

        Rows may be flat: 784 numbers for a variable [None, 1, 28, 28]. Numbers
        become the variable's dtype if it can hold them. A field of a ragged
        variable is a sequence of any length.

        Raises:
            InvalidArgumentError: a sample has another number of fields or
                another shape, or a value that the dtype cannot hold; names the
                variable and the sample.
        """
        samples = [self._fields(sample) for sample in iterable]
        for position, sample in enumerate(samples):
            self._feed.require_fields(f"sample {position}", sample)
        values: dict[str, Any] = {}
        for field, name in enumerate(self._feed.wanted):
            rows = [sample[field] for sample in samples]
            if name in self._feed.ragged:
                values[name] = rows
                continue
            rows = [np.asarray(row) for row in rows]
            for position, row in enumerate(rows):
                if row.shape != rows[0].shape:
                    raise InvalidArgumentError(
                        f"feed {name}: sample {position} has shape "
                        f"{list(row.shape)}, sample 0 {list(rows[0].shape)}",
                        "feeder.sample",
                    )
            value = self._feed.fitting(name, np.asarray(rows))
            if self._place is not None:
                value = _core.Tensor(value, self._place)
            values[name] = value
        return values
