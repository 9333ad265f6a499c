#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/math/work.h"
#include "sluice/operators/op_gradients.h"
#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void TransposeShape(InferShapeContext& context) {
  const Ints& axes = context.Attr<Ints>("axis");
  const auto rank = static_cast<int64_t>(axes.size());
  const ShapeHandle x = context.input("X");
  context.Require(
      x.dims.rank_known() ? rank == x.rank() : rank <= DDim::kMaxRank,
      "transpose.rank",
      "attribute axis has {} entries; expected one for each dim of "
      "input X {}",
      rank, x.dims);
  DDim out(Ints(axes.size(), kUnknownDim));
  uint32_t seen = 0;
  for (int i = 0; i < out.rank(); ++i) {
    const int64_t axis = axes[i];
    context.Require(axis >= 0 && axis < rank, "transpose.axis_range",
                    "axis[{}] = {}; expected a dim of input X, from 0 to {}", i,
                    axis, rank - 1);
    context.Require((seen >> axis & 1) == 0, "transpose.axis_twice",
                    "axis[{}] = {} stands twice; expected each dim once", i,
                    axis);
    seen |= 1U << axis;
    out[i] = x.dims.rank_known() ? x.dims[static_cast<int>(axis)] : kUnknownDim;
  }
  context.SetOutput("Out", out);
}

std::vector<OpDesc> TransposeGradient(const OpDesc& forward) {
  const auto& axes = std::get<Ints>(forward.attributes.find("axis")->second);
  Ints back(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    back[axes[i]] = static_cast<int64_t>(i);
  }
  return {GradientThrough(forward, forward.Input("X")[0], "transpose",
                          {{"axis", back}})};
}

void TransposeSchema(OpSchema& op) {
  op.Doc("X with its dims in another order: dim i of Out is dim axis[i] of X.");
  op.TypeVar("T", AllDTypes());
  op.Input("X", "T", "The tensor, of any rank.");
  op.Output("Out", "T", "The same elements, dims permuted.");
  op.Attr<Ints>("axis", "The dims of X in their new order, each once.");
  op.InferShape(TransposeShape).Gradient(TransposeGradient);
  op.SharesRows("Out", {"X"}, [](const OpDesc& op, const DDim&) {
    const auto& axis = std::get<Ints>(op.attributes.at("axis"));
    return !axis.empty() && axis[0] == 0;
  });
  op.Permutes("axis").Onnx({"Transpose", {{"perm", "axis"}}});
}

class TransposeKernel final : public OpKernel {
 public:
  explicit TransposeKernel(const OpKernelConstruction& construction)
      : axes_(construction.Attr<std::vector<int64_t>>("axis")) {}

  void Prepare(KernelPreparation& preparation) override {
    using Strides = StridedCopy::Strides;
    out_dims_ = preparation.query.outputs[0];
    const Strides x = RowMajorStrides(preparation.query.inputs[0]);
    Strides from{};
    for (size_t i = 0; i < axes_.size(); ++i) {
      from[i] = x[axes_[i]];
    }
    copy_ = StridedCopy(out_dims_, from, RowMajorStrides(out_dims_),
                        SizeOf(preparation.query.input_dtypes[0]));
  }

  void Compute(OpKernelContext& context) const override {
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    copy_(context.Input(0).raw_data(), out.raw_data());
  }

 private:
  std::vector<int64_t> axes_;
  DDim out_dims_;
  StridedCopy copy_;
};

// Contiguous runs are copied whole, otherwise single elements. Rows that map to
// few sets of the first-level cache are loaded several times.
KernelWork Work(const KernelQuery& query) {
  const DDim& x = query.inputs[0];
  const auto& axes = query.Attr<Ints>("axis");
  const auto elements = static_cast<double>(x.numel());
  KernelWork work = DefaultKernelWork(query);
  const auto last = static_cast<int64_t>(axes.size()) - 1;
  if (axes.empty() || elements == 0) return work;
  if (axes.back() == last) {
    work.runs = elements / static_cast<double>(x[x.rank() - 1]);
  } else {
    const int64_t bytes =
        x[x.rank() - 1] * static_cast<int64_t>(SizeOf(query.input_dtypes[0]));
    work.moves = elements;
    work.aliased = elements * AliasedReads(bytes);
  }
  return work;
}

}  // namespace

REGISTER_OPERATOR(transpose, TransposeSchema);
REGISTER_OP_CPU_KERNEL(transpose, EstimatedBy<&Work>, TransposeKernel);

}  // namespace sluice
