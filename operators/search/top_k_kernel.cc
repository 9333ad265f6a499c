#include "sluice/operators/math/search/top_k.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

template <typename T>
class TopKKernel final : public OpKernel {
 public:
  explicit TopKKernel(const OpKernelConstruction& construction)
      : k_(construction.Attr<int64_t>("k")),
        largest_(construction.Attr<bool>("largest")),
        sorted_(construction.Attr<bool>("sorted")) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    columns_ = x.rank() == 0 ? 1 : x.at(-1);
    rows_ = x.Product(0, x.rank() - 1);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    Tensor& indices = context.AllocateOutput(1, out_dims_);
    if (out.numel() == 0) return;
    TopK(context.Input(0).data<T>(), rows_, columns_, k_, largest_, sorted_,
         out.data<T>(), indices.data<int64_t>());
  }

 private:
  int64_t k_;
  bool largest_;
  bool sorted_;
  int64_t rows_ = 0;
  int64_t columns_ = 1;
  DDim out_dims_;
};

}  // namespace

REGISTER_OP_CPU_KERNEL(top_k, TopKKernel<NumberTypes>, TopKKernel<uint64_t>);

}  // namespace sluice
