#include <array>
#include <cmath>
#include <cstdint>
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
 private:
  // Not a loop in a lambda: bytes that are written might be its captures.
  template <typename Element, typename Result>
  static void Apply(const Element* from, int64_t count, Result* to) {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = Row::Of(Widen(from[i]));
    }
  }

 public:
  void Compute(OpKernelContext& context) const override {
    // g++ vectorizes the negation of bytes, but not of bools.
    using Element = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    using Result = decltype(Row::Of(Widen(Element{})));
    const Tensor& x = context.Input(0);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    const auto* from = static_cast<const Element*>(x.raw_data());
    auto* to = static_cast<Result*>(out.raw_data());
    ParallelFor(out.numel(), kGrain, [=](int64_t begin, int64_t end) {
      Apply(from + begin, end - begin, to + begin);
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
