"""The class OpTest that PaddlePaddle's operator tests derive from: a test's op
is appended through the translation, run, and compared.

Differences from PaddlePaddle's own: outputs of float64 may differ by 1e-10
(there by nothing); what an op makes for its gradient only, such as XShape, need
not exist; gradients are compared with central differences in float64, at up to
200 elements of each input.
"""

from __future__ import annotations

import dataclasses
import random
import re
import unittest
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sluice as sl
from ml_dtypes import bfloat16
from sluice.fluid.translate import CODES, ROWS, Translation
from suite_paddle import UsesPaddle, VarType

SAMPLES = 200  # elements of an input whose gradient is compared
# Slots of numbers that are attributes here: constants of the program.
NUMBERS = re.compile(
    "Tensor|tensor|Shape|Size|Num|Times|Paddings|Offsets|^Scale|Axis"
)
# Ops whose gradient PaddlePaddle compares less exactly in float64.
LOOSE = frozenset(
    """
    affine_channel bilinear_interp bilinear_tensor_product conv2d conv3d
    cross_entropy depthwise_conv2d_transpose grid_sampler group_norm gru
    gru_unit kldiv_loss lstm lstmp max_pool2d_with_index max_pool3d_with_index
    norm pool3d reduce_prod selu sigmoid_cross_entropy_with_logits soft_relu
    softmax_with_cross_entropy spp teacher_student_sigmoid_loss unpool
    yolov3_loss
    """.split()
)


class Verdict(AssertionError, ValueError):
    """Why a check fails: "absent", "refused" or "wrong", and a text."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclasses.dataclass
class Tensor:
    """A variable of a test, with the lengths of its sequences by level."""

    name: str
    array: np.ndarray
    lengths: list[list[int]] | None


def tensors(slot: str, value: Any) -> list[Tensor]:
    """What a test gives for a slot: an array, an array with LoD, or a list of
    named ones.
    """
    named = isinstance(value, list) and all(
        isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str)
        for one in value
    )
    made = []
    for name, given in value if named else [(slot, value)]:
        array, lod = given if isinstance(given, tuple) else (given, None)
        lengths = lod and [[int(n) for n in level] for level in lod]
        array = np.asarray(array)
        if array.dtype == np.uint16:  # so PaddlePaddle gives it to NumPy
            array = array.view(bfloat16)
        made.append(Tensor(name, array, lengths or None))
    return made


def plain(value: Any) -> Any:
    """An attribute as Python's own number, text or list."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return int(value) if isinstance(value, VarType) else value


class Case:
    """An op with its arguments, as a test gives them."""

    def __init__(self, test: OpTest) -> None:
        self.type = test.op_type
        attrs = getattr(test, "attrs", None) or {}
        self.attrs = {name: plain(value) for name, value in attrs.items()}
        self.inputs, self.outputs = (
            {slot: tensors(slot, value) for slot, value in given.items()}
            for given in (test.inputs, test.outputs)
        )

    def precision(self) -> str:
        """The first of these element types that an input has."""
        seen = {
            tensor.array.dtype.name
            for given in self.inputs.values()
            for tensor in given
        }
        order = ("float64", "float32", "float16", "bfloat16", "int64", "int32")
        return next((name for name in order if name in seen), "int8")


