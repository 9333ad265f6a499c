"""One exception class for each kind of error that Sluice raises.

Every class is a :class:`SluiceError` and a fitting built-in exception.
"""

from __future__ import annotations

import re

from .tracebacks import created, render

__all__ = [
    "DataLossError", "DeviceLostError", "FailedPreconditionError",
    "InternalError", "InvalidArgumentError", "NotFoundError", "OutOfRangeError",
    "ResourceExhaustedError", "SluiceError", "UnimplementedError",
]

_BUILD_ANEW = (
    "was this loss minimized before? A program has one optimizer for a loss: "
    "build it anew in `with sluice.program_guard(sluice.Program(), "
    "sluice.Program()):`"
)

_LEVELS = "lod_level=1 is fed as [[3, 5], [7]], 2 as [[[3, 5], [7]], [[4]]]"
_SECOND_BUILD = (
    "a network that is built a second time gets other names (fc_1 after fc_0) "
    "unless it is built inside `with sluice.unique_name.guard():`"
)

# How to fix an error, by the id of the failed check: a text, or pairs of a
# regular expression for the message, of which the first match counts, and a
# text that uses its groups.
_HINTS: dict[str, str | list[tuple[str, str]]] = {
    "backward.overwritten": [("an optimizer's step", _BUILD_ANEW)],
    "backward.twice": _BUILD_ANEW,
    "batch_parts.op": [("an optimizer's step", _BUILD_ANEW)],
    "feed.dtype": [
        (
            r"feed (\w+) must be (?!bfloat16)(\w+)",
            "convert it first, e.g. {0}.astype('{1}')",
        )
    ],
    "feed.missing": [(r"must be fed(?!:)", "pass it in feed={{...}}")],
    "checkpoint.program": "sluice.io.load_program reads it; parameters are "
    "what sluice.io.save_params wrote, or any safetensors file",
    "checkpoint.other_program": (
        "a file has what the program that saved it has: save with the program "
        "that will load it, e.g. save_params(path, main.clone(for_test=True)); "
        f"{_SECOND_BUILD}; load_params(..., partial=True) takes what file and "
        "program have in common, such as the parameters of a training step for "
        "its clone that only tests"
    ),
    "checkpoint.tensors": [(r"(?s)lacks (.+?)_.*has no \1_", _SECOND_BUILD)],
    "kernel_library.stamp": "a device plug-in is loaded by "
    "sluice.load_device_plugin, and checked by sluice-conformance",
    "plugin.no_entry": "a library of kernels is loaded by "
    "sluice.load_kernel_library, and checked by sluice-lab verify",
    "program_io.magic": [
        (r"\.onnx", "sluice.onnx.load reads ONNX models"),
        (r"\.safetensors", "sluice.io.load_params reads parameters"),
    ],
    "run.nan_given": [
        ("stored in the scope", "run the startup program again, or load a "
         "checkpoint, and train with sluice.Executor(check_nan_every=1)"),
    ],
    "run.uninitialised": [
        ("others are", "the whole startup program would draw those anew: run "
         "it before loading, or (unless Lookahead copies parameters) only what "
         "is missing: exe.run(startup.prune([v.name for v in program.list_vars"
         "() if v.persistable and scope.find_var(v.name) is None]))"),
        ("", "exe.run(default_startup_program()), in this scope; the "
         "parameters of a loaded model are in its scope: scope=model.scope"),
    ],
    "program.unknown_var": "fetch_list takes variables, too; name=... names "
    "what a layer gives",
    "world.disagree": [
        (
            "starts with values of checksum",
            "all ranks start with the same values: "
            "sluice.distributed.broadcast_parameters() gives them those of "
            "rank 0",
        ),
        (
            "",
            "all ranks run the same programs equally often, fetch the same "
            "variables (optimizer.loss on all ranks or on none), and call the "
            "same functions of sluice.distributed",
        ),
    ],
    "distributed.parameters": "was one set on some ranks only, or another "
    "learning rate fed? sluice.distributed.broadcast_parameters() gives all "
    "ranks the values of rank 0",
    "python.lod_levels": _LEVELS,
    "python.sequence_shape": [(r"got \[\]$", _LEVELS)],
    "python.parameter_shape": "sl.layers.reshape gives an input sizes; "
    "fc(x, size, num_flatten_dims=-1) needs that of the last dim only",
    "python.device_array": "tensor.numpy() copies it to the host",
    "executor.no_plan": "exe.run(program, ...) first (a clone is another "
    "program); program.explain() needs no run",
}


