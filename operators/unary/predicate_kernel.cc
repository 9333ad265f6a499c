#include <cmath>
#include <type_traits>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/plain_formulas.h"
#include "sluice/operators/math/unary/predicate_row.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {
#include "sluice/operators/math/unary/predicate_rows.inc"
}  // namespace
}  // namespace sluice

// The kernels of the rows of math/unary's table of predicates.
namespace sluice {
namespace {

template <typename T, typename Row>
class PredicateKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    using Result = decltype(Row::Of(Widen(T{})));
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    const T* from = x.data<T>();
    Result* to = out.data<Result>();
    ParallelFor(out.numel(), kGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = Row::Of(Widen(from[i]));
      }
    });
  }
};

template <typename Row>
void AddRow(Registry& registry) {
  constexpr PredicateDTypes kDTypes = Row::kInfo.dtypes;
  const CPUPlace cpu;
  if constexpr (kDTypes == PredicateDTypes::kFloats) {
    AddPlainKernels<PredicateKernel<FloatAndHalfTypes, Row>>(
        registry, Row::kInfo.name, cpu);
  } else if constexpr (kDTypes == PredicateDTypes::kIntegers) {
    AddPlainKernels<
        PredicateKernel<IntegerTypes, Row>, PredicateKernel<int16_t, Row>,
        PredicateKernel<uint16_t, Row>, PredicateKernel<uint32_t, Row>,
        PredicateKernel<uint64_t, Row>>(registry, Row::kInfo.name, cpu);
  } else {
    AddPlainKernels<PredicateKernel<bool, Row>>(registry, Row::kInfo.name, cpu);
  }
}

template <typename... Row>
void AddRows(Rows<Row...> /*table*/, Registry& registry) {
  (AddRow<Row>(registry), ...);
}

void AddPredicateKernels(Registry& registry) {
  AddRows(PredicateTable(), registry);
}

}  // namespace

REGISTER_TABLE(predicate_kernels, AddPredicateKernels);

}  // namespace sluice
