#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "sluice/framework/op/registry.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/place_key.h"

// Registration. Each macro defines one extern "C" function with a predictable
// name. CMake finds the macros in the listed sources and generates the one file
// that calls them all (see design/). Nothing runs before main, and a
// registration without its object is a link error.

namespace sluice::internal {

// Finds the first element type among a kernel's template arguments.
template <typename Kernel>
struct KernelElement;
template <template <typename...> class Kernel, typename... Args>
struct KernelElement<Kernel<Args...>> {
  template <typename First, typename... Rest>
  static constexpr DType Find() {
    if constexpr (Element<First>) {
      return kDTypeOf<First>;
    } else {
      return Find<Rest...>();
    }
  }
  static constexpr DType kValue = Find<Args...>();
};

// Returns the dtypes that a kernel class is registered for.
template <typename Kernel>
std::span<const DType> DTypesOf() {
  if constexpr (requires { Kernel::kDTypes; }) {
    return Kernel::kDTypes;
  } else if constexpr (requires { KernelElement<Kernel>::kValue; }) {
    return {&KernelElement<Kernel>::kValue, 1};
  } else {
    return kAllDTypes;
  }
}

// Visits the classes that a registration of `Kernel` adds: only that one.
template <typename Kernel>
struct KernelInstances {
  template <typename Visit>
  static void ForEach(const Visit& visit) {
    visit.template operator()<Kernel>();
  }
};

// With a DTypeSet among its arguments, these are one class for each type T of
// the set: Kernel<.., T, ..>. If T is no element type, it has T::Computed and
// makes T::Kernel<Kernel<.., T::Computed, ..>>.
template <template <typename...> class Kernel, typename... Args>
struct KernelInstances<Kernel<Args...>> {
  template <typename Visit>
  static void ForEach(const Visit& visit) {
    if constexpr ((kIsDTypeSet<Args> || ...)) {
      const auto each = [&]<typename... T>(DTypeSet<T...>) {
        (One<T>(visit), ...);
      };
      each(Set<Args...>());
    } else {
      visit.template operator()<Kernel<Args...>>();
    }
  }

 private:
  template <typename T>
  using Of = Kernel<std::conditional_t<kIsDTypeSet<Args>, T, Args>...>;

  template <typename T, typename Visit>
  static void One(const Visit& visit) {
    if constexpr (Element<T>) {
      visit.template operator()<Of<T>>();
    } else {
      using Body = Of<typename T::Computed>;
      visit.template operator()<typename T::template Kernel<Body>>();
    }
  }
  template <typename First, typename... Rest>
  static auto Set() {
    if constexpr (kIsDTypeSet<First>) {
      return First();
    } else {
      return Set<Rest...>();
    }
  }
};

template <typename Kernel>
std::unique_ptr<OpKernel> MakeKernel(const OpKernelConstruction& construction) {
  static_assert(std::is_base_of_v<OpKernel, Kernel>);
  if constexpr (std::is_constructible_v<Kernel, const OpKernelConstruction&>) {
    return std::make_unique<Kernel>(construction);
  } else {
    return std::make_unique<Kernel>();
  }
}

// A class may change the estimate and predicate of its registration.
template <typename Kernel>
KernelTraits AdaptedTraits(const KernelTraits& traits) {
  if constexpr (requires { Kernel::AdaptTraits(traits); }) {
    return Kernel::AdaptTraits(traits);
  } else {
    return traits;
  }
}

// Adds the kernels of one class. It is no template, so that it is compiled once
// and not for each class.
SLUICE_API void AddKernel(
    Registry& registry,
    std::string_view op,
    PlaceKey place,
    const char* library,
    const char* variant,
    const KernelTraits& traits,
    std::unique_ptr<OpKernel> (*make)(const OpKernelConstruction&),
    std::span<const DType> dtypes);

// Calls `add` with `op` when kernels of it are first asked for.
SLUICE_API void AddLater(
    Registry& registry,
    std::string_view op,
    std::function<void(Registry& registry, std::string_view op)> add);

template <typename... Kernels>
void AddKernels(Registry& registry,
                std::string_view op,
                PlaceKey place,
                const char* library,
                const char* variant,
                KernelTraits traits) {
  const auto add = [&]<typename Kernel>() {
    if constexpr (requires { Kernel::Change(traits); }) {
      Kernel::Change(traits);
    } else {
      AddKernel(registry, op, place, library, variant,
                AdaptedTraits<Kernel>(traits), &MakeKernel<Kernel>,
                DTypesOf<Kernel>());
    }
  };
  (KernelInstances<Kernels>::ForEach(add), ...);
}

}  // namespace sluice::internal

