#include "sluice/operators/indexing/index_kernel.h"

#include "sluice/operators/math/indexing/index_text.h"
#include "sluice/operators/registration.h"

namespace sluice {

void IndexKernel::Prepare(KernelPreparation& preparation) {
  const KernelQuery& query = preparation.query;
  x_dims_ = query.inputs[0];
  out_dims_ = query.outputs[0];
  plan_ = IndexPlanOf(query, x_dims_, query.inputs[1]);
  if (query.schema.FindAttr("axis") != nullptr) {
    const auto axis = query.Attr<int64_t>("axis");
    first_dim_ = static_cast<int>(axis < 0 ? axis + x_dims_.rank() : axis);
  } else if (query.schema.FindAttr("batch_dims") != nullptr) {
    first_dim_ = static_cast<int>(query.Attr<int64_t>("batch_dims"));
  }
  preparation.scratch_bytes =
      static_cast<size_t>(plan_.count) * sizeof(int64_t);
}

const int64_t* IndexKernel::Places(const OpKernelContext& context) const {
  const Tensor& index = context.Input(1);
  auto* places = static_cast<int64_t*>(context.scratch());
  if (index.dtype() == DType::kInt32) {
    const auto* values = index.data<int32_t>();
    const int64_t outside = FindPlaces(plan_, values, places);
    if (outside >= 0) RaiseOutside(context, outside, values[outside]);
  } else {
    const auto* values = index.data<int64_t>();
    const int64_t outside = FindPlaces(plan_, values, places);
    if (outside >= 0) RaiseOutside(context, outside, values[outside]);
  }
  return places;
}

void* IndexKernel::MoreScratch(const OpKernelContext& context) const {
  return static_cast<int64_t*>(context.scratch()) + plan_.count;
}

void IndexKernel::RaiseOutside(const OpKernelContext& context,
                               int64_t position,
                               int64_t value) const {
  const auto k = static_cast<int>(position % plan_.named);
  Raise(ErrorCode::kOutOfRange, "indexing.range_at_run",
        "{}: input Index[{}] = {} is outside of {}, dim {} of input "
        "X {}",
        context.op(), Coordinates(position, context.Input(1).dims()), value,
        IndexRange(plan_.dims[k]), first_dim_ + k, x_dims_);
}

}  // namespace sluice
