#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "sluice/python/bindings/arguments.h"
#include "sluice/python/bindings/dlpack.h"

namespace sluice::python {

namespace {

Tensor OnHost(const Tensor& tensor) {
  return tensor.place().kind == PlaceKind::kCPU ? tensor
                                                : tensor.CopyTo(CPUPlace());
}

void InitTensor(Tensor* self,
                nb::object array,
                nb::handle place,
                nb::handle dtype) {
  nb::object source = std::move(array);
  if (!nb::isinstance<Tensor>(source) && !nb::hasattr(source, "__dlpack__")) {
    source = nb::module_::import_("numpy").attr("asarray")(source);
  }
  if (!dtype.is_none()) {
    if (nb::isinstance<Tensor>(source)) {
      source = ExportArray(OnHost(nb::cast<const Tensor&>(source)));
    }
    source = source.attr("astype")(ToPython(ToDType(dtype)).attr("dtype"));
  }
  new (self) Tensor(ImportArray(source).CopyTo(
      place.is_none() ? PlaceKey() : ToPlace(place)));
}

nb::object Numpy(const Tensor& self) {
  return ExportArray(OnHost(self));
}

// np.asarray and np.array call this if the buffer protocol fails.
nb::object Array(const Tensor& self, nb::handle dtype, nb::handle copy) {
  if (self.place().kind != PlaceKind::kCPU) {
    const std::string text =
        Format("{} is not on the host: tensor.numpy() copies it", self);
    throw nb::type_error(text.c_str());
  }
  nb::object array = ExportArray(self);
  if (!dtype.is_none()) array = array.attr("astype")(dtype, "copy"_a = false);
  return nb::isinstance<nb::bool_>(copy) && nb::cast<bool>(copy)
             ? array.attr("copy")()
             : array;
}

nb::object Item(nb::handle self) {
  return self.attr("numpy")().attr("item")();
}

// Writes into memory that others may share.
void CopyFrom(Tensor& self, const Tensor& other) {
  SLUICE_ENFORCE(self.dtype() == other.dtype() && self.numel() == other.numel(),
                 ErrorCode::kInvalidArgument, "python.copy_from",
                 "{} cannot be copied into {}", other, self);
  const Tensor given = OnHost(other);
  internal::CopyFromHost(&self, given.raw_data(),
                         static_cast<size_t>(given.numel()));
}

// A tensor over memory that the caller keeps alive.
Tensor Borrow(uintptr_t address,
              nb::handle dtype,
              const std::vector<int64_t>& shape,
              const Given<PlaceKey>& place) {
  return Tensor::Borrow(place, ToDType(dtype), DDim(shape),
                        std::bit_cast<void*>(address));
}

size_t Length(const Tensor& self) {
  if (self.dims().rank() == 0) throw nb::type_error("len() of a scalar tensor");
  return static_cast<size_t>(self.dims()[0]);
}

}  // namespace

void BindTensors(nb::module_& m) {
  nb::class_<Tensor>(
      m, "Tensor", nb::type_slots(kBufferSlots),
      "A dense array at a place. NumPy and DLPack see it without a copy.")
      .def("__init__", &InitTensor, "array"_a, "place"_a = nb::none(),
           "dtype"_a = nb::none(), "A copy of `array` at `place` (the host).")
      .def_prop_ro("shape", &Tensor::dims)
      .def_prop_ro("dtype", &Tensor::dtype)
      .def_prop_ro("place", &Tensor::place)
      .def_prop_ro("ndim",
                   [](const Tensor& self) { return self.dims().rank(); })
      .def_prop_ro("size", &Tensor::numel)
      .def_prop_ro("nbytes", &Tensor::bytes)
      .def_prop_ro("_address",
                   [](const Tensor& self) {
                     return reinterpret_cast<uintptr_t>(self.raw_data());
                   })
      .def("_copy_from", &CopyFrom)
      .def("numpy", &Numpy,
           "As a NumPy array: without a copy on the host, else a copy.")
      .def(
          "to",
          [](const Tensor& self, const Given<PlaceKey>& place) {
            return self.CopyTo(place);
          },
          "place"_a, "A copy at `place`.")
      .def("item", &Item, "The only element as a Python number.")
      .def("__array__", &Array, "dtype"_a = nb::none(), "copy"_a = nb::none())
      .def("__dlpack__", &ToDLPack, nb::kw_only(), "stream"_a = nb::none(),
           "max_version"_a = nb::none(), "dl_device"_a = nb::none(),
           "copy"_a = nb::none())
      .def("__dlpack_device__", &DLPackDevice)
      .def("__len__", &Length)
      .def("__float__", [](nb::handle self) { return nb::float_(Item(self)); });
  m.def("_borrow", &Borrow);
  m.def("from_dlpack", &ImportArray, "array"_a,
        "A tensor that shares the memory of `array` (anything with "
        "__dlpack__ or a buffer).\n\nRaises InvalidArgumentError for a layout "
        "or dtype that a tensor cannot have.");
}

}  // namespace sluice::python
