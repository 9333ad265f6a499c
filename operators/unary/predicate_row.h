#pragma once

#include <cstdint>
#include <span>

#include "sluice/platform/export.h"

// The table of predicates of one number. This header declares the fields of a
// row. The rows and their formulas are in predicate_rows.inc.
namespace sluice {

// The dtypes of X. Out is bool, or for integers X's dtype. float16 and bfloat16
// are tested as float32.
enum class PredicateDTypes : uint8_t { kFloats, kIntegers, kBool };

struct PredicateInfo {
  const char* name;
  const char* doc;  // one sentence: "Out = ..."
  PredicateDTypes dtypes;
  // Written independently of the formula, to test it; modulo 256 for uint8.
  double (*reference)(double x);
  // The ONNX op that computes the same, and the PyTorch expression in X that
  // does; "" for none.
  const char* onnx = "";
  const char* torch = "";
};

// Returns the info of all rows, which is never freed. Thread-safe.
SLUICE_API std::span<const PredicateInfo> Predicates();

}  // namespace sluice
