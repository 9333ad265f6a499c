#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/framework/op/op_desc.h"
#include "sluice/framework/program/block_ops.h"
#include "sluice/framework/values/tensor.h"
#include "sluice/platform/error.h"

// Values that block ops take apart and put together, on the CPU.
namespace sluice {

// The outer, axis and inner size of `dims` at axis `at`; a negative one counts
// from the end.
struct AxisView {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
  int axis = 0;

  AxisView(const DDim& dims, int64_t at);
};

// Returns element `index` of `whole` along an axis: a view for the first axis.
Tensor SliceOf(const Tensor& whole, int64_t axis, int64_t index);

// Copies element `index` of `whole` along an axis to the memory of `part`.
void GetSlice(const Tensor& whole, int64_t axis, int64_t index, Tensor* part);

// Which of `size` elements of sequence k iteration `i` of at most `trips` gets.
inline int64_t SequenceIndex(
    const LoopBlock& loop, size_t k, int64_t i, int64_t trips, int64_t size) {
  const int64_t reversed =
      loop.sequence_reversed.empty() ? 0 : loop.sequence_reversed[k];
  return reversed == 0 ? i : (reversed == 1 ? size : trips) - 1 - i;
}

// Copies `part` to element `index` of `whole` along an axis.
void SetSlice(const Tensor& part, int64_t axis, int64_t index, Tensor* whole);

// The shape of `count` parts of shape `each`, stacked along a new axis. Unknown
// sizes of `each` become 0.
DDim StackedDims(const DDim& each, int64_t axis, int64_t count);

// Stacks `parts` along a new axis; without parts, `each` has the dims of one.
Tensor Stack(const std::vector<Tensor>& parts,
             const VarDesc& each,
             int64_t axis,
             bool reversed);

// Returns `whole` with zeros appended along an axis, `count` elements in all.
Tensor Extended(const Tensor& whole, int64_t axis, int64_t count);

// Sets all elements of `whole` along an axis from `first` on to zero.
void ClearSlices(int64_t axis, int64_t first, Tensor* whole);

// Raises ResourceExhausted if a loop may not begin another iteration.
void CheckLoopLimit(const std::string& op,
                    int64_t iteration,
                    const LoopBlock& loop);

template <typename T>
T OneElement(const Tensor& tensor, const std::string& op, const char* input) {
  SLUICE_ENFORCE(tensor.numel() == 1, ErrorCode::kInvalidArgument,
                 "block_op.value", "{}: input {} must have one element, got {}",
                 op, input, tensor);
  return tensor.data<T>()[0];
}

}  // namespace sluice
