#include "sluice/operators/sequence/discriminative_loss_kernel.h"

#include "sluice/operators/registration.h"
#include "sluice/operators/sequence/embedding_mask_kernel.h"

namespace sluice {
namespace {

template <typename T, bool kGradient>
class DiscriminativeLossKernelOf : public OpKernel {
 public:
  explicit DiscriminativeLossKernelOf(const OpKernelConstruction& construction)
      : params_(DiscriminativeLossParamsOf(construction)) {}

  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
    sizes_ = EmbeddingMaskSizesOf(preparation.query.inputs[0],
                                  preparation.query.inputs[1]);
    preparation.scratch_bytes = DiscriminativeLossScratch(sizes_);
  }

  void Compute(OpKernelContext& context) const override {
    WithEmbeddingRuns(context, sizes_.y, [&](const auto* runs) {
      Tensor& out = context.AllocateOutput(0, dims_);
      if (out.numel() == 0) return;
      const auto* embedding =
          static_cast<const T*>(context.Input("Embedding").raw_data());
      auto* scratch = static_cast<double*>(context.scratch());
      if constexpr (kGradient) {
        DiscriminativeLossGradient(embedding, runs, sizes_, params_,
                                   context.Input("Loss@GRAD").data<T>(),
                                   scratch, out.data<T>());
      } else {
        DiscriminativeLoss(embedding, runs, sizes_, params_, scratch,
                           out.data<T>());
      }
    });
  }

 private:
  const DiscriminativeLossParams params_;
  DDim dims_;
  EmbeddingMaskSizes sizes_{};
};

template <typename T>
class DiscriminativeLossKernel final
    : public DiscriminativeLossKernelOf<T, false> {
  using DiscriminativeLossKernelOf<T, false>::DiscriminativeLossKernelOf;
};
template <typename T>
class DiscriminativeLossGradKernel final
    : public DiscriminativeLossKernelOf<T, true> {
  using DiscriminativeLossKernelOf<T, true>::DiscriminativeLossKernelOf;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(discriminative_loss,
                       DiscriminativeLossKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(discriminative_loss_grad,
                       DiscriminativeLossGradKernel<FloatTypes>);

}  // namespace sluice
