#include "sluice/operators/math/unary/predicate_row.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

// The schemas of the rows of math/unary's table of predicates.
namespace sluice {
namespace {

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

void AddPredicateOps(Registry& registry) {
  for (const PredicateInfo& info : Predicates()) {
    registry.AddOperator(info.name, [&](OpSchema& op) { Schema(info, op); });
  }
}

}  // namespace

REGISTER_TABLE(predicate_ops, AddPredicateOps);

}  // namespace sluice
