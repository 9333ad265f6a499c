#pragma once

#include <type_traits>

// Function templates that are compiled for every instruction set, for float and
// double. In HWY_NAMESPACE, after template `Function` with one argument:
//   SLUICE_SIMD_FLOATS(Function);
// Under HWY_ONCE, after HWY_NAMESPACE; FunctionFor<T>() is then the instance
// for the best instruction set of the CPU:
//   SLUICE_EXPORT_FLOATS(Function);
namespace sluice {

template <typename F32, typename F64>
struct FloatFunctions {
  F32 f32;
  F64 f64;
};

}  // namespace sluice

// NOLINTBEGIN(bugprone-macro-parentheses)
#define SLUICE_SIMD_FLOATS(Function)                              \
  [[maybe_unused]] static auto Function##Floats() {               \
    return ::sluice::FloatFunctions<decltype(&Function<float>),   \
                                    decltype(&Function<double>)>{ \
        &Function<float>, &Function<double>};                     \
  }                                                               \
  static_assert(true)

#define SLUICE_EXPORT_FLOATS(Function)                               \
  HWY_EXPORT(Function##Floats);                                      \
  template <typename T>                                              \
  static auto Function##For() {                                      \
    const auto functions = HWY_DYNAMIC_DISPATCH(Function##Floats)(); \
    if constexpr (std::is_same_v<T, float>) {                        \
      return functions.f32;                                          \
    } else {                                                         \
      return functions.f64;                                          \
    }                                                                \
  }                                                                  \
  static_assert(true)
// NOLINTEND(bugprone-macro-parentheses)
