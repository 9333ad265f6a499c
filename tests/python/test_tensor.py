import gc

import numpy as np
import pytest

import sluice as sl

DTYPES = ["float32", "float64", "float16", "int8", "uint8", "int32", "int64"]


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_numpy_and_back_keeps_every_dtype(dtype):
    array = np.array([[0, 1, 2], [3, 0, 1]]).astype(dtype)
    tensor = sl.Tensor(array)
    assert tensor.dtype == dtype
    assert tensor.shape == (2, 3)
    for back in (np.asarray(tensor), tensor.numpy(), np.from_dlpack(tensor)):
        assert back.dtype == array.dtype
        np.testing.assert_array_equal(back, array)


def test_bfloat16_goes_through_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([[1.5, -2.0]], dtype=ml_dtypes.bfloat16)
    tensor = sl.Tensor(array)
    assert tensor.dtype == sl.bfloat16
    assert np.asarray(tensor).dtype == array.dtype
    np.testing.assert_array_equal(tensor.numpy(), array)


@pytest.mark.parametrize("view", [np.asarray, np.from_dlpack])
def test_views_share_the_memory_and_keep_it(view):
    tensor = sl.Tensor(np.zeros(4, "f4"))
    first, second = view(tensor), view(tensor)
    tensor.numpy()[0] = 7
    assert first[0] == second[0] == 7
    del tensor, first
    gc.collect()
    assert second[0] == 7


def test_a_tensor_copies_what_it_is_made_of():
    array = np.zeros(3)
    tensor = sl.Tensor(array)
    array[0] = 1
    assert tensor.numpy()[0] == 0


def test_from_dlpack_shares_the_memory_of_an_array():
    array = np.zeros((2, 2), "f4")
    tensor = sl.from_dlpack(array)
    array[1, 1] = 3
    assert tensor.numpy()[1, 1] == 3
    del array
    gc.collect()
    assert tensor.numpy()[1, 1] == 3


def test_from_dlpack_refuses_strides():
    with pytest.raises(sl.InvalidArgumentError, match="row-major"):
        sl.from_dlpack(np.zeros((4, 4), "f4")[:, ::2])


def test_dlpack_takes_all_four_keywords():
    tensor = sl.Tensor(np.arange(3.0))
    capsule = tensor.__dlpack__(
        stream=None, max_version=(1, 1), dl_device=(1, 0), copy=True
    )
    assert "dltensor" in repr(capsule)
    assert tensor.__dlpack_device__() == (1, 0)
    copy = np.from_dlpack(tensor, copy=True)
    copy[0] = 9
    assert tensor.numpy()[0] == 0
    with pytest.raises(BufferError):
        tensor.__dlpack__(dl_device=(2, 0))


def test_a_device_tensor_is_no_array():
    tensor = sl.Tensor(np.arange(3.0), place=sl.FPGAPlace(0))
    assert tensor.place == sl.FPGAPlace(0)
    with pytest.raises(TypeError, match=r"fpga:0"):
        np.asarray(tensor)
    np.testing.assert_array_equal(tensor.numpy(), np.arange(3.0))
    np.testing.assert_array_equal(tensor.to("cpu"), np.arange(3.0))
    with pytest.raises(BufferError):
        tensor.__dlpack__(dl_device=(1, 0), copy=False)
    back = np.from_dlpack(tensor, device="cpu")
    np.testing.assert_array_equal(back, np.arange(3.0))


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (1, 5)])
def test_any_shape(shape):
    array = np.ones(shape, "f4")
    tensor = sl.Tensor(array)
    assert tensor.numpy().shape == shape
    assert np.from_dlpack(tensor).shape == shape
    assert tensor.size == array.size


def test_dtypes_compare_with_names_and_numpy():
    assert sl.float32 == "float32"
    assert sl.float32 == np.float32
    assert sl.float32 != sl.float64
    assert sl.float32 != "no dtype"
    assert (sl.float32 == None) is False  # noqa: E711
    assert {sl.int64: 1}[sl.DType("int64")] == 1
    assert np.dtype(sl.int8) == np.int8
    with pytest.raises(sl.InvalidArgumentError, match="float32"):
        sl.DType("float31")


def test_places():
    assert str(sl.CUDAPlace(1)) == "cuda:1"
    assert sl.FPGAPlace() == sl.FPGAPlace(0)
    assert sl.FPGAPlace(0) != sl.FPGAPlace(1)
    assert isinstance(sl.Tensor([1.0]).place, sl.CPUPlace)
    assert len({sl.CPUPlace(), sl.CPUPlace()}) == 1
    with pytest.raises(sl.OutOfRangeError, match="-1"):
        sl.CUDAPlace(-1)


def test_it_shows_itself():
    tensor = sl.Tensor([[1, 2]], dtype="int64")
    assert repr(tensor) == "Tensor([[1, 2]], int64 [1, 2] at cpu)"
    assert "int64 [1, 2]" in tensor._repr_html_()
    assert len(tensor) == 1
    assert sl.Tensor(2.5).item() == 2.5
