#include "sluice/framework/op/op_kernel_context.h"

#include <cstring>
#include <utility>

#include "sluice/framework/op/row_log.h"
#include "sluice/platform/error.h"

namespace sluice {

namespace {
const ArgTable::Entry* Lookup(const std::vector<ArgTable::Entry>& entries,
                              std::string_view name) {
  for (const ArgTable::Entry& entry : entries) {
    if (entry.Is(name)) return &entry;
  }
  return nullptr;
}
}  // namespace

bool OpKernelContext::HasInput(std::string_view name) const {
  return Lookup(table_->inputs, name) != nullptr;
}

bool OpKernelContext::HasOutput(std::string_view name) const {
  return Lookup(table_->outputs, name) != nullptr;
}

std::vector<const Tensor*> OpKernelContext::Inputs(
    std::string_view name) const {
  std::vector<const Tensor*> tensors;
  if (const ArgTable::Entry* entry = Lookup(table_->inputs, name)) {
    tensors.assign(inputs_ + entry->begin,
                   inputs_ + entry->begin + entry->count);
  }
  return tensors;
}

void OpKernelContext::FailFind(std::string_view name) {
  Raise(ErrorCode::kNotFound, "kernel.no_such_argument",
        "the kernel asks for argument {}, which this op does not "
        "have or was not given",
        name);
}

Tensor& OpKernelContext::AllocateUnplanned(int index, const DDim& dims) {
  Tensor& output = *outputs_[index];
  const DDim& planned = table_->output_dims[index];
  bool fits = !planned.rank_known() || planned.rank() == dims.rank();
  for (int axis = 0; fits && axis < planned.rank(); ++axis) {
    fits = planned[axis] < 0 || planned[axis] == dims[axis];
  }
  SLUICE_ENFORCE(fits, ErrorCode::kInternal, "kernel.unplanned_shape",
                 "{}: the kernel allocates output {} as {}, the shape function "
                 "said {}",
                 op(), index, dims, planned);
  output.Resize(dims).mutable_data(table_->output_dtypes[index], place_);
  return output;
}

Tensor& OpKernelContext::UpdateRows(int output,
                                    int input,
                                    std::span<const int64_t> rows) {
  const Tensor& from = Input(input);
  Tensor& to = AllocateOutput(output, from.dims());
  const void* const before = from.raw_data();
  if (std::as_const(to).raw_data() == before) {
    if (run_->changed != nullptr) run_->changed->Save(to, rows);
  } else if (to.bytes() > 0) {
    std::memcpy(to.raw_data(), before, to.bytes());
  }
  return to;
}

Tensor OpKernelContext::AllocateTemp(DType dtype, const DDim& dims) {
  Tensor tensor;
  tensor.Resize(dims).mutable_data(dtype, place_);
  Keep(tensor);
  return tensor;
}

void OpKernelContext::Keep(const Tensor& tensor) {
  if (outer_ != nullptr) return outer_->Keep(tensor);
  if (place_.kind != PlaceKind::kCPU) temporaries_.push_back(tensor);
}

}  // namespace sluice
