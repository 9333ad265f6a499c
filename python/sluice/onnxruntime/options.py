"""Options of sessions and runs, like onnxruntime's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any

from .. import _core
from ..display import Shown
from . import environment, errors
from .devices import OrtEpDevice, OrtExecutionProviderDevicePolicy
from .tensors import OrtValue

__all__ = [
    "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "RunOptions",
    "SessionOptions", "get_default_session_options",
]


class GraphOptimizationLevel(IntEnum):
    """``ORT_DISABLE_ALL`` runs every op as it is in the model."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(IntEnum):
    """Accepted; Sluice decides itself what runs concurrently."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(IntEnum):
    """Accepted; Sluice decides itself in which order ops run."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


# Why options, and entries of any name, have no effect.
_RUNS_ALONE = "ops run one after the other, each on all threads"
_OWN_MEMORY = "Sluice plans memory itself"
_WITHOUT_EFFECT = {
    "inter_op_num_threads": _RUNS_ALONE,
    "execution_mode": _RUNS_ALONE,
    "execution_order": _RUNS_ALONE,
    "enable_cpu_mem_arena": _OWN_MEMORY,
    "enable_mem_pattern": _OWN_MEMORY,
    "enable_mem_reuse": _OWN_MEMORY,
    "log_verbosity_level": "Sluice's messages have one level of detail",
}
_HANDLED_ENTRIES = (
    "session.load_model_format", "session.save_model_format",
    "session.model_external_initializers_file_folder_path",
)
_LONGEST_KEY = 1024


class _Checked(Shown):
    """Attributes have the type of their default, and no others exist.

    Raises TypeError and AttributeError, as classes of an extension do.
    """

    def _declare(self, **defaults: Any) -> None:
        self.__dict__.update(defaults, _entries={}, _defaults=defaults)

    def _add_entry(self, key: str, value: str) -> None:
        """Keep an entry. Raises TypeError for other types than text."""
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(
                f"{type(self).__name__}: entry {key!r}: {value!r}; expected "
                "two texts"
            )
        if not 0 < len(key) <= _LONGEST_KEY:
            raise RuntimeError(
                "Config key is empty or longer than maximum length "
                f"{_LONGEST_KEY}"
            )
        self._entries[key] = value

    def _get_entry(self, key: str) -> str:
        """Return an entry. Raises RuntimeError for one that was not added."""
        if key not in self._entries:
            raise RuntimeError(
                f"{type(self).__name__} does not have configuration with key: "
                f"{key}"
            )
        return self._entries[key]

    def _say_what_is_ignored(self) -> None:
        """Warn, once in this process, about what has no effect."""
        name, severity = type(self).__name__, self.log_severity_level
        for option, why in _WITHOUT_EFFECT.items():
            value = getattr(self, option, None)
            if value is None or value == self._defaults[option]:
                continue
            environment.say_once(
                f"{name}.{option}",
                f"{name}.{option} has no effect: {why}",
                severity,
            )
        for key in self._entries:
            if key not in _HANDLED_ENTRIES:
                environment.say_once(
                    f"{name}: {key}",
                    f"{name}: the entry {key!r} has no effect in Sluice",
                    severity,
                )

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r}"
            )
        kind = type(self.__dict__[name])
        if kind is bool and (value is None or hasattr(value, "__bool__")):
            value = bool(value)
        fits = isinstance(value, kind)
        if kind is int:
            fits = hasattr(value, "__index__")
        if not fits:
            raise TypeError(
                f"{type(self).__name__}.{name}: expected {kind.__name__}, got "
                f"{value!r}"
            )
        object.__setattr__(self, name, int(value) if kind is int else value)


