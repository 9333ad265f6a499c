#include "sluice/operators/math/device_formulas.cuh"
#include "sluice/operators/registration.h"
#include "sluice/operators/unary/predicate_row.h"
#include "sluice/platform/cuda/launch.h"

namespace sluice {
namespace {
#include "sluice/operators/unary/predicate_rows.inc"
}  // namespace
namespace {

// Computes Out = Row::Of(X).
template <typename T, typename Row>
class PredicateCUDAKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    constexpr bool kInteger = Row::kInfo.dtypes == PredicateDTypes::kIntegers;
    using Result = std::conditional_t<kInteger, T, bool>;
    const Tensor& input = context.Input(0);
    const T* x = input.data<T>();
    Result* out =
        context.AllocateOutput(0, input.dims()).template data<Result>();
    ForEach(context.device_context<CUDADeviceContext>(), input.numel(),
            [=] __device__(int64_t i) { out[i] = Row::Of(x[i]); });
  }
};

template <typename Row, typename... T>
void AddKernels(Registry& registry) {
  AddPlainKernels<PredicateCUDAKernel<T, Row>...>(registry, Row::kInfo.name,
                                                  CUDAPlace());
}

template <typename Row>
void AddRow(Registry& registry) {
  constexpr PredicateDTypes kDTypes = Row::kInfo.dtypes;
  if constexpr (kDTypes == PredicateDTypes::kFloats) {
    AddKernels<Row, float, double>(registry);
  } else if constexpr (kDTypes == PredicateDTypes::kIntegers) {
    AddKernels<Row, int8_t, uint8_t, int32_t, int64_t>(registry);
  } else {
    AddKernels<Row, bool>(registry);
  }
}

template <typename... Row>
void AddRows(Rows<Row...> /*table*/, Registry& registry) {
  (AddRow<Row>(registry), ...);
}

void AddPredicateRows(Registry& registry) {
  AddRows(PredicateTable(), registry);
}

}  // namespace

REGISTER_TABLE(cuda_predicates, AddPredicateRows);

}  // namespace sluice
