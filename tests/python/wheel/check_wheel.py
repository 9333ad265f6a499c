"""Checks the wheel that this Python has installed: check_wheel.py SOURCE WHEEL

Uses files of SOURCE, the checkout, for examples only."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

import sluice as sl

SOURCE, WHEEL = (pathlib.Path(argument) for argument in sys.argv[1:])
PACKAGE = pathlib.Path(sl.__file__).parent


def check_file():
    assert re.fullmatch(r"sluice-[0-9.]+-cp311-abi3-manylinux_2_35_x86_64.whl", WHEEL.name), WHEEL
    with zipfile.ZipFile(WHEEL) as files:
        names = files.namelist()
        installed = sum(entry.file_size for entry in files.infolist())
    assert WHEEL.stat().st_size <= 20e6 and installed <= 75e6, (WHEEL.stat().st_size, installed)
    # What is built must not depend on the machine, as MPI and OpenBLAS would.
    libraries = {pathlib.Path(name).name for name in names if re.search(r"\.so(\.\d+)*$", name)}
    assert libraries == {
        "_core.abi3.so", "_lab.abi3.so", "libdnnl.so.3", "libgomp.so.1", "libsluice.so.0",
        "libsluice_cuda.so", "libsluice_cuda_emulation.so", "libsluice_eigen.so",
        "libsluice_fpga.so", "libsluice_lab.so", "libsluice_nccl.so", "libsluice_onednn.so",
        "libsluice_onnxruntime.so", "libsluice_re2.so", "libre2.so.9",
    } | {name for name in libraries if name.startswith("libprotobuf-lite.so.")}, libraries
    assert any(name.startswith("libprotobuf-lite") for name in libraries)


def check_threads(folder):
    """Two threads run, by the system's libgomp and by that of the wheel."""
    sys.path.insert(0, str(SOURCE / "tests/python/show"))
    from test_threads import threads

    (folder / "libgomp.so.1").write_text("no library")  # in place of the system's
    hidden = {"LD_LIBRARY_PATH": str(folder)}
    for environment in ({}, hidden):
        assert threads(**environment) == (["2", "2", "2"], ""), threads(**environment)
    code = "import sluice; print(*{line.split()[-1] for line in open('/proc/self/maps') if 'gomp' in line})"
    done = subprocess.run([sys.executable, "-c", code], env=hidden, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(PACKAGE / "sluice_openmp/libgomp.so.1"), done


def check_libraries():
    x = np.array([[3]], np.float32)
    for library in ("PLAIN", "EIGEN", "ONEDNN"):
        hint = f"require library={library}; allow library={library}"
        assert sl.run_op("matmul", {"X": x, "Y": x}, hint=hint)["Out"].tolist() == [[9]], library
    for place in (sl.CUDAPlace(0), sl.FPGAPlace(0)):
        assert sl.Tensor([1.0], place=place).numpy() == 1
    out = sl.run_op("regex_full_match", {"X": np.array([97])}, {"pattern": "a|b"})["Out"]
    assert out.tolist() == [True]
    # Those of the wheel, not of the machine.
    maps = pathlib.Path("/proc/self/maps").read_text()
    for name in ("libdnnl", "libprotobuf-lite", "libre2[.]so"):
        files = set(re.findall(rf"\S*/{name}\S*", maps))
        assert len(files) == 1 and files.pop().startswith(f"{PACKAGE}/"), (name, files)


def check_onnx(folder):
    """A model that is saved and loaded gives what NumPy does."""
    main, startup = sl.Program(), sl.Program()
    with sl.program_guard(main, startup):
        x = sl.data("x", [None, 64])
        y = sl.layers.softmax(sl.layers.fc(x, 10, param_attr="w", bias_attr="b"))
        sl.Executor().run(startup)
        sl.onnx.save(main, folder / "digits.onnx", [y])
    model = sl.onnx.load(folder / "digits.onnx")
    images = sl.datasets.digits()[0][:50].reshape(-1, 64)
    (answer,) = model.run({"x": images})
    w, b = (np.array(model.scope[name]) for name in ("w", "b"))
    wanted = np.exp(images @ w + b)
    np.testing.assert_allclose(answer, wanted / wanted.sum(1, keepdims=True), 1e-4)
    assert "softmax" in str(model.executor.explain(model.program))


def check_lab():
    command = [pathlib.Path(sys.executable).parent / "sluice-lab", "verify", "--threads", "1", "--budget", "200"]
    done = subprocess.run(
        [*command, SOURCE / "tests/consumers/python/relu_kernel.py"], capture_output=True, text=True)
    assert done.returncode == 0 and re.search(r"(?m)relu/mine .* ok$", done.stdout), done


def check_headers():
    """Kernels of users need no header but those of the wheel."""
    include = PACKAGE / "include"
    for name in ("sluice/sluice.h", "sluice/ops.h", "sluice/build_stamp.h", "sluice_fmt/fmt/core.h",
                 "sluice_boost/boost/variant.hpp",
                 "sluice_cuda/cuda_runtime.h", "sluice/platform/cuda/launch.h"):
        assert (include / name).exists(), name
    if not shutil.which("g++"):
        return print("no g++: the headers were not compiled")
    source = '#include "sluice/sluice.h"\n' + (SOURCE / "tests/consumers/add_kernel/fast_relu.cc").read_text()
    kernels = sl.compile_kernels(source, verify=True)
    assert {kernel.variant for kernel in kernels} == {"fast"}, kernels


# Saves what a network answers into the file that is its argument.
ANSWER = """
import sys
import numpy as np
import sluice as sl
images = sl.datasets.digits()[0][:20]
x = sl.data("x", images.shape)
hidden = sl.layers.conv2d(x, num_filters=8, filter_size=3, act="relu", param_attr="c")
y = sl.layers.softmax(sl.layers.fc(hidden, 10, param_attr="w"))
exe = sl.Executor()
exe.run(sl.default_startup_program())
random = np.random.default_rng(1)
for name in ("c", "w"):
    shape = np.array(sl.global_scope()[name]).shape
    sl.global_scope()[name] = random.normal(size=shape).astype("float32")
np.save(sys.argv[1], *exe.run(feed={"x": images}, fetch_list=[y]))
"""


def check_older_cpus(folder):
    """The same numbers without AVX2, and on a CPU of 2008."""
    qemu = shutil.which("qemu-x86_64")
    if not qemu:
        return print("no qemu-x86_64 (Debian: qemu-user): older CPUs were not tried")
    answers = []
    for cpu in ("of this machine", "max,-avx2", "Nehalem"):
        file = folder / f"{cpu}.npy"
        command = [qemu, "-cpu", cpu] if answers else []
        subprocess.run([*command, sys.executable, "-c", ANSWER, file], check=True, timeout=600)
        answers.append(np.load(file))
        np.testing.assert_allclose(answers[-1], answers[0], 1e-4, err_msg=cpu)


assert "site-packages" in str(PACKAGE), PACKAGE
check_file()
with tempfile.TemporaryDirectory() as temporary:
    check_threads(pathlib.Path(temporary))
    check_onnx(pathlib.Path(temporary))
    check_older_cpus(pathlib.Path(temporary))
check_libraries()
check_lab()
check_headers()
print(f"{WHEEL.name}: all checks pass")