namespace sluice {

// In a list of kernels: what KernelTraits says, of the kernels after it.
//   REGISTER_OP_CPU_KERNEL(lrn, EstimatedBy<&Work>, LrnKernel<FloatTypes>);
template <auto kEstimate>
struct EstimatedBy {
  static void Change(KernelTraits& traits) { traits.Estimate(kEstimate); }
};
template <auto kPredicate>
struct TakenWhen {
  static void Change(KernelTraits& traits) { traits.When(kPredicate); }
};

// Adds the plain kernels of an op that is a row of a table (see
// REGISTER_TABLE), like REGISTER_OP_CPU_KERNEL for a single op.
template <typename... Kernels>
void AddPlainKernels(Registry& registry, std::string_view op, PlaceKey place) {
  internal::AddLater(registry, op, [=](Registry& to, std::string_view of) {
    internal::AddKernels<Kernels...>(to, of, place, "PLAIN", "plain",
                                     KernelTraits());
  });
}

}  // namespace sluice

// REGISTER_OPERATOR(crop, CropSchema): `void CropSchema(OpSchema& op)`.
#define REGISTER_OPERATOR(op, fill)                       \
  extern "C" SLUICE_API void SluiceRegisterOperator_##op( \
      ::sluice::Registry& registry) {                     \
    registry.AddOperator(#op, fill);                      \
  }                                                       \
  static_assert(true)

// The general form. `place_type` is CPUPlace, CUDAPlace or FPGAPlace, `variant`
// an identifier; several variants may share a key. The dtype of a kernel is the
// first element type among its template arguments. A set of dtypes in that
// place (platform/dtype_sets.h) registers a kernel for each. A class without
// one moves elements by their size, and is a kernel for the dtypes of its
// static array kDTypes, or for all.
//   REGISTER_OP_KERNEL(manhattan_distance, PLAIN, CPUPlace, blocked,
//                      KernelTraits().Estimate(&Work).When(&Fits),
//                      BlockedKernel<FloatTypes>);
#define REGISTER_OP_KERNEL(op, library, place_type, variant, traits, ...)   \
  extern "C" SLUICE_API void                                                \
      SluiceRegisterKernel_##op##_##place_type##_##library##_##variant(     \
          ::sluice::Registry& registry) {                                   \
    ::sluice::internal::AddKernels<__VA_ARGS__>(                            \
        registry, #op, ::sluice::place_type(), #library, #variant, traits); \
  }                                                                         \
  static_assert(true)

// A pass over the graph before it is prepared; passes run by ascending `order`.
//   REGISTER_PASS(fuse_matmul, 20, FuseMatmul);
#define REGISTER_PASS(name, order, function)            \
  extern "C" SLUICE_API void SluiceRegisterPass_##name( \
      ::sluice::Registry& registry) {                   \
    registry.AddPass({#name, order, function});         \
  }                                                     \
  static_assert(true)

// Many ops or kernels at once: `function` accepts a Registry& and adds the rows
// of a table.
//   REGISTER_TABLE(unary_ops, AddUnaryOps);
#define REGISTER_TABLE(name, function)                   \
  extern "C" SLUICE_API void SluiceRegisterTable_##name( \
      ::sluice::Registry& registry) {                    \
    function(registry);                                  \
  }                                                      \
  static_assert(true)

// Registers the plain kernel; most ops have no other.
//   REGISTER_OP_CPU_KERNEL(crop, CropKernel<FloatTypes>);
#define REGISTER_OP_CPU_KERNEL(op, ...)                                    \
  REGISTER_OP_KERNEL(op, PLAIN, CPUPlace, plain, ::sluice::KernelTraits(), \
                     __VA_ARGS__)
#define REGISTER_OP_CUDA_KERNEL(op, ...)                                    \
  REGISTER_OP_KERNEL(op, PLAIN, CUDAPlace, plain, ::sluice::KernelTraits(), \
                     __VA_ARGS__)

// For an op in a single main.cc; used once at the start of main:
//   SLUICE_USE_OPERATOR(my_op);
//   SLUICE_USE_CPU_KERNEL(my_op);
#define SLUICE_USE_OPERATOR(op) \
  SluiceRegisterOperator_##op(::sluice::Registry::Global())
#define SLUICE_USE_CPU_KERNEL(op) \
  SluiceRegisterKernel_##op##_CPUPlace_PLAIN_plain(::sluice::Registry::Global())
