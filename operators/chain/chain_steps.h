#pragma once

#include <array>
#include <string>
#include <vector>

#include "sluice/framework/op/op_kernel.h"
#include "sluice/framework/plan/graph.h"
#include "sluice/operators/math/chain/chain.h"
#include "sluice/platform/export.h"

// Ops that passes make and that apply a chain of element-wise ops
// (math/chain/chain.h) to their first output: how they say it. Attribute
// `steps` has the names of the ops, `numbers` two values a step; the input
// `Operands`, which is the op's last one, the tensors that steps read, in
// order; `axes` the dimension of the output under which the first one of each
// operand stands.
namespace sluice::operators {

// Adds the attributes and the input to a schema.
SLUICE_API void ChainArguments(framework::OpSchema& op);

// The names of the steps; none for an op without that attribute.
SLUICE_API const std::vector<std::string>& StepsOf(const framework::OpDesc& op);

// Whether an op can be a step, and whether it reads an operand then. A sum of
// two is an elementwise_add.
SLUICE_API bool CanBeStep(const framework::OpDesc& op);
SLUICE_API bool ReadsOperand(const framework::OpDesc& op);

// Makes `reader` the next step of `fused`, whose output `value` it reads.
// False, and nothing changes, where it is none: it is no such op, it makes the
// value larger, or it has an operand that repeats in another way than
// ChainOperand can say, or in short rows.
SLUICE_API bool AppendChainStep(const framework::Graph& graph,
                                const std::string& value,
                                const framework::OpDesc& reader,
                                framework::OpDesc* fused);

// The chain of an op without its first `skipped` steps, which are unary. Raises
// Internal where attributes and operands contradict each other.
template <typename T>
SLUICE_API math::Chain<T> ReadChain(const framework::KernelQuery& query,
                                    size_t skipped = 0);

// The elements of Operands, `count` inputs from input `first` on. It allocates
// nothing.
template <typename T>
std::array<const T*, math::kMaxChainOperands> ChainOperandsOf(
    const framework::OpKernelContext& context, size_t first, size_t count) {
  std::array<const T*, math::kMaxChainOperands> operands = {};
  for (size_t i = 0; i < count; ++i) {
    operands[i] = context.Input(static_cast<int>(first + i)).template data<T>();
  }
  return operands;
}

// What the chain reads beside the output, which was written just before and
// still is in a cache. 0 for no chain.
SLUICE_API double OperandBytes(const framework::KernelQuery& query);

// The steps as ops by themselves.
struct ChainOp {
  std::string type;
  framework::AttributeMap attributes;
  int operand = -1;  // which of Operands its Y is; -1 for none
};
SLUICE_API std::vector<ChainOp> ChainOps(const framework::OpDesc& op);

}  // namespace sluice::operators