class Built:
    """A program of one op.

    Attributes:
        feed: arrays by name.
        names: of the outputs, the variable that each one is.
    """

    def __init__(self, case: Case, wide: bool = False) -> None:
        if case.type not in ROWS:
            raise Verdict("absent", "no op in Sluice")
        try:
            self._build(case, wide, constants=False)
        except sl.UnimplementedError as error:
            if "is computed" not in str(error):
                raise
            self._build(case, wide, constants=True)

    def _build(self, case: Case, wide: bool, constants: bool) -> None:
        self.program = sl.Program()
        self.feed: dict[str, Any] = {}
        self.translation = Translation(self.program)
        inputs: dict[str, list[str]] = {}
        for slot, given in case.inputs.items():
            inputs[slot] = [tensor.name for tensor in given]
            for tensor in given:
                if constants and self._is_number(slot, tensor):
                    self._constant(tensor)
                elif tensor.name not in self.feed:
                    self._data(tensor, wide)
        # An output may have the name of an input.
        wanted = {
            slot: [f"{tensor.name}@OUT" for tensor in given]
            for slot, given in case.outputs.items()
        }
        attrs = dict(case.attrs)
        for name in ("dtype", "in_dtype") if wide else ():
            if attrs.get(name) == CODES["float32"]:
                attrs[name] = CODES["float64"]
        self.translation.append(case.type, inputs, wanted, attrs)
        self.names: dict[str, str] = {}
        for given in case.outputs.values():
            for tensor in given:
                made = self.translation.find(f"{tensor.name}@OUT")
                if made is not None:
                    self.names[tensor.name] = made.name

    @staticmethod
    def _is_number(slot: str, tensor: Tensor) -> bool:
        kind = tensor.array.dtype.kind
        return kind == "i" and NUMBERS.search(slot) is not None

    def _constant(self, tensor: Tensor) -> None:
        array = tensor.array
        name = array.dtype.name
        attrs = {
            "shape": list(array.shape),
            "dtype": CODES[name],
            f"{name}_values": array.ravel().tolist(),
        }
        self.translation.append(
            "assign_value", {}, {"Out": [tensor.name]}, attrs
        )

    def _data(self, tensor: Tensor, wide: bool) -> None:
        array = tensor.array
        if wide and (array.dtype.kind == "f" or array.dtype == bfloat16):
            array = array.astype(np.float64)
        array = np.ascontiguousarray(array).reshape(array.shape)
        lengths = tensor.lengths or []
        shape = [None, *array.shape[1:]] if lengths else list(array.shape)
        variable = self.program.data(
            tensor.name, shape, array.dtype.name, len(lengths)
        )
        variable.stop_gradient = not variable.dtype.is_floating
        self.feed[tensor.name] = (array, lengths) if lengths else array

    def run(self, fetches: Sequence[str]) -> list[Any]:
        """The values of these variables."""
        executor = sl.Executor(sl.CPUPlace())
        return executor.run(self.program, self.feed, list(fetches))

    def append(self, type: str, inputs: Any, **attrs: Any) -> str:
        """Append an op of Fluid; return the name of its output."""
        name = sl.unique_name.generate("suite")
        self.translation.append(type, inputs, {"Out": [name]}, attrs)
        return name

    def loss(self, outputs: Sequence[str], weights: Any = None) -> Any:
        """The mean of the means of these outputs; with weights, the sum of
        their products.
        """
        parts = []
        for k, name in enumerate(outputs):
            part = f"{name}@OUT"
            if weights is None:
                parts.append(self.append("mean", {"X": [part]}))
                continue
            (weight,) = tensors(f"suite.weight{k}", np.asarray(weights[k]))
            self._data(weight, wide=False)
            both = {"X": [part], "Y": [weight.name]}
            product = self.append("elementwise_mul", both)
            parts.append(
                self.append("reduce_sum", {"X": [product]}, reduce_all=True)
            )
        scale = 1.0 if weights is not None else 1.0 / len(parts)
        total = self.append("sum", {"X": parts})
        name = self.append("scale", {"X": [total]}, scale=scale)
        return self.translation.value(name)


def compare_outputs(
    case: Case, atol: float, rtol: float, nan: bool, unchecked: set[str]
) -> None:
    """Run the op and compare the outputs. Raises Verdict."""
    built = Built(case)
    names = [
        (slot, tensor)
        for slot, given in case.outputs.items()
        for tensor in given
        if tensor.name in built.names
    ]
    values = built.run([built.names[tensor.name] for _, tensor in names])
    faults, compared = [], 0
    for (slot, tensor), value in zip(names, values, strict=True):
        if slot not in unchecked and tensor.name not in unchecked:
            compared += 1
            faults += difference(tensor, value, atol, rtol, nan)
    if faults:
        raise Verdict("wrong", "; ".join(faults))
    if not compared:
        raise Verdict("wrong", "none of the outputs is made")


def difference(
    tensor: Tensor, value: Any, atol: float, rtol: float, nan: bool
) -> list[str]:
    """What is wrong with an output."""
    name, expected = tensor.name, tensor.array
    faults = []
    if tensor.lengths is not None:
        lengths = getattr(value, "recursive_sequence_lengths", list)()
        if lengths != tensor.lengths:
            faults.append(f"{name} has LoD {lengths} for {tensor.lengths}")
    actual = np.asarray(value)
    if bfloat16 in (actual.dtype, expected.dtype):
        actual, expected = (a.astype(np.float32) for a in (actual, expected))
        atol, rtol = max(atol, 0.03), 1e-2
    if expected.ndim == 0:
        expected = expected.reshape(1)
    if actual.shape != expected.shape:
        text = f"{list(actual.shape)} for {list(expected.shape)}"
        faults.append(f"{name} has shape {text}")
        if actual.size != expected.size:
            return faults
        actual = actual.reshape(expected.shape)
    fine = np.isclose(actual, expected, rtol, atol, equal_nan=nan)
    if not fine.all():
        first = tuple(int(each[0]) for each in np.nonzero(~fine))
        faults.append(
            f"{name} is wrong at {(~fine).sum()} of {fine.size} places: "
            f"{actual[first]} for {expected[first]} at {list(first)}"
        )
    return faults


