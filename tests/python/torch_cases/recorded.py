"""PyTorch's results for each case, in files, so that cases can be compared
without PyTorch.

There is a file in `recorded/` for each module of cases. It contains an index as
JSON, and for each dtype the elements of all values in the order of the index.
Floats are float64; those for inputs in float32 are the same, rounded.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
from dataclasses import dataclass

import numpy as np

from .case import CASES
from .values import TOLERANCE, Value, Values, cast, pairs_of

FOLDER = pathlib.Path(__file__).parent / "recorded"
# With this seed, small tensors have more than one element along each dim.
SEED = 8
COMMAND = (
    "PYTHONPATH=build/release/python:tests/python "
    "build/peers/torch/bin/python -m torch_cases.record"
)


@dataclass
class Record:
    """`origin` names the program and date, `digest` is of the inputs."""

    origin: str
    digest: str
    values: Values


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
    return record.values.rounded() if dtype == "float32" else record.values


def load(file) -> dict[str, Record]:
    """The records by the names of cases; none without a file."""
    if not file.exists():
        return {}
    with np.load(file) as arrays:
        index = json.loads(arrays["index"].tobytes())
        elements = {name: arrays[name] for name in arrays.files}
    at = dict.fromkeys(elements, 0)
    records = {}
    for name, (origin, digest, entries) in index.items():
        record = records[name] = Record(origin, digest, Values({}))
        for output, dtype, shape, differentiable in entries:
            begin = at[dtype]
            at[dtype] += int(np.prod(shape, dtype=int))
            array = elements[dtype][begin : at[dtype]].reshape(shape)
            value = Value(array, dtype, differentiable)
            if output is None:
                record.values.grads.append(value)
            else:
                record.values.outputs[output] = value
    return records


def save(file, records: dict[str, Record]):
    """Writes the same bytes for the same records."""
    index, elements = {}, {}
    for name, record in sorted(records.items()):
        values, entries = record.values, []
        outputs = [*values.outputs, *[None] * len(values.grads)]
        for output, value in zip(outputs, values.all()):
            array = value.array
            elements.setdefault(value.dtype, []).append(array.ravel())
            how = value.dtype, array.shape, value.differentiable
            entries.append((output, *how))
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
