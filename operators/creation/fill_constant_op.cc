#include "sluice/operators/holds_number.h"
#include "sluice/operators/late_shape.h"
#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/fill.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void RequireValue(const InferShapeContext& context, const char* check_id) {
  const auto dtype = context.Attr<DType>("dtype");
  const auto value = context.Attr<double>("value");
  context.Require(HoldsNumber(dtype, value), check_id,
                  "attribute value is {}, expected a number that {} holds",
                  value, dtype);
}

void FillConstantShape(InferShapeContext& context) {
  const Ints& shape = context.Attr<Ints>("shape");
  context.Require(shape.size() <= DDim::kMaxRank, "fill_constant.rank",
                  "attribute shape has {} entries; expected at most {}",
                  shape.size(), DDim::kMaxRank);
  RequireValue(context, "fill_constant.value");
  context.SetOutput("Out", DDim(shape));
}

void FillAnyLikeShape(InferShapeContext& context) {
  RequireValue(context, "fill_any_like.value");
  context.SetOutput("Out", context.input("X"));
}

void DTypeAndValue(OpSchema& op) {
  op.Attr<DType>("dtype", "The dtype of Out.").Default(DType::kFloat32);
  op.Attr<double>("value", "The number: 0 or 1 for bool.").Default(0.0);
}

void FillConstantSchema(OpSchema& op) {
  op.Doc("A tensor of one number.");
  op.TypeVarFromAttr("T", "dtype", AllDTypes());
  op.Output("Out", "T", "A tensor of the given shape and dtype.");
  op.Attr<Ints>("shape", "The shape of Out.").AtLeast(0);
  DTypeAndValue(op);
  op.TypeVar("S", IndexDTypes());
  op.Operand("Shape", "shape", "S", "Attribute shape as a vector.");
  op.InferShape(FillConstantShape).InferLateShape(LateShapeOfVector);
  op.Sizes({{"shape", "[n]"}, {"value", "1.0"}});
  op.Serves(OpRole::kFill);
}

void FillAnyLikeSchema(OpSchema& op) {
  op.Doc("A tensor of one number, in the shape of X.");
  op.TypeVarFromAttr("T", "dtype", AllDTypes()).TypeVar("U", AllDTypes());
  op.Input("X", "U", "A tensor of any shape.", {.shape_only = true});
  op.Output("Out", "T", "In the shape of X.");
  DTypeAndValue(op);
  op.InferShape(FillAnyLikeShape).SharesRows("Out", {"X"});
}

class FillConstantKernel final : public OpKernel {
 public:
  explicit FillConstantKernel(const OpKernelConstruction& construction) {
    const auto value = construction.Attr<double>("value");
    Cast(&value, 1, construction.Attr<DType>("dtype"), &value_);
  }

  void Prepare(KernelPreparation& preparation) override {
    dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    FillBytes(&value_, SizeOf(out.dtype()), out.numel(), out.raw_data());
  }

 private:
  DDim dims_;
  uint64_t value_ = 0;  // its first bytes are the element
};

}  // namespace

REGISTER_OPERATOR(fill_constant, FillConstantSchema);
REGISTER_OPERATOR(fill_any_like, FillAnyLikeSchema);
REGISTER_OP_CPU_KERNEL(fill_constant, FillConstantKernel);
REGISTER_OP_CPU_KERNEL(fill_any_like, FillConstantKernel);

}  // namespace sluice
