#include <algorithm>
#include <limits>

#include "sluice/operators/registration.h"

namespace sluice {
namespace {

void AccuracyShape(InferShapeContext& context) {
  const ShapeHandle indices = context.WithRank(context.input("Indices"), 2);
  const ShapeHandle label = context.WithRankAtLeast(context.input("Label"), 1);
  if (label.rank() > 1) {
    context.WithRank(label, 2);
    context.WithValue(context.Dim(label, 1), 1);
  }
  const DimHandle rows =
      context.Merge(context.Dim(indices, 0), context.Dim(label, 0));
  context.Require(rows != 0, "accuracy.empty",
                  "input Label {} has no rows; expected 1 or more, the share "
                  "of right ones among none is not defined",
                  label.dims);
  context.Require(
      rows <= std::numeric_limits<int32_t>::max(), "accuracy.too_many",
      "input Label {} has more rows than an int32 counts", label.dims);
  for (const char* output : {"Accuracy", "Correct", "Total"}) {
    context.SetOutput(output, InferShapeContext::Vector(1));
  }
}

void AccuracySchema(OpSchema& op) {
  op.Doc(
      "The share of rows whose label is among the k labels predicted for it.");
  op.TypeVar("T", IndexDTypes());
  op.Input("Indices", "T", "[n, k]: the labels predicted for each row.");
  op.Input("Label", "T", "[n] or [n, 1]: the label of each row.");
  op.Output("Accuracy", "float32", "[1]: Correct / Total.");
  op.Output("Correct", "int32", "[1]: how many rows are right.");
  op.Output("Total", "int32", "[1]: n.");
  op.InferShape(AccuracyShape);
}

template <typename T>
class AccuracyKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& indices = context.Input(0);
    const int64_t rows = indices.dims()[0];
    const int64_t k = indices.dims()[1];
    const auto* predicted = static_cast<const T*>(indices.raw_data());
    const T* label = context.Input(1).data<T>();
    int32_t correct = 0;
    for (int64_t row = 0; row < rows; ++row) {
      const T* first = predicted + row * k;
      correct += std::find(first, first + k, label[row]) != first + k ? 1 : 0;
    }
    const DDim one({1});
    *context.AllocateOutput(0, one).data<float>() = static_cast<float>(
        static_cast<double>(correct) / static_cast<double>(rows));
    *context.AllocateOutput(1, one).data<int32_t>() = correct;
    *context.AllocateOutput(2, one).data<int32_t>() =
        static_cast<int32_t>(rows);
  }
};

}  // namespace

REGISTER_OPERATOR(accuracy, AccuracySchema);
REGISTER_OP_CPU_KERNEL(accuracy, AccuracyKernel<IndexTypes>);

}  // namespace sluice
