"""OrtValue and its like, as programs for onnxruntime use them."""

import ctypes

import numpy as np
import pytest

import sluice as sl
import sluice.onnxruntime as ort
from sluice.onnxruntime import environment

OrtValue = ort.OrtValue
X = np.array([[1, 2, 3], [-1, 0, 2]], "float32")


def zeros(*shape, dtype="float32"):
    return OrtValue.ortvalue_from_numpy(np.zeros(shape, dtype))


def test_a_value_shares_the_memory_of_its_array_and_describes_it():
    array = X.copy()
    value = OrtValue.ortvalue_from_numpy(array)
    assert (value.shape(), value.data_type()) == ([2, 3], "tensor(float)")
    assert (value.element_type(), value.tensor_size_in_bytes()) == (1, 24)
    assert value.data_ptr() == array.ctypes.data
    assert value.device_name() == "cpu"
    assert value.has_value() and value.is_tensor()
    assert not value.is_sparse_tensor() and not value.is_tensor_sequence()
    array[0, 0] = 9
    assert value.numpy()[0, 0] == 9 and np.asarray(value)[0, 0] == 9
    assert np.asarray(value, "float64").dtype == "float64"
    copied = np.array(value, copy=True)
    copied[0, 0] = 0
    assert array[0, 0] == 9
    assert value._ortvalue is value and value._get_c_value() is value
    assert "tensor(float) [2, 3]" in repr(value)


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(X),
        np.arange(10.0)[::2],
        X.astype(">f4"),
        np.broadcast_to(np.float32(1), (3,)),
        np.array(2.0),
        np.zeros((0, 3), "int64"),
        np.array([True, False]),
        np.array([1, 2], "float16"),
    ],
    ids=lambda array: f"{array.dtype.str}-{array.ndim}",
)
def test_arrays_of_any_layout_become_values(array):
    value = OrtValue.ortvalue_from_numpy(array)
    np.testing.assert_array_equal(value.numpy(), array)
    assert value.shape() == list(array.shape)
    assert value.numpy().dtype.isnative


@pytest.mark.parametrize(
    "given, told",
    [
        ([1.0], "got list"),
        (np.float32(1), "got float32"),
        (np.array(["a"]), "array of <U1"),
        (np.array([object()]), "array of object"),
        (np.array([1j]), "complex128"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(given, told):
    with pytest.raises(RuntimeError, match=told):
        OrtValue.ortvalue_from_numpy(given)


def test_values_are_made_of_shapes_and_numbers_of_onnx():
    for kind, number, name in (
        (np.float32, 1, "float"),
        (np.dtype("int64"), 7, "int64"),
        ("float32", 1, "float"),
        (float, 11, "double"),
        (bool, 9, "bool"),
        (10, 10, "float16"),
        (12, 12, "uint32"),
    ):
        value = OrtValue.ortvalue_from_shape_and_type([2, 3], kind)
        assert value.element_type() == number
        assert value.data_type() == f"tensor({name})"
        assert value.shape() == [2, 3] and not value.numpy().any()
    for kind in (99, 0, 8, np.str_, "nothing"):
        with pytest.raises(RuntimeError):
            OrtValue.ortvalue_from_shape_and_type([2], kind)
    for shape, kind in ((["a"], TypeError), (2, TypeError), ([-1], RuntimeError)):
        with pytest.raises(kind):
            OrtValue.ortvalue_from_shape_and_type(shape, np.float32)
    with pytest.raises(RuntimeError):
        OrtValue.ortvalue_from_shape_and_type([1 << 40, 1 << 40], np.float32)


def test_bfloat16_is_made_of_integers_of_its_size():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = np.array([0x3F80, 0x4000], "uint16")
    value = OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 16)
    assert (value.data_type(), value.element_type()) == ("tensor(bfloat16)", 16)
    assert value.data_ptr() == bits.ctypes.data
    assert value.numpy().dtype == ml_dtypes.bfloat16
    assert value.numpy().astype("float32").tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="uint8 have 1 bytes"):
        OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(2, "uint8"), 16)


def test_update_inplace_writes_into_the_same_memory():
    array = X.copy()
    value = OrtValue.ortvalue_from_numpy(array)
    value.update_inplace(X * 2)
    np.testing.assert_array_equal(array, X * 2)
    value.update_inplace(OrtValue.ortvalue_from_numpy(X))
    np.testing.assert_array_equal(array, X)
    value.update_inplace(np.ones((3, 2), "float32"))
    assert array.tolist() == [[1, 1, 1], [1, 1, 1]]
    ort.copy_tensors([OrtValue.ortvalue_from_numpy(X)], [value])
    np.testing.assert_array_equal(array, X)
    for wrong, kind, told in (
        (X[:1], RuntimeError, "does not match the size"),
        (X.astype("float64"), RuntimeError, r"data are tensor\(double\)"),
        ([1], TypeError, "got list"),
    ):
        with pytest.raises(kind, match=told):
            value.update_inplace(wrong)
    fixed = X.copy()
    fixed.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only"):
        OrtValue.ortvalue_from_numpy(fixed).update_inplace(X)
    np.testing.assert_array_equal(array, X)


