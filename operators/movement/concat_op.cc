#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/registration.h"
#include "sluice/operators/row_wise.h"
#include "sluice/operators/usual_shapes.h"

namespace sluice {
namespace {

// Returns the shape of Out.
DDim JoinedDims(const InferShapeContext& context) {
  const auto given = context.Attr<int64_t>("axis");
  ShapeHandle out = InferShapeContext::UnknownShape();
  int64_t size = 0;
  int axis = 0;
  for (ShapeHandle x : context.inputs("X")) {
    if (!x.dims.rank_known()) {
      size = kUnknownDim;
      continue;
    }
    context.Require(given >= -x.rank() && given < x.rank(), "concat.axis",
                    "axis = {}; expected a dim of input X {}, from {} to {}",
                    given, x.dims, -x.rank(), x.rank() - 1);
    axis = static_cast<int>(given < 0 ? given + x.rank() : given);
    const int64_t own = x.dims[axis];
    const bool known = size >= 0 && own >= 0;
    const bool fits = !known || !__builtin_add_overflow(size, own, &size);
    context.Require(fits, "concat.overflow",
                    "the sizes of dim {} add up to more than 64 bits hold",
                    axis);
    if (!known) size = kUnknownDim;
    x.dims[axis] = kUnknownDim;
    out = context.Merge(out, x);
  }
  if (out.dims.rank_known()) out.dims[axis] = size;
  return out;
}

void ConcatGradShape(InferShapeContext& context) {
  context.Merge(context.input("Out@GRAD"), {JoinedDims(context), -1});
  const auto index = context.Attr<int64_t>("index");
  const auto inputs = context.inputs("X");
  const auto count = static_cast<int64_t>(inputs.size());
  context.Require(index < count, "concat_grad.index",
                  "attribute index = {}; expected less than {}, the number of "
                  "inputs X",
                  index, count);
  context.SetOutput("X@GRAD", inputs[index]);
}

// There is a gradient op for each input.
std::vector<OpDesc> ConcatGradient(const OpDesc& forward) {
  std::vector<OpDesc> grads;
  for (const std::string& x : forward.Input("X")) {
    OpDesc& grad = grads.emplace_back(MakeGradOp(
        forward, "concat_grad", {.inputs = {"X"}, .output_grads = {"Out"}}));
    grad.attributes["index"] = static_cast<int64_t>(grads.size() - 1);
    grad.outputs = {{"X@GRAD", {GradName(x)}}};
  }
  return grads;
}

void AxisAttribute(OpSchema& op) {
  op.Attr<int64_t>("axis",
                   "The dim in which they follow each other; negative ones "
                   "count from the end.")
      .Default(int64_t{0});
  op.DimAttribute("axis");
}

void ConcatSchema(OpSchema& op) {
  op.Doc("One or more tensors, one after the other along one dimension.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "Tensors of one shape, but for dim `axis`.",
           {.variadic = true});
  op.Output("Out", "T", "All their elements.");
  AxisAttribute(op);
  op.InferShape(OutShape<JoinedDims>)
      .Gradient(ConcatGradient)
      .Alias("Out", "X");
  op.Serves(OpRole::kJoin).Onnx({"Concat", {}});
  op.SharesRows("Out", {"X"}, AxisSparesRows);
}

void ConcatGradSchema(OpSchema& op) {
  op.Doc(
      "The gradient of concat for one of its inputs: the part of the gradient "
      "of Out where that input stands.");
  op.TypeVar("T", FloatDTypes());
  op.Input("X", "T", "What was joined.",
           {.variadic = true, .shape_only = true});
  op.Input("Out@GRAD", "T", "The gradient of Out, in its shape.");
  op.Output("X@GRAD", "T", "The gradient of X[index], in its shape.");
  AxisAttribute(op);
  op.Attr<int64_t>("index", "Which of the inputs.").AtLeast(0);
  op.InferShape(ConcatGradShape);
}

// The range of Out that holds one input.
struct Part {
  int64_t first = 0;  // offset of its first element in Out
  DDim sizes;         // [outer, contiguous elements]
  int64_t row = 0;    // stride of the outer index in Out
};

// `out` is the shape of the concatenated inputs.
std::vector<Part> PartsOf(const DDim* inputs,
                          size_t count,
                          const DDim& out,
                          int64_t axis_of_x) {
  const int axis =
      static_cast<int>(axis_of_x < 0 ? axis_of_x + out.rank() : axis_of_x);
  const int64_t outer = out.Product(0, axis);
  const int64_t inner = out.Product(axis + 1, out.rank());
  std::vector<Part> parts;
  int64_t first = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t side_by_side = inputs[i][axis] * inner;
    parts.push_back({first, {outer, side_by_side}, out[axis] * inner});
    first += side_by_side;
  }
  return parts;
}

class ConcatKernel final : public OpKernel {
 public:
  explicit ConcatKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    const auto& inputs = preparation.query.inputs;
    out_dims_ = preparation.query.outputs[0];
    size_ = SizeOf(preparation.query.input_dtypes[0]);
    parts_ = PartsOf(inputs.data(), inputs.size(), out_dims_, axis_);
    for (const Part& part : parts_) {
      copies_.emplace_back(part.sizes, StridedCopy::Strides{part.sizes[1], 1},
                           StridedCopy::Strides{part.row, 1}, size_);
    }
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& output = context.AllocateOutput(0, out_dims_);
    auto* out = static_cast<char*>(output.raw_data());
    for (size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].sizes.numel() == 0) continue;
      const void* x = context.Input(static_cast<int>(i)).raw_data();
      // Out may be an alias of one input.
      if (x == out) continue;
      copies_[i](x, out + static_cast<size_t>(parts_[i].first) * size_);
    }
  }

 private:
  int64_t axis_;
  size_t size_ = 0;  // element size
  DDim out_dims_;
  std::vector<Part> parts_;
  std::vector<StridedCopy> copies_;
};

template <typename T>
class ConcatGradKernel final : public OpKernel {
 public:
  explicit ConcatGradKernel(const OpKernelConstruction& construction)
      : axis_(construction.Attr<int64_t>("axis")),
        index_(construction.Attr<int64_t>("index")) {}

  void Prepare(KernelPreparation& preparation) override {
    const auto& inputs = preparation.query.inputs;
    const DDim& out = inputs.back();
    dims_ = inputs[index_];
    part_ = PartsOf(inputs.data(), inputs.size() - 1, out, axis_)[index_];
    copy_ = StridedCopy(part_.sizes, StridedCopy::Strides{part_.row, 1},
                        StridedCopy::Strides{part_.sizes[1], 1}, sizeof(T));
  }

  void Compute(OpKernelContext& context) const override {
    const T* out_grad = context.Input("Out@GRAD").data<T>();
    Tensor& x_grad = context.AllocateOutput(0, dims_);
    if (x_grad.numel() == 0) return;
    copy_(out_grad + part_.first, x_grad.data<T>());
  }

 private:
  int64_t axis_;
  int64_t index_;
  DDim dims_;
  Part part_;
  StridedCopy copy_;
};

}  // namespace

REGISTER_OPERATOR(concat, ConcatSchema);
REGISTER_OPERATOR(concat_grad, ConcatGradSchema);
REGISTER_OP_CPU_KERNEL(concat, ConcatKernel);
REGISTER_OP_CPU_KERNEL(concat_grad, ConcatGradKernel<FloatAndHalfTypes>);

}  // namespace sluice
