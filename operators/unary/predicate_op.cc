#include <array>
#include <cmath>
#include <type_traits>

#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/plain_formulas.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/unary/predicate_row.h"
#include "sluice/operators/usual_shapes.h"
#include "sluice/platform/parallel_for.h"

// The schemas and kernels of the rows of the table of predicates.
namespace sluice {
namespace {
#include "sluice/operators/unary/predicate_rows.inc"

template <typename... Row>
std::span<const PredicateInfo> InfosOf(Rows<Row...> /*table*/) {
  static constexpr std::array kInfos = {Row::kInfo...};
  return kInfos;
}

std::vector<DType> DTypes(const PredicateInfo& info) {
  switch (info.dtypes) {
    case PredicateDTypes::kFloats:
      return FloatDTypes();
    case PredicateDTypes::kIntegers:
      return {DType::kInt8,  DType::kUInt8,  DType::kInt32,  DType::kInt64,
              DType::kInt16, DType::kUInt16, DType::kUInt32, DType::kUInt64};
    case PredicateDTypes::kBool:
      break;
  }
  return {DType::kBool};
}

void Schema(const PredicateInfo& info, OpSchema& op) {
  op.Doc(info.doc);
  op.TypeVar("T", DTypes(info));
  op.Input("X", "T", "A tensor of any shape.");
  op.Output("Out", info.dtypes == PredicateDTypes::kIntegers ? "T" : "bool",
            "A tensor of the same shape.");
  op.InferShape(SameShape).Elementwise();
  op.Onnx({info.onnx, {}}).Torch(info.torch);
}

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

void AddPredicateOps(Registry& registry) {
  for (const PredicateInfo& info : Predicates()) {
    registry.AddOperator(info.name, [&](OpSchema& op) { Schema(info, op); });
  }
}

void AddPredicateKernels(Registry& registry) {
  AddRows(PredicateTable(), registry);
}

}  // namespace

std::span<const PredicateInfo> Predicates() {
  return InfosOf(PredicateTable());
}

REGISTER_TABLE(predicate_ops, AddPredicateOps);
REGISTER_TABLE(predicate_kernels, AddPredicateKernels);

}  // namespace sluice