def test_dlpack_shares_memory_in_both_directions():
    array = X.copy()
    value = OrtValue.ortvalue_from_numpy(array)
    assert value.__dlpack_device__() == (1, 0)
    assert np.shares_memory(np.from_dlpack(value), array)
    taken = OrtValue.from_dlpack(array)
    assert taken.data_ptr() == array.ctypes.data
    again = OrtValue.from_dlpack(value.to_dlpack())
    assert again.data_ptr() == array.ctypes.data
    del value
    np.testing.assert_array_equal(again.numpy(), X)
    assert OrtValue.from_dlpack(np.array([True])).data_type() == "tensor(bool)"
    with pytest.raises(TypeError, match="got int"):
        OrtValue.from_dlpack(3)
    with pytest.raises(RuntimeError, match="row-major"):
        OrtValue.from_dlpack(np.arange(10.0)[::2])


def test_only_a_value_makes_a_value():
    assert OrtValue(zeros(2)).shape() == [2]
    with pytest.raises(ValueError, match="ortvalue_from_numpy"):
        OrtValue(X)


def test_devices_that_are_not_there_are_refused():
    for name in ("npu", "dml", "foo", "CPU"):
        with pytest.raises(RuntimeError, match=f"'{name}'"):
            OrtValue.ortvalue_from_numpy(X, name, 0)
    if "CUDAExecutionProvider" not in ort.get_available_providers():
        with pytest.raises(RuntimeError, match="'cuda'.*Can't allocate memory"):
            OrtValue.ortvalue_from_numpy(X, "cuda", 0)
    device = ort.OrtDevice.make("cuda", 1)
    assert (device.device_type(), device.device_id()) == (1, 1)
    assert device.device_vendor_id() == ort.OrtDeviceVendorId.NVIDIA
    made = ort.OrtDevice(ort.OrtDevice.cpu(), ort.OrtMemType.DEFAULT, 0)
    assert OrtValue.ortvalue_from_numpy(X, made).device_name() == "cpu"
    with pytest.raises(ValueError, match=r"OrtDevice\.make"):
        ort.OrtDevice(3)


def test_values_of_a_gpu_are_there_and_come_back(monkeypatch):
    if not sl.device_count("cuda"):
        pytest.skip("there is no GPU, real or emulated")
    # An emulated one answers to its own name only; here it is taken for real.
    providers = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(
        environment, "get_available_providers", lambda: providers
    )
    value = OrtValue.ortvalue_from_numpy(X, "cuda", 0)
    assert value.device_name() == "cuda"
    assert value.__dlpack_device__() == (2, 0)
    np.testing.assert_array_equal(value.numpy(), X)
    value.update_inplace(X * 2)
    np.testing.assert_array_equal(value.numpy(), X * 2)
    host = zeros(2, 3)
    host.update_inplace(value)
    np.testing.assert_array_equal(host.numpy(), X * 2)
    made = OrtValue.ortvalue_from_shape_and_type([2], np.int64, "cuda", 0)
    assert made.numpy().tolist() == [0, 0]


def test_vectors_are_lists_of_values():
    state = ort.capi.onnxruntime_pybind11_state
    vector = state.OrtValueVector()
    vector.reserve(3)
    vector.push_back(OrtValue.ortvalue_from_numpy(X))
    vector.push_back(np.array([1, 2], "int64"))
    cpu = state.OrtDevice(state.OrtDevice.cpu(), state.OrtDevice.default_memory(), 0)
    vector.push_back_batch([X], [X.ctypes.data], [np.float32], [X.shape], [cpu])
    vector.shrink_to_fit()
    assert [vector.element_type_at(i) for i in range(3)] == [1, 7, 1]
    np.testing.assert_array_equal(vector[2].numpy(), X)
    taken = vector.to_dlpacks(OrtValue.from_dlpack)
    assert [value.shape() for value in taken] == [[2, 3], [2], [2, 3]]
    assert len(vector.to_dlpacks()) == 3
    with pytest.raises(RuntimeError, match="address 0x0"):
        vector.push_back_batch([X], [0], [np.float32], [[2]], [cpu])


def test_sparse_tensors_are_missing():
    with pytest.raises(ImportError, match="make them dense"):
        ort.SparseTensor.sparse_coo_from_numpy([3, 3], X, X, None)
    with pytest.raises(ImportError, match="make them dense"):
        OrtValue.ort_value_from_sparse_tensor(None)


def test_memory_that_is_not_there_is_noticed():
    from sluice.onnxruntime.tensors import check_memory

    library = ctypes.CDLL(None)
    library.mmap.restype = ctypes.c_void_p
    size = 1 << 16
    address = library.mmap(None, ctypes.c_size_t(size), 3, 0x22, -1, 0)
    check_memory(address, size)
    library.munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))
    with pytest.raises(RuntimeError, match="must stay alive"):
        check_memory(address, size)
    with pytest.raises(RuntimeError, match="address 0x0"):
        check_memory(0, 4)
    check_memory(0, 0)
