#include <algorithm>

#include "sluice/operators/indexing/one_hot.h"
#include "sluice/operators/registration.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Returns X's shape with `depth` inserted at the axis.
DDim OutDims(const InferShapeContext& context, int64_t depth) {
  const DDim x = context.input("X");
  context.Merge(context.input("Values"), InferShapeContext::Vector(2));
  if (!x.rank_known()) return x;
  const auto axis = context.Attr<int64_t>("axis");
  context.Require(axis >= -x.rank() - 1 && axis <= x.rank(), "one_hot.axis",
                  "attribute axis = {}; expected a dim of Out, which has one "
                  "more than input X {}: from {} to {}",
                  axis, x, -x.rank() - 1, x.rank());
  context.Require(x.rank() < DDim::kMaxRank, "one_hot.rank",
                  "input X {} has rank {}; expected at most {}", x, x.rank(),
                  DDim::kMaxRank - 1);
  DDim out = x;
  out.InsertDim(static_cast<int>(axis < 0 ? axis + x.rank() + 1 : axis), depth);
  return out;
}

void OneHotShape(InferShapeContext& context) {
  context.SetOutput("Out", OutDims(context, context.Attr<int64_t>("depth")));
}

void OneHotLateShape(InferShapeContext& context) {
  context.SetOutput("Out", OutDims(context, kUnknownDim));
}

void OneHotSchema(OpSchema& op) {
  op.Doc(
      "A row for each index: Values[1] at that index, Values[0] elsewhere. "
      "Negative indices count from the end of the row; one that is outside of "
      "it is nowhere, and its row is all Values[0].");
  op.TypeVar("T", AllDTypes()).TypeVar("S", IndexDTypes());
  op.Input("X", "S", "Indices, of any shape.");
  op.Input("Values", "T", "[2]: what is off, and what is on.");
  op.Output("Out", "T", "The shape of X, with the rows as dim `axis`.");
  op.Attr<int64_t>("depth", "How long a row is.").AtLeast(0);
  op.Attr<int64_t>("axis",
                   "The dim of Out along which rows are; a negative one counts "
                   "from the end.")
      .Default(int64_t{-1});
  op.Operand("Depth", "depth", "int64", "Attribute depth as one element.");
  op.InferShape(OneHotShape).InferLateShape(OneHotLateShape);
  op.NoGradient("X are indices, and Values are constants");
  op.SharesRows("Out", {"X"}, [](const OpDesc& op, const DDim& x) {
    const auto axis = std::get<int64_t>(op.attributes.at("axis"));
    return axis > 0 || (axis < 0 && x.rank_known() && -axis <= x.rank());
  });
}

// Moves elements of any dtype that has the size of Unit.
template <typename Unit, typename Index>
void Fill(const OneHot& one,
          const Index* index,
          const Unit* values,
          int64_t count,
          Unit* out) {
  ParallelFor(count, kGrain, [=](int64_t begin, int64_t end) {
    std::fill(out + begin, out + end, values[0]);
  });
  ParallelFor(count / one.depth, kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      auto place = static_cast<int64_t>(index[i]);
      if (place < 0) place += one.depth;
      if (place < 0 || place >= one.depth) continue;
      const int64_t row = i / one.inner * one.depth + place;
      out[row * one.inner + i % one.inner] = values[1];
    }
  });
}

template <typename Unit>
void FillOut(const OneHot& one,
             const Tensor& x,
             const Tensor& values,
             Tensor* out) {
  const auto* pair = static_cast<const Unit*>(values.raw_data());
  auto* to = static_cast<Unit*>(out->raw_data());
  VisitIndex(x.dtype(), [&]<typename Index>() {
    Fill(one, x.template data<Index>(), pair, out->numel(), to);
  });
}

class OneHotKernel final : public OpKernel {
 public:
  void Prepare(KernelPreparation& preparation) override {
    one_ = OneHot::Of(preparation.query);
    out_dims_ = preparation.query.outputs[0];
  }

  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input(0);
    const Tensor& values = context.Input(1);
    Tensor& out = context.AllocateOutput(0, out_dims_);
    if (out.numel() == 0) return;
    switch (SizeOf(values.dtype())) {
      case 1:
        return FillOut<uint8_t>(one_, x, values, &out);
      case 2:
        return FillOut<uint16_t>(one_, x, values, &out);
      case 4:
        return FillOut<uint32_t>(one_, x, values, &out);
      default:
        return FillOut<uint64_t>(one_, x, values, &out);
    }
  }

 private:
  OneHot one_;
  DDim out_dims_;
};

}  // namespace

REGISTER_OPERATOR(one_hot, OneHotSchema);
REGISTER_OP_CPU_KERNEL(one_hot, OneHotKernel);

}  // namespace sluice