class SessionOptions(_Checked):
    """How a session runs its model. A session keeps a copy.

    Attributes:
        intra_op_num_threads: threads of a run; 0 for all CPUs.
        graph_optimization_level: ``ORT_DISABLE_ALL`` fuses and rearranges
            nothing; all other levels are the same.
        enable_profiling: whether to write when each op ran into a file, whose
            name begins with ``profile_file_prefix``.
        optimized_model_filepath: where the session writes the model as it was
            read. Sluice fuses ops when sizes are known, so that none is fused.
        log_severity_level: the level from which the session warns; -1 for that
            of ``set_default_logger_severity``.
        logid: a name for the session in what it writes.
        use_per_session_threads: False for the threads of
            ``set_global_thread_pool_sizes``.
        use_deterministic_compute: accepted; equal runs have equal results.

    Others have no effect, because Sluice plans its memory and threads itself. A
    session says so once.
    """

    def __init__(self) -> None:
        self._declare(
            intra_op_num_threads=0,
            inter_op_num_threads=0,
            graph_optimization_level=GraphOptimizationLevel.ORT_ENABLE_ALL,
            execution_mode=ExecutionMode.ORT_SEQUENTIAL,
            execution_order=ExecutionOrder.DEFAULT,
            log_severity_level=-1,
            log_verbosity_level=0,
            logid="",
            enable_cpu_mem_arena=True,
            enable_mem_pattern=True,
            enable_mem_reuse=True,
            enable_profiling=False,
            profile_file_prefix="onnxruntime_profile_",
            optimized_model_filepath="",
            use_deterministic_compute=False,
            use_per_session_threads=True,
        )
        self.__dict__.update(
            _sizes={},
            _denotations={},
            _initializers={},
            _providers=[],
            _load_flag=_core._CancelFlag(),
        )

    add_session_config_entry = _Checked._add_entry
    get_session_config_entry = _Checked._get_entry

    def _copy(self) -> SessionOptions:
        """A copy that changes of this one do not reach."""
        made = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, (dict, list)):
                made.__dict__[name] = copy.copy(value)
        return made

    def _fixed(self, denotations: Mapping[int, str]) -> dict[Any, int]:
        """The sizes that are fixed, by name, or by a dim of these."""
        fixed: dict[Any, int] = dict(self._sizes)
        for dim, denotation in denotations.items():
            if denotation in self._denotations:
                fixed[dim] = self._denotations[denotation]
        return fixed

    def has_session_config_entry(self, key: str) -> bool:
        """Whether the entry was added."""
        return key in self._entries

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fix the size of this name; sessions refuse feeds of another."""
        self._sizes[name] = _size(size)

    def add_free_dimension_override_by_denotation(
        self, denotation: str, size: int
    ) -> None:
        """Fix the sizes that the model says mean this (``"DATA_BATCH"``)."""
        self._denotations[denotation] = _size(size)

    def add_initializer(self, name: str, ort_value: Any) -> None:
        """Give an initialiser another value, an OrtValue or an array.

        Sessions share its memory, which must not change. Names that the model
        does not have are ignored, since models may share a set of values.
        """
        if name in self._initializers:
            raise RuntimeError(
                f"An OrtValue for this name has already been added: {name}"
            )
        self._initializers[name] = (_array(name, ort_value), False)

    def add_external_initializers(
        self, names: Sequence[str], ort_values: Sequence[Any]
    ) -> None:
        """:meth:`add_initializer` for several, which the model must have.

        Their external data is not read.
        """
        if len(names) != len(ort_values):
            raise RuntimeError(
                "Expecting names and ort_values lists to have equal length, "
                f"got {len(names)} and {len(ort_values)}"
            )
        for name, value in zip(names, ort_values, strict=True):
            self._initializers[name] = (_array(name, value), True)

    def add_provider(
        self, provider_name: str, provider_options: Mapping[str, str]
    ) -> None:
        """Add a provider of sessions that are made without ``providers``."""
        if provider_name not in environment.PROVIDER_PLACES:
            raise RuntimeError(f"Unknown Provider Type: {provider_name}")
        self._providers.append((provider_name, dict(provider_options)))

    def add_provider_for_devices(
        self,
        ep_devices: Sequence[OrtEpDevice],
        provider_options: Mapping[str, str],
    ) -> None:
        """:meth:`add_provider` for devices of :func:`get_ep_devices`."""
        for device in ep_devices:
            self.add_provider(device.ep_name, provider_options)

    def has_providers(self) -> bool:
        """Whether a provider was added."""
        return bool(self._providers)

    def set_provider_selection_policy(
        self, policy: OrtExecutionProviderDevicePolicy
    ) -> None:
        """Choose among the available providers: those of a GPU, or the CPU."""
        policies = OrtExecutionProviderDevicePolicy
        self._providers[:] = [("CPUExecutionProvider", {})]
        fast = (policies.PREFER_GPU, policies.MAX_PERFORMANCE)
        if OrtExecutionProviderDevicePolicy(policy) in fast:
            self._providers[:] = [
                (name, {}) for name in environment.get_available_providers()
            ]

    def set_provider_selection_policy_delegate(
        self, delegate: Callable[..., Any]
    ) -> None:
        """Raise RuntimeError: a function cannot choose providers."""
        raise RuntimeError(
            "a function cannot choose providers; choose among "
            "get_ep_devices() and call add_provider_for_devices"
        )

    def set_load_cancellation_flag(self, cancel: bool) -> None:
        """Have sessions stop loading with ModelLoadCanceled, from any thread.

        Copies of these options have the same flag.
        """
        self._load_flag.set(bool(cancel))

    def register_custom_ops_library(self, path: str) -> None:
        """Raise Fail: libraries of onnxruntime's ops are not supported."""
        raise errors.make(
            errors.Fail,
            f"Failed to load library {path}: it is for onnxruntime; Sluice "
            "takes its own: sluice.load_op_library(path)",
        )


def get_default_session_options() -> SessionOptions:
    """Options with their default values."""
    return SessionOptions()


def _size(size: Any) -> int:
    if not hasattr(size, "__index__"):
        raise TypeError(f"the size is {size!r}; expected an integer")
    if size < 0:
        raise ValueError(f"the size is {size}; expected 0 or more")
    return int(size)


def _array(name: str, value: Any) -> Any:
    """The array of an initialiser. Raises RuntimeError if it is none."""
    if isinstance(value, OrtValue):
        return value.numpy()
    try:
        return OrtValue.ortvalue_from_numpy(value).numpy()
    except RuntimeError as error:
        raise RuntimeError(
            f"initialiser {name}: The provided Python object must be an "
            f"OrtValue: {error}"
        ) from error


class RunOptions(_Checked):
    """Options of one run, or of several.

    Attributes:
        terminate: set to True, from any thread, it ends runs with these options
            before their next op, and refuses new ones until it is False.
        only_execute_path_to_fetches: accepted; ops that no output needs are
            never run.
        log_severity_level: the level from which the run warns.
        logid: a name for the run in the file of a profile.
    """

    def __init__(self) -> None:
        self._declare(
            log_severity_level=-1,
            log_verbosity_level=0,
            logid="",
            terminate=False,
            only_execute_path_to_fetches=False,
        )
        self.__dict__["_flag"] = _core._CancelFlag()

    add_run_config_entry = _Checked._add_entry
    get_run_config_entry = _Checked._get_entry

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "terminate":
            self._flag.set(self.terminate)

    def add_active_adapter(self, adapter: Any) -> None:
        """Raise TypeError: there are no adapters."""
        raise TypeError(
            f"add_active_adapter: {adapter!r} is no adapter; Sluice has none: "
            "merge it into the model's weights"
        )
