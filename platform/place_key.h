#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "sluice/platform/export.h"

namespace sluice {

// The kind of a device. Plug-ins add kinds from kFirstCustom on, by name.
enum class PlaceKind : uint8_t {
  kCPU = 0,
  kCUDA = 1,
  kFPGA = 2,
  kFirstCustom = 16,
};

// Returns "cpu", "cuda", "fpga", or the name that a plug-in registered.
SLUICE_API std::string_view ToString(PlaceKind kind);

// Returns the kind of that name; an unknown name becomes a new custom kind.
// Raises InvalidArgument for an empty name or one that is not [a-z][a-z0-9_]*,
// and ResourceExhausted beyond 240 kinds. Thread-safe.
SLUICE_API PlaceKind InternPlaceKind(std::string_view name);

struct CPUPlace {
  auto operator<=>(const CPUPlace&) const = default;
};

struct CUDAPlace {
  int device = 0;
  auto operator<=>(const CUDAPlace&) const = default;
};

struct FPGAPlace {
  int device = 0;
  auto operator<=>(const FPGAPlace&) const = default;
};

// A device of a plug-in: CustomPlace{InternPlaceKind("abacus"), 0}.
struct CustomPlace {
  PlaceKind kind = PlaceKind::kFirstCustom;
  int device = 0;
  auto operator<=>(const CustomPlace&) const = default;
};

// A Place in four bytes: cheap to copy, compare, hash and print. Converts from
// each of the places and from the Place variant; `ToPlace` in place.h converts
// back. Use it everywhere except for a visitor over the variant.
struct PlaceKey {
  PlaceKind kind = PlaceKind::kCPU;
  uint16_t index = 0;

  constexpr PlaceKey() = default;
  // An index that does not fit becomes 65535, which no device has.
  constexpr PlaceKey(PlaceKind k, int i)
      : kind(k),
        index(static_cast<uint16_t>(i < 0 || i > 0xFFFF ? 0xFFFF : i)) {}
  // NOLINTBEGIN(google-explicit-constructor)
  constexpr PlaceKey(CPUPlace) {}
  constexpr PlaceKey(CUDAPlace place)
      : PlaceKey(PlaceKind::kCUDA, place.device) {}
  constexpr PlaceKey(FPGAPlace place)
      : PlaceKey(PlaceKind::kFPGA, place.device) {}
  constexpr PlaceKey(CustomPlace place) : PlaceKey(place.kind, place.device) {}
  template <typename Variant>
  requires requires(const Variant& place) {
    { ToPlaceKey(place) } -> std::same_as<PlaceKey>;
  }
  PlaceKey(const Variant& place) : PlaceKey(ToPlaceKey(place)) {}
  // NOLINTEND(google-explicit-constructor)

  auto operator<=>(const PlaceKey&) const = default;  // NOLINT(*-nullptr)
};

// "cpu", "cuda:0", "fpga:1".
SLUICE_API std::string ToString(PlaceKey place);

// The inverse of ToString; "cuda" means "cuda:0". Raises InvalidArgument for
// malformed text, NotFound for a kind without a device and without a plug-in.
SLUICE_API PlaceKey ParsePlaceKey(std::string_view text);

}  // namespace sluice

template <>
struct std::hash<sluice::PlaceKey> {
  size_t operator()(sluice::PlaceKey key) const noexcept {
    return static_cast<size_t>(key.kind) << 16 | key.index;
  }
};
