"""Sources, flags and folders that ask for trouble when kernels are compiled."""

import pathlib
import subprocess
import textwrap
import time

import pytest
from kernel_texts import X, no_compiler, refused, relu, source
from processes import interrupted, python

import sluice as sl
from sluice import _core, kernel_sources

ROOT = pathlib.Path(__file__).resolve().parents[3]
ADD_OP = ROOT / "tests/consumers/add_op"

pytestmark = no_compiler


def test_lines_of_windows_and_a_byte_order_mark(in_folder):
    text = '#include "rule.h"\n' + source("windows", "RULE")
    data = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    pathlib.Path("mine.cc").write_bytes(data)
    for step in (1, 2):
        pathlib.Path("rule.h").write_bytes(b"#define RULE value + %d\r\n" % step)
        sl.compile_kernels("mine.cc")
        assert relu("windows") == (X + step).tolist()
    broken = data.replace(b"REGISTER_OP_KERNEL(relu", b"REGISTER_OP_KERNEL(re-lu")
    pathlib.Path("mine.cc").write_bytes(broken)
    line = text[: text.index("REGISTER")].count("\n") + 1
    assert f"mine.cc:{line}:" in refused("compile.registration", "mine.cc")


def test_what_is_in_comments_and_quotes_is_not_registered():
    text = source("quoted", "value").replace(
        "REGISTER", "/* see https://here.org */ REGISTER"
    )
    text += '/* more */ const char* help = "REGISTER_OPERATOR(a, b) /*";\n'
    (one,) = kernel_sources.read([text], "test")
    assert [each.names[0] for each in kernel_sources.scan(one)] == ["relu"]


def test_a_link_is_a_file_beside_its_headers(in_folder):
    store = in_folder / "store"
    store.mkdir()
    (store / "0f3a").write_text('#include "rule.h"\n' + source("link", "RULE"))
    pathlib.Path("mine.cc").symlink_to(store / "0f3a")
    pathlib.Path("rule.h").write_text("#define RULE value + 1\n")
    sl.compile_kernels("mine.cc")
    assert relu("link") == (X + 1).tolist()


def test_names_as_long_as_the_system_allows(in_folder):
    for name in ("n" * 252, "ü" * 126):
        path = pathlib.Path(f"{name}.cc")
        path.write_text(source("long_name", "value"))
        assert sl.compile_kernels(path)[0].variant == "long_name"


