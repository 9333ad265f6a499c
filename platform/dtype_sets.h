#pragma once

#include "sluice/platform/dtype.h"

// Named sets of element types, for registrations, schemas and explicit
// instantiations. A type or a set is added to all of them here.
namespace sluice {

// A registered kernel class with a set among its template arguments is one
// class for each of its types:
//   REGISTER_OP_CPU_KERNEL(crop, CropKernel<FloatTypes>);
template <typename... T>
struct DTypeSet {};

template <typename T>
inline constexpr bool kIsDTypeSet = false;
template <typename... T>
inline constexpr bool kIsDTypeSet<DTypeSet<T...>> = true;

namespace internal {
template <typename... Sets>
struct JoinTypes;
template <typename... A>
struct JoinTypes<DTypeSet<A...>> {
  using Type = DTypeSet<A...>;
};
template <typename... A, typename... B, typename... Rest>
struct JoinTypes<DTypeSet<A...>, DTypeSet<B...>, Rest...>
    : JoinTypes<DTypeSet<A..., B...>, Rest...> {};
}  // namespace internal

// The types of several sets, in their order.
template <typename... Sets>
using JoinTypes = typename internal::JoinTypes<Sets...>::Type;

using FloatTypes = DTypeSet<float, double>;
using HalfTypes = DTypeSet<float16, bfloat16>;
using ByteTypes = DTypeSet<int8_t, uint8_t>;
using IndexTypes = DTypeSet<int32_t, int64_t>;  // also of offsets and counts
using IntegerTypes = JoinTypes<ByteTypes, IndexTypes>;
using FloatAndHalfTypes = JoinTypes<FloatTypes, HalfTypes>;
using FloatAndIntegerTypes = JoinTypes<FloatTypes, IntegerTypes>;
using NumberTypes = JoinTypes<FloatAndHalfTypes, IntegerTypes>;
using NumberAndBoolTypes = JoinTypes<NumberTypes, DTypeSet<bool>>;

}  // namespace sluice

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
#define SLUICE_INSTANTIATE_FLOATS_AND_HALVES(Function) \
  SLUICE_INSTANTIATE_FLOATS(Function);                 \
  SLUICE_INSTANTIATE(Function, ::sluice::float16);     \
  SLUICE_INSTANTIATE(Function, ::sluice::bfloat16)
#define SLUICE_INSTANTIATE_NUMBERS(Function)      \
  SLUICE_INSTANTIATE_FLOATS_AND_HALVES(Function); \
  SLUICE_INSTANTIATE(Function, int8_t);           \
  SLUICE_INSTANTIATE(Function, uint8_t);          \
  SLUICE_INSTANTIATE_INDICES(Function)
