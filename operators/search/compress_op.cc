#include <algorithm>
#include <cstring>

#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

// Returns the shape of Out, as far as it is known before it has run.
DDim CompressedDims(const InferShapeContext& context) {
  const DDim x = context.input("X");
  context.WithRank(context.input("Condition"), 1);
  if (context.Attr<bool>("flatten")) return {kUnknownDim};
  if (!x.rank_known()) return x;
  const auto axis = context.Attr<int64_t>("axis");
  context.Require(axis >= -x.rank() && axis < x.rank(), "compress.axis",
                  "attribute axis = {} is no dimension of input X {}; expected "
                  "{} to {}",
                  axis, x, -x.rank(), x.rank() - 1);
  DDim out = x;
  out[static_cast<int>(axis < 0 ? axis + x.rank() : axis)] = kUnknownDim;
  return out;
}

void CompressSchema(OpSchema& op) {
  op.Doc(
      "The slices of X along an axis where Condition is true, as np.compress: "
      "a shorter Condition is false for the others, a longer one must be false "
      "beyond them. How many there are is known when it has run.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "Of any shape.");
  op.Input("Condition", "bool", "[n]: for each slice whether it is taken.");
  op.Attr<int64_t>("axis", "The dimension; a negative one counts from the end.")
      .Default(int64_t{0});
  op.Attr<bool>("flatten",
                "Takes elements of X as one row, whatever axis says.")
      .Default(false);
  op.Output("Out", "T", "X with fewer slices along the axis.");
  op.InferShape(OutShape<CompressedDims>);
}

constexpr GradientOp kCompressGrad = {
    .forward = CompressSchema,
    .doc =
        "The gradient of compress: that of Out in the slices that were taken, "
        "0 in the others.",
    .inputs = {ShapeOf("X"), "Condition"},
    .dims = CompressedDims};

// Copies the bytes of elements of any dtype.
class CompressBase : public OpKernel {
 public:
  explicit CompressBase(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")),
        flatten_(construction.Attr<bool>("flatten")) {}

 protected:
  // Returns the shape of the slices of X that are taken.
  DDim TakenDims(const DDim& x, const Tensor& condition) const {
    DDim dims = Rows(x);
    const int axis = Axis(dims);
    const bool* taken = condition.data<bool>();
    int64_t count = 0;
    for (int64_t i = 0; i < condition.numel(); ++i) {
      SLUICE_ENFORCE(!taken[i] || i < dims[axis], ErrorCode::kOutOfRange,
                     "compress.condition",
                     "input Condition is true at {}; input X {} has {} slices",
                     i, x, dims[axis]);
      count += taken[i] ? 1 : 0;
    }
    dims[axis] = count;
    return dims;
  }

  // Calls copy(place, bytes) for each slice that is taken, in the order of Out;
  // `place` is its first byte in X, whose elements have `size` bytes.
  template <typename Copy>
  void ForEachTaken(const DDim& x,
                    const Tensor& condition,
                    size_t size,
                    Copy copy) const {
    const DDim from = Rows(x);
    const int axis = Axis(from);
    const int64_t outer = from.Product(0, axis);
    const auto bytes =
        static_cast<size_t>(from.Product(axis + 1, from.rank())) * size;
    const bool* taken = condition.data<bool>();
    const int64_t slices = std::min(condition.numel(), from[axis]);
    if (x.numel() == 0 || slices == 0) return;  // however many rows there are
    for (int64_t row = 0; row < outer; ++row) {
      for (int64_t i = 0; i < slices; ++i) {
        if (taken[i]) {
          copy(static_cast<size_t>(row * from[axis] + i) * bytes, bytes);
        }
      }
    }
  }

 private:
  DDim Rows(const DDim& x) const { return flatten_ ? DDim({x.numel()}) : x; }
  int Axis(const DDim& rows) const {
    if (flatten_) return 0;
    return static_cast<int>(axis_ < 0 ? axis_ + rows.rank() : axis_);
  }

  int64_t axis_;
  bool flatten_;
};

class CompressKernel final : public CompressBase {
 public:
  using CompressBase::CompressBase;

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& condition = context.Input(1);
    Tensor& out = context.AllocateOutput(0, TakenDims(x.dims(), condition));
    const auto* from = static_cast<const char*>(x.raw_data());
    auto* to = static_cast<char*>(out.raw_data());
    ForEachTaken(x.dims(), condition, SizeOf(x.dtype()),
                 [&](size_t place, size_t bytes) {
                   std::memcpy(to, from + place, bytes);
                   to += bytes;
                 });
  }
};

template <typename T>
class CompressGradKernel final : public CompressBase {
 public:
  using CompressBase::CompressBase;

  void Compute(OpKernelContext& context) const override {
    const DDim& x = context.Input(0).dims();
    const Tensor& condition = context.Input(1);
    const Tensor& grad = context.Input(2);
    const DDim taken = TakenDims(x, condition);
    SLUICE_ENFORCE(grad.dims() == taken, ErrorCode::kInvalidArgument,
                   "compress_grad.shape",
                   "compress_grad: input Out@GRAD is {}; expected {}, what "
                   "input Condition takes of input X {}",
                   grad.dims(), taken, x);
    Tensor& x_grad = context.AllocateOutput(0, x);
    FillZero(x_grad.raw_data(), x_grad.bytes());
    const auto* from = static_cast<const char*>(grad.raw_data());
    auto* to = static_cast<char*>(x_grad.raw_data());
    ForEachTaken(x, condition, sizeof(T), [&](size_t place, size_t bytes) {
      std::memcpy(to + place, from, bytes);
      from += bytes;
    });
  }
};

}  // namespace

REGISTER_OPERATOR(compress, WithGradient<kCompressGrad>);
REGISTER_OPERATOR(compress_grad, GradientSchema<kCompressGrad>);
REGISTER_OP_CPU_KERNEL(compress, CompressKernel);
REGISTER_OP_CPU_KERNEL(compress_grad, CompressGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
