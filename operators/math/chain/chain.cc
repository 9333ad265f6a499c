#include "sluice/operators/math/chain/chain.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sluice/operators/math/elementwise.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/platform/error.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

constexpr int64_t kChainGrain = 16384;
// A block and an operand's block fit into the first-level cache.
constexpr int64_t kBlock = 1024;

template <typename C>
void Scale(const C* x, int64_t count, const UnaryParams& numbers, C* out) {
  ScaleContiguous(x, static_cast<C>(numbers[0]), static_cast<C>(numbers[1]),
                  count, out);
}

template <typename C>
void Clip(const C* x, int64_t count, const UnaryParams& numbers, C* out) {
  const auto min = static_cast<C>(numbers[0]);
  const auto max = static_cast<C>(numbers[1]);
  for (int64_t i = 0; i < count; ++i) {
    // Both comparisons are false for NaN, which is kept.
    const C above = x[i] < min ? min : x[i];
    out[i] = above > max ? max : above;
  }
}

template <typename C>
decltype(UnaryLoops<C>::forward) FindUnary(std::string_view op) {
  if (op == "scale") return &Scale<C>;
  if (op == "clip") return &Clip<C>;
  const UnaryRow* row = FindUnaryRow(op);
  return row == nullptr ? nullptr : row->Loops<C>().forward;
}

const BinaryLoops* FindBinary(std::string_view op, DType dtype) {
  const BinaryRow* row = FindBinaryRow(op);
  if (row == nullptr || row->info.result != BinaryResult::kSame) return nullptr;
  const BinaryLoops& loops = row->Of(dtype).forward;
  return loops.both == nullptr ? nullptr : &loops;
}

// Returns `count` elements of x, at most kBlock, in the type for computation.
template <typename T>
const ChainValue<T>* Widened(const T* x, int64_t count, ChainValue<T>* buffer) {
  if constexpr (std::is_same_v<T, ChainValue<T>>) {
    return x;
  } else {
    std::transform(x, x + count, buffer, &Widen<T>);
    return buffer;
  }
}

}  // namespace

bool HasOperand(std::string_view op) {
  return FindBinary(op, DType::kFloat32) != nullptr;
}

bool IsChainStep(std::string_view op) {
  return FindUnary<float>(op) != nullptr || HasOperand(op);
}

template <typename T>
Chain<T>::Chain(const std::vector<ChainStep>& steps,
                std::vector<ChainOperand> operands)
    : operands_(std::move(operands)) {
  size_t wanted = 0;
  for (const ChainStep& step : steps) {
    Step& made = steps_.emplace_back();
    made.numbers = step.numbers;
    made.unary = FindUnary<C>(step.op);
    if (made.unary != nullptr) continue;
    const BinaryLoops* binary = FindBinary(step.op, kDTypeOf<C>);
    SLUICE_ENFORCE(binary != nullptr, ErrorCode::kInternal, "chain.step",
                   "{} is no step of a chain", step.op);
    made.binary = *binary;
    ++wanted;
  }
  SLUICE_ENFORCE(operands_.size() == wanted && wanted <= kMaxChainOperands,
                 ErrorCode::kInternal, "chain.operands",
                 "the steps of a chain read {} operands, at most {}, got {}",
                 wanted, kMaxChainOperands, operands_.size());
}

template <typename T>
void Chain<T>::Run(const T* x,
                   std::span<const T* const> operands,
                   int64_t count,
                   T* out) const {
  ParallelFor(count, kChainGrain, [&](int64_t begin, int64_t end) {
    RunPart(x, operands, begin, end - begin, out);
  });
}

template <typename T>
void Chain<T>::RunPart(const T* x,
                       std::span<const T* const> operands,
                       int64_t begin,
                       int64_t count,
                       T* out) const {
  const int64_t end = begin + count;
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t block = std::min(end - at, kBlock);
    if constexpr (std::is_same_v<T, C>) {
      RunSteps(x + at, operands, at, block, out + at);
    } else {
      std::array<C, kBlock> values;
      Widened(x + at, block, values.data());
      RunSteps(values.data(), operands, at, block, values.data());
      std::transform(values.data(), values.data() + block, out + at,
                     &Narrow<T>);
    }
  }
}

template <typename T>
void Chain<T>::RunSteps(const C* x,
                        std::span<const T* const> operands,
                        int64_t begin,
                        int64_t count,
                        C* out) const {
  size_t operand = 0;
  for (const Step& step : steps_) {
    if (step.unary != nullptr) {
      step.unary(x, count, step.numbers, out);
    } else {
      RunBinary(step.binary, operands_[operand], operands[operand], x, begin,
                count, out);
      ++operand;
    }
    x = out;
  }
}

template <typename T>
void Chain<T>::RunBinary(const BinaryLoops& loops,
                         const ChainOperand& operand,
                         const T* y,
                         const C* x,
                         int64_t begin,
                         int64_t count,
                         C* out) const {
  std::array<C, kBlock> buffer;
  const int64_t end = begin + count;
  while (begin < end) {
    const int64_t at = begin / operand.inner % operand.size;
    int64_t length = end - begin;
    if (operand.inner == 1 && operand.size > 1) {
      length = std::min(length, operand.size - at);
      loops.both(x, Widened(y + at, length, buffer.data()), length, out);
    } else {
      if (operand.size > 1) {
        length = std::min(length, operand.inner - begin % operand.inner);
      }
      loops.right(x, Widened(y + at, 1, buffer.data()), length, out);
    }
    begin += length;
    x += length;
    out += length;
  }
}

template class SLUICE_API Chain<float>;
template class SLUICE_API Chain<double>;
template class SLUICE_API Chain<float16>;
template class SLUICE_API Chain<bfloat16>;

}  // namespace sluice
