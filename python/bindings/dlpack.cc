#include "sluice/python/bindings/dlpack.h"

#include <array>
#include <cstring>

#include <nanobind/ndarray.h>

#include "sluice/platform/number_format.h"

namespace sluice::python {

namespace {

constexpr int kDLCPU = 1;
constexpr int kDLCUDA = 2;
constexpr int kDLExtDev = 12;

DType DTypeOf(const nb::dlpack::dtype& dtype) {
  for (const NumberFormat& format : NumberFormats()) {
    if (format.dlpack == dtype.code && dtype.lanes == 1 &&
        SizeOf(format.dtype) * 8 == dtype.bits) {
      return format.dtype;
    }
  }
  Raise(ErrorCode::kInvalidArgument, "python.array_dtype",
        "the array's elements (DLPack type code {}, {} bits) are of "
        "no dtype that Sluice has",
        int{dtype.code}, int{dtype.bits});
}

// The dtype of the same size that NumPy exchanges for one of ml_dtypes, which
// does not support buffers.
DType ExchangedAs(DType dtype) {
  if (FormatOf(dtype).buffer != nullptr) return dtype;
  return SizeOf(dtype) == 1 ? DType::kUInt8 : DType::kFloat16;
}

// Returns whether NumPy can represent the shape: it multiplies all sizes that
// are not 0, even if another size is 0.
bool FitsNumpy(const Tensor& tensor) {
  auto bytes = static_cast<int64_t>(SizeOf(tensor.dtype()));
  bool overflow = false;
  for (const int64_t size : tensor.dims()) {
    const int64_t factor = size == 0 ? 1 : size;
    overflow |= __builtin_mul_overflow(bytes, factor, &bytes);
  }
  return !overflow;
}

void CheckFitsNumpy(const Tensor& tensor) {
  SLUICE_ENFORCE(FitsNumpy(tensor), ErrorCode::kInvalidArgument,
                 "python.array_too_big",
                 "NumPy can have no array of shape {} ({}): its sizes other "
                 "than 0 multiply to more bytes than 64 bits count; "
                 "return_numpy=False fetches a tensor",
                 tensor.dims(), tensor.dtype());
}

// Exports host memory without a copy; the view owns what it points to.
int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const Tensor& tensor = *nb::inst_ptr<Tensor>(self);
  view->obj = nullptr;
  const char* format = FormatOf(tensor.dtype()).buffer;
  if (!tensor.allocated() || tensor.place().kind != PlaceKind::kCPU ||
      format == nullptr || !FitsNumpy(tensor) ||
      (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS) {
    PyErr_SetString(PyExc_BufferError,
                    "this tensor has no buffer on the host in that form");
    return -1;
  }
  const int rank = tensor.dims().rank();
  auto* sizes = static_cast<Py_ssize_t*>(
      PyMem_Malloc(sizeof(Py_ssize_t) * 2 * DDim::kMaxRank));
  if (sizes == nullptr) {
    PyErr_NoMemory();
    return -1;
  }
  view->itemsize = static_cast<Py_ssize_t>(SizeOf(tensor.dtype()));
  Py_ssize_t stride = view->itemsize;
  for (int axis = rank - 1; axis >= 0; --axis) {
    sizes[axis] = tensor.dims()[axis];
    sizes[rank + axis] = stride;
    stride *= sizes[axis];
  }
  view->buf = const_cast<void*>(tensor.raw_data());
  view->len = static_cast<Py_ssize_t>(tensor.bytes());
  view->readonly = 0;
  view->ndim = rank;
  view->format =
      (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  view->shape = (flags & PyBUF_ND) != 0 ? sizes : nullptr;
  view->strides =
      (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? sizes + rank : nullptr;
  view->suboffsets = nullptr;
  view->internal = sizes;
  view->obj = Py_NewRef(self);
  return 0;
}

void ReleaseBuffer(PyObject* /*self*/, Py_buffer* view) {
  PyMem_Free(view->internal);
}

std::pair<int, int> DeviceOf(PlaceKey place) {
  if (place.kind == PlaceKind::kCPU) return {kDLCPU, 0};
  return {place.kind == PlaceKind::kCUDA ? kDLCUDA : kDLExtDev, place.index};
}

using Array = nb::ndarray<>;

void ReleaseArray(void* owner) {
  // A tensor that outlives the interpreter leaks its array.
  if (Py_IsInitialized() == 0) return;
  const nb::gil_scoped_acquire gil;
  delete static_cast<Array*>(owner);
}

DDim DenseDims(const Array& array) {
  SLUICE_ENFORCE(array.ndim() <= DDim::kMaxRank, ErrorCode::kInvalidArgument,
                 "python.array_rank", "the array has rank {}, at most {} fit",
                 array.ndim(), DDim::kMaxRank);
  const DDim dims(std::span<const int64_t>(array.shape_ptr(), array.ndim()));
  int64_t stride = 1;
  for (int axis = dims.rank() - 1; axis >= 0; --axis) {
    SLUICE_ENFORCE(array.size() == 0 || dims[axis] == 1 ||
                       array.stride(static_cast<size_t>(axis)) == stride,
                   ErrorCode::kInvalidArgument, "python.array_layout",
                   "the array of shape {} is not dense and row-major: its "
                   "memory cannot be shared, copy it first",
                   dims);
    stride *= dims[axis];
  }
  return dims;
}

}  // namespace

const PyType_Slot kBufferSlots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(&GetBuffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(&ReleaseBuffer)},
    {0, nullptr}};

bool ParseBufferFormat(const char* format, DType* dtype) {
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  const std::string_view given = format;
  const std::string_view known = given == "q"   ? "l"
                                 : given == "Q" ? "L"
                                                : given;
  for (const NumberFormat& row : NumberFormats()) {
    if (row.buffer == nullptr || row.buffer != known) continue;
    *dtype = row.dtype;
    return true;
  }
  return false;
}

void RefuseMasked(nb::handle array) {
  if (!nb::hasattr(array, "filled")) return;
  SLUICE_ENFORCE(PyObject_IsTrue(array.attr("mask").attr("any")().ptr()) == 0,
                 ErrorCode::kInvalidArgument, "python.masked",
                 "masked elements are no numbers; fill them by filled(value)");
}

Tensor ImportArray(nb::handle source) {
  if (nb::isinstance<Tensor>(source)) return nb::cast<const Tensor&>(source);
  if (nb::hasattr(source, "dtype") && nb::hasattr(source, "view") &&
      nb::hasattr(source, "ctypes")) {
    RefuseMasked(source);
    const DType dtype = ToDType(source.attr("dtype"));
    const DType exchanged = ExchangedAs(dtype);
    if (dtype != exchanged) {
      const std::string name(ToString(exchanged));
      Tensor tensor = ImportArray(source.attr("view")(name.c_str()));
      tensor.Bind(tensor.holder(), 0, dtype, tensor.dims());
      return tensor;
    }
  }
  Array array;
  SLUICE_ENFORCE(nb::try_cast(source, array), ErrorCode::kInvalidArgument,
                 "python.array",
                 "expected an array that can be written and "
                 "has __dlpack__ or a buffer, got {}",
                 TypeName(source));
  const DType dtype = DTypeOf(array.dtype());
  const DDim dims = DenseDims(array);
  PlaceKey place;
  if (array.device_type() == kDLCUDA) {
    place = CUDAPlace{array.device_id()};
  } else {
    SLUICE_ENFORCE(array.device_type() == kDLCPU, ErrorCode::kInvalidArgument,
                   "python.array_device",
                   "the array is on a device of DLPack "
                   "type {}, which Sluice cannot look into",
                   array.device_type());
  }
  void* pointer = array.data();
  if (array.size() == 0 || pointer == nullptr) {
    return Tensor::Borrow(place, dtype, dims, nullptr);
  }
  const size_t bytes = array.nbytes();
  auto holder = std::make_shared<Placeholder>(
      place, pointer, bytes, &ReleaseArray, new Array(std::move(array)));
  Tensor tensor;
  tensor.Bind(std::move(holder), 0, dtype, dims);
  return tensor;
}

nb::object FetchedArray(const Tensor& tensor) {
  static PyObject* empty =
      nb::object(nb::module_::import_("numpy").attr("empty")).release().ptr();
  static std::array<PyObject*, kDTypeNumbers> dtypes{};
  constexpr size_t kSmall = 2048;
  if (tensor.bytes() > kSmall ||
      tensor.dtype() != ExchangedAs(tensor.dtype())) {
    return ExportArray(tensor);
  }
  CheckFitsNumpy(tensor);
  PyObject*& dtype = dtypes[static_cast<size_t>(tensor.dtype())];
  if (dtype == nullptr) {
    dtype = nb::object(ToPython(tensor.dtype()).attr("dtype")).release().ptr();
  }
  nb::object shape = nb::steal(PyTuple_New(tensor.dims().rank()));
  for (int axis = 0; axis < tensor.dims().rank(); ++axis) {
    PyTuple_SetItem(shape.ptr(), axis,
                    PyLong_FromLongLong(tensor.dims()[axis]));
  }
  nb::object array = nb::handle(empty)(shape, nb::handle(dtype));
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_WRITABLE) != 0) {
    throw nb::python_error();
  }
  std::memcpy(view.buf, tensor.raw_data(), tensor.bytes());
  PyBuffer_Release(&view);
  return array;
}

