#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sluice/operators/math/binary/binary_row.h"
#include "sluice/operators/math/unary/unary_row.h"
#include "sluice/platform/export.h"

// Chains of element-wise ops, computed in one pass: each step processes a block
// of elements that is still in the first-level cache.
namespace sluice {

// The name of a step's op and the values of its attributes. The op is a row of
// the unary tables with the row's attributes; scale (Out = X * numbers[0] +
// numbers[1]); clip (to numbers[0] .. numbers[1]); or a row of the binary
// tables, whose Y is an operand.
struct ChainStep {
  std::string op;
  UnaryParams numbers = {};
};

// The limits of one chain. Passes split longer ones into several chains, so
// that the ops of a plan stay readable.
inline constexpr size_t kMaxChainSteps = 16;
inline constexpr size_t kMaxChainOperands = 8;

// The broadcast of an operand: element i of the chain reads its element (i /
// inner) % size. An operand of the chain's shape has inner = 1, a single
// element size = 1.
struct ChainOperand {
  int64_t inner = 1;
  int64_t size = 1;
};

// Whether an op of that name can be a step on floats, and whether such a step
// reads an operand.
SLUICE_API bool IsChainStep(std::string_view op);
SLUICE_API bool HasOperand(std::string_view op);

// The type that elements of T are computed in.
template <typename T>
using ChainValue = std::conditional_t<std::is_same_v<T, double>, double, float>;

// T is float, double, float16 or bfloat16. The half types are computed in float
// and rounded once, at the end. Results for float and double have the bits that
// the separate ops compute. Immutable, so that many threads may run it.
template <typename T>
class SLUICE_API Chain {
 public:
  Chain() = default;
  // `operands` belong to the steps that read one, in order. Raises Internal for
  // an unknown step, a wrong number of operands, or too many operands.
  Chain(const std::vector<ChainStep>& steps,
        std::vector<ChainOperand> operands);

  bool empty() const { return steps_.empty(); }
  size_t operands() const { return operands_.size(); }
  // Computes elements [0, count) through ParallelFor. `out` may be x.
  void Run(const T* x,
           std::span<const T* const> operands,
           int64_t count,
           T* out) const;
  // Computes elements [begin, begin + count) on the calling thread. x, the
  // operands and `out` point to whole tensors.
  void RunPart(const T* x,
               std::span<const T* const> operands,
               int64_t begin,
               int64_t count,
               T* out) const;

 private:
  using C = ChainValue<T>;
  struct Step {
    decltype(UnaryLoops<C>::forward) unary = nullptr;  // null: `binary` is used
    BinaryLoops binary;
    UnaryParams numbers = {};
  };

  void RunSteps(const C* x,
                std::span<const T* const> operands,
                int64_t begin,
                int64_t count,
                C* out) const;
  void RunBinary(const BinaryLoops& loops,
                 const ChainOperand& operand,
                 const T* y,
                 const C* x,
                 int64_t begin,
                 int64_t count,
                 C* out) const;

  std::vector<Step> steps_;
  std::vector<ChainOperand> operands_;
};

// A chain and its operands, for loops that apply it to pieces of their output
// while these are in the first-level cache.
template <typename T>
struct OutputChain {
  const Chain<T>* chain = nullptr;  // nullptr: values stay unchanged
  std::span<const T* const> operands;

  void Apply(int64_t begin, int64_t count, T* output) const {
    if (chain == nullptr) return;
    chain->RunPart(output, operands, begin, count, output);
  }
};

}  // namespace sluice
