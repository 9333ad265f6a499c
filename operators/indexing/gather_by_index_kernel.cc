#include "sluice/operators/indexing/index_kernel.h"
#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/movement/gather.h"
#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/registration.h"

// gather_elements and gather_nd.
namespace sluice {
namespace {

// Moves elements of any dtype.
class GatherByIndexKernel final : public IndexKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const int64_t* places = Places(context);
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    const size_t size = SizeOf(out.dtype());
    Gather(context.Input(0).raw_data(), places, /*outer=*/1, plan_.slices,
           plan_.count, static_cast<size_t>(plan_.inner) * size,
           out.raw_data());
  }
};

// float16 and bfloat16 are summed in float32, in scratch.
template <typename T>
class GatherByIndexGradKernel final : public IndexKernel {
 public:
  using Sum = Computed<T>;

  explicit GatherByIndexGradKernel(const OpKernelConstruction& /*unused*/) {}

  void Prepare(KernelPreparation& preparation) override {
    IndexKernel::Prepare(preparation);
    if (kIsHalf<T>) {
      preparation.scratch_bytes +=
          static_cast<size_t>(x_dims_.numel()) * sizeof(Sum);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const int64_t* places = Places(context);
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return;
    T* out = x_grad.data<T>();
    Sum* sums = nullptr;
    if constexpr (kIsHalf<T>) {
      sums = static_cast<Sum*>(MoreScratch(context));
    } else {
      sums = out;
    }
    FillZero(sums, static_cast<size_t>(x_grad.numel()) * sizeof(Sum));
    ScatterReduce(ScatterReduction::kAdd, /*include_self=*/true,
                  context.Input(2).data<T>(), places, plan_.count, plan_.slices,
                  plan_.inner, sums);
    if constexpr (kIsHalf<T>) {
      Cast(sums, x_grad.numel(), kDTypeOf<T>, out);
    }
  }
};

void AddGatherKernels(Registry& registry) {
  const CPUPlace cpu;
  for (const std::string name : {"gather_elements", "gather_nd"}) {
    AddPlainKernels<GatherByIndexKernel>(registry, name, cpu);
    AddPlainKernels<GatherByIndexGradKernel<FloatAndHalfTypes>>(
        registry, name + "_grad", cpu);
  }
}

}  // namespace

REGISTER_TABLE(gather_by_index, AddGatherKernels);

}  // namespace sluice
