"""Records when the ops of a session ran, as onnxruntime does."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from .. import _core
from ..errors import UnimplementedError
from ..executor import Executor
from ..program import Program

# Later events are dropped, as in onnxruntime.
_MOST_EVENTS = 1_000_000

# "node Conv_3 (Conv) of net.onnx".
_NODE = re.compile(r"node (.+?) \((\w+)\)")
# "x float32 [50, 13], fc_0.w_0 float32 [13, 1]".
_TENSOR = re.compile(r"(\w+) \[([\d, ]*)\](?:,|$| and)")


class Profile:
    """Events of Chrome's trace format, written to a file when it ends.

    Threads may use it at once.
    """

    def __init__(self, prefix: str, provider: str) -> None:
        self.start_ns = time.monotonic_ns()
        now = datetime.now()
        stamp = f"{now:%Y-%m-%d_%H-%M-%S}_{now.microsecond // 1000:03}"
        self._path = os.path.abspath(f"{prefix}_{stamp}.json")
        self._shown = f"{prefix}_{stamp}.json"
        self.provider = provider
        self._lock = threading.Lock()
        self._events: list[dict[str, Any]] = []
        self.running = True

    def add(
        self, category: str, name: str, begin_ns: int, end_ns: int, **told: Any
    ) -> None:
        """Add an event."""
        event = {
            "cat": category,
            "pid": os.getpid(),
            "tid": threading.get_native_id(),
            "dur": max(0, (end_ns - begin_ns) // 1000),
            "ts": max(0, (begin_ns - self.start_ns) // 1000),
            "ph": "X",
            "name": name,
            "args": told,
        }
        with self._lock:
            if self.running and len(self._events) < _MOST_EVENTS:
                self._events.append(event)

    def run(
        self,
        executor: Executor,
        program: Program,
        feed: Mapping[str, Any],
        names: Sequence[str],
        scope: _core.Scope,
        logid: str,
    ) -> list[Any]:
        """Run a program, and add events for the run and its ops.

        One that runs in several stretches has an event for the run only.
        """
        begin = time.monotonic_ns()
        try:
            traced = executor.run_traced(program, feed, names, scope)
        except UnimplementedError:
            results = executor.run(program, feed, names, scope)
        else:
            results = traced.results
            self._add_ops(json.loads(traced.trace), traced.start_ns)
        told = {"logid": logid} if logid else {}
        end = time.monotonic_ns()
        self.add("Session", "model_run", begin, end, **told)
        return results

    def _add_ops(self, trace: dict[str, Any], start_ns: int) -> None:
        for event in trace["traceEvents"]:
            if event.get("ph") != "X" or event.get("cat") == "run":
                continue
            told = event.get("args", {})
            begin = start_ns + int(event["ts"] * 1000)
            end = begin + int(event["dur"] * 1000)
            name, op = event["name"], event["name"]
            if node := _NODE.match(told.get("line", "")):
                name, op = node.groups()
                name = f"{op}_{name}" if name.isdigit() else name
            self.add(
                "Node",
                f"{name}_kernel_time",
                begin,
                end,
                op_name=op,
                provider=self.provider,
                node_index=told.get("op", ""),
                output_size=told.get("bytes", "0"),
                input_type_shape=_types(told.get("inputs", "")),
                output_type_shape=_types(told.get("outputs", "")),
                kernel=told.get("kernel", ""),
                sluice_op=event["name"],
            )

    def end(self) -> str:
        """Write the file and return its path; "" if it has ended before.

        Raises OSError if it cannot be written.
        """
        with self._lock:
            if not self.running:
                return ""
            self.running = False
            events, self._events = self._events, []
        with open(self._path, "w", encoding="utf-8") as file:
            lines = ",\n".join(json.dumps(event) for event in events)
            file.write(f"[\n{lines}\n]\n")
        return self._shown


def _types(text: str) -> list[dict[str, list[int]]]:
    """Types and shapes of tensors, as ``[{"float": [50, 13]}]``."""
    return [
        {_core.DType(dtype).onnx_name: [int(n) for n in sizes.split(",") if n]}
        for dtype, sizes in _TENSOR.findall(text)
    ]
