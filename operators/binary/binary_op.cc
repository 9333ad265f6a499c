#include <algorithm>
#include <string_view>

#include "sluice/operators/binary/broadcast_binary.h"
#include "sluice/operators/binary/operand_gradient.h"
#include "sluice/operators/math/binary/binary_row.h"
#include "sluice/operators/math/broadcast.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

// The schemas and kernels of the rows of math/binary's tables and of their
// gradient ops: an op's name selects its row.
namespace sluice {
namespace {

// Returns the broadcast shape of X and Y.
DDim CommonDims(const InferShapeContext& context) {
  const DDim x = context.input("X");
  const DDim y = context.input("Y");
  const auto axis = context.Attr<int64_t>("axis");
  if (!x.rank_known() || !y.rank_known()) return DDim::UnknownRank();
  context.Require(
      axis == -1 || y.rank() + axis <= x.rank(), "elementwise.axis",
      "Y of shape {} placed at axis = {} does not lie inside X of shape {}: "
      "expected axis + rank of Y <= {}",
      y, axis, x, x.rank());
  DDim out;
  const int conflict = BroadcastShape(x, y, axis, &out);
  context.Require(conflict < 0, "elementwise.shapes",
                  "X of shape {} and Y of shape {} (axis = {}) do not fit in "
                  "dim {}: expected equal sizes or a 1",
                  x, y, axis, conflict);
  return out;
}

constexpr GradientOp kBinaryGrad = {
    .inputs = {"X", "Y"}, .wanted = {"X", "Y"}, .dims = CommonDims};
// Out is an input only where the gradient reads it, so that it can be freed.
constexpr GradientOp kBinaryGradFromOut = {.inputs = {"X", "Y"},
                                           .outputs = {"Out"},
                                           .wanted = {"X", "Y"},
                                           .dims = CommonDims};

std::vector<DType> IntegerDTypes() {
  return {DType::kInt8,  DType::kUInt8,  DType::kInt32,  DType::kInt64,
          DType::kInt16, DType::kUInt16, DType::kUInt32, DType::kUInt64};
}

std::vector<DType> NumberDTypes() {
  std::vector<DType> dtypes = FloatDTypes();
  for (const DType dtype : IntegerDTypes()) {
    dtypes.push_back(dtype);
  }
  return dtypes;
}

std::vector<DType> DTypes(const BinaryInfo& info) {
  switch (info.dtypes) {
    case BinaryDTypes::kFloats:
      return FloatDTypes();
    case BinaryDTypes::kNumbers:
      return NumberDTypes();
    case BinaryDTypes::kIntegers:
      return IntegerDTypes();
    case BinaryDTypes::kBool:
      return {DType::kBool};
    case BinaryDTypes::kAll:
      break;
  }
  std::vector<DType> dtypes = NumberDTypes();
  dtypes.push_back(DType::kBool);
  return dtypes;
}

std::string Doc(const BinaryInfo& info) {
  std::string doc = std::string(info.doc) + ", element by element.";
  if (*info.note != 0) doc += std::string(" ") + info.note;
  doc +=
      " Sizes of 1, and dimensions that one of them lacks, are repeated: by "
      "default the last dimensions stand under each other, as in numpy; `axis` "
      "says otherwise.";
  const bool numbers = info.dtypes == BinaryDTypes::kNumbers ||
                       info.dtypes == BinaryDTypes::kAll;
  if (numbers && info.result == BinaryResult::kSame) {
    doc += " Integers wrap around.";
  }
  return doc;
}

void Schema(const BinaryInfo& info, OpSchema& op) {
  op.Doc(Doc(info));
  op.TypeVar("T", DTypes(info));
  op.Input("X", "T", "The left operand, of any shape.");
  op.Input("Y", "T", "The right one, of a shape that can be repeated to X's.");
  op.Output("Out", info.result == BinaryResult::kBool ? "bool" : "T",
            "The result, in the common shape.");
  op.Attr<int64_t>("axis",
                   "The dimension of X under which the first one of Y stands; "
                   "-1 aligns the last ones.")
      .Default(int64_t{-1})
      .AtLeast(-1)
      .AtMost(DDim::kMaxRank);
  op.InferShape(OutShape<CommonDims>).Elementwise();
  if (info.differentiable()) {
    op.Gradient(info.gradient_reads.out ? MakeGradients<kBinaryGradFromOut>
                                        : MakeGradients<kBinaryGrad>);
  }
  op.Onnx({info.onnx, {}}).Torch(info.torch);
  op.Family(info.family).ShortName(info.short_name);
}

void GradSchema(const OpSchema& forward, const BinaryInfo& info, OpSchema& op) {
  const bool reads_out = info.gradient_reads.out;
  GradientOp gradient = reads_out ? kBinaryGradFromOut : kBinaryGrad;
  gradient.inputs[0].shape_only = !info.gradient_reads.x;
  gradient.inputs[1].shape_only = !info.gradient_reads.y;
  DeriveGradient(forward, gradient, op);
  op.Doc(std::string("The gradients of ") + info.name + ": " +
         info.gradient_doc +
         "; each is summed over the dimensions in which that operand was "
         "repeated.");
  op.InferShape(reads_out ? GradientShape<kBinaryGradFromOut>
                          : GradientShape<kBinaryGrad>);
  if (info.x_term == BinaryTerm::kSame) op.Alias("X@GRAD", "Out@GRAD");
  if (info.y_term == BinaryTerm::kSame) op.Alias("Y@GRAD", "Out@GRAD");
}

void AddBinaryOps(Registry& registry) {
  for (const BinaryRow& row : BinaryRows()) {
    const BinaryInfo& info = row.info;
    registry.AddOperator(info.name, [&](OpSchema& op) { Schema(info, op); });
    if (!info.differentiable()) continue;
    registry.AddOperator(std::string(info.name) + "_grad", [&](OpSchema& op) {
      GradSchema(registry.Schema(info.name), info, op);
    });
  }
}

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

REGISTER_TABLE(binary_ops, AddBinaryOps);
REGISTER_TABLE(binary_kernels, AddBinaryKernels);

}  // namespace sluice
