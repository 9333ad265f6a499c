#include <algorithm>
#include <cmath>
#include <limits>

#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/ragged/sequences.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

void SequenceSoftmaxShape(InferShapeContext& context) {
  SequenceCount(context);
  context.SetOutput("Out", RowsOf(context));
}

void SequenceSoftmaxGradShape(InferShapeContext& context) {
  SequenceCount(context, "Offsets", "Out");
  const ShapeHandle out = context.WithRankAtLeast(context.input("Out"), 1);
  context.Merge(out, context.input("Out@GRAD"));
  context.SetOutput("X@GRAD", out);
}

std::vector<OpDesc> SoftmaxGradient(const OpDesc& forward) {
  return {MakeGradOp(forward, "sequence_softmax_grad",
                     {.inputs = {"Offsets"},
                      .outputs = {"Out"},
                      .output_grads = {"Out"},
                      .wanted = {"X"}})};
}

void SequenceSoftmaxSchema(OpSchema& op) {
  op.Family("softmax");
  op.Doc(
      "The softmax over the rows of each sequence, column by column; Fluid's "
      "has one column.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("X", "T", "[N, ...]: ragged rows.");
  OffsetsInput(op);
  op.Output("Out", "T", "In X's shape.");
  op.Ragged("Out", "Offsets");
  op.InferShape(SequenceSoftmaxShape).Gradient(SoftmaxGradient);
}

void SoftmaxGradSchema(OpSchema& op) {
  op.Family("softmax");
  op.Doc("The gradient of sequence_softmax; 0 for padding.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("Out", "T", "What sequence_softmax gave.");
  OffsetsInput(op, "Out");
  op.Input("Out@GRAD", "T", "In Out's shape.");
  op.Output("X@GRAD", "T", "In Out's shape.");
  op.InferShape(SequenceSoftmaxGradShape);
}

constexpr int64_t kGrainSequences = 16;

// Calls work(b, c) for each sequence and column.
template <typename Work>
void ForEachColumn(const Sequences& cut, int64_t width, const Work& work) {
  ParallelFor(cut.count, kGrainSequences, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      for (int64_t c = 0; c < width && cut.length(b) > 0; ++c) {
        work(b, c);
      }
    }
  });
}

template <typename T>
class SequenceSoftmaxKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& x = context.Input("X");
    const int64_t rows = x.dims()[0];
    const Sequences cut =
        CheckedSequences(context, context.Input("Offsets"), rows);
    Tensor& out = context.AllocateOutput(0, x.dims());
    if (out.numel() == 0) return;
    const int64_t width = RowWidth(x.dims());
    const T* from = x.data<T>();
    T* to = out.data<T>();
    ForEachColumn(cut, width, [&](int64_t b, int64_t c) {
      const int64_t first = cut.begin(b) * width + c;
      const int64_t end = cut.end(b) * width + c;
      T most = -std::numeric_limits<T>::infinity();
      for (int64_t i = first; i < end; i += width) {
        most = std::max(most, from[i]);
      }
      double sum = 0;
      for (int64_t i = first; i < end; i += width) {
        to[i] = std::exp(from[i] - most);
        sum += static_cast<double>(to[i]);
      }
      for (int64_t i = first; i < end; i += width) {
        to[i] = static_cast<T>(static_cast<double>(to[i]) / sum);
      }
    });
    RepeatLastRow(to, cut.rows(), rows, static_cast<size_t>(width) * sizeof(T));
  }
};

template <typename T>
class SequenceSoftmaxGradKernel final : public OpKernel {
 public:
  void Compute(OpKernelContext& context) const override {
    const Tensor& out = context.Input("Out");
    const Sequences cut = CheckedSequences(context, context.Input("Offsets"),
                                           out.dims()[0], "Out");
    Tensor& x_grad = context.AllocateOutput(0, out.dims());
    FillZero(x_grad.raw_data(), x_grad.bytes());
    if (x_grad.numel() == 0) return;
    const int64_t width = RowWidth(out.dims());
    const T* y = out.data<T>();
    const T* grad = context.Input("Out@GRAD").data<T>();
    T* to = x_grad.data<T>();
    ForEachColumn(cut, width, [&](int64_t b, int64_t c) {
      const int64_t first = cut.begin(b) * width + c;
      const int64_t end = cut.end(b) * width + c;
      double sum = 0;
      for (int64_t i = first; i < end; i += width) {
        sum += static_cast<double>(y[i]) * static_cast<double>(grad[i]);
      }
      for (int64_t i = first; i < end; i += width) {
        to[i] = y[i] * (grad[i] - static_cast<T>(sum));
      }
    });
  }
};

}  // namespace

REGISTER_OPERATOR(sequence_softmax, SequenceSoftmaxSchema);
REGISTER_OPERATOR(sequence_softmax_grad, SoftmaxGradSchema);
REGISTER_OP_CPU_KERNEL(sequence_softmax, SequenceSoftmaxKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(sequence_softmax_grad,
                       SequenceSoftmaxGradKernel<FloatTypes>);

}  // namespace sluice
