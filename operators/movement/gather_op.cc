#include "sluice/operators/math/cast.h"
#include "sluice/operators/math/half_conversions.h"
#include "sluice/operators/math/indexing/index_text.h"
#include "sluice/operators/math/movement/gather.h"
#include "sluice/operators/movement/copy_kernel.h"
#include "sluice/operators/movement/scatter_add.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

// Returns the shape of Out.
DDim PickedDims(const InferShapeContext& context) {
  const ShapeHandle x = context.WithRankAtLeast(context.input("X"), 1);
  const ShapeHandle index = context.input("Index");
  if (!x.dims.rank_known() || !index.dims.rank_known()) {
    return DDim::UnknownRank();
  }
  const auto axis = context.Attr<int64_t>("axis");
  context.Require(axis >= -x.rank() && axis < x.rank(), "gather.axis",
                  "axis = {}; expected a dim of input X {}, which has rank {}",
                  axis, x.dims, x.rank());
  context.Require(x.rank() - 1 + index.rank() <= DDim::kMaxRank, "gather.rank",
                  "input X {} gathered by input Index {} has rank {}; expected "
                  "at most {}",
                  x.dims, index.dims, x.rank() - 1 + index.rank(),
                  DDim::kMaxRank);
  const int at = static_cast<int>(axis < 0 ? axis + x.rank() : axis);
  DDim out = x.dims;
  out.RemoveDimRange(at, at + 1);
  for (int i = 0; i < index.rank(); ++i) {
    out.InsertDim(at + i, index.dims[i]);
  }
  return out;
}

void GatherSchema(OpSchema& op) {
  op.Doc(
      "Picks slices of X along one dimension: Out[i, ...] = X[Index[i], ...] "
      "for axis 0.");
  op.TypeVar("T", AllDTypes()).TypeVar("S", IndexDTypes());
  op.Input("X", "T", "The tensor to pick from, of rank 1 at least.");
  op.Input("Index", "S",
           "Of any shape, mostly [n]: which slices, each from 0 to the size of "
           "that dim of X less one; negative ones count from the end; checked "
           "when the op runs.");
  op.Output("Out", "T",
            "The shape of X with dim `axis` replaced by the shape of Index.");
  op.Attr<int64_t>("axis", "The dim of X; negative ones count from the end.")
      .Default(int64_t{0});
  op.InferShape(OutShape<PickedDims>).Onnx({"Gather", {}});
}

constexpr GradientOp kGatherGrad = {
    .forward = GatherSchema,
    .doc =
        "The gradient of gather: each slice of X gets the sum of the gradients "
        "of those picked from it, in the order of Index.",
    .inputs = {ShapeOf("X"), "Index"},
    .dims = PickedDims};

// Views X as [outer, size, inner] around `axis`.
struct Slices {
  Slices() = default;
  Slices(const DDim& x, int64_t axis_of_x) {
    const int axis =
        static_cast<int>(axis_of_x < 0 ? axis_of_x + x.rank() : axis_of_x);
    outer = x.Product(0, axis);
    size = x[axis];
    inner = x.Product(axis + 1, x.rank());
  }
  int64_t outer = 0;
  int64_t size = 0;
  int64_t inner = 0;
};

template <typename Index>
void CheckIndices(const OpKernelContext& context,
                  const Tensor& index,
                  int64_t size,
                  int64_t axis) {
  const auto* values = index.data<Index>();
  const int64_t outside =
      FindOutside(values, index.numel(), size, /*least=*/-size);
  SLUICE_ENFORCE(
      outside < 0, ErrorCode::kOutOfRange, "gather.index_range_at_run",
      "{}: input Index[{}] = {} is outside of {}, dim {} of input X "
      "{}",
      context.op(), Coordinates(outside, index.dims()), values[outside],
      IndexRange(size), axis, context.Input(0).dims());
}

class GatherKernel final : public OpKernel {
 public:
  explicit GatherKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    const DDim& x = preparation.query.inputs[0];
    slices_ = Slices(x, axis_);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& index = context.Input(1);
    if (index.numel() == 0) {
      context.AllocateOutput(0, out_dims_);
    } else {
      VisitIndex(index.dtype(),
                 [&]<typename Index>() { ComputeWith<Index>(context, index); });
    }
  }

 private:
  template <typename Index>
  void ComputeWith(OpKernelContext& context, const Tensor& index) const {
    CheckIndices<Index>(context, index, slices_.size, axis_);
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    const Tensor& x = context.Input(0);
    Gather(x.raw_data(), index.data<Index>(), slices_.outer, slices_.size,
           index.numel(),
           static_cast<size_t>(slices_.inner) * SizeOf(x.dtype()),
           out.raw_data());
  }

  int64_t axis_;
  Slices slices_;
  DDim out_dims_;
};

// float16 and bfloat16 are summed in float32, in scratch.
template <typename T>
class GatherGradKernel final : public OpKernel {
 public:
  using Sum = Computed<T>;

  explicit GatherGradKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    x_dims_ = preparation.query.inputs[0];
    slices_ = Slices(x_dims_, axis_);
    if (kIsHalf<T>) {
      preparation.scratch_bytes =
          static_cast<size_t>(x_dims_.numel()) * sizeof(Sum);
    }
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& index = context.Input(1);
    VisitIndex(index.dtype(),
               [&]<typename Index>() { ComputeWith<Index>(context, index); });
  }

 private:
  template <typename Index>
  void ComputeWith(OpKernelContext& context, const Tensor& index) const {
    CheckIndices<Index>(context, index, slices_.size, axis_);
    Tensor& x_grad = context.AllocateOutput(0, x_dims_);
    if (x_grad.numel() == 0) return;
    T* out = x_grad.data<T>();
    Sum* sums = nullptr;
    if constexpr (kIsHalf<T>) {
      sums = static_cast<float*>(context.scratch());
    } else {
      sums = out;
    }
    ScatterAdd(context.Input(2).data<T>(), index.data<Index>(), slices_.outer,
               slices_.size, index.numel(), slices_.inner, sums);
    if constexpr (kIsHalf<T>) {
      Cast(sums, x_grad.numel(), kDTypeOf<T>, out);
    }
  }

  int64_t axis_;
  DDim x_dims_;
  Slices slices_;
};

}  // namespace

REGISTER_OPERATOR(gather, WithGradient<kGatherGrad>);
REGISTER_OPERATOR(gather_grad, GradientSchema<kGatherGrad>);
REGISTER_OP_CPU_KERNEL(gather, EstimatedBy<&PickingWork>, GatherKernel);
REGISTER_OP_CPU_KERNEL(gather_grad, GatherGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
