#include <algorithm>

#include "sluice/operators/math/block_sums.h"
#include "sluice/operators/math/gemm.h"
#include "sluice/operators/recurrent/recurrent_batches.h"
#include "sluice/operators/recurrent/recurrent_grad_parts.h"
#include "sluice/platform/dtype_sets.h"

namespace sluice {
namespace {

// Computes what all steps add to: the gradients of weights, biases and x, from
// those of the gates of one direction.
template <typename T>
class AllSteps {
 public:
  AllSteps(const RecurrentLayer& layer,
           const RecurrentGradArgs<T>& args,
           const RecurrentGradBuffers<T>& buffers,
           int64_t direction,
           T* copy,
           T* turned,
           double* sums)
      : l_(layer),
        g_(args),
        b_(buffers),
        direction_(direction),
        copy_(copy),
        turned_(turned),
        sums_(sums),
        rows_(l_.gate_rows()),
        count_(l_.true_rows()),
        gru_(l_.cell == RecurrentCell::kGru),
        both_(gru_ ? 2 * l_.hidden : rows_) {}

  void Run() const {
    Weights();
    if (g_.x_grad != nullptr && l_.projected) Projections();
    if (g_.x_grad != nullptr && !l_.projected) Inputs();
    if (g_.bias_grad != nullptr) Biases();
    if (g_.peephole_grad != nullptr) Peepholes();
  }

 private:
  // The gradients of the third product with W, and their stride.
  const T* Third() const {
    return l_.linear_before_reset ? b_.third : b_.gates + both_;
  }
  int64_t ThirdStride() const {
    return l_.linear_before_reset ? l_.hidden : rows_;
  }

  // to = gates' * by, over all steps; `by` has `size` columns. Its transpose
  // is computed, because Gemm packs the wide rows of the gates as its second
  // matrix, and would read them a few elements at a time as its first.
  void Sum(const T* gates,
           int64_t stride,
           int64_t gate_count,
           const T* by,
           int64_t size,
           T* to) const {
    Gemm<T>({.transpose_a = true,
             .m = size,
             .n = gate_count,
             .k = count_,
             .a = by,
             .lda = size,
             .b = gates,
             .ldb = stride,
             .c = turned_,
             .ldc = gate_count});
    Transpose(turned_, size, gate_count, to);
  }

  void Weights() const {
    const int64_t hidden = l_.hidden, input = l_.input;
    if (g_.w_grad != nullptr) {
      T* w = g_.w_grad + direction_ * rows_ * input;
      const T* x = Unpadded();
      Sum(b_.gates, rows_, both_, x, input, w);
      if (gru_) {
        Sum(Third(), ThirdStride(), hidden, x, input, w + both_ * input);
      }
    }
    if (g_.r_grad != nullptr) {
      T* r = g_.r_grad + direction_ * rows_ * hidden;
      Sum(b_.gates, rows_, both_, b_.before, hidden, r);
      if (gru_) {
        Sum(b_.gates + both_, rows_, hidden,
            l_.linear_before_reset ? b_.before : b_.third, hidden,
            r + both_ * hidden);
      }
    }
  }

  // x in the order of the gates, 0 past the ends, where it may be anything: 0
  // times NaN would be NaN.
  const T* Unpadded() const {
    const T* x = g_.forward.x;
    if (l_.packed) return InOrderOfGates(l_, direction_, x, copy_);
    if (g_.forward.lens == nullptr) return x;
    if (direction_ > 0) return copy_;
    std::copy_n(x, l_.rows * l_.input, copy_);
    ForPadding(l_, g_.forward, [&](int64_t row) {
      std::fill_n(copy_ + row * l_.input, l_.input, T{0});
    });
    return copy_;
  }

