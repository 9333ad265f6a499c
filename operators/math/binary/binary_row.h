#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "sluice/platform/dtype.h"
#include "sluice/platform/export.h"

// The tables of binary ops, Out = f(X, Y) element by element, with X and Y
// broadcast to a common shape. This header declares the fields of a row and the
// tables. The rows and their formulas are in the *.inc files of this folder;
// docs/adding_an_op.md says how to add one.
namespace sluice {

// The dtypes of X and Y. float16 and bfloat16 are computed in float32 and
// rounded once.
enum class BinaryDTypes : uint8_t {
  kFloats,
  kNumbers,   // all but bool
  kIntegers,  // signed and uint8
  kBool,
  kAll,
};

// The dtype of Out: that of X and Y, or bool.
enum class BinaryResult : uint8_t { kSame, kBool };

// An operand's gradient before the sum over its broadcast dims.
enum class BinaryTerm : uint8_t {
  kNone,      // the op has no gradient
  kSame,      // Out@GRAD
  kNegated,   // -Out@GRAD
  kComputed,  // the row's formula
};

// The tensors that the gradients read besides Out@GRAD.
struct BinaryReads {
  bool x = false;
  bool y = false;
  bool out = false;
};

// The range of an operand's floats in examples and tests. Integers are small.
// Only the last two domains change integers, too.
enum class BinaryDomain : uint8_t {
  kAnywhere,
  kNotZero,      // far from 0, in steps of numerical derivatives
  kPositive,     // at least 1/2
  kWide,         // -5 to 5
  kBeyondOne,    // 1 to 2.5 or -2.5 to -1
  kFewIntegers,  // 0 to 3 for integers
  kShare,        // 0 to 1
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
  // place. 0 means that it is rounded exactly. `gradient_slack` multiplies the
  // test harness's tolerance for gradients.
  double units = 0;
  double gradient_slack = 1;
  // f(x, y) and its derivatives, written independently of the formulas, to test
  // them. For integers the result is wrapped around afterwards.
  double (*reference)(double x, double y);
  double (*x_derivative)(double x, double y) = nullptr;
  double (*y_derivative)(double x, double y) = nullptr;
  // The ONNX op that computes the same, and the PyTorch expression in X and Y
  // that does; "" for none.
  const char* onnx = "";
  const char* torch = "";
  // What the op is listed and drawn with (OpSchema::Family); "": the rest of
  // the table.
  const char* family = "";
  const char* short_name = "";  // OpSchema::ShortName

  constexpr bool differentiable() const { return x_term != BinaryTerm::kNone; }
};

// The loops of a row for one dtype. They run on the calling thread, those of
// arithmetic with the best instruction set of the CPU. Results may overwrite an
// input of their size but must not overlap inputs otherwise. The bits of an
// element do not depend on its position.
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
// The terms whose sum is an operand's gradient. Inputs that are not in
// gradient_reads are not accessed.
using BinaryGradLoops = LoopsOfTwo<void (*)(const void* out_grad,
                                            const void* x,
                                            const void* y,
                                            const void* out,
                                            int64_t count,
                                            void* terms)>;

// Functions for one dtype. They are null unless ComputedDType(dtype)
// (broadcast_binary.h) is `dtype`.
struct BinaryFunctions {
  BinaryLoops forward;
  BinaryGradLoops x_terms;
  BinaryGradLoops y_terms;
};

struct BinaryRow {
  BinaryInfo info;
  std::array<BinaryFunctions, kDTypeNumbers> functions;  // by DType

  template <typename T>
  BinaryFunctions& Of() {
    return functions[static_cast<size_t>(kDTypeOf<T>)];
  }
  const BinaryFunctions& Of(DType dtype) const {
    return functions[static_cast<size_t>(dtype)];
  }
};

// Returns all rows, which are never freed. Thread-safe.
SLUICE_API std::span<const BinaryRow> BinaryRows();
// Returns nullptr if there is no row of that name.
SLUICE_API const BinaryRow* FindBinaryRow(std::string_view name);

}  // namespace sluice
