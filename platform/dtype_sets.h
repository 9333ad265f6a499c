#pragma once

#include "sluice/platform/dtype.h"

// Named sets of element types, for registrations, schemas and explicit
// instantiations. A type or a set is added to all of them here.
namespace sluice::platform {

// As a template argument of a registered kernel class, a set stands for each
// of its types in turn: REGISTER_OP_CPU_KERNEL(crop, CropKernel<Floats>).
template <typename... T>
struct DTypeSet {};

template <typename T>
inline constexpr bool kIsDTypeSet = false;
template <typename... T>
inline constexpr bool kIsDTypeSet<DTypeSet<T...>> = true;

namespace internal {
template <typename... Sets>
struct Join;
template <typename... A>
struct Join<DTypeSet<A...>> {
  using Type = DTypeSet<A...>;
};
template <typename... A, typename... B, typename... Rest>
struct Join<DTypeSet<A...>, DTypeSet<B...>, Rest...>
    : Join<DTypeSet<A..., B...>, Rest...> {};
}  // namespace internal

// The types of several sets, in their order.
template <typename... Sets>
using Join = typename internal::Join<Sets...>::Type;

using Floats = DTypeSet<float, double>;
using Halves = DTypeSet<float16, bfloat16>;
using Bytes = DTypeSet<int8_t, uint8_t>;
using Indices = DTypeSet<int32_t, int64_t>;  // also of offsets and counts
using Integers = Join<Bytes, Indices>;
using FloatsAndHalves = Join<Floats, Halves>;
using FloatsAndIntegers = Join<Floats, Integers>;
using Numbers = Join<FloatsAndHalves, Integers>;
using NumbersAndBool = Join<Numbers, DTypeSet<bool>>;

}  // namespace sluice::platform

// Explicit instantiations of a function template for a type, and for sets:
//   SLUICE_INSTANTIATE_FLOATS(TopK);
#define SLUICE_INSTANTIATE(Function, ...) \
  template SLUICE_API decltype(Function<__VA_ARGS__>) Function<__VA_ARGS__>
#define SLUICE_INSTANTIATE_FLOATS(Function) \
  SLUICE_INSTANTIATE(Function, float);      \
  SLUICE_INSTANTIATE(Function, double)
#define SLUICE_INSTANTIATE_INDICES(Function) \
  SLUICE_INSTANTIATE(Function, int32_t);     \
  SLUICE_INSTANTIATE(Function, int64_t)
#define SLUICE_INSTANTIATE_FLOATS_AND_HALVES(Function)       \
  SLUICE_INSTANTIATE_FLOATS(Function);                       \
  SLUICE_INSTANTIATE(Function, ::sluice::platform::float16); \
  SLUICE_INSTANTIATE(Function, ::sluice::platform::bfloat16)
#define SLUICE_INSTANTIATE_NUMBERS(Function)      \
  SLUICE_INSTANTIATE_FLOATS_AND_HALVES(Function); \
  SLUICE_INSTANTIATE(Function, int8_t);           \
  SLUICE_INSTANTIATE(Function, uint8_t);          \
  SLUICE_INSTANTIATE_INDICES(Function)
