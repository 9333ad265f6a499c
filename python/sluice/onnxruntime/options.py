"""Options of sessions and runs, like onnxruntime's."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from ..display import Shown

__all__ = [
    "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "RunOptions",
    "SessionOptions",
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
    """Accepted."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Checked(Shown):
    """Attributes have the type of their default, and no others exist.

    Raises TypeError and AttributeError, as classes of an extension do.
    """

    def _declare(self, **defaults: Any) -> None:
        self.__dict__.update(defaults, _entries={}, _sizes={}, _initializers={})

    def _add_entry(self, key: str, value: str) -> None:
        """Keep an entry, without effect."""
        self._entries[str(key)] = str(value)

    def _get_entry(self, key: str) -> str:
        """Return an entry. Raises RuntimeError for one that was not added."""
        if key not in self._entries:
            raise RuntimeError(f"{type(self).__name__} has no entry {key!r}")
        return self._entries[key]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r}"
            )
        kind = type(self.__dict__[name])
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
    """How a session runs its model.

    Attributes:
        intra_op_num_threads: threads of a run; 0 for all CPUs.
        graph_optimization_level: ``ORT_DISABLE_ALL`` fuses and rearranges
            nothing; all other levels are the same.
        enable_profiling: not done; sessions warn.
        optimized_model_filepath: where the session writes the model as it was
            read. Sluice fuses ops when sizes are known, so that none is fused.

    The other attributes are accepted without effect: Sluice plans its memory
    and threads itself.
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

    add_session_config_entry = _Checked._add_entry
    get_session_config_entry = _Checked._get_entry

    def has_session_config_entry(self, key: str) -> bool:
        """Whether the entry was added."""
        return key in self._entries

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fix the size of this name; sessions refuse feeds of another."""
        self._sizes[name] = int(size)

    def add_free_dimension_override_by_denotation(
        self, denotation: str, size: int
    ) -> None:
        """Raise RuntimeError: denotations of sizes are not read."""
        raise RuntimeError(
            f"denotation {denotation!r}: Sluice reads no denotations; "
            "add_free_dimension_override_by_name takes names of sizes"
        )

    def add_initializer(self, name: str, ort_value: Any) -> None:
        """Give an initialiser another value, an OrtValue or an array."""
        self._initializers[name] = ort_value

    def add_external_initializers(
        self, names: Sequence[str], ort_values: Sequence[Any]
    ) -> None:
        """:meth:`add_initializer` for several."""
        self._initializers.update(zip(names, ort_values, strict=True))

    def register_custom_ops_library(self, path: str) -> None:
        """Raise: libraries of onnxruntime's ops are not supported.

        Raises RuntimeError.
        """
        raise RuntimeError(
            f"{path} is a library for onnxruntime; Sluice takes its own: "
            "sluice.load_op_library(path)"
        )


class RunOptions(_Checked):
    """Options of one run, accepted without effect."""

    def __init__(self) -> None:
        self._declare(
            log_severity_level=-1,
            log_verbosity_level=0,
            logid="",
            terminate=False,
            only_execute_path_to_fetches=False,
            training_mode=False,
        )

    add_run_config_entry = _Checked._add_entry
    get_run_config_entry = _Checked._get_entry
