"""InferenceSession."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, onnx
from ..display import shape_text
from ..errors import FailedPreconditionError
from ..executor import Executor
from ..program import Program
from . import errors
from .binding import IOBinding, OrtValue
from .options import GraphOptimizationLevel, RunOptions, SessionOptions
from .providers import chosen, place_of
from .values import ModelMetadata, NodeArg

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
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(
            path_or_bytes, (str, bytes, bytearray, memoryview, os.PathLike)
        ):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        self._options = sess_options or SessionOptions()
        is_path = isinstance(path_or_bytes, (str, os.PathLike))
        self._file = (
            os.path.basename(os.fspath(path_or_bytes)) if is_path else ""
        )
        with errors.loading():
            self._model = onnx.load(path_or_bytes)
        self.set_providers(providers, provider_options, _level=4)
        self._inputs, self._outputs = (
            [
                NodeArg.of(value, self._options._sizes, self._model)
                for value in values
            ]
            for values in (self._model.inputs, self._model.outputs)
        )
        for name, value in self._options._initializers.items():
            if name not in self._model.parameters:
                raise errors.Fail(f"[Sluice] : Fail : no initialiser {name!r}")
            value = value.numpy() if isinstance(value, OrtValue) else value
            self._model.scope[name] = value
        if self._options.optimized_model_filepath:
            with errors.running():
                self._model.save(self._options.optimized_model_filepath)
        if self._options.enable_profiling:
            warnings.warn(
                "enable_profiling has no effect; session.report has times",
                stacklevel=2,
            )
        self._start = time.monotonic_ns()
        self._input_names = {value.name for value in self._inputs}
        self._output_names = [value.name for value in self._outputs]
        self._last_feed: dict[str, Any] | None = None

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
            input_feed: arrays, numbers or nested lists by the name of input.
            run_options: accepted.

        Returns:
            An array for each output, or a list of dicts (ZipMap).

        Raises:
            TypeError: ``input_feed`` is not a dict, or ``output_names`` not a
                list.
            ValueError: an input is missing.
            InvalidArgument: an unknown name, a wrong dtype, rank or size.
        """
        self._check_types(output_names, input_feed)
        missing = [n for n in self._input_names if n not in input_feed]
        if missing:
            raise ValueError(
                f"Required inputs ({sorted(missing)}) are missing from input "
                f"feed ({list(input_feed)})."
            )
        for kind, names, known in (
            ("input", input_feed, self._input_names),
            ("output", output_names or (), self._output_names),
        ):
            for name in names:
                if name not in known:
                    text = f"InvalidArgument : Invalid {kind} name: {name}"
                    raise errors.InvalidArgument(f"[Sluice] : {text}")
        for value in self._inputs if self._options._sizes else ():
            self._check_sizes(value, np.shape(input_feed[value.name]))
        names = list(output_names or self._output_names)
        with errors.running(), self._threads():
            results = self._model._run(self._executor, input_feed, names)
        # The feed of the last run. Reports and tuning use it.
        self._last_feed = dict(input_feed)
        return results

    def _check_sizes(self, value: NodeArg, shape: tuple[int, ...]) -> None:
        """Raise InvalidArgument unless sizes are those of the options."""
        for expected, size in zip(value.shape, shape, strict=False):
            if isinstance(expected, int) and expected != size:
                raise errors.InvalidArgument(
                    f"[Sluice] : InvalidArgument : input {value.name} has "
                    f"shape {list(shape)}; the session expects {value.shape}"
                )

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """:meth:`run` of values, which returns values."""
        feed = {n: v.numpy() for n, v in input_dict_ort_values.items()}
        return [OrtValue(x) for x in self.run(output_names, feed, run_options)]

    def io_binding(self) -> IOBinding:
        """A set of feeds and of memory for outputs."""
        return IOBinding(self)

    def run_with_iobinding(
        self, iobinding: IOBinding, run_options: RunOptions | None = None
    ) -> None:
        """Run on what is bound; raises what :meth:`run` raises."""
        iobinding.run()

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """:meth:`run` in a thread, which calls the callback.

        It gets the results, ``user_data`` and the text of an error or "".
        """

        def work() -> None:
            try:
                results = self.run(output_names, input_feed, run_options)
            except Exception as error:
                callback([], user_data, str(error))
            else:
                callback(results, user_data, "")

        threading.Thread(target=work).start()

    def _check_types(self, output_names: Any, input_feed: Any) -> None:
        if isinstance(output_names, str):
            raise TypeError(
                f"run: output_names is the text {output_names!r}; expected a "
                f"list of names, such as [{output_names!r}], or None for all"
            )
        if not isinstance(input_feed, Mapping):
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
        """None: initialisers are parameters, even in IR version 3."""
        return []

    def set_providers(
        self,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[dict[str, Any]] | None = None,
        _level: int = 3,
    ) -> None:
        """Run elsewhere from now on; arguments are those of the constructor."""
        self._providers = chosen(providers, provider_options, _level)
        self._executor = Executor(
            place_of(self._providers[0]),
            passes=self._options.graph_optimization_level
            != GraphOptimizationLevel.ORT_DISABLE_ALL,
        )

    def get_providers(self) -> list[str]:
        """The providers in use, the preferred one first."""
        return [name for name, _ in self._providers]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of the providers, as text."""
        return {
            name: {key: str(value) for key, value in options.items()}
            for name, options in self._providers
        }

    def get_modelmeta(self) -> ModelMetadata:
        """The model's statements about itself."""
        return ModelMetadata.of(self._model.metadata)

    def get_session_options(self) -> SessionOptions:
        """The options that the session was made with."""
        return self._options

    def disable_fallback(self) -> None:
        """Accepted: only single ops fall back to the CPU."""

    def enable_fallback(self) -> None:
        """Accepted."""

    def get_profiling_start_time_ns(self) -> int:
        """The value of ``time.monotonic_ns()`` when the session was made."""
        return self._start

    def end_profiling(self) -> str:
        """Return "": :meth:`report` has the times."""
        return ""

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
                self._output_names,
                seconds,
                place=place_of(self._providers[0]),
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
                self._output_names,
                seconds=seconds,
                place=place_of(self._providers[0]),
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
        return _core._ThreadCount(self._options.intra_op_num_threads)
