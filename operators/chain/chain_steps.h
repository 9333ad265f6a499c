#pragma once

#include <array>

#include "sluice/framework/plan/graph.h"
#include "sluice/operators/math/chain/chain.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/export.h"

// How a fused op describes the chain of element-wise ops (math/chain/chain.h)
// that it applies to its first output. Attribute `steps` has the names of the
// ops and `numbers` two values a step. The last input, `Operands`, has the
// tensors that the steps read, in order. For each operand, `axes` has the
// dimension of the output that its first dimension is aligned with.
namespace sluice {

// Adds the arguments of a chain to a schema. Its shape function calls
// CheckChain, which raises InvalidArgument unless the steps are known ones and
// numbers, axes and operands fit them and the output's shape.
SLUICE_API void ChainArguments(OpSchema& op);
SLUICE_API void CheckChain(const InferShapeContext& context, const DDim& out);

// Returns the names of the steps; none for an op without that attribute.
SLUICE_API const std::vector<std::string>& StepsOf(const OpDesc& op);

// Whether an op can be a step, and whether such a step reads an operand. A
// `sum` of two inputs counts as an elementwise_add.
SLUICE_API bool CanBeStep(const OpDesc& op);
SLUICE_API bool ReadsOperand(const OpDesc& op);

// Makes `reader`, which reads output `value` of `fused`, the next step of
// `fused`. Returns false and changes nothing if it cannot be a step, if it
// makes the value larger, or if its operand's broadcast has short rows or
// cannot be expressed by ChainOperand.
SLUICE_API bool AppendChainStep(const Graph& graph,
                                const std::string& value,
                                const OpDesc& reader,
                                OpDesc* fused);

// Returns the chain of an op without its first `skipped` steps, which are
// unary.
template <typename T>
SLUICE_API Chain<T> ReadChain(const KernelQuery& query, size_t skipped = 0);

// Returns the data of `count` operands, which begin at input `first`. Allocates
// nothing.
template <typename T>
std::array<const T*, kMaxChainOperands> ChainOperandsOf(
    const OpKernelContext& context, size_t first, size_t count) {
  std::array<const T*, kMaxChainOperands> operands = {};
  for (size_t i = 0; i < count; ++i) {
    operands[i] = context.Input(static_cast<int>(first + i)).template data<T>();
  }
  return operands;
}

// Returns the bytes that the chain reads besides the output, which is still in
// a cache. 0 without a chain.
SLUICE_API double OperandBytes(const KernelQuery& query);

// A step as an op of its own.
struct ChainOp {
  std::string type;
  AttributeMap attributes;
  int operand = -1;  // index in Operands of its Y; -1 for none
};
SLUICE_API std::vector<ChainOp> ChainOps(const OpDesc& op);

}  // namespace sluice
