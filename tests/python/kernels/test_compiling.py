"""sl.compile_kernels and sl.compile_ops: kernels compiled from Python."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest
from kernel_texts import X, no_compiler, refused, relu, source
from processes import python
from test_lab import status

import sluice as sl
from sluice import _core, compiler, kernel_sources, lab

ROOT = pathlib.Path(__file__).resolve().parents[3]
ADD_KERNEL = ROOT / "tests/consumers/add_kernel"
ADD_OP = ROOT / "tests/consumers/add_op"

pytestmark = no_compiler


@pytest.fixture
def compiles(monkeypatch):
    """The number of calls of the compiler."""
    calls = []
    run = compiler.run

    def counted(commands, work):
        calls.extend(commands)
        return run(commands, work)

    monkeypatch.setattr(compiler, "run", counted)
    return lambda: len(calls)


def test_the_kernel_of_the_guide_is_compiled_once(compiles):
    path = ADD_KERNEL / "fast_relu.cc"
    kernels = sl.compile_kernels(path)
    assert [(k.op, k.library, k.variant, k.dtype) for k in kernels] == [
        ("relu", "MINE", "fast", "float32"),
        ("relu", "MINE", "fast", "float64"),
    ]
    assert compiles() == 2
    assert sl.compile_kernels(str(path)) == kernels
    assert compiles() == 2
    x = np.arange(-4, 4, dtype="float32")
    assert relu("fast", x) == [0, 0, 0, 0, 0, 1, 2, 3]


def test_what_is_edited_and_run_again_replaces_its_kernel(exe):
    x = sl.data("x", [None])
    y = sl.layers.relu(x)

    def run():
        with sl.kernel_hints("relu: require variant=edited"):
            return exe.run(feed={"x": X}, fetch_list=[y])[0].tolist()

    first = source("edited", "value + 1")
    sl.compile_kernels(first)
    assert run() == [0, 1, 3, 4]
    sl.compile_kernels(source("edited", "value + 2"))
    assert run() == [1, 2, 4, 5]
    assert sl.compile_kernels(first)[0].variant == "edited"
    assert run() == [0, 1, 3, 4]
    listed = [k for k in sl.kernels("relu") if k.variant == "edited"]
    assert len(listed) == 1


def test_dtypes_that_are_left_out_again_are_withdrawn():
    sl.compile_kernels(source("two", "value", "Relu<float>, Relu<double>"))
    assert relu("two", X.astype("float64")) == X.tolist()
    sl.compile_kernels(source("two", "value"))
    with pytest.raises(sl.SluiceError, match="again without this dtype"):
        relu("two", X.astype("float64"))
    sl.compile_kernels(source("two", "value + 1", "Relu<double>, Relu<float>"))
    assert relu("two", X.astype("float64")) == [0, 1, 3, 4]


def test_a_loaded_library_is_replaced_when_asked():
    first = sl.compile_library(source("again", "value"))
    second = sl.compile_library(source("again", "value + 1"))
    sl.load_kernel_library(first)
    with pytest.raises(sl.InvalidArgumentError, match="already"):
        sl.load_kernel_library(second)
    sl.load_kernel_library(second, replace=True)
    assert relu("again") == [0, 1, 3, 4]


def test_a_source_that_does_not_compile_has_its_lines(in_folder):
    text = source("broken", "valeu")
    line = text[: text.index("valeu")].count("\n") + 1
    message = refused("compile.error", text)
    assert f"<source>:{line}:" in message and "valeu" in message
    pathlib.Path("mine.cc").write_text(text)
    message = refused("compile.error", "mine.cc")
    assert f"\nmine.cc:{line}:" in message
    assert str(in_folder) not in message


def test_a_header_that_is_edited_counts(in_folder):
    pathlib.Path("rule.h").write_text("#define RULE value + 1\n")
    pathlib.Path("mine.cc").write_text(
        '#include "rule.h"\n' + source("ruled", "RULE")
    )
    sl.compile_kernels("mine.cc")
    assert relu("ruled") == [0, 1, 3, 4]
    pathlib.Path("rule.h").write_text("#define RULE value + 5\n")
    sl.compile_kernels("mine.cc")
    assert relu("ruled") == [4, 5, 7, 8]
    folder = in_folder / "my rules"
    folder.mkdir()
    pathlib.Path("rule.h").rename(folder / "rule.h")
    for flags in ([f"-I{folder}"], ["-I", str(folder)]):
        library = sl.compile_library("mine.cc", flags=flags)
        (folder / "rule.h").write_text(f"#define RULE value + {len(flags)}\n")
        assert sl.compile_library("mine.cc", flags=flags) != library


def test_an_edit_while_it_is_compiled_is_noticed(in_folder, monkeypatch, cache):
    pathlib.Path("late.cc").write_text(source("late", "value"))

    def run(commands, work):
        (work / "library.so").write_bytes(b"of the older source")
        pathlib.Path("late.cc").write_text(source("late", "value + 1"))
        return True, ""

    monkeypatch.setattr(compiler, "run", run)
    kind = sl.FailedPreconditionError
    refused("compile.edited", "late.cc", kind=kind)
    assert not list(cache.glob("late-*"))


def test_flags_reach_the_compiler_and_the_key():
    text = source("flagged", "value + ADDED")
    sl.compile_kernels(text, flags="-DADDED=1 -O3")
    assert relu("flagged") == [0, 1, 3, 4]
    sl.compile_kernels(text, flags=["-DADDED=2"])
    assert relu("flagged") == [1, 2, 4, 5]


def test_ops_of_several_files_are_compiled_and_replaced(exe, in_folder, capfd):
    for name in ("steep_relu_op.cc", "steep_relu_kernel.cc"):
        text = (ADD_OP / name).read_text()
        pathlib.Path(name).write_text(text.replace("steep_relu", "steep_py"))
    files = ["steep_relu_op.cc", "steep_relu_kernel.cc"]
    assert sl.compile_ops(*files) == ["steep_py"]
    y = sl.layers.steep_py(sl.data("x", [None]), slope=0.25)
    assert exe.run(feed={"x": X}, fetch_list=[y])[0][0] == -0.25
    assert status(["verify", *files, "--threads", "1"]) == 0
    assert "steep_py/plain (cpu PLAIN)" in capfd.readouterr().out
    kernel = pathlib.Path(files[1])
    right = kernel.read_text()
    kernel.write_text(right.replace("i = begin", "i = begin + 1"))
    again = r"again: sluice-lab verify \S*steep_relu_op.cc \S*steep_relu_kernel.cc --kernel"
    with pytest.raises(sl.InvalidArgumentError, match=again):
        sl.compile_ops(files, verify=True)
    kernel.write_text(right.replace("slope_ * from", "9 * from"))
    assert sl.compile_ops(files) == ["steep_py"]
    assert exe.run(feed={"x": X}, fetch_list=[y])[0][0] == -9
    op = pathlib.Path(files[0])
    op.write_text(op.read_text().replace('"slope"', '"slopes"'))
    with pytest.raises(sl.FailedPreconditionError, match="another name"):
        sl.compile_ops(files)
    rows = 'op.SharesRows("Out", {"X"}).InferShape'
    text = op.read_text().replace('"slopes"', '"slope"')
    op.write_text(text.replace("op.InferShape", rows))
    with pytest.raises(sl.FailedPreconditionError, match="another name"):
        sl.compile_ops(files)
    with pytest.raises(sl.InvalidArgumentError, match="REGISTER_OPERATOR"):
        sl.compile_ops(kernel)


def test_cuda_is_compiled_as_this_sluice_has_it():
    if sl.show_config("dicts")["cuda"] != "EMULATE":
        pytest.skip("CUDA is not emulated")
    text = (ADD_KERNEL / "fast_relu.cu").read_text().replace("fast", "text")
    for cuda in (ADD_KERNEL / "fast_relu.cu", text):
        kernels = sl.compile_kernels(cuda)
        assert {k.place for k in kernels} == {"cuda"}
        hint = f"require variant={kernels[0].variant}"
        out = sl.run_op("relu", {"X": X}, place="cuda:0", hint=hint)["Out"]
        assert out.tolist() == [0, 0, 2, 3]


def test_nvcc_compiles_both_and_takes_flags_of_the_host(monkeypatch):
    try:
        compiler.nvcc("test")
    except sl.FailedPreconditionError:
        pytest.skip("no nvcc")
    config = {**_core._config(), "cuda": "ON"}
    if config != _core._config():
        monkeypatch.setattr(_core, "_config", lambda: config)
    files = [ADD_KERNEL / "fast_relu.cu", ADD_KERNEL / "fast_relu.cc"]
    flags = "-march=native -fopenmp -Wl,-z,now --use_fast_math"
    library = sl.compile_library(files, flags=flags)
    assert b".nv_fatbin" in library.read_bytes()
    message = refused("compile.error", files, flags="-fno-such-flag")
    assert "-fno-such-flag" in message


def test_headers_that_cpath_finds_count(in_folder, monkeypatch):
    monkeypatch.setenv("CPATH", str(in_folder / "found"))
    header = in_folder / "found" / "step.h"
    header.parent.mkdir()
    text = '#include "step.h"\n' + source("steps", "value + STEP")
    for step in (1, 2):
        header.write_text(f"#define STEP {step}\n")
        sl.compile_kernels(text)
        assert relu("steps")[1] == step


def test_verify_refuses_a_wrong_kernel_before_it_is_loaded():
    message = refused(
        "compile.wrong", source("unsound", "value + 1"), verify=True
    )
    assert "FAIL relu/unsound" in message
    assert re.search(r"Out\[[\d, ]+\] is .*, relu/plain .* gives", message)
    assert not [k for k in sl.kernels("relu") if k.variant == "unsound"]
    right = source("sound", "value <= 0 ? T{0} : value")
    assert sl.compile_kernels(right, verify=True)[0].variant == "sound"


def test_the_laboratory_takes_sources(in_folder, capsys):
    text = source("laid", "value <= 0 ? T{0} : value")
    pathlib.Path("mine.cc").write_text(text)
    assert status(["verify", "mine.cc", "--threads", "1"]) == 0
    assert "relu/laid" in capsys.readouterr().out
    assert status(["race", "mine.cc", "--sizes", "64", "--budget", "0.1"]) == 0
    assert "laid" in capsys.readouterr().out
    pathlib.Path("mine.cc").write_text(source("laid", "valeu"))
    assert status(["verify", "mine.cc"]) == 1
    assert "mine.cc:15:" in capsys.readouterr().out
    assert status(["race", "none.cc"]) == 1
    assert "no file none.cc" in capsys.readouterr().err


def test_sources_that_register_nothing_usable(in_folder, compiles):
    assert "REGISTER_OP_KERNEL(relu, MINE" in refused(
        "compile.nothing", "// nothing\n"
    )
    plain = "\nREGISTER_OP_CPU_KERNEL(relu, Relu<float>);\n"
    message = refused("compile.plain", plain)
    assert "<source>:2" in message
    assert "REGISTER_OP_KERNEL(relu, MINE, CPUPlace" in message
    assert "cannot read" in refused(
        "compile.registration", "\nREGISTER_OP_KERNEL(relu, fast, Relu<float>)"
    )
    twice = source("twice", "value")
    message = refused("compile.registered_twice", twice, twice)
    assert "<source 2>:20" in message and "<source 1>:20" in message
    assert "expected files" in refused("compile.sources", 3)
    refused("compile.sources")
    assert "got -1" in refused("compile.flags", plain, flags=-1)
    assert "No closing quotation" in refused("compile.quotes", plain, flags="'-O3")
    assert ".cu" in refused("compile.ending", "mine.py")
    refused("compile.file", "none.cc", kind=sl.NotFoundError)
    assert compiles() == 0


def test_names_that_the_loader_refuses():
    text = source("blocked", "value")
    message = refused(
        "kernel_library.unknown_op",
        text.replace("(relu,", "(reluu,"),
        kind=sl.NotFoundError,
    )
    assert "compile_kernels: <source>: " in message and "relu" in message
    text = source("plain", "value").replace("MINE", "PLAIN")
    message = refused("kernel_library.kernel_taken", text)
    assert "relu/plain (cpu float32 PLAIN) already" in message


def fake_compiler(path, version):
    path.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" && exit\n'
        "echo \"unrecognized command line option '-std=c++20'\" >&2; exit 1\n"
    )
    path.chmod(0o755)
    return str(path)


def test_compilers_that_do_not_do(tmp_path, monkeypatch):
    text = source("uncompiled", "value")
    old = fake_compiler(tmp_path / "old", "g++ (Debian 8.3.0-6) 8.3.0")
    monkeypatch.setenv("CXX", old)
    kind = sl.FailedPreconditionError
    message = refused("compile.too_old", text, kind=kind)
    assert "8.3.0" in message and "apt install g++-12" in message
    new = fake_compiler(tmp_path / "new", "g++ (Debian 14.2.0-19) 14.2.0")
    monkeypatch.setenv("CXX", new)
    assert "-std=c++20" in refused("compile.error", text)
    for wrong in "no-such-compiler", 'g++ "-O2':
        monkeypatch.setenv("CXX", wrong)
        assert "CXX" in refused("compile.no_compiler", text, kind=kind)
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    message = refused("compile.no_compiler", text, kind=kind)
    assert "apt install g++" in message


def test_a_cache_that_cannot_be_written_is_a_warning(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SLUICE_KERNEL_CACHE", str(tmp_path / "file" / "cache"))
    text = source("uncached", "value")
    with pytest.warns(RuntimeWarning, match="SLUICE_KERNEL_CACHE=FOLDER"):
        sl.compile_kernels(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sl.compile_kernels(text)
    assert relu("uncached") == X.tolist()


def test_a_damaged_or_old_library_in_the_cache_is_compiled_again(compiles):
    path = sl.compile_library(source("damaged", "value"))
    good = path.read_bytes()
    path.unlink()
    for bytes in (good[:500], b"", good.replace(b"version=0.", b"version=9.")):
        path.write_bytes(bytes)
        before = compiles()
        sl.compile_kernels(source("damaged", "value"))
        assert compiles() > before
        assert path.read_bytes() == good
        assert relu("damaged") == X.tolist()
        path.unlink()


def test_processes_that_compile_the_same_at_once(cache):
    code = (
        "import sys; import sluice as sl; "
        "print(sl.compile_kernels(sys.stdin.read())[0].variant)"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in running:
        process.stdin.write(source("racing", "value"))
        process.stdin.close()
    for process in running:
        assert process.stdout.read() == "racing\n"
        assert process.wait() == 0
    assert not list(cache.glob(".work-*"))


def test_only_the_libraries_used_last_stay(cache, monkeypatch):
    monkeypatch.setattr(compiler, "_KEPT", 2)
    for number in range(3):
        path = cache / f"old-{number:016x}.so"
        path.write_bytes(b"")
        os.utime(path, (number, number))
    (cache / "of_the_user.so").write_bytes(b"")
    os.utime(cache / "of_the_user.so", (0, 0))
    stale = cache / ".work-left"
    stale.mkdir()
    os.utime(stale, (0, 0))
    with compiler.workspace("test") as work:
        (work.parent / f"new-{1:016x}.so").write_bytes(b"")
    left = {path.name for path in cache.glob("*.so")}
    assert {f"new-{1:016x}.so", "of_the_user.so"} < left and len(left) == 3
    assert not stale.exists()


# Of these lines only the first and the last register something.
QUOTES = r"""
/* https://here.org */ REGISTER_OPERATOR(first, Schema);
const char* text = "REGISTER_OPERATOR(second, Schema) \" /*"; /* // */
char quote = '"', other = '\"';  // " REGISTER_OPERATOR(third, Schema)
REGISTER_OPERATOR(last, Schema);
"""


def test_cmake_finds_the_same_registrations(tmp_path):
    cmake = shutil.which("cmake")
    if not cmake:
        pytest.skip("no CMake")
    files = [
        path
        for folder in (
            "operators",
            "platform",
            "examples",
            "tests/consumers",
            "tests/framework/kernel_libraries",
            "tests/laboratory",
        )
        for path in sorted((ROOT / folder).rglob("*.c[cu]"))
    ]
    files.append(tmp_path / "quotes.cc")
    files[-1].write_text(QUOTES)
    script = tmp_path / "scan.cmake"
    lines = [f'include("{ROOT}/cmake/SluiceRegistration.cmake")']
    for file in files:
        lines.append(f'sluice_scan_registrations(found "{file}")')
        lines.append('message("${found}")')
    script.write_text("\n".join(lines))
    done = subprocess.run(
        [cmake, "-P", str(script)], capture_output=True, text=True, check=True
    )
    by_cmake = done.stderr.splitlines()
    assert len(by_cmake) == len(files)
    count = 0
    for file, found in zip(files, by_cmake, strict=True):
        (one,) = kernel_sources.read([file], "test")
        symbols = [each.symbol for each in kernel_sources.scan(one)]
        assert found.split(";") == (symbols or [""]), file
        count += len(symbols)
    assert count > 500


def test_versions_are_those_of_cmake(tmp_path):
    cmake = shutil.which("cmake")
    if not cmake:
        pytest.skip("no CMake")
    (tmp_path / "a.h").write_text('#include "b.h"\n')
    (tmp_path / "a.cc").write_text("int a;\n")
    (tmp_path / "b.h").write_text("int b;\n")
    path = tmp_path / "kernel.cc"
    path.write_text('#include "a.h"\n#include "sluice/none.h"\nint k;\n')
    (tmp_path / "list.txt").write_text(f"{path}\n")
    subprocess.run(
        [
            cmake,
            "-DNAME=names",
            "-DROOT=",
            f"-DSOURCES={tmp_path}/list.txt",
            f"-DOUTPUT={tmp_path}/out.cc",
            "-P",
            str(ROOT / "cmake/WriteKernelVersions.cmake"),
        ],
        check=True,
    )
    (one,) = kernel_sources.read([path], "test")
    assert f'"{one.version([])}"' in (tmp_path / "out.cc").read_text()


def test_headers_are_found_where_packages_have_them(tmp_path, monkeypatch):
    def found(library, mode="EMULATE"):
        folders = ["/elsewhere", str(tmp_path / library / "sluice_plugins")]
        config = {"plugin_folders": folders, "cuda": mode}
        core = types.SimpleNamespace(_config=lambda: config)
        monkeypatch.setattr(compiler, "_core", core)
        return compiler.sdk("test")

    with pytest.raises(sl.FailedPreconditionError, match="build_stamp.h"):
        found("prefix/lib/x86_64-linux-gnu")
    for library, include in (
        ("wheel/sluice", "wheel/sluice/include"),
        ("prefix/lib", "prefix/include"),
        ("usr/lib/x86_64-linux-gnu", "usr/include"),
    ):
        stamp = tmp_path / include / "sluice" / "build_stamp.h"
        stamp.parent.mkdir(parents=True)
        stamp.write_text("")
        sdk = found(library)
        assert sdk.stamp == stamp
        folders = [tmp_path / include / "sluice_fmt", tmp_path / include]
        assert sdk.includes == folders
        assert sdk.boost == tmp_path / include / "sluice_boost"
        assert sdk.cuda == tmp_path / include / "sluice_cuda"
        assert sdk.archive.parent == tmp_path / library
    build = tmp_path / "tree" / "build"
    link = build / "include" / "platform" / "sluice" / "platform"
    link.parent.mkdir(parents=True)
    (tmp_path / "tree" / "platform").mkdir()
    link.symlink_to(tmp_path / "tree" / "platform")
    stamp = build / "include" / "stamp" / "sluice" / "build_stamp.h"
    stamp.parent.mkdir(parents=True)
    stamp.write_text("")
    source = tmp_path / "tree"
    sdk = found("tree/build/lib", "ON")
    rooms = [build / "include" / "platform", build / "include" / "stamp"]
    assert sdk.includes == [*rooms, source / "include"]
    assert sdk.cuda == source / "platform/cuda/native"
    emulated = found("tree/build/lib").cuda
    assert emulated == source / "platform/cuda_emulation/include"


def test_lab_verify_names_the_kinds_of_files(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("")
    with pytest.raises(sl.InvalidArgumentError, match=r"\*\.cc"):
        lab.verify(path)


def test_a_process_without_a_home_compiles(tmp_path):
    environment = {
        k: v
        for k, v in os.environ.items()
        if k not in ("HOME", "SLUICE_KERNEL_CACHE", "XDG_CACHE_HOME")
    }
    code = f"import sluice as sl; print(sl.compile_library({source('h', 'value')!r}))"
    done = python("-c", code, env=environment)
    assert "HOME is not set" in done.stderr, done.stderr
    assert "sluice_kernels_" in done.stdout