@dataclasses.dataclass
class Gradients:
    """How a test wants its gradients compared."""

    inputs: list[str]
    outputs: list[str]
    stopped: set[str]
    limit: float  # of relative errors
    delta: float  # of differences, where there is no float64
    given: Any  # expected gradients; None for differences
    weights: Any  # of outputs
    strict: bool

    def check(self, case: Case) -> None:
        """Compare the gradients. Raises Verdict."""
        built = Built(case)
        missing = [n for n in self.inputs if n not in built.feed]
        missing += [n for n in self.outputs if n not in built.names]
        if missing:
            raise Verdict("refused", f"no variable {', '.join(missing)}")
        for name in self.stopped & built.feed.keys():
            built.program.var(name).stop_gradient = True
        loss = built.loss(self.outputs, self.weights)
        pairs = sl.append_backward(loss, self.inputs)
        values = built.run([gradient.name for _, gradient in pairs])
        found = {
            variable.name: np.asarray(value)
            for (variable, _), value in zip(pairs, values, strict=True)
        }
        differ = built if self.given is not None else self._wide(case, built)
        faults = []
        for k, name in enumerate(self.inputs):
            if name not in found:
                raise Verdict("refused", f"no gradient of {name}")
            faults += self._fault(k, name, found[name], differ)
        if faults:
            raise Verdict("wrong", "; ".join(faults))

    def _wide(self, case: Case, built: Built) -> Built:
        """The program in float64, if its outputs are that then."""
        try:
            wide = Built(case, wide=True)
            values = wide.run([wide.names[name] for name in self.outputs])
        except sl.SluiceError:
            values = [np.float32(0)]
        if all(np.asarray(value).dtype == np.float64 for value in values):
            self.delta = 1e-5
            return wide
        self.limit, self.strict = max(self.limit, 0.005), False
        return built

    def _fault(
        self, k: int, name: str, actual: np.ndarray, built: Built
    ) -> list[str]:
        fed = built.feed[name]
        array = fed[0] if isinstance(fed, tuple) else fed
        if actual.shape != array.shape:
            return [f"the gradient of {name} has shape {list(actual.shape)}"]
        where = np.arange(array.size)
        if self.given is not None:
            (tensor,) = tensors(name, np.asarray(self.given[k]))
            expected = tensor.array.astype(np.float64)
            if expected.size != actual.size:
                expected = np.broadcast_to(expected, actual.shape)
            expected = expected.ravel()
        else:
            if array.size > SAMPLES:
                picker = np.random.RandomState(7)
                where = picker.choice(array.size, SAMPLES, replace=False)
            expected = self._differences(built, name, where)
        mine = actual.astype(np.float64).ravel()[where]
        least, small = (1e-4, 1e-4) if self.strict else (1e-3, 1.0)
        scale = np.abs(expected)
        error = np.abs(expected - mine) / np.where(scale < least, small, scale)
        # Differences of float64 have rounding errors, too.
        limit = self.limit if self.given is not None else max(self.limit, 2e-6)
        if error.size == 0 or np.max(error) <= limit:
            return []
        worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
        return [
            f"the gradient of {name} is wrong at {(~(error <= limit)).sum()} "
            f"of {error.size} places: {mine[worst]} for {expected[worst]}"
        ]

    def _differences(
        self, built: Built, name: str, where: np.ndarray
    ) -> np.ndarray:
        """Central differences of the loss."""
        fetches = [built.names[output] for output in self.outputs]

        def loss() -> float:
            values = built.run(fetches)
            return float(
                np.mean([np.mean(np.asarray(v, np.float64)) for v in values])
            )

        fed = built.feed[name]
        ragged = isinstance(fed, tuple)
        array = np.array(fed[0] if ragged else fed)
        built.feed[name] = (array, fed[1]) if ragged else array
        flat, made = array.reshape(-1), []
        for place in where:
            origin, ends = flat[place], []
            for sign in (1, -1):
                flat[place] = origin + sign * self.delta
                ends.append((loss(), float(flat[place])))
            flat[place] = origin
            (above, high), (below, low) = ends
            made.append((above - below) / (high - low))
        return np.array(made)


