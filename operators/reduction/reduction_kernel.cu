#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "sluice/operators/conversion/widened_kernel.cuh"
#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/math/device_formulas.cuh"
#include "sluice/operators/math/device_sum.cuh"
#include "sluice/operators/reduction/reduced_dims.h"
#include "sluice/operators/reduction/reduction_row.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {
#include "sluice/operators/reduction/reduction_rows.inc"
}  // namespace
namespace {

// Reductions by the formulas of reduction_rows.inc. A thread computes each
// output; if there are few outputs of many terms, a block does.
template <typename Fold, typename T>
__global__ void FoldInThreadsKernel(SumPlan plan,
                                    ReduceWalk walk,
                                    const T* x,
                                    T* out) {
  for (int64_t i = ThreadIndex(); i < plan.outputs; i += ThreadCount()) {
    Fold fold;
    for (int64_t j = 0; j < plan.terms; ++j) {
      fold.Add(x[walk.At(i, j)]);
    }
    out[i] = fold.Result();
  }
}

template <typename Fold, typename T>
__global__ void FoldInBlocksKernel(SumPlan plan,
                                   ReduceWalk walk,
                                   const T* x,
                                   T* out) {
  // Shared arrays cannot have elements of a class with initializers.
  SLUICE_SHARED_ARRAY(double, memory,
                      [kSumThreads * sizeof(Fold) / sizeof(double)]);
  static_assert(sizeof(Fold) * kSumThreads % sizeof(double) == 0);
  auto* folds = reinterpret_cast<Fold*>(static_cast<double*>(memory));
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t i = blockIdx.x; i < plan.outputs; i += gridDim.x) {
    Fold fold;
    for (int64_t j = thread; j < plan.terms; j += kSumThreads) {
      fold.Add(x[walk.At(i, j)]);
    }
    folds[thread] = fold;
    __syncthreads();
    for (int half = kSumThreads / 2; half > 0; half /= 2) {
      if (thread < half) folds[thread].Merge(folds[thread + half]);
      __syncthreads();
    }
    if (thread == 0) out[i] = folds[0].Result();
    __syncthreads();
  }
}

// out[i] = the reduction of the terms of output i.
template <typename Fold, typename T>
void FoldAll(const CUDADeviceContext& device,
             const SumPlan& plan,
             const ReduceWalk& walk,
             const T* x,
             T* out) {
  if (plan.outputs == 0) return;
  if (plan.blocks) {
    Launch<FoldInBlocksKernel<Fold, T>>(
        {device, GridFor(plan.outputs, 1), dim3(kSumThreads)}, plan, walk, x,
        out);
  } else {
    Launch<FoldInThreadsKernel<Fold, T>>(
        {device, GridFor(plan.outputs), dim3(kThreadsPerBlock)}, plan, walk, x,
        out);
  }
}

template <typename T, typename Row>
class ReductionCUDAKernel final : public OpKernel {
 public:
  explicit ReductionCUDAKernel(const OpKernelConstruction& construction)
      : reduced_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    T* out = context.AllocateOutput(0, out_dims_).template data<T>();
    const ReducedDims::Axes reduced = reduced_.Of(x.dims());
    FoldAll<typename Row::template Fold<T>>(
        context.device_context<CUDADeviceContext>(),
        ReduceWalk::Plan(x.dims(), reduced), ReduceWalk(x.dims(), reduced),
        x.data<T>(), out);
  }

 private:
  ReducedDims reduced_;
  DDim out_dims_;
};

// Collects what the shares of terms depend on. One thread handles an output.
template <typename Share, typename T>
struct SeeTerms {
  ReduceWalk walk;
  int64_t terms;
  const T* x;
  const T* out;
  Share* shares;

  __device__ void operator()(int64_t i) const {
    Share share;
    for (int64_t j = 0; j < terms; ++j) {
      share.Add(x[walk.At(i, j)], out[i]);
    }
    shares[i] = share;
  }
};

template <typename Share, typename T>
struct ShareGradient {
  DeviceWalk walk;  // of X and of the broadcast Out
  const T* x;
  const T* out;
  const T* out_grad;
  const Share* shares;
  T* x_grad;

  __device__ void operator()(int64_t i) const {
    const int64_t output = walk.At(i).second;
    Share share;
    if (Share::kSees) share = shares[output];
    x_grad[i] = share.Of(x[i], out[output], out_grad[output]);
  }
};

template <typename T, typename Row>
class ReductionGradCUDAKernel final : public OpKernel {
 public:
  explicit ReductionGradCUDAKernel(const OpKernelConstruction& construction)
      : reduced_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    const DDim kept = reduced_.Kept(x_dims_);
    plan_ = PlanBroadcast(x_dims_, kept, -1);
    if (Share::kSees) {
      preparation.scratch_bytes =
          static_cast<size_t>(kept.numel()) * sizeof(Share);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const T* x = context.Input(0).template data<T>();
    const T* out = context.Input(1).template data<T>();
    const T* out_grad = context.Input(2).template data<T>();
    T* x_grad = context.AllocateOutput(0, x_dims_).template data<T>();
    if (x_dims_.numel() == 0) return;
    const auto& device = context.device_context<CUDADeviceContext>();
    auto* shares = static_cast<Share*>(context.scratch());
    if constexpr (Share::kSees) {
      const ReducedDims::Axes reduced = reduced_.Of(x_dims_);
      const SumPlan plan = ReduceWalk::Plan(x_dims_, reduced);
      ForEach(device, plan.outputs,
              SeeTerms<Share, T>{ReduceWalk(x_dims_, reduced), plan.terms, x,
                                 out, shares});
    }
    const DeviceWalk walk(plan_.rank, plan_.sizes, plan_.x_steps,
                          plan_.y_steps);
    ForEach(device, x_dims_.numel(),
            ShareGradient<Share, T>{walk, x, out, out_grad, shares, x_grad});
  }

 private:
  using Share = typename Row::template Share<T>;

  ReducedDims reduced_;
  DDim x_dims_;
  BroadcastPlan plan_;
};

template <typename Row, typename... T>
void AddKernels(Registry& registry) {
  AddPlainKernels<ReductionCUDAKernel<T, Row>...>(registry, Row::kInfo.name,
                                                  CUDAPlace());
}

template <typename Row>
void AddRow(Registry& registry) {
  constexpr ReductionDTypes kDTypes = Row::kInfo.dtypes;
  if constexpr (kDTypes == ReductionDTypes::kBool) {
    AddKernels<Row, bool>(registry);
  } else {
    AddPlainKernels<ReductionCUDAKernel<FloatsAndDeviceHalves, Row>>(
        registry, Row::kInfo.name, CUDAPlace());
  }
  if constexpr (kDTypes == ReductionDTypes::kSums) {
    AddKernels<Row, int32_t, int64_t>(registry);
  } else if constexpr (kDTypes == ReductionDTypes::kOrdered) {
    AddKernels<Row, int8_t, uint8_t, int32_t, int64_t, bool>(registry);
  }
  if constexpr (Row::kInfo.gradient == ReductionGradient::kXAndOut) {
    AddPlainKernels<ReductionGradCUDAKernel<FloatsAndDeviceHalves, Row>>(
        registry, std::string(Row::kInfo.name) + "_grad", CUDAPlace());
  }
}

template <typename... Row>
void AddRows(Rows<Row...> /*table*/, Registry& registry) {
  (AddRow<Row>(registry), ...);
}

void AddReductionRows(Registry& registry) {
  AddRows(ReductionTable(), registry);
}

}  // namespace

REGISTER_TABLE(cuda_reductions, AddReductionRows);

}  // namespace sluice