def _shape_hint(message: str) -> str:
    """How to give a feed the axis of size 1, or the order, that it lacks."""
    pattern = r"feed (\w+) must have shape \[(.*)\], got \[(.*)\]"
    found = re.match(pattern, message)
    if found is None:
        return ""
    wanted, got = (re.findall(r"[\d?]+", found[i]) for i in (2, 3))

    def fits(shape: list[str]) -> bool:
        pairs = zip(wanted, shape, strict=False)
        same = all(size in ("?", have) for size, have in pairs)
        return same and len(shape) == len(wanted)

    for axis in range(len(got) + 1):
        if fits([*got[:axis], "1", *got[axis:]]):
            return f"{found[1]}[{':, ' * axis}None]?"
    if len(got) == 4 and fits([got[i] for i in (0, 3, 1, 2)]):
        return f"{found[1]}.transpose(0, 3, 1, 2)? Images are [N, C, H, W]"
    return ""


class SluiceError(Exception):
    """Base of all errors; ``str(error)`` names what was expected and got.

    Attributes:
        check_id: the check that failed, e.g. ``"crop.offset_range"``.
    """

    def __init__(self, message: str = "", check_id: str = "") -> None:
        super().__init__(message)
        self.check_id = check_id

    def __str__(self) -> str:
        message = str(self.args[0]) if self.args else ""
        hint = _HINTS.get(self.check_id, "")
        if self.check_id == "feed.shape":
            hint = _shape_hint(message)
        if isinstance(hint, list):
            for pattern, text in hint:
                if found := re.search(pattern, message):
                    hint = text.format(*found.groups())
                    break
            else:
                hint = ""
        return f"{message}\nhint: {hint}" if hint else message

    # Whether it is no bug of Sluice: tracebacks omit the package's frames.
    _is_answer: bool = True

    def _render_traceback_(self) -> list[str]:
        return render(self)

    def __reduce__(self) -> tuple:
        return type(self), (*self.args, self.check_id)


class InvalidArgumentError(SluiceError, ValueError):
    """An argument is invalid in any state."""


class OutOfRangeError(SluiceError, IndexError):
    """An index, label or offset beyond its bounds."""


class NotFoundError(SluiceError, KeyError):
    """An unknown op, attribute, variable, kernel or file."""


class FailedPreconditionError(SluiceError, RuntimeError):
    """The call is valid, but not in the current state."""


class UnimplementedError(SluiceError, NotImplementedError):
    """Valid, but not supported by this build."""


class ResourceExhaustedError(SluiceError, MemoryError):
    """No memory, threads or disk space."""


class DataLossError(SluiceError, OSError):
    """A damaged file."""


class DeviceLostError(SluiceError, RuntimeError):
    """The device reported a persistent fault."""


class InternalError(SluiceError, RuntimeError):
    """A bug in Sluice or in a kernel."""

    @property
    def _is_answer(self) -> bool:  # type: ignore[override]
        return self.check_id in ("run.not_finite", "run.nan_given")


def argument_error(
    text: str, check_id: str, kind: type[SluiceError] = InvalidArgumentError
) -> SluiceError:
    """The error of a call, with the line of the user that made it."""
    return kind(text + created(), check_id)


# The order is that of sluice::ErrorCode.
BY_CODE = (
    InvalidArgumentError,
    OutOfRangeError,
    NotFoundError,
    FailedPreconditionError,
    UnimplementedError,
    ResourceExhaustedError,
    DataLossError,
    DeviceLostError,
    InternalError,
)
