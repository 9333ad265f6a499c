#include "sluice/operators/math/cast.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void AssignValueShape(InferShapeContext& context) {
  const Ints& shape = context.Attr<Ints>("shape");
  context.Require(shape.size() <= DDim::kMaxRank, "assign_value.rank",
                  "attribute shape has {} entries; expected at most {}",
                  shape.size(), DDim::kMaxRank);
  const DDim dims(shape);
  const auto& ints = context.Attr<Ints>("int_values");
  const auto& values = context.Attr<std::vector<double>>("values");
  context.Require(ints.empty() || values.empty(), "assign_value.both",
                  "attributes values and int_values are both given; expected "
                  "one of them");
  const size_t count = ints.size() + values.size();
  context.Require(
      static_cast<size_t>(dims.numel()) == count, "assign_value.count",
      "{} numbers are given; shape {} takes {}", count, dims, dims.numel());
  context.SetOutput("Out", dims);
}

void AssignValueSchema(OpSchema& op) {
  op.Doc(
      "A tensor of given numbers, for small constants: they are part of the "
      "program.");
  op.TypeVarFromAttr("T", "dtype", AllDTypes());
  op.Output("Out", "T", "A tensor of the given shape and dtype.");
  op.Attr<Ints>("shape", "The shape of Out.").AtLeast(0);
  op.Attr<DType>("dtype", "The dtype of Out.").Default(DType::kFloat32);
  op.Attr<std::vector<double>>(
      "values",
      "The elements in row-major order, converted as by cast. Whole numbers "
      "beyond 2^53 are rounded.");
  op.Attr<Ints>("int_values",
                "The elements as integers, where values is empty.")
      .Default(Ints());
  op.InferShape(AssignValueShape);
}

class AssignValueKernel final : public OpKernel {
 public:
  explicit AssignValueKernel(const OpKernelConstruction& construction)
      : dims_(construction.Attr<std::vector<int64_t>>("shape")),
        values_(construction.Attr<std::vector<double>>("values")),
        ints_(construction.Attr<std::vector<int64_t>>("int_values")) {}

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, dims_);
    if (out.numel() == 0) return;
    if (ints_.empty()) {
      Cast(values_.data(), out.numel(), out.dtype(), out.raw_data());
    } else {
      Cast(ints_.data(), out.numel(), out.dtype(), out.raw_data());
    }
  }

 private:
  DDim dims_;
  std::vector<double> values_;
  std::vector<int64_t> ints_;
};

}  // namespace

REGISTER_OPERATOR(assign_value, AssignValueSchema);
REGISTER_OP_CPU_KERNEL(assign_value, AssignValueKernel);

}  // namespace sluice
