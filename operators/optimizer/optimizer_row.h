#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/platform/export.h"

// The table of optimizers: ops that move a parameter by its gradient, element
// by element. The rows, with their formulas, are in optimizer_rows.inc; a new
// row is a new op on the CPU and on CUDA; one that needs norms, on the CPU.
namespace sluice {

// A tensor of the parameter's shape that is kept from step to step: the op has
// an input `name` and an output `name`Out, which replaces it.
struct OptimizerState {
  const char* name = nullptr;
  const char* doc = nullptr;
};

// A state of shape [1] that is multiplied by a setting in each step.
struct OptimizerPower {
  const char* name = nullptr;
  const char* doc = nullptr;
  int setting = 0;  // the index of its factor
};

// An attribute. Its value is a number; that of a bool, or of a string with one
// choice, is 0 or 1.
struct OptimizerSetting {
  const char* name = nullptr;
  const char* doc = nullptr;
  std::optional<double> default_value{};
  bool is_bool = false;
  const char* choice = nullptr;  // a string that is "" or this
  std::optional<double> at_least{};
  std::optional<double> below{};  // at least 0, and less than this
};

inline constexpr size_t kOptimizerStates = 3;
inline constexpr size_t kOptimizerSettings = 5;

struct OptimizerInfo {
  const char* name;
  const char* doc;
  std::array<OptimizerState, kOptimizerStates> states{};
  std::array<OptimizerPower, 2> powers{};
  std::array<OptimizerSetting, kOptimizerSettings> settings{};

  constexpr size_t state_count() const {
    size_t count = 0;
    while (count < states.size() && states[count].name != nullptr) {
      ++count;
    }
    return count;
  }
  constexpr size_t power_count() const {
    return powers[0].name == nullptr ? 0U : powers[1].name == nullptr ? 1U : 2U;
  }
};

using OptimizerSettings = std::array<double, kOptimizerSettings>;
using OptimizerPowers = std::array<double, 2>;
// What the numbers of one step follow from.
struct RowStep {
  OptimizerSettings settings;
  double rate;
  OptimizerPowers powers;  // as they are before the step
};
// The numbers that the formula uses in one step.
using OptimizerNumbers = std::array<double, 8>;

// The arrays of one step. Outputs may be their own inputs, but not overlap them
// otherwise.
template <typename T>
struct OptimizerArrays {
  const T* param = nullptr;
  const T* grad = nullptr;
  std::array<const T*, kOptimizerStates> states{};
  T* param_out = nullptr;
  std::array<T*, kOptimizerStates> states_out{};
  // Whether outputs are not read soon, so that they need not come into the
  // cache first. They are then not their inputs, and aligned to 64 bytes.
  bool stream = false;
};

// One step over elements [begin, end), on the calling thread, with the best
// instruction set that the CPU has. Every element is rounded as by the plain
// C++ expression, whatever the range and the instruction set are.
template <typename T>
using OptimizerLoop = void (*)(const OptimizerArrays<T>& arrays,
                               const OptimizerNumbers& numbers,
                               int64_t begin,
                               int64_t end);

// Sums of the squares of the parameter and of the row's Direction.
using OptimizerSquares = std::array<double, 2>;
template <typename T>
using OptimizerMeasure = OptimizerSquares (*)(const OptimizerArrays<T>& arrays,
                                              const OptimizerNumbers& numbers,
                                              int64_t begin,
                                              int64_t end);

struct OptimizerRow {
  OptimizerInfo info;
  OptimizerNumbers (*numbers)(const RowStep& step);
  OptimizerLoop<float> float32;
  OptimizerLoop<double> float64;
  // Rows that need norms measure them first, and step with the numbers that
  // `scaled` returns; null for the others.
  OptimizerMeasure<float> measure32 = nullptr;
  OptimizerMeasure<double> measure64 = nullptr;
  OptimizerNumbers (*scaled)(const OptimizerNumbers& numbers,
                             double param_norm,
                             double direction_norm) = nullptr;

  template <typename T>
  OptimizerLoop<T> loop() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return float32;
    } else {
      return float64;
    }
  }
  template <typename T>
  OptimizerMeasure<T> measure() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return measure32;
    } else {
      return measure64;
    }
  }
};

// All rows; they live as long as the process. Thread-safe.
SLUICE_API std::span<const OptimizerRow> OptimizerRows();
// Null for the name of another op.
SLUICE_API const OptimizerRow* FindOptimizerRow(std::string_view name);

// The values of a row's settings, as an op has them.
inline OptimizerSettings ReadOptimizerSettings(
    const OptimizerInfo& info, const OpKernelConstruction& construction) {
  OptimizerSettings values = {};
  for (size_t i = 0; i < values.size(); ++i) {
    const OptimizerSetting& setting = info.settings[i];
    if (setting.name == nullptr) continue;
    if (setting.is_bool) {
      values[i] = construction.Attr<bool>(setting.name) ? 1 : 0;
    } else if (setting.choice != nullptr) {
      const auto& choice = construction.Attr<std::string>(setting.name);
      values[i] = choice == setting.choice ? 1 : 0;
    } else {
      values[i] = construction.Attr<double>(setting.name);
    }
  }
  return values;
}

}  // namespace sluice
