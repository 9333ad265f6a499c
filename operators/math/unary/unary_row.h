#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "sluice/platform/export.h"

// The table of unary ops, Out[i] = f(X[i]): what one row says, and where to
// find the rows. The rows themselves, with their formulas, are in the *.inc
// files of this folder; design/adding_an_op.md says how to add one.
namespace sluice::operators::math {

// The values of a row's attributes, in the row's order.
using UnaryParams = std::array<double, 2>;

struct UnaryAttr {
  const char* name = nullptr;  // nullptr: the row has no such attribute
  const char* doc = nullptr;
  double default_value = 0;
  const char* onnx = nullptr;  // its name in ONNX; nullptr: the same
  bool is_bool = false;        // the user gives true or false
};

// The dtypes of X and Out: the floats, or signed integers, too. float16 and
// bfloat16 are computed in float and rounded once.
enum class UnaryDTypes : uint8_t { kFloats, kSignedNumbers };

// What the gradient op reads besides Out@GRAD.
enum class GradientReads : uint8_t { kX, kOut };

// Where examples and tests take X from.
enum class Domain : uint8_t {
  kAnywhere,
  kNotZero,      // far from 0, compared with steps of derivatives
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
  // place; 0: rounded exactly. Results smaller than `scale` have units of it.
  double units = 4;
  double scale = 0;
  // f(x) and its derivative in terms of what the gradient reads: written
  // independently of the formulas, to test them with.
  double (*reference)(double x, const UnaryParams& params);
  double (*derivative)(double x_or_out, const UnaryParams& params);
  // The op of ONNX that computes the same, and the expression in X and the
  // attributes that does in PyTorch; "" for none.
  const char* onnx = "";
  const char* torch = "";
};

// The loops of a row for one dtype, on the calling thread, with the best
// instruction set that the CPU has. `out` may be an input itself, but not
// overlap it otherwise. Where an element stands does not change its bits.
template <typename T>
struct UnaryLoops {
  // out[i] = f(x[i]).
  void (*forward)(const T* x,
                  int64_t count,
                  const UnaryParams& params,
                  T* out) = nullptr;
  // x_grad[i] = out_grad[i] * f'(x[i]); `seen` is x or out, as gradient_reads
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
  // forward only; nullptr where the row has no integers.
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

// All rows; they live as long as the process. Thread-safe.
SLUICE_API std::span<const UnaryRow> UnaryRows();
// nullptr where there is none of that name.
SLUICE_API const UnaryRow* FindUnaryRow(std::string_view name);

}  // namespace sluice::operators::math
