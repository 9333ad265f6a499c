#include "sluice/operators/holds_number.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void FillConstantShape(InferShapeContext& context) {
  const Ints& shape = context.Attr<Ints>("shape");
  context.Require(shape.size() <= DDim::kMaxRank, "fill_constant.rank",
                  "attribute shape has {} entries; expected at most {}",
                  shape.size(), DDim::kMaxRank);
  const auto dtype = context.Attr<DType>("dtype");
  const auto value = context.Attr<double>("value");
  context.Require(HoldsNumber(dtype, value), "fill_constant.value",
                  "attribute value is {}, expected a number that {} holds",
                  value, dtype);
  context.SetOutput("Out", DDim(shape));
}

void FillConstantLateShape(InferShapeContext& context) {
  const int64_t rank = context.WithRank(context.input("Shape"), 1).dims[0];
  const bool known = rank >= 0 && rank <= DDim::kMaxRank;
  context.SetOutput("Out",
                    known ? DDim(Ints(static_cast<size_t>(rank), kUnknownDim))
                          : DDim::UnknownRank());
}

void FillConstantSchema(OpSchema& op) {
  op.Doc("A tensor of one number.");
  op.TypeVarFromAttr("T", "dtype", AllDTypes());
  op.Output("Out", "T", "A tensor of the given shape and dtype.");
  op.Attr<Ints>("shape", "The shape of Out.").AtLeast(0);
  op.Attr<DType>("dtype", "The dtype of Out.").Default(DType::kFloat32);
  op.Attr<double>("value", "The number: 0 or 1 for bool.").Default(0.0);
  op.TypeVar("S", IndexDTypes());
  op.Operand("Shape", "shape", "S", "Attribute shape as a vector.");
  op.InferShape(FillConstantShape).InferLateShape(FillConstantLateShape);
  op.Sizes({{"shape", "[n]"}, {"value", "1.0"}});
  op.Serves(OpRole::kFill);
}

}  // namespace

REGISTER_OPERATOR(fill_constant, FillConstantSchema);

}  // namespace sluice