nb::object ExportArray(const Tensor& tensor) {
  static PyObject* asarray =
      nb::object(nb::module_::import_("numpy").attr("asarray")).release().ptr();
  CheckFitsNumpy(tensor);
  const DType exchanged = ExchangedAs(tensor.dtype());
  if (tensor.dtype() == exchanged) return nb::handle(asarray)(tensor);
  Tensor bytes;
  const size_t offset =
      static_cast<size_t>(static_cast<const char*>(tensor.raw_data()) -
                          static_cast<const char*>(tensor.holder()->pointer()));
  bytes.Bind(tensor.holder(), offset, exchanged, tensor.dims());
  nb::object array = nb::handle(asarray)(bytes);
  try {
    return array.attr("view")(ToPython(tensor.dtype()).attr("dtype"));
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    // ml_dtypes is not installed.
    return array.attr("view")(exchanged == DType::kUInt8 ? "uint8" : "uint16");
  }
}

nb::object ToDLPack(nb::handle self,
                    nb::handle stream,
                    nb::handle max_version,
                    nb::handle dl_device,
                    nb::handle copy) {
  Tensor tensor = nb::cast<const Tensor&>(self);
  CheckFitsNumpy(tensor);
  const bool to_host = !dl_device.is_none() &&
                       dl_device.equal(nb::make_tuple(kDLCPU, 0)) &&
                       tensor.place().kind != PlaceKind::kCPU;
  const bool forbidden =
      nb::isinstance<nb::bool_>(copy) && !nb::cast<bool>(copy);
  if (to_host && forbidden) {
    throw nb::buffer_error("the tensor is not on the host: that takes a copy");
  }
  if (to_host) {
    tensor = tensor.CopyTo(CPUPlace());
  } else if (nb::isinstance<nb::bool_>(copy) && nb::cast<bool>(copy)) {
    tensor = tensor.CopyTo(tensor.place());
  }
  std::array<size_t, DDim::kMaxRank> shape{};
  std::copy(tensor.dims().begin(), tensor.dims().end(), shape.begin());
  const auto bits = static_cast<uint8_t>(8 * SizeOf(tensor.dtype()));
  const auto [device_type, device_id] = DeviceOf(tensor.place());
  const auto rank = static_cast<size_t>(tensor.dims().rank());
  nb::object view = nb::cast(nb::ndarray<nb::array_api>(
      tensor.raw_data(), rank, shape.data(), nb::cast(tensor), nullptr,
      {FormatOf(tensor.dtype()).dlpack, bits, 1}, device_type, device_id));
  nb::dict keywords;
  keywords["stream"] = stream;
  keywords["max_version"] = max_version;
  keywords["dl_device"] = dl_device;
  return view.attr("__dlpack__")(**keywords);
}

nb::tuple DLPackDevice(const Tensor& self) {
  const auto [type, index] = DeviceOf(self.place());
  return nb::make_tuple(type, index);
}

}  // namespace sluice::python
