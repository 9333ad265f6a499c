#include "sluice/platform/place.h"

namespace sluice {

PlaceKey ToPlaceKey(const Place& place) {
  struct Visitor : boost::static_visitor<PlaceKey> {
    PlaceKey operator()(CPUPlace p) const { return p; }
    PlaceKey operator()(CUDAPlace p) const { return p; }
    PlaceKey operator()(FPGAPlace p) const { return p; }
    PlaceKey operator()(CustomPlace p) const { return p; }
  };
  return boost::apply_visitor(Visitor(), place);
}

Place ToPlace(PlaceKey key) {
  switch (key.kind) {
    case PlaceKind::kCPU:
      return CPUPlace{};
    case PlaceKind::kCUDA:
      return CUDAPlace{key.index};
    case PlaceKind::kFPGA:
      return FPGAPlace{key.index};
    default:
      return CustomPlace{key.kind, key.index};
  }
}

}  // namespace sluice
