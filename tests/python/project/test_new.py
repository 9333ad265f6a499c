"""sluice-lab new: what it writes, and what it refuses. tests/consumers builds
and runs what is written."""

import importlib
import pathlib
import re
import types

import pytest

import sluice as sl
from sluice import lab
from sluice.lab.__main__ import main

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODULE = importlib.import_module("sluice.lab.new")

# The guide, its project and name, and the files besides README.md.
GUIDES = {
    "kernel": ("adding_a_kernel.md", "add_kernel", "fast_relu",
               "fast_relu.cc fast_relu.cu main.cc CMakeLists.txt"),
    "op": ("adding_an_op.md", "add_op", "steep_relu",
           "steep_relu_op.cc steep_relu_kernel.cc steep_relu_kernel.cu main.cc use.py CMakeLists.txt"),
    "layer": ("adding_a_layer.md", None, "highway", "highway.py train.py test_highway.py"),
    "device": ("adding_a_device.md", "add_device", "abacus", "abacus.c main.cc CMakeLists.txt"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def texts(folder):
    return {path.name: path.read_text("utf-8") for path in pathlib.Path(folder).iterdir()}


@pytest.mark.parametrize("kind", GUIDES)
def test_the_names_of_a_guide_give_its_text(kind):
    page, project, name, files = GUIDES[kind]
    written = lab.new(kind, name, "relu" if kind == "kernel" else None)
    assert [str(path) for path in written] == [f"{name}/{file}" for file in [*files.split(), "README.md"]]
    guide = (ROOT / "docs" / page).read_text("utf-8")
    for file, text in texts(name).items():
        if file == "README.md":
            continue
        if project:
            text = text.replace(f"project({name} ", f"project({project} ")
        text = text.replace("steep_relu_ops", "my_ops")
        assert f" file={file}\n{text}```" in guide, file


@pytest.mark.parametrize("kind", GUIDES)
def test_other_names_leave_nothing_of_the_guide(kind):
    _, project, name, files = GUIDES[kind]
    op = ["--op", "relu"] if kind == "kernel" else []
    assert main(["new", kind, "swift_one", *op, "--into", "some/folder"]) == 0
    found = texts("some/folder")
    assert set(found) == {file.replace(name, "swift_one") for file in files.split()} | {"README.md"}
    old = [name, name.title().replace("_", ""), "my_ops"] + [project] * (project is not None)
    everything = "".join(found.values())
    for word in old:
        assert not re.search(rf"(?<!sluice_){word}(?!_library|erator|_plugin)", everything), word
    assert "swift_one" in found["README.md"]
    assert ("SwiftOne" in everything) == (kind in ("kernel", "op"))
    for file, text in found.items():
        if file.endswith(".py"):
            compile(text, file, "exec")


@pytest.mark.parametrize("kind, name", [("kernel", "fast"), ("op", "steep"), ("layer", "high"), ("device", "beads")])
def test_a_part_of_the_guide_s_name_is_free(kind, name):
    lab.new(kind, name, "relu" if kind == "kernel" else None)


def test_a_kernel_of_any_op_is_begun_with_its_arguments():
    lab.new("kernel", "swift_pool", "pool2d")
    found = texts("swift_pool")
    assert set(found) == {"swift_pool.cc", "CMakeLists.txt", "README.md"}
    source = found["swift_pool.cc"]
    assert 'Kernels("pool2d")' in source and "softmax" not in source.lower()
    for argument in ("X (T: float32", "Out (T: ", "ksize (ints"):
        assert re.search(rf"(?m)^//   {re.escape(argument)}", source), source
    assert re.search(r"\(pool2d,\s+MINE,\s+CPUPlace,\s+swift_pool,\s+KernelTraits\(\),"
                     r"\s+SwiftPool<float>,\s+SwiftPool<double>\);", source)
    assert "main" not in found["CMakeLists.txt"] and "swift_pool.cu" not in found["CMakeLists.txt"]
    lab.new("kernel", "swift_logical_not", "logical_not")
    source = texts("swift_logical_not")["swift_logical_not.cc"]
    assert "  swift,\n" in source and "SwiftLogicalNot<bool>);" in source


def test_every_op_that_has_a_plain_kernel_can_have_another():
    for op in sl._core._op_names():
        plain = [k for k in sl.kernels(op) if (k.place, k.library, k.variant) == ("cpu", "PLAIN", "plain")]
        if plain:
            files = MODULE._files("kernel", f"my_{op}", op)
            assert max(map(len, files["README.md"].splitlines())) <= 80 or len(op) > 12
            assert f"REGISTER_OP_KERNEL({op}," in files[f"my_{op}.cc"]


@pytest.mark.parametrize("arguments, message", [
    ("kernel fast_relu", "for which op? For example --op relu; sl.kernels() in Python lists the kernels of all ops"),
    ("kernel mine", "For example --op relu"),
    ("kernel mine --op rlu", "there is no operator rlu; did you mean elu or relu?"),
    ("kernel mine --op fused_conv2d", "no kernel `plain` to begin with, as passes make it"),
    ("kernel plain_relu --op relu", "relu/plain is Sluice's; choose another"),
    ("kernel main --op relu", "main makes the name main, which the files have for something else; "
                              "choose another, such as my_main"),
    ("kernel test --op relu", "CMake has a target test; my_test would do"),
    ("device install", "CMake has a target install; my_install would do"),
    ("kernel 9a --op relu", "'9a': expected a letter a to z"),
    ("op relu", "there is such an op; choose another name, or write a kernel for it: "
                "sluice-lab new kernel my_relu --op relu"),
    ("op op", "op makes the name OpKernel"),
    ("op relu_of_mine_grad", "the gradient of an op has such a name"),
    ("op SteepRelu", "'SteepRelu': expected a letter a to z, then such letters, digits and single _; "
                     "steep_relu would do"),
    ("op mine --op relu", "--op relu: only a kernel is for an op"),
    ("layer lambda", "Python has this word; my_lambda would do"),
    ("layer numpy", "Python has a module numpy; my_numpy would do"),
    ("layer train", "train makes the name train"),
    ("device cuda", "Sluice has such a device; my_cuda would do"),
    ("device a-b", "a_b would do"),
    ("device größe", "expected a letter a to z"),
    ("device ../x", "expected a letter a to z"),
])  # fmt: skip
def test_what_cannot_be_is_refused_and_nothing_is_written(arguments, message, tmp_path, capsys):
    assert main(["new", *arguments.split()]) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_exists_is_not_overwritten(tmp_path, capsys):
    (tmp_path / "npu").mkdir()
    (tmp_path / "npu/main.cc").write_text("mine")
    assert main(["new", "device", "npu"]) == 1
    message = "npu has main.cc already, so nothing was written; choose another folder with --into"
    assert message in capsys.readouterr().err
    assert texts("npu") == {"main.cc": "mine"}
    assert main(["new", "device", "npu", "--into", "npu/main.cc"]) == 1
    assert "npu/main.cc is a file; choose a folder with --into" in capsys.readouterr().err
    assert main(["new", "device", "npu", "--into", "npu/main.cc/more"]) == 1
    assert "npu/main.cc/more" in capsys.readouterr().err
    with pytest.raises(sl.InvalidArgumentError, match="'nets' is none of kernel, op, layer, device"):
        lab.new("nets", "mine")


@pytest.mark.parametrize("module, made, line", [
    ("a b/python/sluice", "a b/CMakeCache.txt", "cmake --install '{0}/a b' --prefix '{0}/a b/prefix'"),
    ("prefix/sluice", "prefix/lib/cmake/sluice/sluice-config.cmake",
     "cmake -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH={0}/prefix"),
    ("v/lib/python3/site-packages/sluice", "v/lib/x86_64/cmake/sluice/sluice-config.cmake",
     "cmake -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH={0}/v"),
    ("v/site-packages/sluice", None,
     "cmake -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=PREFIX"),
])  # fmt: skip
def test_the_commands_name_the_sluice_that_wrote_them(module, made, line, tmp_path, monkeypatch):
    if made:
        (tmp_path / made).parent.mkdir(parents=True)
        (tmp_path / made).touch()
    there = types.SimpleNamespace(__file__=str(tmp_path / module / "_core.so"))
    monkeypatch.setattr(MODULE, "_core", there)
    said = MODULE._next("op", "mine", pathlib.Path("my folder"))
    assert f"  {line}\n".format(tmp_path) in said
    assert "  cd 'my folder'\n" in said
    assert ("PREFIX has an installed Sluice" in said) == (made is None)
    python = MODULE._next("layer", "mine", pathlib.Path("mine"))
    assert ("PYTHONPATH=" in python) == ("site-packages" not in module)
    assert "cmake" not in python