class OpTest(unittest.TestCase):
    """The base of the tests: collects what each check finds.

    Attributes:
        found: of the class that runs: (check, op type, kind, text), where the
            check is "output" or "gradient" and the kind "right" or that of a
            Verdict.
    """

    found: list[tuple[str, str, str, str]] = []
    dtype: Any = None
    inputs: dict[str, Any] = {}
    outputs: dict[str, Any] = {}

    @classmethod
    def setUpClass(cls) -> None:
        np.random.seed(123)
        random.seed(124)

    def _record(self, check: str, function: Callable[[Case], None]) -> None:
        case = Case(self)
        try:
            try:
                function(case)
            except sl.SluiceError as error:
                text = str(error).split("\ncreated at")[0]
                raise Verdict("refused", text) from error
        except Verdict as verdict:
            found = (check, case.type, verdict.kind, str(verdict))
            OpTest.found.append(found)
            raise
        OpTest.found.append((check, case.type, "right", ""))

    def check_output(
        self,
        atol: float = 1e-5,
        no_check_set: Any = None,
        equal_nan: bool = False,
        **_: Any,
    ) -> None:
        """Compare the outputs."""
        precision, rtol = Case(self).precision(), 1e-5
        if precision == "float64" and self.op_type != "bilinear_interp":
            atol = 1e-10
        elif precision == "float16":
            atol, rtol = max(atol, 2e-3), 2e-3
        elif precision == "bfloat16":
            atol, rtol = max(atol, 0.03), 1e-2
        unchecked = set(no_check_set or ())
        self._record(
            "output",
            lambda case: compare_outputs(
                case, atol, rtol, equal_nan, unchecked
            ),
        )

    def check_output_with_place(
        self, place: Any, atol: float = 0.0, *arguments: Any, **named: Any
    ) -> None:
        """Compare the outputs, on the CPU."""
        self.check_output(max(atol, 1e-6), *arguments, **named)

    def check_output_customized(self, checker: Any, *_: Any) -> None:
        """Hand the outputs to a function, which may fail."""

        def check(case: Case) -> None:
            built = Built(case)
            values = built.run(list(built.names.values()))
            try:
                checker(sorted(map(np.asarray, values), key=len))
            except AssertionError as error:
                raise Verdict("wrong", str(error)) from None

        self._record("output", check)

    def calc_output(self, *_: Any, **__: Any) -> None:
        """PaddlePaddle's own way to run an op."""
        raise UsesPaddle("calc_output")

    _calc_output = _get_gradient = calc_output

    def check_grad(
        self,
        inputs_to_check: Any,
        output_names: Any,
        no_grad_set: Any = None,
        numeric_grad_delta: float = 0.005,
        in_place: bool = False,
        max_relative_error: float = 0.005,
        user_defined_grads: Any = None,
        user_defined_grad_outputs: Any = None,
        **_: Any,
    ) -> None:
        """Compare the gradients."""
        outputs, weights = output_names, user_defined_grad_outputs
        if isinstance(outputs, str):
            outputs = [outputs]
        if weights is not None and not isinstance(weights, (list, tuple)):
            weights = [weights]
        precision = Case(self).precision()
        strict = precision == "float64" and self.op_type not in LOOSE
        limit = 1e-7 if strict else max_relative_error
        if precision == "bfloat16":
            limit = max(limit, 0.03)
        wanted = Gradients(
            list(inputs_to_check), list(outputs), set(no_grad_set or ()),
            limit, numeric_grad_delta, user_defined_grads, weights, strict,
        )  # fmt: skip
        self._record("gradient", wanted.check)

    def check_grad_with_place(self, place: Any, *given: Any, **named: Any):
        """Compare the gradients, on the CPU."""
        self.check_grad(*given, **named)

    # What tests call besides.

    def _get_places(self) -> list[str]:
        return ["cpu"]

    def _check_grad_helper(self) -> None:
        pass

    def infer_dtype_from_inputs_outputs(self, inputs: Any, outputs: Any):
        """Set dtype."""
        name = Case(self).precision()
        self.dtype = np.dtype(np.uint16 if name == "bfloat16" else name)

    def is_bfloat16_op(self) -> bool:
        """Whether it computes with bfloat16."""
        attrs = getattr(self, "attrs", None) or {}
        given = attrs.get("mkldnn_data_type", "")
        kinds = (given, getattr(self, "mkldnn_data_type", ""))
        return self.dtype == np.uint16 or "bfloat16" in kinds

    def try_call_once(self, data_type: Any) -> None:
        """Set dtype."""
        self.dtype = data_type

    @staticmethod
    def np_dtype_to_fluid_dtype(value: Any) -> Any:
        """The array itself."""
        return value

    def get_sequence_batch_size_1_input(
        self, lod: Any = None, shape: Any = None
    ):
        """Rows of one sequence, and their LoD."""
        shape = shape or [13, 23]
        rows = np.random.uniform(0.1, 1, shape).astype("float32")
        return rows, lod or [[13]]

    def get_sequence_instance_size_0_input(
        self, lod: Any = None, shape: Any = None
    ):
        """Rows of sequences, some of length 0, and their LoD."""
        shape = shape or [12, 10]
        rows = np.random.uniform(0.1, 1, shape).astype("float32")
        return rows, lod or [[0, 0, 4, 0, 3, 0, 0, 5, 0, 0]]
