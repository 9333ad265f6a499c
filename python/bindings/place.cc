#include <string>

#include "sluice/platform/device.h"
#include "sluice/python/bindings/arguments.h"

namespace sluice::python {

namespace {

// Python has a subclass for each kind, so that isinstance works.
struct PyPlace {
  PlaceKey key;
};
struct PyCPUPlace : PyPlace {};
struct PyCUDAPlace : PyPlace {};
struct PyFPGAPlace : PyPlace {};
struct PyCustomPlace : PyPlace {};

PlaceKey Checked(PlaceKind kind, int index) {
  SLUICE_ENFORCE(index >= 0, ErrorCode::kOutOfRange, "python.place_index",
                 "{} place: expected an index of at least 0, got {}", kind,
                 index);
  return {kind, index};
}

template <typename T>
void BindPlace(nb::module_& m, const char* name, PlaceKind kind) {
  nb::class_<T, PyPlace>(m, name).def(
      "__init__",
      [kind](T* self, GivenInt<"place: index"> index) {
        new (self) T{{Checked(kind, index)}};
      },
      "index"_a = 0);
}

}  // namespace

nb::object ToPython(PlaceKey place) {
  switch (place.kind) {
    case PlaceKind::kCPU:
      return nb::cast(PyCPUPlace{{place}});
    case PlaceKind::kCUDA:
      return nb::cast(PyCUDAPlace{{place}});
    case PlaceKind::kFPGA:
      return nb::cast(PyFPGAPlace{{place}});
    default:
      return nb::cast(PyCustomPlace{{place}});
  }
}

PlaceKey ToPlace(nb::handle value) {
  if (nb::isinstance<PyPlace>(value)) {
    return nb::cast<const PyPlace&>(value).key;
  }
  if (nb::isinstance<nb::str>(value)) {
    return ParsePlaceKey(ToText(value, "place"));
  }
  Raise(ErrorCode::kInvalidArgument, "python.place",
        "expected a place or text such as \"cuda:0\", got {}", Shown(value));
}

void BindPlaces(nb::module_& m) {
  nb::class_<PyPlace>(m, "Place", "Where a tensor's memory lives.")
      .def_prop_ro("kind",
                   [](const PyPlace& self) { return ToString(self.key.kind); })
      .def_prop_ro("index",
                   [](const PyPlace& self) { return int{self.key.index}; })
      .def("__str__", [](const PyPlace& self) { return ToString(self.key); })
      .def(
          "__repr__",
          [](nb::handle self) { return nb::str("<{}>").format(nb::str(self)); })
      .def("__eq__",
           [](const PyPlace& self, nb::handle other) {
             return nb::isinstance<PyPlace>(other) &&
                    nb::cast<const PyPlace&>(other).key == self.key;
           })
      .def("__hash__",
           [](const PyPlace& self) { return std::hash<PlaceKey>()(self.key); });
  nb::class_<PyCPUPlace, PyPlace>(m, "CPUPlace", "The host.")
      .def("__init__", [](PyCPUPlace* self) { new (self) PyCPUPlace(); });
  BindPlace<PyCUDAPlace>(m, "CUDAPlace", PlaceKind::kCUDA);
  BindPlace<PyFPGAPlace>(m, "FPGAPlace", PlaceKind::kFPGA);
  nb::class_<PyCustomPlace, PyPlace>(m, "CustomPlace", "A device of a plug-in.")
      .def(
          "__init__",
          [](PyCustomPlace* self,
             const GivenText<"CustomPlace: device_type">& type,
             GivenInt<"CustomPlace: index"> index) {
            new (self) PyCustomPlace{{Checked(InternPlaceKind(type), index)}};
          },
          "device_type"_a, "index"_a = 0);
  m.def(
      "device_count",
      [](const GivenText<"device_count: kind">& kind) {
        return DeviceManager::Instance().LoadAndCount(ParsePlaceKey(kind).kind);
      },
      "kind"_a,
      "Devices of a kind such as \"cuda\"; 0 when there is none. Loads the "
      "plug-in or module of the kind.");
}

}  // namespace sluice::python
