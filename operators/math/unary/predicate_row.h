#pragma once

#include <cstdint>
#include <span>

#include "sluice/platform/export.h"

// The table of what can be said of one number: what one row says. The rows,
// with their formulas, are in predicate_rows.inc.
namespace sluice::operators::math {

// Of X; Out is bool, or for integers of the dtype of X. float16 and bfloat16
// are looked at as floats.
enum class PredicateDTypes : uint8_t { kFloats, kIntegers, kBool };

struct PredicateInfo {
  const char* name;
  const char* doc;  // one sentence: "Out = ..."
  PredicateDTypes dtypes;
  // Written independently of the formula, to test it with; of uint8 modulo 256.
  double (*reference)(double x);
  // The op of ONNX that computes the same, and the expression in X that does
  // in PyTorch; "" for none.
  const char* onnx = "";
  const char* torch = "";
};

// What all rows say; it lives as long as the process. Thread-safe.
SLUICE_API std::span<const PredicateInfo> Predicates();

}  // namespace sluice::operators::math
