#include <algorithm>
#include <string_view>

#include "sluice/operators/binary/operand_gradient.h"
#include "sluice/operators/math/binary/broadcast_binary.h"
#include "sluice/operators/registration.h"

// The kernels of all binary ops: the op's name selects a row of the tables of
// math/binary.
namespace sluice {
namespace {

// Out = f(X, Y).
template <typename T>
class BinaryKernel final : public OpKernel {
 public:
  explicit BinaryKernel(const OpKernelConstruction& construction)
      : function_(*FindBinaryRow(construction.op()), kDTypeOf<T>),
        axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    const DDim& y = preparation.query.inputs[1];
    same_shape_ = x == y;
    plan_ = PlanBroadcast(x, y, axis_);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const T* x = context.Input(0).template data<T>();
    const T* y = context.Input(1).template data<T>();
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    if (same_shape_) {
      function_.Same(x, y, out.numel(), out.raw_data());
    } else {
      function_.Broadcast(plan_, x, y, out.raw_data());
    }
  }

 private:
  BinaryFunction function_;
  int64_t axis_;
  bool same_shape_ = false;
  BroadcastPlan plan_;
  DDim out_dims_;
};

const BinaryRow& RowOfGradient(std::string_view op) {
  op.remove_suffix(std::string_view("_grad").size());
  return *FindBinaryRow(op);
}

// Computes the requested gradients; that of a broadcast operand is a sum.
template <typename T>
class BinaryGradKernel final : public OpKernel {
 public:
  explicit BinaryGradKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {
    const BinaryRow& row = RowOfGradient(construction.op());
    const BinaryFunctions& functions = row.Of(ComputedDType(kDTypeOf<T>));
    x_ = {"X@GRAD", row.info.x_term, {functions.x_terms, kDTypeOf<T>}, {}};
    y_ = {"Y@GRAD", row.info.y_term, {functions.y_terms, kDTypeOf<T>}, {}};
    reads_ = row.info.gradient_reads;
  }

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    const DDim& y = preparation.query.inputs[1];
    DDim out;
    BroadcastShape(x, y, axis_, &out);
    empty_ = out.numel() == 0;
    plan_ = PlanBroadcast(x, y, axis_);
    x_.Plan(x, out, -1);
    y_.Plan(y, out, axis_);
    preparation.scratch_bytes =
        std::max(x_.gradient.scratch_bytes(x_.computed),
                 y_.gradient.scratch_bytes(y_.computed));
  }

  void Compute(OpKernelContext& context) const override {
    Compute(x_, context);
    Compute(y_, context);
  }

 private:
  // The plan for the gradient of one operand.
  struct Side {
    const char* output = nullptr;
    BinaryTerm term = BinaryTerm::kNone;
    BinaryGradFunction function;
    OperandGradient<T> gradient;
    bool computed = false;  // otherwise the terms are Out@GRAD

    // A reduction negates its terms itself.
    void Plan(const DDim& dims, const DDim& out, int64_t axis) {
      const bool negated = term == BinaryTerm::kNegated;
      gradient = OperandGradient<T>(dims, out, axis, negated);
      computed =
          term == BinaryTerm::kComputed || (negated && !gradient.repeated());
    }
  };

  void Compute(const Side& side, OpKernelContext& context) const {
    if (!context.HasOutput(side.output)) return;
    const T* out_grad = context.Input("Out@GRAD").template data<T>();
    T* grad = context.AllocateOutput(side.output, side.gradient.dims())
                  .template data<T>();
    void* scratch = context.scratch();
    const T* terms = out_grad;
    if (side.computed) {
      T* computed = side.gradient.Terms(grad, scratch);
      const auto read = [&](bool wanted, const char* name) {
        return wanted ? context.Input(name).template data<T>() : nullptr;
      };
      if (!empty_) {
        side.function.Terms(plan_, out_grad, read(reads_.x, "X"),
                            read(reads_.y, "Y"), read(reads_.out, "Out"),
                            computed);
      }
      terms = computed;
    }
    side.gradient.Finish(terms, grad, scratch);
  }

  int64_t axis_;
  BinaryReads reads_;
  bool empty_ = false;
  BroadcastPlan plan_;
  Side x_;
  Side y_;
};

void AddBinaryKernels(Registry& registry) {
  const CPUPlace cpu;
  for (const BinaryRow& row : BinaryRows()) {
    const std::string name = row.info.name;
    const BinaryDTypes dtypes = row.info.dtypes;
    if (dtypes != BinaryDTypes::kIntegers && dtypes != BinaryDTypes::kBool) {
      AddPlainKernels<BinaryKernel<FloatAndHalfTypes>>(registry, name, cpu);
    }
    if (dtypes != BinaryDTypes::kFloats && dtypes != BinaryDTypes::kBool) {
      AddPlainKernels<BinaryKernel<IntegerTypes>, BinaryKernel<int16_t>,
                      BinaryKernel<uint16_t>, BinaryKernel<uint32_t>,
                      BinaryKernel<uint64_t>>(registry, name, cpu);
    }
    if (dtypes == BinaryDTypes::kBool || dtypes == BinaryDTypes::kAll) {
      AddPlainKernels<BinaryKernel<bool>>(registry, name, cpu);
    }
    if (!row.info.differentiable()) continue;
    AddPlainKernels<BinaryGradKernel<FloatAndHalfTypes>>(registry,
                                                         name + "_grad", cpu);
  }
}

}  // namespace

REGISTER_TABLE(binary_kernels, AddBinaryKernels);

}  // namespace sluice
