#include <algorithm>
#include <cmath>
#include <limits>

#include "sluice/operators/math/strided_copy.h"
#include "sluice/operators/ragged/sequences.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

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

REGISTER_OP_CPU_KERNEL(sequence_softmax, SequenceSoftmaxKernel<FloatTypes>);
REGISTER_OP_CPU_KERNEL(sequence_softmax_grad,
                       SequenceSoftmaxGradKernel<FloatTypes>);

}  // namespace sluice
