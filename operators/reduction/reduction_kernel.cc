#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>

#include "sluice/operators/math/plain_formulas.h"
#include "sluice/operators/math/reduction/fold.h"
#include "sluice/operators/math/reduction/reduction_row.h"
#include "sluice/operators/reduction/reduced_dims.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {
#include "sluice/operators/math/reduction/reduction_rows.inc"
}  // namespace
}  // namespace sluice

// The kernels of the rows of math/reduction's table.
namespace sluice {
namespace {

template <typename T, typename Row>
class ReductionKernel final : public OpKernel {
 public:
  explicit ReductionKernel(const OpKernelConstruction& construction)
      : reduced_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    plan_ = FoldPlan(x, reduced_.Of(x));
    preparation.scratch_bytes = FoldScratchBytes<Fold>(plan_);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    FoldAll<Fold>(plan_, x.data<T>(), out.data<T>(), context.scratch());
  }

 private:
  using Fold = typename Row::template Fold<Computed<T>>;

  ReducedDims reduced_;
  FoldPlan plan_;
  DDim out_dims_;
};

template <typename T, typename Row>
class ReductionGradKernel final : public OpKernel {
 public:
  explicit ReductionGradKernel(const OpKernelConstruction& construction)
      : reduced_(construction) {}

  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    plan_ = FoldPlan(x_dims_, reduced_.Of(x_dims_));
    preparation.scratch_bytes = ShareScratchBytes<Share>(plan_);
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return;
    FoldGradient<Share>(plan_, context.Input(0).data<T>(),
                        context.Input(1).data<T>(), context.Input(2).data<T>(),
                        x_grad.data<T>(), context.scratch());
  }

 private:
  using Share = typename Row::template Share<Computed<T>>;

  ReducedDims reduced_;
  FoldPlan plan_;
  DDim x_dims_;
};

template <typename Row, typename... T>
void AddKernels(Registry& registry) {
  AddPlainKernels<ReductionKernel<T, Row>...>(registry, Row::kInfo.name,
                                              CPUPlace());
}

template <typename Row>
void AddRow(Registry& registry) {
  constexpr ReductionDTypes kDTypes = Row::kInfo.dtypes;
  if constexpr (kDTypes == ReductionDTypes::kBool) {
    AddKernels<Row, bool>(registry);
  } else {
    AddKernels<Row, float, double, float16, bfloat16>(registry);
  }
  if constexpr (kDTypes == ReductionDTypes::kSums) {
    AddKernels<Row, int32_t, int64_t>(registry);
  } else if constexpr (kDTypes == ReductionDTypes::kOrdered) {
    AddKernels<Row, int8_t, uint8_t, int32_t, int64_t, bool>(registry);
  }
  if constexpr (Row::kInfo.gradient == ReductionGradient::kXAndOut) {
    AddPlainKernels<ReductionGradKernel<FloatAndHalfTypes, Row>>(
        registry, std::string(Row::kInfo.name) + "_grad", CPUPlace());
  }
}

template <typename... Row>
void AddRows(Rows<Row...> /*table*/, Registry& registry) {
  (AddRow<Row>(registry), ...);
}

void AddReductionKernels(Registry& registry) {
  AddRows(ReductionTable(), registry);
}

}  // namespace

REGISTER_TABLE(reduction_kernels, AddReductionKernels);

}  // namespace sluice
