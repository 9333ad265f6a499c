#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "sluice/platform/export.h"

// The table of unary ops, Out[i] = f(X[i]). This header declares the fields of
// a row and the table. The rows and their formulas are in the *.inc files of
// this folder; docs/adding_an_op.md says how to add one.
namespace sluice {

// The values of a row's attributes, in the row's order.
using UnaryParams = std::array<double, 2>;

struct UnaryAttr {
  const char* name = nullptr;  // nullptr: the row has no such attribute
  const char* doc = nullptr;
  double default_value = 0;
  const char* onnx = nullptr;  // its name in ONNX; nullptr: the same name
  bool is_bool = false;        // users pass true or false
};

// The dtypes of X and Out: floats, or floats and signed integers. float16 and
// bfloat16 are computed in float32 and rounded once.
enum class UnaryDTypes : uint8_t { kFloats, kSignedNumbers };

// The input of the gradient op besides Out@GRAD.
enum class GradientReads : uint8_t { kX, kOut };

// The range of X in examples and tests.
enum class Domain : uint8_t {
  kAnywhere,
  kNotZero,      // far from 0, in steps of numerical derivatives
  kNotHalf,      // far from 0, 1/2, 1 and so on
  kPositive,     // X >= 1/2
  kAboveOne,     // X >= 3/2
  kInsideOne,    // |X| < 0.9
  kAboveMinus1,  // X > -0.9
};

struct UnaryInfo {
  const char* name;
  const char* doc;           // one sentence: "Out = ..."
  const char* gradient_doc;  // "X@GRAD = ..."
  GradientReads gradient_reads = GradientReads::kX;
  UnaryDTypes dtypes = UnaryDTypes::kFloats;
  std::array<UnaryAttr, 2> attributes = {};
  Domain domain = Domain::kAnywhere;
  // The largest error of a float32 or float64 result, in units in the last
  // place (0: exactly rounded) of the result, or of `scale` if that is larger.
  double units = 4;
  double scale = 0;
  // f(x) and its derivative as a function of what the gradient reads. They are
  // independent of the formulas and test them.
  double (*reference)(double x, const UnaryParams& params);
  double (*derivative)(double x_or_out, const UnaryParams& params);
  // The ONNX op that computes the same, and the PyTorch expression in X and the
  // attributes that does; "" for none.
  const char* onnx = "";
  const char* torch = "";
  // What the op is listed and drawn with (OpSchema::Family); "": the rest of
  // the table.
  const char* family = "";
};

// The loops of a row for one dtype. They run on the calling thread, with the
// best instruction set of the CPU. `out` may be an input but must not overlap
// it otherwise. The bits of an element do not depend on its position.
template <typename T>
struct UnaryLoops {
  // out[i] = f(x[i]).
  void (*forward)(const T* x,
                  int64_t count,
                  const UnaryParams& params,
                  T* out) = nullptr;
  // x_grad[i] = out_grad[i] * f'(x[i]). `seen` is x or out, as gradient_reads
  // says.
  void (*gradient)(const T* seen,
                   const T* out_grad,
                   int64_t count,
                   const UnaryParams& params,
                   T* x_grad) = nullptr;
};

struct UnaryRow {
  UnaryInfo info;
  UnaryLoops<float> float32;
  UnaryLoops<double> float64;
  // These have `forward` only; nullptr if the row has no integers.
  UnaryLoops<int8_t> int8;
  UnaryLoops<int32_t> int32;
  UnaryLoops<int64_t> int64;

  template <typename T>
  const UnaryLoops<T>& Loops() const;
};

template <>
inline const UnaryLoops<float>& UnaryRow::Loops() const {
  return float32;
}
template <>
inline const UnaryLoops<double>& UnaryRow::Loops() const {
  return float64;
}
template <>
inline const UnaryLoops<int8_t>& UnaryRow::Loops() const {
  return int8;
}
template <>
inline const UnaryLoops<int32_t>& UnaryRow::Loops() const {
  return int32;
}
template <>
inline const UnaryLoops<int64_t>& UnaryRow::Loops() const {
  return int64;
}

// Returns all rows, which are never freed. Thread-safe.
SLUICE_API std::span<const UnaryRow> UnaryRows();
// Returns nullptr if there is no row of that name.
SLUICE_API const UnaryRow* FindUnaryRow(std::string_view name);

}  // namespace sluice
