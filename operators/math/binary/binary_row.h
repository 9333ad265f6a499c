#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

// The tables of binary ops, Out = f(X, Y) element by element, with X and Y
// repeated to a common shape: what one row says, and where to find the rows.
// The rows themselves, with their formulas, are in the *.inc files of this
// folder; design/adding_an_op.md says how to add one.
namespace sluice::operators::math {

// The dtypes of X and Y. float16 and bfloat16 are computed in float and rounded
// once.
enum class BinaryDTypes : uint8_t {
  kFloats,
  kNumbers,   // all but bool
  kIntegers,  // signed and uint8
  kBool,
  kAll,
};

// The dtype of Out: that of X and Y, or bool.
enum class BinaryResult : uint8_t { kSame, kBool };

// What an operand's gradient is before it is summed over what was repeated.
enum class BinaryTerm : uint8_t {
  kNone,      // the op has no gradient
  kSame,      // Out@GRAD
  kNegated,   // -Out@GRAD
  kComputed,  // what the row's formula says
};

// Whose elements the gradients read, besides those of Out@GRAD.
struct BinaryReads {
  bool x = false;
  bool y = false;
  bool out = false;
};

// Where examples and tests take an operand's floats from. Integers are small;
// what says otherwise is for them, too.
enum class BinaryDomain : uint8_t {
  kAnywhere,
  kNotZero,      // far from 0, compared with steps of derivatives
  kPositive,     // at least 1/2
  kWide,         // up to 5 to both sides of 0
  kBeyondOne,    // 1 to 2.5 to both sides of 0
  kFewIntegers,  // 0 to 3 where they are integers
};

struct BinaryInfo {
  const char* name;
  const char* doc;                // "Out = X + Y", without a full stop
  const char* note = "";          // further sentences
  const char* gradient_doc = "";  // "that of Out for both"
  BinaryDTypes dtypes = BinaryDTypes::kNumbers;
  BinaryResult result = BinaryResult::kSame;
  BinaryTerm x_term = BinaryTerm::kNone;
  BinaryTerm y_term = BinaryTerm::kNone;
  BinaryReads gradient_reads = {};
  BinaryDomain x_domain = BinaryDomain::kAnywhere;
  BinaryDomain y_domain = BinaryDomain::kAnywhere;
  // The largest error of a float32 or float64 result, in units in the last
  // place; 0: rounded exactly. Gradients may have so many times the tolerance
  // of the harness.
  double units = 0;
  double gradient_slack = 1;
  // f(x, y) and its derivatives, written independently of the formulas, to test
  // them with. Integers wrap around afterwards.
  double (*reference)(double x, double y);
  double (*x_derivative)(double x, double y) = nullptr;
  double (*y_derivative)(double x, double y) = nullptr;
  // The op of ONNX that computes the same, and the expression in X and Y that
  // does in PyTorch; "" for none.
  const char* onnx = "";
  const char* torch = "";

  constexpr bool differentiable() const { return x_term != BinaryTerm::kNone; }
};

// The loops of a row for one dtype, on the calling thread; those of arithmetic
// with the best instruction set that the CPU has. Results may be written where
// an input of their size is, which they must not overlap otherwise. Where an
// element stands does not change its bits.
//   both:  out[i] = f(x[i], y[i])
//   left:  out[i] = f(x[0], y[i])
//   right: out[i] = f(x[i], y[0])
template <typename Loop>
struct LoopsOfTwo {
  Loop both = nullptr;
  Loop left = nullptr;
  Loop right = nullptr;
};
using BinaryLoops = LoopsOfTwo<void (*)(
    const void* x, const void* y, int64_t count, void* out)>;
// What an operand's gradient is the sum of. Inputs that gradient_reads leaves
// out are not looked at.
using BinaryGradLoops = LoopsOfTwo<void (*)(const void* out_grad,
                                            const void* x,
                                            const void* y,
                                            const void* out,
                                            int64_t count,
                                            void* terms)>;

// Functions for one dtype. Others than ComputedDType(dtype)
// (broadcast_binary.h) have none.
struct BinaryFunctions {
  BinaryLoops forward;
  BinaryGradLoops x_terms;
  BinaryGradLoops y_terms;
};

struct BinaryRow {
  BinaryInfo info;
  std::array<BinaryFunctions, platform::kDTypeNumbers> functions;  // by DType

  template <typename T>
  BinaryFunctions& Of() {
    return functions[static_cast<size_t>(platform::kDTypeOf<T>)];
  }
  const BinaryFunctions& Of(platform::DType dtype) const {
    return functions[static_cast<size_t>(dtype)];
  }
};

// All rows; they live as long as the process. Thread-safe.
SLUICE_API std::span<const BinaryRow> BinaryRows();
// nullptr where there is none of that name.
SLUICE_API const BinaryRow* FindBinaryRow(std::string_view name);

}  // namespace sluice::operators::math
