#include <algorithm>

#include "sluice/operators/math/movement/gather.h"
#include "sluice/operators/math/movement/scatter_add.h"
#include "sluice/operators/movement/copy_kernel.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Returns the ids. Raises OutOfRange for an id that is no row of W.
template <typename Index>
const Index* ReadIds(const OpKernelContext& context,
                     const Tensor& ids,
                     int64_t rows) {
  const auto* values = ids.data<Index>();
  const int64_t outside = FindOutside(values, ids.numel(), rows);
  SLUICE_ENFORCE(outside < 0, ErrorCode::kOutOfRange, "lookup_table.id_range",
                 "{}: input Ids {} has {} as element {}; expected a row of "
                 "input W, 0 to {}",
                 context.op(), ids.dims(), values[outside], outside, rows - 1);
  return values;
}

template <typename T>
class LookupTableKernel final : public OpKernel {
 public:
  explicit LookupTableKernel(const OpKernelConstruction& construction)
      : padding_(construction.Attr<int64_t>("padding_idx")) {}

  void Prepare(KernelPreparation& preparation) override {
    w_dims_ = preparation.query.inputs[0];
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    VisitIndex(context.Input(1).dtype(),
               [&]<typename Index>() { ComputeWith<Index>(context); });
  }

 private:
  template <typename Index>
  void ComputeWith(OpKernelContext& context) const {
    const Tensor& ids = context.Input(1);
    const Index* index = ReadIds<Index>(context, ids, w_dims_[0]);
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    const int64_t width = w_dims_[1];
    T* rows = out.data<T>();
    Gather(context.Input(0).data<T>(), index, 1, w_dims_[0], ids.numel(),
           static_cast<size_t>(width) * sizeof(T), rows);
    if (padding_ < 0) return;
    for (int64_t i = 0; i < ids.numel(); ++i) {
      if (index[i] == padding_) std::fill_n(rows + i * width, width, T{0});
    }
  }

  int64_t padding_;
  DDim w_dims_;
  DDim out_dims_;
};

template <typename T>
class LookupTableGradKernel final : public OpKernel {
 public:
  explicit LookupTableGradKernel(const OpKernelConstruction& construction)
      : padding_(construction.Attr<int64_t>("padding_idx")) {}

  void Prepare(KernelPreparation& preparation) override {
    w_dims_ = preparation.query.inputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    VisitIndex(context.Input(1).dtype(),
               [&]<typename Index>() { ComputeWith<Index>(context); });
  }

 private:
  template <typename Index>
  void ComputeWith(OpKernelContext& context) const {
    const Tensor& ids = context.Input(1);
    const Index* index = ReadIds<Index>(context, ids, w_dims_[0]);
    Tensor& grad = context.AllocateOutput(0, w_dims_);
    if (grad.numel() == 0) return;
    const int64_t width = w_dims_[1];
    ScatterAdd(context.Input(2).data<T>(), index, 1, w_dims_[0], ids.numel(),
               width, grad.data<T>());
    if (padding_ >= 0) {
      std::fill_n(grad.data<T>() + padding_ * width, width, T{0});
    }
  }

  int64_t padding_;
  DDim w_dims_;
};

template <typename T>
class LookupTableGradRowsKernel final : public CopyKernel<2> {
 public:
  explicit LookupTableGradRowsKernel(const OpKernelConstruction& construction)
      : CopyKernel<2>(construction),
        padding_(construction.Attr<int64_t>("padding_idx")) {}

  void Prepare(KernelPreparation& preparation) override {
    CopyKernel<2>::Prepare(preparation);
    table_rows_ = preparation.query.inputs[0][0];
    rows_dims_ = preparation.query.outputs[1];
  }

  void Compute(OpKernelContext& context) const override {
    CopyKernel<2>::Compute(context);
    VisitIndex(context.Input(1).dtype(), [&]<typename Index>() {
      const Tensor& ids = context.Input(1);
      const Index* index = ReadIds<Index>(context, ids, table_rows_);
      auto* rows = context.AllocateOutput(1, rows_dims_).data<int64_t>();
      std::transform(index, index + ids.numel(), rows, [&](Index id) {
        return id == padding_ ? int64_t{-1} : static_cast<int64_t>(id);
      });
    });
  }

 private:
  int64_t padding_;
  int64_t table_rows_ = 0;
  DDim rows_dims_;
};

// Rows are read, not the whole table.
KernelWork LookupWork(const KernelQuery& query) {
  KernelWork work = DefaultKernelWork(query);
  const auto size = static_cast<double>(SizeOf(query.input_dtypes[0]));
  const auto elements = static_cast<double>(query.outputs[0].numel());
  const auto table = static_cast<double>(query.inputs[0].numel());
  work.bytes += (elements - table) * size;
  return work;
}

}  // namespace

REGISTER_OP_CPU_KERNEL(lookup_table_grad_rows,
                       LookupTableGradRowsKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(lookup_table,
                       EstimatedBy<&LookupWork>,
                       LookupTableKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(lookup_table_grad, LookupTableGradKernel<FloatTypes>);

}  // namespace sluice
