#include <algorithm>

#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/ragged/sequences.h"

namespace sluice {
namespace {

// Calls visit(i, place in [B, columns]) for each update.
template <typename Visit>
void ForEachUpdate(const OpKernelContext& context,
                   int64_t columns,
                   int64_t updates,
                   const Visit& visit) {
  const Tensor& ids = context.Input("Ids");
  const Sequences cut =
      CheckedSequences(context, context.Input("Offsets"), ids.dims()[0], "Ids");
  SLUICE_ENFORCE(cut.rows() <= updates, ErrorCode::kInvalidArgument,
                 "sequence_scatter.fewer_updates",
                 "{}: Offsets end at {}; Updates has {} elements", context.op(),
                 cut.rows(), updates);
  VisitIndex(ids.dtype(), [&]<typename S>() {
    const S* at = ids.data<S>();
    for (int64_t b = 0; b < cut.count; ++b) {
      for (int64_t i = cut.begin(b); i < cut.end(b); ++i) {
        SLUICE_ENFORCE(at[i] >= 0 && at[i] < columns, ErrorCode::kOutOfRange,
                       "sequence_scatter.id",
                       "{}: Ids[{}] = {}; expected 0 to {}, the columns of X",
                       context.op(), i, at[i], columns - 1);
        visit(i, b * columns + at[i]);
      }
    }
  });
}

template <typename T>
class SequenceScatterKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    Tensor& out = context.AllocateOutput(0, x.dims());
    T* to = out.data<T>();
    std::copy_n(x.data<T>(), x.numel(), to);
    const Tensor& given = context.Input("Updates");
    const T* updates = given.data<T>();
    ForEachUpdate(context, x.dims()[1], given.numel(),
                  [&](int64_t i, int64_t at) { to[at] += updates[i]; });
  }
};

template <typename T>
class SequenceScatterGradKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    updates_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& grad = context.AllocateOutput(0, updates_);
    FillZero(grad.raw_data(), grad.bytes());
    T* to = grad.data<T>();
    const Tensor& out_grad = context.Input("Out@GRAD");
    const T* from = out_grad.data<T>();
    ForEachUpdate(context, out_grad.dims()[1], grad.numel(),
                  [&](int64_t i, int64_t at) { to[i] = from[at]; });
  }

 private:
  DDim updates_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(sequence_scatter, SequenceScatterKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(sequence_scatter_grad,
                       SequenceScatterGradKernel<FloatTypes>);

}  // namespace sluice