  void Inputs() const {
    // Of ragged rows, the sums in the order of the gates are in the copy first.
    const bool adds = direction_ > 0 && !l_.packed;
    const auto add = [&](const T* gates, int64_t stride, int64_t first,
                         int64_t gate_count) {
      Gemm<T>({.m = count_,
               .n = l_.input,
               .k = gate_count,
               .a = gates,
               .lda = stride,
               .b = g_.forward.w + (direction_ * rows_ + first) * l_.input,
               .ldb = l_.input,
               .beta = adds || first > 0 ? T{1} : T{0},
               .c = l_.packed ? copy_ : g_.x_grad,
               .ldc = l_.input});
    };
    add(b_.gates, rows_, 0, both_);
    if (gru_) add(Third(), ThirdStride(), both_, l_.hidden);
    if (!l_.packed) return;
    ForRowsOfX(l_, direction_, [&](int64_t row, int64_t x) {
      const T* from = copy_ + row * l_.input;
      T* to = g_.x_grad + x * l_.input;
      for (int64_t i = 0; i < l_.input; ++i) {
        to[i] = direction_ == 0 ? from[i] : to[i] + from[i];
      }
    });
  }

  // The gradients of products with W.
  void Projections() const {
    ForRowsOfX(l_, direction_, [&](int64_t row, int64_t x) {
      T* to = g_.x_grad + x * l_.input + direction_ * rows_;
      std::copy_n(b_.gates + row * rows_, both_, to);
      if (!gru_) return;
      std::copy_n(Third() + row * ThirdStride(), l_.hidden, to + both_);
    });
  }

  void Biases() const {
    T* of_w = g_.bias_grad + 2 * direction_ * rows_;
    T* of_r = of_w + rows_;
    const auto sum = [&](const T* gates, int64_t stride, int64_t columns,
                         T* to) {
      std::fill_n(sums_, columns, 0.0);
      AddToColumns(gates, count_, stride, columns, sums_);
      std::transform(sums_, sums_ + columns, to,
                     [](double total) { return static_cast<T>(total); });
    };
    sum(b_.gates, rows_, rows_, of_r);
    std::copy_n(of_r, both_, of_w);
    if (gru_) sum(Third(), ThirdStride(), l_.hidden, of_w + both_);
  }

  void Peepholes() const {
    const int64_t n = l_.hidden;
    std::fill_n(sums_, 3 * n, 0.0);
    for (int64_t t = 0; t < l_.steps; ++t) {
      for (int64_t b = 0; b < l_.batch; ++b) {
        if (!g_.forward.Has(t, b)) continue;
        AddPeephole(t, b, CellsBefore(l_, g_.forward, direction_, t, b));
      }
    }
    std::transform(sums_, sums_ + 3 * n, g_.peephole_grad + 3 * direction_ * n,
                   [](double total) { return static_cast<T>(total); });
  }

  // The weights are of i, o and f, like the gates.
  void AddPeephole(int64_t t, int64_t b, const T* before) const {
    const int64_t n = l_.hidden, x = l_.GateRow(t, b);
    const T* gates = b_.gates + x * rows_;
    const T* in = gates + l_.order.in * n;
    const T* out = gates + l_.order.out * n;
    const T* forget = gates + l_.order.forget * n;
    const T* cells =
        KeptGates(l_, g_.forward, direction_, t, b) + l_.extra_block() * n;
    for (int64_t j = 0; j < n; ++j) {
      const double past = before == nullptr ? 0 : before[j];
      sums_[j] += in[j] * past;
      sums_[n + j] += static_cast<double>(out[j]) * cells[j];
      sums_[2 * n + j] += forget[j] * past;
    }
  }

  const RecurrentLayer& l_;
  const RecurrentGradArgs<T>& g_;
  const RecurrentGradBuffers<T>& b_;
  int64_t direction_;
  T* copy_;  // for x or its gradient
  T* turned_;
  double* sums_;
  int64_t rows_;
  int64_t count_;  // rows of the gates
  bool gru_;
  int64_t both_;  // gates whose products with W and R have one gradient
};

}  // namespace

template <typename T>
void RecurrentGradSums(const RecurrentLayer& layer,
                       const RecurrentGradArgs<T>& args,
                       const RecurrentGradBuffers<T>& buffers,
                       int64_t direction,
                       T* copy,
                       T* turned,
                       double* sums) {
  AllSteps<T>(layer, args, buffers, direction, copy, turned, sums).Run();
}

SLUICE_INSTANTIATE_FLOATS(RecurrentGradSums);

}  // namespace sluice
