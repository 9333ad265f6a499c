#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/math/work.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

class TransposeKernel final : public OpKernel {
 public:
  explicit TransposeKernel(const OpKernelConstruction& construction)
      : axes_(construction.Attr<std::vector<int64_t>>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    using Strides = StridedCopy::Strides;
    out_dims_ = preparation.query.outputs[0];
    const Strides x = RowMajorStrides(preparation.query.inputs[0]);
    Strides from{};
    for (size_t i = 0; i < axes_.size(); ++i) {
      from[i] = x[axes_[i]];
    }
    copy_ = StridedCopy(out_dims_, from, RowMajorStrides(out_dims_),
                        SizeOf(preparation.query.input_dtypes[0]));
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    copy_(context.Input(0).raw_data(), out.raw_data());
  }

 private:
  std::vector<int64_t> axes_;
  DDim out_dims_;
  StridedCopy copy_;
};

// Contiguous runs are copied whole, otherwise single elements. Rows that map to
// few sets of the first-level cache are loaded several times.
KernelWork Work(const KernelQuery& query) {
  const DDim& x = query.inputs[0];
  const auto& axes = query.Attr<Ints>("axis");
  const auto elements = static_cast<double>(x.numel());
  KernelWork work = DefaultKernelWork(query);
  const auto last = static_cast<int64_t>(axes.size()) - 1;
  if (axes.empty() || elements == 0) return work;
  if (axes.back() == last) {
    work.runs = elements / static_cast<double>(x[x.rank() - 1]);
  } else {
    const int64_t bytes =
        x[x.rank() - 1] * static_cast<int64_t>(SizeOf(query.input_dtypes[0]));
    work.moves = elements;
    work.aliased = elements * AliasedReads(bytes);
  }
  return work;
}

}  // namespace

REGISTER_OP_CPU_KERNEL(transpose, EstimatedBy<&Work>, TransposeKernel);

}  // namespace sluice
