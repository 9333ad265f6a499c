"""InferenceSession."""

from __future__ import annotations

import functools
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from .. import _core
from ..display import shape_text
from ..errors import FailedPreconditionError
from ..executor import Executor
from ..program import Program
from . import environment, errors
from .binding import IOBinding
from .devices import (
    OrtAllocatorType,
    OrtEpDevice,
    OrtMemoryInfo,
    OrtMemType,
)
from .loading import load_model, save_model, stopping
from .options import GraphOptimizationLevel, RunOptions, SessionOptions
from .profiling import Profile
from .providers import chosen, place_of
from .tensors import OrtValue, OrtValueVector
from .values import ModelMetadata, NodeArg, wrong_feed

if TYPE_CHECKING:
    from .. import _lab


class InferenceSession:
    """A loaded model, which many threads can run at once.

    Args:
        path_or_bytes: the path of a model, or its bytes.
        sess_options: see :class:`SessionOptions`.
        providers: names, or pairs of a name and a dict of options
            (``device_id``), the first preferred; the CPU if None.
        provider_options: dicts of options, one for each of ``providers``.
        kwargs: accepted; without an effect.

    Raises:
        NoSuchFile: it cannot be read.
        InvalidProtobuf: it is truncated or not a model.
        InvalidGraph: it contradicts itself; names the node.
        NotImplemented: Sluice lacks operators, dtypes or the opset; lists all
            such nodes.
        Fail: an initialiser of the options does not fit the model, or the file
            is of a format of onnxruntime's own.
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        begin = time.monotonic_ns()
        is_path = isinstance(path_or_bytes, (str, os.PathLike))
        if not is_path and not isinstance(
            path_or_bytes, (bytes, bytearray, memoryview)
        ):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        if not isinstance(sess_options, (SessionOptions, type(None))):
            raise TypeError(
                f"sess_options is {sess_options!r}; expected SessionOptions"
            )
        self._options = (sess_options or SessionOptions())._copy()
        self._options._say_what_is_ignored()
        self._model_path = os.fspath(path_or_bytes) if is_path else None
        self._model_bytes = None if is_path else path_or_bytes
        self._file = os.path.basename(self._model_path or "")
        fed = kwargs.get("_fed", ())
        self._model = load_model(
            path_or_bytes, self._file, self._options, fed
        )
        self._initialised = set(self._model.initialised_inputs)
        loaded = time.monotonic_ns()
        if providers is None and self._options.has_providers():
            providers = self._options._providers
        self.set_providers(providers, provider_options, _level=4)
        self._describe_values()
        self._has_fixed_sizes = bool(
            self._options._sizes or self._options._denotations
        )
        save_model(self._model, self._options)
        self._profile: Profile | None = None
        if self._options.enable_profiling:
            self._begin_profile(begin, loaded)
        self._last_feed: dict[str, Any] | None = None
        # By the initialisers that a run was fed besides the inputs.
        self._sessions: dict[tuple[str, ...], InferenceSession] = {}

    def _describe_values(self) -> None:
        """Set the inputs and outputs; a sequence is one output."""
        self._inputs, self._outputs = (
            [
                NodeArg.of(
                    each,
                    self._options._fixed(self._model.denotations[each.name]),
                    self._model,
                )
                for each in values
            ]
            for values in (self._model.inputs, self._model.outputs)
        )
        self._input_names = {value.name for value in self._inputs}
        self._parts: dict[str, list[str]] = {}  # the tensors of sequences
        outputs = {}
        for value in self._outputs:
            name = self._model.sequence_of.get(value.name, value.name)
            outputs[name] = value
            if name != value.name:
                self._parts.setdefault(name, []).append(value.name)
                outputs[name] = NodeArg(name, f"seq({value.type})", [])
        self._outputs = list(outputs.values())
        self._output_names = list(outputs)
        self._output_set = outputs.keys()

    def _begin_profile(self, begin: int, loaded: int) -> None:
        profile = Profile(
            self._options.profile_file_prefix, self._chosen[0][0]
        )
        profile.start_ns = begin
        how = "array" if self._model_path is None else "uri"
        profile.add("Session", f"model_loading_{how}", begin, loaded)
        now = time.monotonic_ns()
        profile.add("Session", "session_initialization", loaded, now)
        self._profile = profile
        weakref.finalize(self, profile.end)

    def __repr__(self) -> str:
        fed = ", ".join(f"{v.name} {shape_text(v.shape)}" for v in self._inputs)
        return f"<InferenceSession: {fed} -> {', '.join(self._output_names)}>"

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]:
        """Run the model.

        Args:
            output_names: names of outputs; all if None or empty.
            input_feed: arrays, OrtValues, numbers or nested lists by the name
                of input, or of an initialiser that is an input, too.
            run_options: see :class:`RunOptions`.

        Returns:
            An array for each output, or a list of dicts (ZipMap) or of arrays
            (a sequence).

        Raises:
            TypeError: ``input_feed`` is not a dict, or ``output_names`` not a
                list.
            ValueError: an input is missing.
            InvalidArgument: an unknown name, a wrong dtype, rank or size.
            Fail: ``run_options.terminate`` is set.
        """
        self._check_types(output_names, input_feed)
        names = list(output_names or self._output_names)
        if output_names:
            self._refuse_unknown("output", names, self._output_set)
        if input_feed.keys() != self._input_names:
            self._require_inputs(input_feed)
            known = self._input_names | self._initialised
            self._refuse_unknown("input", input_feed, known)
            session = self._with_fed(
                tuple(sorted(set(input_feed) - self._input_names))
            )
            return session.run(names, input_feed, run_options)
        feed = {
            name: value._tensor() if isinstance(value, OrtValue) else value
            for name, value in input_feed.items()
        }
        explain = functools.partial(wrong_feed, self._inputs, feed)
        if self._has_fixed_sizes and (said := explain()):
            raise errors.make(errors.InvalidArgument, said)
        with errors.running(explain), self._threads():
            if run_options is None:
                results = self._compute(names, feed)
            else:
                with stopping(run_options):
                    results = self._compute(names, feed, run_options.logid)
        # The feed of the last run. Reports and tuning use it.
        self._last_feed = feed
        return results

    def _with_fed(self, names: tuple[str, ...]) -> InferenceSession:
        """A session whose runs are fed these initialisers, too."""
        if names not in self._sessions:
            options = self._options._copy()
            options.enable_profiling = False
            options.optimized_model_filepath = ""
            self._sessions[names] = InferenceSession(
                self._model_path or self._model_bytes,
                options,
                self._chosen,
                _fed=names,
            )
        return self._sessions[names]

    def _compute(
        self, names: list[str], feed: dict[str, Any], logid: str = ""
    ) -> list[Any]:
        model, profile, parts = self._model, self._profile, self._parts
        if profile is None and not parts and model.has_tensors_only:
            return self._executor.run(model.program, feed, names, model.scope)
        flat = [part for name in names for part in parts.get(name, [name])]

        def run(fed: Mapping[str, Any]) -> list[Any]:
            args = model.program, fed, flat, model.scope
            if profile is None or not profile.running:
                return self._executor.run(*args)
            return profile.run(self._executor, *args, logid)

        results = iter(model._run(run, feed, flat))
        return [
            [next(results) for _ in parts[name]]
            if name in parts
            else next(results)
            for name in names
        ]

    @staticmethod
    def _refuse_unknown(
        kind: str, given: Iterable[str], known: Set[str]
    ) -> None:
        for name in given:
            if name not in known:
                raise errors.make(
                    errors.InvalidArgument,
                    f"Invalid {kind} name: {name}; there are: "
                    f"{', '.join(sorted(known))}",
                )

    def _require_inputs(self, given: Mapping[str, Any]) -> None:
        """Raise ValueError if inputs are missing."""
        missing = [n for n in self._input_names if n not in given]
        if missing:
            raise ValueError(
                f"Required inputs ({sorted(missing)}) are missing from input "
                f"feed ({list(given)})."
            )

    def run_with_ort_values(
        self,
        output_names: Any,
        input_dict_ort_values: Any,
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """:meth:`run` of values, which returns values.

        As in onnxruntime's extension the values may come before the names.
        """
        if isinstance(output_names, Mapping):
            output_names, input_dict_ort_values = (
                input_dict_ort_values, output_names
            )
        feed = input_dict_ort_values
        results = self.run(output_names, feed, run_options)
        return [OrtValue._of(result) for result in results]

    def run_with_ortvaluevector(
        self,
        run_options: RunOptions | None,
        feed_names: Sequence[str],
        feeds: Sequence[OrtValue],
        fetch_names: Sequence[str],
        fetches: OrtValueVector,
        fetch_devices: Sequence[Any],
    ) -> None:
        """Run on values in order, and append those of outputs to ``fetches``.

        Where ``fetches`` has values, these get the outputs.
        """
        binding = self.io_binding()
        for name, value in zip(feed_names, feeds, strict=True):
            binding.bind_ortvalue_input(name, value)
        for i, name in enumerate(fetch_names):
            if i < len(fetches) and fetches[i].has_value():
                binding.bind_ortvalue_output(name, fetches[i])
            else:
                binding.bind_output(name, fetch_devices[i])
        binding.run(run_options)
        fetches[:] = binding.get_outputs()

    def io_binding(self) -> IOBinding:
        """A set of feeds and of memory for outputs."""
        return IOBinding(self)

    def run_with_iobinding(
        self, iobinding: IOBinding, run_options: RunOptions | None = None
    ) -> None:
        """Run on what is bound.

        Raises ValueError for a binding of another session, and else what
        :meth:`run` raises, as an error that is a RuntimeError, too.
        """
        if iobinding._session is not self:
            raise ValueError(
                "IOBinding must be used with the session that created it."
            )
        iobinding.run(run_options)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any = None,
        run_options: RunOptions | None = None,
    ) -> None:
        """:meth:`run` in a thread, which calls the callback.

        It gets the results, ``user_data`` and the text of an error or "".
        Raises ValueError at once if an input is missing.
        """
        self._check_types(output_names, input_feed)
        self._require_inputs(input_feed)

        def work() -> None:
            try:
                results = self.run(output_names, input_feed, run_options)
            except errors.OrtException as error:
                callback([], user_data, errors.text_of(error))
            except Exception as error:
                callback([], user_data, str(error) or type(error).__name__)
            else:
                callback(results, user_data, "")

        threading.Thread(target=work).start()

    def _check_types(self, output_names: Any, input_feed: Any) -> None:
        if isinstance(output_names, str):
            raise TypeError(
                f"run: output_names is the text {output_names!r}; expected a "
                f"list of names, such as [{output_names!r}], or None for all"
            )
        if not isinstance(input_feed, (dict, Mapping)):
            names = ", ".join(f"{value.name!r}: ..." for value in self._inputs)
            raise TypeError(
                "run: input_feed must be a dict of arrays by the names of "
                f"inputs, {{{names}}}, got {type(input_feed).__name__}"
            )

    def get_inputs(self) -> list[NodeArg]:
        """The inputs, except initialisers."""
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        """The outputs."""
        return list(self._outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """None are listed, but :meth:`run` takes them."""
        return []

    def get_input_memory_infos(self) -> list[OrtMemoryInfo]:
        """Where feeds are best, for each input: on the host."""
        kind = OrtAllocatorType.ORT_DEVICE_ALLOCATOR
        host = OrtMemoryInfo("Cpu", kind, 0, OrtMemType.DEFAULT)
        return [host] * len(self._inputs)

    def get_output_memory_infos(self) -> list[OrtMemoryInfo]:
        """Where outputs are, for each: on the host."""
        return self.get_input_memory_infos()[:1] * len(self._outputs)

    def get_input_epdevices(self) -> list[OrtEpDevice]:
        """The device of the provider, for each input."""
        return [OrtEpDevice(self._chosen[0][0])] * len(self._inputs)

    def create_ortvalue_from_shape_and_type(
        self, shape: Sequence[int], element_type: Any, *device: Any
    ) -> OrtValue:
        """Zeros, as ``OrtValue.ortvalue_from_shape_and_type`` makes them."""
        return OrtValue.ortvalue_from_shape_and_type(
            shape, element_type, *device
        )

    def set_providers(
        self,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[dict[str, Any]] | None = None,
        _level: int = 3,
    ) -> None:
        """Run elsewhere from now on; arguments are those of the constructor."""
        self._chosen = chosen(
            providers,
            provider_options,
            _level,
            self._options.log_severity_level,
        )
        self._executor = Executor(
            place_of(self._chosen[0]),
            passes=self._options.graph_optimization_level
            != GraphOptimizationLevel.ORT_DISABLE_ALL,
        )
        # Clients read these, although their names are private.
        self._providers = self.get_providers()
        self._provider_options = self.get_provider_options()

    def get_providers(self) -> list[str]:
        """The providers in use, the preferred one first."""
        return [name for name, _ in self._chosen]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of the providers, as text."""
        return {
            name: {key: str(value) for key, value in options.items()}
            for name, options in self._chosen
        }

    def get_modelmeta(self) -> ModelMetadata:
        """The model's statements about itself."""
        return ModelMetadata.of(self._model.metadata)

    def get_session_options(self) -> SessionOptions:
        """A copy of the options that the session was made with."""
        return self._options._copy()

    def disable_fallback(self) -> None:
        """Accepted: only single ops fall back to the CPU."""

    def enable_fallback(self) -> None:
        """Accepted: see :meth:`disable_fallback`."""

    def set_ep_dynamic_options(self, options: Mapping[str, str]) -> None:
        """Accepted; says once that such options have no effect."""
        for name in options:
            environment.say_once(
                f"dynamic option {name}",
                f"the option {name!r} of a provider has no effect in Sluice",
                self._options.log_severity_level,
            )

    def get_tuning_results(self) -> list[Any]:
        """None: :meth:`tune` measures, and keeps a record."""
        return []

    def set_tuning_results(
        self, results: Sequence[Any], *, error_on_invalid: bool = False
    ) -> None:
        """Accepted; says once that onnxruntime's results are not Sluice's."""
        environment.say_once(
            "tuning",
            "set_tuning_results has no effect: session.tune measures kernels",
            self._options.log_severity_level,
        )

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Do nothing: runs are not captured."""

    def get_profiling_start_time_ns(self) -> int:
        """From when a profile counts, by ``time.monotonic_ns()``; 0 without."""
        return 0 if self._profile is None else self._profile.start_ns

    def end_profiling(self) -> str:
        """Write the profile and return its path; "" if there is none."""
        return "" if self._profile is None else self._profile.end()

    # Names that are private in onnxruntime, and used nevertheless.

    _sess = property(lambda self: self, doc="The session of the extension.")
    _inputs_meta = property(get_inputs)
    _outputs_meta = property(get_outputs)
    _model_meta = property(get_modelmeta)

    def _set_options(self, options: SessionOptions) -> None:
        self._options = options._copy()

    _sess_options = property(get_session_options, _set_options)

    def _reset_session(
        self, providers: Any = None, provider_options: Any = None
    ) -> None:
        """Run by options that were set meanwhile; the model is not read."""
        self.set_providers(providers, provider_options)
        if self._options.enable_profiling and self._profile is None:
            now = time.monotonic_ns()
            self._begin_profile(now, now)

    # Extensions that onnxruntime lacks.

    @property
    def program(self) -> Program:
        """The model as a program, for everything else in Sluice."""
        return self._model.program

    @property
    def scope(self) -> _core.Scope:
        """The scope with its parameters."""
        return self._model.scope

    def explain(self) -> str:
        """Say which kernel ran each op of the last run, and why.

        Raises Fail before the first run.
        """
        with errors.running():
            if self._last_feed is None:
                raise FailedPreconditionError(
                    "explain needs a run before: sizes of inputs decide",
                    "onnxruntime.explain",
                )
            return self._executor.explain(self._model.program)

    def tune(
        self, seconds: float = 10, input_feed: Mapping[str, Any] | None = None
    ) -> _lab.TuneResult:
        """Measure kernels, and choose by the results from now on.

        Args:
            seconds: the total time.
            input_feed: see :meth:`run`; the feed of the last run if None.

        Raises:
            ValueError: there was no run yet, and no feed.
        """
        from ..lab import measuring

        with errors.running(), self._threads():
            return measuring.tune(
                self._model.program,
                self._feed("tune", input_feed),
                [value.name for value in self._model.outputs],
                seconds,
                place=place_of(self._chosen[0]),
                scope=self._model.scope,
            )

    def report(
        self,
        path: str | os.PathLike[str],
        input_feed: Mapping[str, Any] | None = None,
        seconds: float = 3,
    ) -> None:
        """Measure the plan and write a report page.

        Args:
            path: path of the page; ``docs/laboratory.md`` describes it.
            input_feed: see :meth:`run`; the feed of the last run if None.
            seconds: time for running the plan.

        Raises:
            ValueError: there was no run yet, and no feed.
        """
        from ..lab.report import report

        with errors.running(), self._threads():
            page = report(
                self._model.program,
                self._feed("report", input_feed),
                [value.name for value in self._model.outputs],
                seconds=seconds,
                place=place_of(self._chosen[0]),
                scope=self._model.scope,
                name=self._file or self._model.metadata.graph_name or "model",
                role="ONNX model",
            )
            page.save(path)

    def _feed(
        self, method: str, input_feed: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        feed = self._last_feed if input_feed is None else input_feed
        if feed is None:
            raise ValueError(
                f"{method} needs input_feed, or a run before: sizes of inputs "
                "decide"
            )
        return self._model._numbers(feed)

    def _threads(self) -> _core._ThreadCount:
        threads = self._options.intra_op_num_threads
        if not self._options.use_per_session_threads:
            threads = environment.global_threads
        return _core._ThreadCount(max(0, threads))
