"""The parts of the GPU kit, in the order in which they run."""

from __future__ import annotations

import json
import os
import pathlib
import platform
from collections.abc import Callable
from typing import Any

from runner import FAILED, LEFT_OUT, PASSED, Kit, last_lines, run_tests

_QUERIES = (
    "name,driver_version,compute_cap,memory.total,memory.free,clocks.sm,"
    "clocks.max.sm,clocks.mem,clocks.max.mem,temperature.gpu,power.draw,"
    "pstate,compute_mode,mig.mode.current"
)
# Where only one of them shows, as in containers and under Windows.
_SIGNS_OF_A_DRIVER = (
    "/dev/nvidia0",
    "/dev/nvidiactl",
    "/dev/dxg",
    "/proc/driver/nvidia/version",
)
_TRY_PYTHON = """
import sys
found = "%d.%d" % sys.version_info[:2]
if sys.version_info < (3, 11):
    sys.exit("Python " + found + " is too old: expected 3.11 or newer")
try:
    import numpy
except ImportError as error:
    sys.exit("Python " + found + ": " + str(error))
try:
    import sluice
except Exception as error:
    print("Python " + found + ": import sluice:", error)
    sys.exit(3)  # everything is there, and our package does not work
print(found + ", NumPy", numpy.__version__)
"""


def _json(text: str) -> Any:
    """The last line that is a JSON object; None where there is none."""
    for line in reversed(text.splitlines() or [text]):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                pass
    return None


