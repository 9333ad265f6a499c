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

// Element-wise ops one after the other, computed in one pass: each step works
// on a block of elements that is still in the first-level cache.
namespace sluice::operators::math {

// What an op of a chain is called, and the values of its attributes: a row of
// the unary tables with the row's attributes; scale (Out = X * numbers[0] +
// numbers[1]); clip (to numbers[0] .. numbers[1]); or a row of the binary
// tables, which reads an operand as its Y.
struct ChainStep {
  std::string op;
  UnaryParams numbers = {};
};

// A chain has at most so many steps and operands: passes make several of what
// is longer, so that one part of a plan is still easy to look at.
inline constexpr size_t kMaxChainSteps = 16;
inline constexpr size_t kMaxChainOperands = 8;

// Which element of an operand meets element i of the chain:
// (i / inner) % size. An operand of the chain's own shape has inner = 1, one of
// a single element size = 1.
struct ChainOperand {
  int64_t inner = 1;
  int64_t size = 1;
};

// Whether an op of that name can be a step on floats, and whether it reads an
// operand then.
SLUICE_API bool IsChainStep(std::string_view op);
SLUICE_API bool HasOperand(std::string_view op);

// What a T is computed in.
template <typename T>
using ChainValue = std::conditional_t<std::is_same_v<T, double>, double, float>;

// T is float, double, float16 or bfloat16. Halves are computed in float and
// rounded once, at the end; the results for float and double are those of the
// ops themselves, bit for bit. Immutable, so many threads may run one.
template <typename T>
class SLUICE_API Chain {
 public:
  Chain() = default;
  // `operands` are those of the steps that have one, in order. Raises Internal
  // for a step that is none, another number of operands, or too many.
  Chain(const std::vector<ChainStep>& steps,
        std::vector<ChainOperand> operands);

  bool empty() const { return steps_.empty(); }
  size_t operands() const { return operands_.size(); }
  // The elements [0, count) of a tensor, through ParallelFor. `out` may be x.
  void Run(const T* x,
           std::span<const T* const> operands,
           int64_t count,
           T* out) const;
  // The elements [begin, begin + count), on the calling thread. x, the operands
  // and `out` are those of the whole tensor.
  void RunPart(const T* x,
               std::span<const T* const> operands,
               int64_t begin,
               int64_t count,
               T* out) const;

 private:
  using C = ChainValue<T>;
  struct Step {
    decltype(UnaryLoops<C>::forward) unary = nullptr;  // or else
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

// A chain and its operands, for loops that apply it to parts of their output
// which are still in the first-level cache.
template <typename T>
struct OutputChain {
  const Chain<T>* chain = nullptr;  // none: values stay as they are
  std::span<const T* const> operands;

  void Apply(int64_t begin, int64_t count, T* output) const {
    if (chain == nullptr) return;
    chain->RunPart(output, operands, begin, count, output);
  }
};

}  // namespace sluice::operators::math
