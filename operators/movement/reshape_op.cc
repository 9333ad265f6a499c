#include "sluice/operators/movement/copy_kernel.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"

namespace sluice {
namespace {

// The product of some sizes, or -1 if one is unknown.
class SizeProduct {
 public:
  void Multiply(const InferShapeContext& context, int64_t size) {
    if (size < 0 || value_ < 0) {
      value_ = -1;
      return;
    }
    const bool fits = !__builtin_mul_overflow(value_, size, &value_);
    context.Require(fits, "reshape.overflow",
                    "the number of elements of attribute shape does not fit "
                    "into 64 bits");
  }
  bool known() const { return value_ >= 0; }
  int64_t value() const { return value_; }

 private:
  int64_t value_ = 1;
};

// Checks the entries and copies them; an entry of 0 may become X's size.
// Returns the axis to infer, or -1.
int ReadShape(const InferShapeContext& context, const DDim& x, DDim* out) {
  const Ints& shape = context.Attr<Ints>("shape");
  const bool copies = !context.Attr<bool>("allow_zero");
  int inferred = -1;
  for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
    const int64_t size = shape[axis];
    context.Require(size >= -1, "reshape.size",
                    "shape[{}] = {}; expected a size, 0 to copy the size of "
                    "input X or -1 to infer it",
                    axis, size);
    context.Require(size >= 0 || inferred < 0, "reshape.two_inferred",
                    "shape[{}] and shape[{}] are both -1; expected at most one",
                    inferred, axis);
    context.Require(size != 0 || !copies || !x.rank_known() || axis < x.rank(),
                    "reshape.copied_axis",
                    "shape[{}] = 0 copies a dim that input X {} does not have",
                    axis, x);
    if (size < 0) inferred = axis;
  }
  *out = DDim(shape);
  for (int axis = 0; axis < out->rank(); ++axis) {
    if (shape[axis] != 0 || !copies) continue;
    (*out)[axis] = x.rank_known() ? x[axis] : kUnknownDim;
  }
  return inferred;
}

void ReshapeShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const Ints& shape = context.Attr<Ints>("shape");
  DDim out;
  const int inferred = ReadShape(context, x, &out);
  if (!x.rank_known()) return context.SetOutput("Out", out);

  // Copied dims are in both shapes; the products of the other dims must be
  // equal. A copied dim may be unknown.
  const bool copies = !context.Attr<bool>("allow_zero");
  SizeProduct given, rest;
  for (int axis = 0; axis < out.rank(); ++axis) {
    if (shape[axis] >= (copies ? 1 : 0)) given.Multiply(context, shape[axis]);
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool copied = copies && axis < out.rank() && shape[axis] == 0;
    if (!copied) rest.Multiply(context, x[axis]);
  }
  if (rest.known() && inferred >= 0) {
    context.Require(given.value() > 0 && rest.value() % given.value() == 0,
                    "reshape.not_divisible",
                    "input X {} cannot be {}: {} elements do not divide by {} "
                    "(shape[{}] is -1)",
                    x, out, rest.value(), given.value(), inferred);
    out[inferred] = rest.value() / given.value();
  } else if (rest.known()) {
    context.Require(rest.value() == given.value(), "reshape.count",
                    "input X {} cannot be {}: expected as many elements "
                    "beside the copied dims, got {} and {}",
                    x, out, rest.value(), given.value());
  }
  context.SetOutput("Out", out);
}

void ReshapeLateShape(InferShapeContext& context) {
  const ShapeHandle shape = context.WithRank(context.input("Shape"), 1);
  const int64_t rank = shape.dims[0];
  if (rank < 0 || rank > DDim::kMaxRank) {
    return context.SetOutput("Out", DDim::UnknownRank());
  }
  context.SetOutput("Out", DDim(Ints(static_cast<size_t>(rank), -1)));
}

void ReshapeGradShape(InferShapeContext& context) {
  const DDim x = context.input("X");
  const DDim out_grad = context.input("Out@GRAD");
  context.Require(
      !x.known() || !out_grad.known() || x.numel() == out_grad.numel(),
      "reshape_grad.count",
      "input Out@GRAD {} must have as many elements as input X {}", out_grad,
      x);
  context.SetOutput("X@GRAD", x);
}

void ReshapeSchema(OpSchema& op) {
  op.Doc(
      "X in another shape: the same elements in the same row-major order. No "
      "data moves where the plan lets Out look into the memory of X.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "The tensor, of any shape.");
  op.Output("Out", "T", "The same elements, in the shape of attribute shape.");
  op.Attr<Ints>("shape",
                "The sizes of Out. 0 copies the size of X at that place; -1, "
                "at most once, stands for what is left.");
  op.Attr<bool>("allow_zero",
                "0 is a size instead, so that X has no elements either.")
      .Default(false);
  op.TypeVar("S", IndexDTypes());
  op.Operand("Shape", "shape", "S", "Attribute shape as a vector.");
  op.InferShape(ReshapeShape).InferLateShape(ReshapeLateShape);
  op.Alias("Out", "X");
  op.SharesRows("Out", {"X"}, ShapeKeepsRows);
}

constexpr GradientOp kReshapeGrad = {
    .forward = ReshapeSchema,
    .doc = "The gradient of reshape: that of Out in the shape of X.",
    .inputs = {ShapeOf("X")},
    .without = {"shape", "allow_zero"},
    .shape = ReshapeGradShape,
    .add = [](OpSchema& op) { op.Alias("X@GRAD", "Out@GRAD"); }};

class ReshapeKernel final : public CopyKernel<0> {
  using CopyKernel<0>::CopyKernel;
};

// Input 0 is X, which only provides the shape.
template <typename T>
class ReshapeGradKernel final : public CopyKernel<1> {
  using CopyKernel<1>::CopyKernel;
};

}  // namespace

REGISTER_OPERATOR(reshape, WithGradient<kReshapeGrad>);
REGISTER_OPERATOR(reshape_grad, GradientSchema<kReshapeGrad>);
REGISTER_OP_CPU_KERNEL(reshape, ReshapeKernel);
REGISTER_OP_CPU_KERNEL(reshape_grad, ReshapeGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