def _file(path: pathlib.Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def describe_machine(kit: Kit) -> None:
    """Part 1: what is there."""
    kit.about.update(_file(kit.folder / "kit.json") or {})
    kit.about["machine"] = {
        "cpu": _line("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "os": _line("/etc/os-release", "PRETTY_NAME"),
    }
    _ask_driver(kit)
    gpu = _usable(kit, "gpu")
    emulated = _usable(kit, "emulated")
    kit.mode = "gpu" if gpu else "emulated" if emulated else "none"
    kit.print(
        "  the parts run on the GPU"
        if gpu
        else "  no GPU: the parts run on the emulation, on this CPU"
        if emulated
        else "  no GPU, and the emulation does not work either"
    )


def _line(path: str, name: str) -> str:
    try:
        lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    found = [line for line in lines if line.startswith(name)]
    return found[0][len(name) :].strip("\t :=") if found else "unknown"


def _ask_driver(kit: Kit) -> None:
    ask = ["nvidia-smi", "-i", "0", "--format=csv,noheader"]
    said = kit.run([*ask, f"--query-gpu={_QUERIES}"], 30)
    if not said.ok:
        detail = said.not_started or last_lines(said.output)
        kit.add("nvidia-smi", LEFT_OUT, said.seconds, detail)
        return
    values = said.output.splitlines()[0].split(", ")
    figures = dict(zip(_QUERIES.split(","), values))
    others = kit.run([*ask, "--query-compute-apps=pid,name,used_memory"], 30)
    if others.ok and others.output:
        figures["used_by"] = others.output
        kit.print(f"  the GPU is in use, times will suffer:\n{others.output}")
    kit.add("nvidia-smi", PASSED, said.seconds, figures=figures)


def _usable(kit: Kit, mode: str) -> bool:
    """Whether ``cuda:0`` works with the libraries of ``mode``."""
    name = f"cuda:0, {mode}"
    if not (kit.folder / mode / "lib").exists():
        library = kit.folder / mode / "lib"
        kit.fail(name, f"{library} is missing: copy the whole kit")
        return False
    tried = kit.run([kit.program("sluice-gpu-probe")], 60, mode)
    found = _json(tried.output) or {}
    if found.get("usable"):
        if not tried.ok:  # it computes, and dies when its process ends
            kit.report(f"{name}, the end of the process", tried)
        kit.print(f"  {name}: {found['device']}")
        kit.about["gpu" if mode == "gpu" else "emulation"] = found["device"]
        kit.add(name, PASSED, tried.seconds, figures=found)
        return True
    reason = found.get("reason", tried.detail)
    # A machine without a GPU is no failure; a GPU that cannot be used is.
    has_driver = (
        any(map(os.path.exists, _SIGNS_OF_A_DRIVER))
        or kit.run(["nvidia-smi", "-L"], 30).ok
    )
    expected = mode == "gpu" and not has_driver
    if expected:
        reason = f"there is no NVIDIA driver on this machine: {reason}"
    status = LEFT_OUT if expected else FAILED
    kit.add(name, status, tried.seconds, reason, found, tried.command)
    return False


def _ops_with_kernels(kit: Kit, mode: str) -> list[str]:
    outputs = kit.program("sluice_kernel_outputs")
    listed = kit.run([outputs, "--list"], 60, mode)
    if not listed.ok or not listed.output:
        kit.report(f"list of the CUDA kernels, {mode}", listed)
    return listed.output.split() if listed.ok else []


def run_all_tests(kit: Kit) -> None:
    """Part 2: every CUDA test, and every CUDA kernel against the CPU's."""
    loss = "*CUDALoss*"
    cuda_test = kit.mode_program("sluice_cuda_test")
    run_tests(kit, cuda_test, f"-{loss}")
    run_tests(kit, cuda_test, loss, one_process_each=True)
    run_tests(
        kit,
        kit.program("sluice_framework_test"),
        "CudaPlan*:Executor*:Plan*:Persistable*:RunOp*:Concurrency*:DebugRun*",
    )
    run_tests(kit, kit.program("sluice_laboratory_measure_test"), "Profile*")
    run_tests(kit, kit.program("sluice_examples_test"), "CUDA*")
    operators = kit.program("sluice_operators_test")
    run_tests(kit, operators, "CUDA*")
    stub = kit.folder / kit.mode / "lib/sluice_plugins/libsluice_fpga.so"
    kit.report(
        "conformance of the FPGA stub",
        kit.run([kit.program("sluice-conformance"), str(stub)], 60),
    )
    ops = _ops_with_kernels(kit, kit.mode)
    # A kernel that only one of the builds has would be compared with nothing.
    if _ops_with_kernels(kit, "emulated") != ops:
        kit.fail(
            "list of the CUDA kernels",
            "the emulation has kernels for other ops: compare the lists of "
            "sluice_kernel_outputs --list",
        )
    # A kernel that loses the device takes the tests of its op with it only.
    kit.parallel(
        "harness",
        ops,
        lambda op: run_tests(
            kit, operators, f"Ops/OpHarness.*/{op}", ["--kernels=cuda"]
        ),
    )
    _compare_with_emulation(kit, ops)


def _compare_with_emulation(kit: Kit, ops: list[str]) -> None:
    outputs = kit.program("sluice_kernel_outputs")
    folder = str(kit.scratch / "emulated_outputs")
    written = kit.run([outputs, "--write", folder], 120, "emulated")
    kit.report("outputs of the emulation", written)

    def compare(op: str) -> None:
        done = kit.run([outputs, "--compare", folder, "--ops", op], 60)
        kit.report(f"bits/{op}", done, _json(done.output))

    if written.ok:
        kit.parallel("bits", ops, compare)


def run_sanitizers(kit: Kit) -> None:
    """Part 3: every CUDA kernel once under each tool of compute-sanitizer."""
    if not kit.on_gpu:
        detail = "no GPU; the emulation looks for the same mistakes in part 2"
        kit.add("compute-sanitizer", LEFT_OUT, detail=detail)
        return
    names = ("compute-sanitizer", "/usr/local/cuda/bin/compute-sanitizer")
    found = [name for name in names if kit.run([name, "--version"], 30).ok]
    if not found:
        detail = (
            "not installed: it comes with the CUDA toolkit (on PATH or in "
            "/usr/local/cuda/bin)"
        )
        kit.add("compute-sanitizer", LEFT_OUT, detail=detail)
        return
    ops, shards = _ops_with_kernels(kit, kit.mode), 4
    tools = ("memcheck", "racecheck", "synccheck", "initcheck")
    tasks = [(tool, ops[i::shards]) for i in range(shards) for tool in tools]
    kit.parallel(
        "compute-sanitizer", tasks, lambda task: _run_tool(kit, found[0], *task)
    )


def _run_tool(kit: Kit, sanitizer: str, tool: str, ops: list[str]) -> None:
    # In one process, since starting it takes seconds; after an op that ends the
    # process the rest goes into another.
    while ops and kit.seconds_left() > 0:
        options = f"--tool {tool} --error-exitcode 9 --print-limit 5".split()
        program = [kit.program("sluice_kernel_outputs"), "--largest", "--ops"]
        outcome = kit.run([sanitizer, *options, *program, ",".join(ops)], 150)
        text, done = "", set()
        for line in outcome.output.splitlines():
            result = _json(line)
            if result and "op" in result:
                done.add(result["op"])
            if line.startswith("=========") or (result and "errors" in result):
                text += line + "\n"
        left = [op for op in ops if op not in done]
        # The process ended in the first op without a result.
        tried = [op for op in ops if op in done] + left[:1]
        # "ERROR SUMMARY: 0 errors", "RACECHECK SUMMARY: 0 hazards displayed".
        clean = outcome.ok and not left and " SUMMARY: 0 " in text
        name = f"{tool}/{','.join(tried)}"
        if clean:
            kit.add(name, PASSED, outcome.seconds)
        else:
            said = last_lines(text or outcome.output)
            kit.fail(name, f"{outcome.ending}\n{said}", outcome)
        ops = left[1:]
    if ops:
        kit.fail(f"{tool}/{','.join(ops)}", "the time of the part is over")


def run_endurance(kit: Kit) -> None:
    """Part 4: faults, endurance, several processes and threads."""
    # Each test alone: some lose the device, and some look at its free memory.
    # Their own children have 90 s.
    run_tests(
        kit,
        kit.mode_program("sluice_cuda_endurance_test"),
        one_process_each=True,
        seconds=120,
    )


def _find_python(kit: Kit) -> str:
    """A Python with NumPy; "" for none, which is reported."""
    names = ["python3", *(f"python3.{minor}" for minor in (12, 11, 13, 14))]
    reasons, broken = "", False
    for name in [kit.python] if kit.python else names:
        tried = kit.run([name, "-c", _TRY_PYTHON], 60)
        lines = tried.output.strip().splitlines() or [""]
        if tried.ok:
            figures = {"command": name, "version": lines[-1]}
            kit.add("python", PASSED, tried.seconds, figures=figures)
            return name
        broken |= tried.status == 3
        if kit.python or not tried.not_started:
            reasons += f"\n    {name}: {tried.not_started or lines[-1]}"
    # What the user names has to work, and our package has to work anywhere.
    kit.add(
        "python",
        FAILED if broken or kit.python else LEFT_OUT,
        detail="expected Python 3.11 or newer with NumPy (--python):" + reasons
        if reasons
        else "no python3 on this machine",
    )
    return ""


def run_training(kit: Kit) -> None:
    """Part 5: the digits in C++; networks trained from Python."""

    def example(name: str, command: list[str], seconds: float) -> None:
        done = kit.run(command, seconds)
        printed = {"printed": last_lines(done.output, 3000)}
        kit.report(name, done, printed)

    examples = kit.folder / "examples"
    digits = [kit.program("digits"), str(examples / "data"), "cuda:0"]
    example("digits", digits, 60)
    python = _find_python(kit)
    if not python:
        return
    example("crf_tagging", [python, str(examples / "crf_tagging.py")], 60)
    epochs = "5" if kit.on_gpu else "1"
    options = ["--only-cuda", "--cuda-epochs", epochs]
    output = ["--output", str(kit.scratch / "demo")]
    train = [python, str(examples / "train_digits.py"), *options, *output]
    example("train_digits", train, 110)


def run_benchmarks(kit: Kit) -> None:
    """Part 6: benchmarks."""
    path = kit.output / "table1.json"
    effort = ["--seconds", "0.2"] if kit.on_gpu else ["--smoke"]
    table = [kit.program("bench_table1"), "--json", str(path), *effort]
    kit.report("bench_table1", kit.run(table, 120), _file(path))

    program = kit.mode_program("bench_cuda_kernels")
    path = kit.output / "cuda.json"
    python = _find_python(kit)
    # It stops by itself before, with what it has.
    seconds = kit.seconds_left()
    limit = ["--limit", f"{max(seconds - 25, 1):.0f}"]
    command = [program, "--json", str(path), *limit]
    if python:
        script = str(kit.folder / "benchmarks" / "bench_cuda.py")
        command = [python, script, "--program", *command, "--peers"]
        if kit.python:
            command += ["--python", python]
    done = kit.run(command, seconds)
    figures = _file(path)
    kit.report("bench_cuda", done, figures)
    if figures is None:
        return
    for what, reason in figures.get("left_out", {}).items():
        kit.add(f"bench_cuda: {what}", LEFT_OUT, detail=str(reason))
    if not python:
        return
    script = str(kit.folder / "benchmarks" / "worst_kernels.py")
    page = kit.run([python, script, str(path)], 30)
    if page.ok:
        kit.output.joinpath("worst_kernels.md").write_text(page.output)
    kit.report("worst_kernels", page)


# A name, the seconds that it may take, and what it does. On an H100 with 16
# cores all of them end well within 10 minutes.
PARTS: list[tuple[str, float, Callable[[Kit], None]]] = [
    ("what is there", 60, describe_machine),
    ("every CUDA test, and every kernel against the CPU's", 240, run_all_tests),
    ("the same under compute-sanitizer", 150, run_sanitizers),
    ("faults, endurance, several processes and threads", 150, run_endurance),
    ("networks trained from Python", 120, run_training),
    ("benchmarks", 240, run_benchmarks),
]
