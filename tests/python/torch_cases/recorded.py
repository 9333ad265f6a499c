"""PyTorch's results for each case, in files, so that cases can be compared
without PyTorch.

There is a file in `recorded/` for each module of cases. It contains an index as
JSON, and for each dtype the elements of all values in the order of the index.
Results in float32 are not stored if the rounded float64 results are the same
within a tenth of the test's tolerance.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
from dataclasses import dataclass, field

import numpy as np

from .case import CASES
from .values import (
    HALVES,
    TOLERANCE,
    Value,
    Values,
    assert_close,
    cast,
    pairs_of,
)

FOLDER = pathlib.Path(__file__).parent / "recorded"
# With this seed, small tensors have more than one element along each dim.
SEED = 8
DTYPES = ("float64", "float32")  # of the inputs, as stored
CLOSE = 0.1 * TOLERANCE["float32"]
COMMAND = (
    "PYTHONPATH=build/release/python:tests/python "
    "build/peers/torch/bin/python -m torch_cases.record"
)


@dataclass
class Record:
    """`origin` names the program and date, `digest` is of the inputs; `values`
    are by the dtype of the inputs."""

    origin: str
    digest: str
    values: dict[str, Values] = field(default_factory=dict)


def all_cases():
    """(name, op, make, parameter) of each case."""
    for op, makers in sorted(CASES.items()):
        for i, (make, parameter) in enumerate(makers):
            yield f"{op}-{i}", op, make, parameter


def draw(make, parameter, seed):
    """The case, and its inputs by dtype."""
    case = make(np.random.default_rng(seed), *parameter)
    inputs = {
        dtype: {name: cast(value, dtype) for name, value in case.inputs.items()}
        for dtype in TOLERANCE
    }
    return case, inputs


def digest_of(case):
    """A hash of the inputs as float32, because the last bits of random numbers
    may depend on the mathematical library; and of the attributes."""
    digest = hashlib.sha256()
    for name, i, array in pairs_of(case.inputs):
        plain = array.astype("float32" if array.dtype.kind == "f" else "int64")
        digest.update(f"{name} {i} {array.dtype} {array.shape}".encode())
        digest.update(plain.tobytes())
    rest = json.dumps([case.attrs, case.grads], sort_keys=True, default=str)
    digest.update(rest.encode())
    return digest.hexdigest()[:16]


def file_of(make):
    return FOLDER / f"{make.__module__.rpartition('.')[2]}.npz"


def expected(records, name, case, dtype) -> Values:
    """The recorded values; raises AssertionError if there are none, or they
    were computed from other inputs."""
    record = records.get(name)
    assert record, f"{name} has no recorded values; record them: {COMMAND}"
    assert record.digest == digest_of(case), (
        f"{name}: inputs differ from those recorded (attributes count as "
        f"inputs); recorded with {record.origin}, drawn with numpy "
        f"{np.__version__}. After a change of the case record it: {COMMAND}"
    )
    return record.values[dtype]


def rounded(value: Value, dtype) -> Value:
    """The same numbers in another dtype."""
    array = value.array.astype("float32" if dtype in HALVES else dtype)
    return Value(array, dtype, value.differentiable)


def is_close(value: Value, precise: Value) -> bool:
    """Whether rounding `precise` yields `value`."""
    if value.differentiable != precise.differentiable:
        return False
    try:
        assert_close("", rounded(precise, value.dtype), value, CLOSE)
    except AssertionError:
        return False
    return True


def load(file) -> dict[str, Record]:
    """The records by the names of cases; none without a file."""
    if not file.exists():
        return {}
    with np.load(file) as arrays:
        index = json.loads(arrays["index"].tobytes())
        elements = {name: arrays[name] for name in arrays.files}
    at = dict.fromkeys(elements, 0)

    def take(dtype, shape, differentiable):
        stored = "float32" if dtype in HALVES else dtype
        begin = at[stored]
        at[stored] += int(np.prod(shape, dtype=int))
        array = elements[stored][begin : at[stored]].reshape(shape)
        return Value(array, dtype, differentiable)

    records = {}
    for name, (origin, digest, entries) in index.items():
        record = records[name] = Record(origin, digest)
        both = [record.values.setdefault(d, Values({})) for d in DTYPES]
        for output, precise, dtype, stored in entries:
            value = take(*precise)
            single = take(*stored) if stored else rounded(value, dtype)
            for values, one in zip(both, (value, single)):
                if output is None:
                    values.grads.append(one)
                else:
                    values.outputs[output] = one
    return records


def save(file, records: dict[str, Record]):
    """Writes the same bytes for the same records."""
    index, elements = {}, {}

    def put(value):
        array = value.array
        elements.setdefault(str(array.dtype), []).append(array.ravel())
        return value.dtype, array.shape, value.differentiable

    for name, record in sorted(records.items()):
        entries = []
        double, single = (record.values[dtype] for dtype in DTYPES)
        outputs = [*double.outputs, *[None] * len(double.grads)]
        for output, precise, value in zip(outputs, double.all(), single.all()):
            entry = [output, put(precise), value.dtype, None]
            if not is_close(value, precise):
                entry[-1] = put(value)
            entries.append(entry)
        index[name] = (record.origin, record.digest, entries)
    text = json.dumps(index, separators=(",", ":")).encode()
    arrays = {k: np.concatenate(v) for k, v in sorted(elements.items())}
    FOLDER.mkdir(exist_ok=True)
    np.savez_compressed(file, index=np.frombuffer(text, "uint8"), **arrays)


def load_all() -> dict[str, Record]:
    records = {}
    for file in sorted(FOLDER.glob("*.npz")):
        records |= load(file)
    return records