def test_a_text_where_the_folder_is_gone(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"""
        import os, sluice as sl
        os.chdir({str(gone)!r})
        os.rmdir({str(gone)!r})
        print(sl.compile_library({source("gone", "value")!r}).suffix)
    """
    done = python("-c", textwrap.dedent(code))
    assert done.stdout == ".so\n", done.stderr


def test_flags_that_look_like_libraries_or_stop_the_compiler():
    text = source("named", "value + sizeof(FILE_NAME)")
    flags = ["-DFILE_NAME=\"a.so\"", "-D", "NAME=b.o"]
    sl.compile_kernels(text, flags=flags)
    assert relu("named") == (X + 5).tolist()
    text = source("named", "value")
    for flag in ("-c", "--version"):
        message = refused("compile.no_library", text, flags=f"-O3 {flag}")
        assert f"-O3 {flag}" in message
    message = refused(
        "compile.sanitizer",
        text,
        flags="-fsanitize=undefined,address",
        kind=sl.FailedPreconditionError,
    )
    assert "LD_PRELOAD" in message and "libasan.so" in message


def test_files_that_only_flags_name_count(in_folder):
    text = source("by_flags", "Step(value)")
    pathlib.Path("first.h").write_text('#include "second.h"\n')
    flags = ["-include", "first.h"]
    second = pathlib.Path("second.h")
    second.write_text("inline float Step(float x) { return x + 1; }\n")
    first = sl.compile_library(text, flags=flags)
    second.write_text("inline float Step(float x) { return x + 2; }\n")
    assert sl.compile_library(text, flags=flags) != first
    text = "float Step(float x);\n" + text
    for step in (1, 2):
        code = f"float Step(float x) {{ return x + {step}; }}"
        run = ["c++", "-fPIC", "-c", "-x", "c++", "-", "-o", "step.o"]
        subprocess.run(run, input=code, text=True, check=True)
        pathlib.Path("libstep.a").unlink(missing_ok=True)
        subprocess.run(["ar", "cr", "libstep.a", "step.o"], check=True)
        sl.compile_kernels(text, flags="-L. -lstep")
        assert relu("by_flags") == (X + step).tolist()


def test_records_are_those_of_the_flags():
    text = source("flagged_version", "value")
    (one,) = kernel_sources.read([text], "test")
    version = one.version([]).encode()
    found = [
        version in sl.compile_library(text, flags=flags).read_bytes()
        for flags in ("", "-O1")
    ]
    assert found == [True, False]


def test_names_that_no_function_of_layers_can_have(in_folder):
    files = [in_folder / f"{part}.cc" for part in ("op", "kernel")]
    for name in ("fc", "tensor", "names", "lambda", "_hidden", "2fold"):
        for file, part in zip(files, ("op", "kernel"), strict=True):
            text = (ADD_OP / f"steep_relu_{part}.cc").read_text()
            file.write_text(text.replace("(steep_relu,", f"({name},"))
        with pytest.raises(sl.InvalidArgumentError, match=name) as caught:
            sl.compile_ops(files)
        assert caught.value.check_id == "compile.op_name"
    assert callable(sl.layers.fc)


def ops(in_folder, name):
    """The op of the guide by another name: the files of its schema and kernel."""
    paths = []
    for part in ("op", "kernel"):
        text = (ADD_OP / f"steep_relu_{part}.cc").read_text()
        paths.append(in_folder / f"{name}_{part}.cc")
        paths[-1].write_text(text.replace("steep_relu", name))
    return paths


def test_the_help_of_an_op_is_that_of_the_last_source(in_folder):
    files = ops(in_folder, "steep_told")
    text = files[0].read_text()
    for word in ("First", "Second"):
        files[0].write_text(text.replace('op.Doc("', f'op.Doc("{word}. '))
        sl.compile_ops(files)
        assert word in sl.layers.steep_told.__doc__


def test_arguments_of_an_op_may_have_any_names(exe, in_folder):
    schema, kernel = ops(in_folder, "steep_named")
    text = schema.read_text()
    more = "".join(
        f'op.Attr<int64_t>("{name}", "Not used.").Default(int64_t{{1}});\n'
        for name in ("name", "hint", "lambda", "2nd", "Lambda")
    )
    schema.write_text(text.replace("op.InferShape", more + "op.InferShape"))
    sl.compile_ops(schema, kernel)
    x = sl.data("x", [None])
    y = sl.layers.steep_named(x, 0.25, name_=2, hint_=3, lambda_=4, _2nd=5, name="y")
    assert y.name == "y"
    assert exe.run(feed={"x": X}, fetch_list=[y])[0][0] == -0.25


def test_a_kernel_is_verified_for_an_op_of_a_loaded_library(in_folder):
    schema, kernel = ops(in_folder, "steep_loaded")
    library = sl.compile_library(schema, kernel)
    assert sl.load_op_library(library) == ["steep_loaded"]
    text = kernel.read_text().replace(
        "REGISTER_OP_CPU_KERNEL(steep_loaded,",
        "REGISTER_OP_KERNEL(steep_loaded, MINE, CPUPlace, again, "
        "sluice::KernelTraits(),",
    )
    (in_folder / "again.cc").write_text(text)
    found = sl.compile_kernels(in_folder / "again.cc", verify=True)
    assert {each.variant for each in found} == {"again"}


def test_fast_math_of_one_kernel_does_not_change_others():
    code = f"""
        import numpy as np, sluice as sl
        sl.compile_kernels({source("quick", "value")!r}, flags="-ffast-math")
        print(np.float32(1e-40) * np.float32(0.5) > 0)
    """
    done = python("-c", textwrap.dedent(code))
    assert done.stdout == "True\n", done.stderr


RAISING = """
#include <stdexcept>
#include "sluice/framework/op/op_registry.h"

using namespace sluice;

[[noreturn]] void Fail() { throw std::runtime_error("on purpose"); }

template <typename T>
struct Nothing : OpKernel {
  explicit Nothing(const OpKernelConstruction&) {}
  void Compute(OpKernelContext&) const override {}
};
template <typename T>
struct Maker final : Nothing<T> {
  explicit Maker(const OpKernelConstruction& op) : Nothing<T>(op) { Fail(); }
};
template <typename T>
struct Preparer final : Nothing<T> {
  using Nothing<T>::Nothing;
  void Prepare(KernelPreparation&) override { throw 7; }
};
template <typename T>
struct Computer final : Nothing<T> {
  using Nothing<T>::Nothing;
  void Compute(OpKernelContext&) const override { throw 7; }
};
std::string Refuse(const KernelQuery&) { Fail(); }
KernelWork Estimate(const KernelQuery&) { Fail(); }

REGISTER_OP_KERNEL(abs, MINE, CPUPlace, maker, KernelTraits(), Maker<float>);
REGISTER_OP_KERNEL(relu, MINE, CPUPlace, preparer, KernelTraits(), Preparer<float>);
REGISTER_OP_KERNEL(relu, MINE, CPUPlace, computer, KernelTraits(), Computer<float>);
REGISTER_OP_KERNEL(sin, MINE, CPUPlace, chooser, KernelTraits().When(&Refuse), Nothing<float>);
REGISTER_OP_KERNEL(cos, MINE, CPUPlace, guesser, KernelTraits().Estimate(&Estimate), Nothing<float>);
"""


def test_what_a_kernel_raises_names_it(exe):
    sl.compile_kernels(RAISING)
    x = sl.data("x", [None])
    for op, variant, word in (
        ("abs", "maker", "on purpose"),
        ("relu", "preparer", "no std::exception"),
        ("relu", "computer", "no std::exception"),
        ("sin", "chooser", "on purpose"),
        ("cos", "guesser", "on purpose"),
    ):
        y = getattr(sl.layers, op)(x, hint=f"require variant={variant}")
        with pytest.raises(sl.InternalError, match=word) as caught:
            exe.run(feed={"x": X}, fetch_list=[y])
        name = op if variant == "computer" else f"{op}/{variant}"
        assert name in str(caught.value)


def test_an_initialiser_that_raises_is_an_error(tmp_path):
    text = source("started", "value")
    text = "#include <stdexcept>\n" + text.replace(
        "using namespace sluice;",
        'int Start() { throw std::runtime_error("no start"); }\n'
        "int started = Start();\nusing namespace sluice;",
    )
    code = f"""
        import sluice as sl
        for _ in range(2):
            try:
                sl.compile_kernels({text!r})
            except sl.InternalError as error:
                print(error)
        print(sl.run_op("relu", {{"X": [-1.0, 2.0]}})["Out"].tolist())
    """
    done = python("-c", textwrap.dedent(code))
    assert done.stdout.count('raised "no start"') == 2, done
    assert done.stdout.count("compile_kernels: <source>: an initialiser") == 2
    assert done.stdout.endswith("[0.0, 2.0]\n")


def test_messages_do_not_have_the_cache(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("SLUICE_KERNEL_CACHE", str(tmp_path / "link"))
    text = source("linked", "value").replace("(relu,", "(reluu,")
    kind = sl.NotFoundError
    message = refused("kernel_library.unknown_op", text, kind=kind)
    assert message.startswith("compile_kernels: <source>: there is no op")

    def load(path, replace):
        text = f"kernel library {path} cannot be opened: failed to map segment"
        raise sl.NotFoundError(text, "kernel_library.open")

    monkeypatch.setattr(_core, "_load_kernel_library", load)
    text = source("linked", "value")
    with pytest.raises(sl.NotFoundError, match="mounted noexec"):
        sl.compile_kernels(text)


def test_the_folder_for_lack_of_a_cache(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SLUICE_KERNEL_CACHE", str(tmp_path / "file" / "cache"))
    code = f"""
        import os, shutil, sys, sluice as sl
        source = {source("homeless", "value")!r}
        library = sl.compile_library(source)
        if not (child := os.fork()):
            sys.exit()  # which leaves the folder to its owner
        os.waitpid(child, 0)
        print(library.is_file())
        shutil.rmtree(library.parent)
        print(sl.compile_library(source).is_file())
        print(library.parent)
    """
    done = python("-c", textwrap.dedent(code))
    first, second, folder = done.stdout.split()
    assert first == second == "True", done
    assert done.stderr.count("SLUICE_KERNEL_CACHE=FOLDER") == 1, done.stderr
    assert not pathlib.Path(folder).exists()


def test_ctrl_c_ends_the_programs_of_the_compiler(tmp_path, monkeypatch):
    script = tmp_path / "slow"
    script.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {tmp_path}/child\nwait\n")
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    with interrupted(2):
        sl.compile_kernels(source("slow", "value"))
    child = int((tmp_path / "child").read_text())
    for _ in range(50):
        if not pathlib.Path(f"/proc/{child}/cmdline").exists():
            break
        state = pathlib.Path(f"/proc/{child}/stat").read_text().split()[2]
        if state == "Z":
            break
        time.sleep(0.1)
    else:
        raise AssertionError("it still runs")
