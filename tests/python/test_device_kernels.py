"""Python kernels on a CUDA device, real or emulated."""

import ctypes
import pathlib
import re

import numpy as np
import pytest

import sluice as sl

X = np.array([[-1.0, 0.0, 2.0]], "float32")


class CUDARuntime:
    """The CUDA runtime that the process has loaded, or its emulation."""

    TO_DEVICE, TO_HOST = 1, 2

    def __init__(self):
        maps = pathlib.Path("/proc/self/maps").read_text()
        names = r"\S*/lib(?:sluice_cuda_emulation|cudart)\.so\S*"
        self.library = ctypes.CDLL(re.search(names, maps).group())

    def copy(self, to, source, count, kind, stream):
        done = self.library.cudaMemcpyAsync(
            *(ctypes.c_void_p(p) for p in (to, source)),
            ctypes.c_size_t(count),
            kind,
            ctypes.c_void_p(stream),
        )
        assert done == 0
        assert self.library.cudaStreamSynchronize(ctypes.c_void_p(stream)) == 0

    def read(self, array, stream):
        """What a consumer of the interface sees, as a copy on the host."""
        interface = array.__cuda_array_interface__
        assert interface["version"] == 3
        assert interface["strides"] is None
        assert interface["stream"] == stream
        host = np.empty(interface["shape"], interface["typestr"])
        address, read_only = interface["data"]
        self.copy(host.ctypes.data, address, host.nbytes, self.TO_HOST, stream)
        return host, read_only

    def write(self, array, values, stream):
        address, read_only = array.__cuda_array_interface__["data"]
        assert not read_only
        self.copy(
            address, values.ctypes.data, values.nbytes, self.TO_DEVICE, stream
        )


@pytest.fixture
def cuda():
    try:
        sl.Tensor(X, place="cuda:0")
    except sl.SluiceError as error:
        pytest.skip(str(error))
    return CUDARuntime()


def test_arrays_on_a_device_have_the_cuda_array_interface(cuda):
    seen = []

    @sl.kernel("scale", variant="py_device", place="cuda:0")
    def scale(x, *, scale, out, stream):
        host, read_only = cuda.read(x, stream)
        seen.append((read_only, x.shape, x.dtype, x.__dlpack_device__()))
        cuda.write(out, host * np.float32(scale), stream)

    x = sl.data("x", [None, 3])
    y = sl.layers.scale(sl.layers.relu(x), scale=3.0)
    exe = sl.Executor("cuda:0")
    with sl.kernel_hints("scale: require variant=py_device"):
        (value,) = exe.run(feed={"x": X}, fetch_list=[y])
    np.testing.assert_array_equal(value, [[0, 0, 6]])
    assert seen == [(True, (1, 3), np.float32, (2, 0))]


def test_an_exception_on_a_device_names_the_op(cuda):
    @sl.kernel("relu", variant="py_device_raises", place="cuda")
    def relu(x, out, stream):
        raise ValueError("no such luck")

    with pytest.raises(sl.InternalError, match="no such luck") as raised:
        sl.run_op(
            "relu",
            {"X": X},
            place="cuda:0",
            hint="require variant=py_device_raises",
        )
    assert isinstance(raised.value.__cause__, ValueError)
