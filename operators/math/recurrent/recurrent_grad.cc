#include <algorithm>

#include "sluice/operators/math/block_sums.h"
#include "sluice/operators/math/gemm.h"
#include "sluice/operators/math/recurrent/recurrent.h"
#include "sluice/operators/math/recurrent/recurrent_batches.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/dtype_sets.h"

namespace sluice {
namespace {

// The scratch memory of one direction. Rows of all steps are in the order of x.
template <typename T>
struct Buffers {
  Buffers(const RecurrentLayer& l, T* scratch)
      : gates(scratch),
        before(gates + l.steps * l.batch * l.gate_rows()),
        third(before + l.steps * l.batch * l.hidden),
        h(third + Third(l)),
        c(h + l.batch * l.hidden),
        product(c + l.batch * l.hidden) {}

  static int64_t Third(const RecurrentLayer& l) {
    return l.cell == RecurrentCell::kGru ? l.steps * l.batch * l.hidden : 0;
  }
  static int64_t Count(const RecurrentLayer& l) {
    return l.steps * l.batch * (l.gate_rows() + l.hidden) + Third(l) +
           3 * l.batch * l.hidden;
  }

  T* gates;   // gradients of the products with R, for all steps
  T* before;  // states before the steps; 0 past the end of a row
  // GRU: with linear_before_reset gradients of the third product with W; else r
  // times the states before.
  T* third;
  // For the batch, of one step: gradients of the state and of the cells, and a
  // product with R.
  T* h;
  T* c;
  T* product;
};

// Computes the gradients of the gates of rows [begin, end) in one direction,
// from the last step to the first.
template <typename T>
class GradRows {
 public:
  GradRows(const RecurrentLayer& layer,
           const RecurrentGradArgs<T>& args,
           const Buffers<T>& buffers,
           int64_t direction,
           int64_t begin,
           int64_t end)
      : l_(layer),
        g_(args),
        a_(args.forward),
        b_(buffers),
        direction_(direction),
        begin_(begin),
        end_(end),
        rows_(l_.gate_rows()),
        hidden_(l_.hidden),
        inputs_(l_.keeps_inputs() ? l_.inputs_block() * hidden_ : 0) {}

  void Run() const {
    Load(g_.last_h_grad, b_.h);
    Load(g_.last_c_grad, b_.c);
    for (int64_t step = l_.steps - 1; step >= 0; --step) {
      CheckCancelled();
      Step(l_.backwards(direction_) ? l_.steps - 1 - step : step);
    }
    Store(b_.h, g_.first_h_grad);
    Store(b_.c, g_.first_c_grad);
  }

 private:
  void Load(const T* from, T* to) const {
    for (int64_t b = begin_; b < end_; ++b) {
      T* row = to + b * hidden_;
      if (from == nullptr) {
        std::fill_n(row, hidden_, T{0});
      } else {
        std::copy_n(from + l_.StateRow(direction_, b) * hidden_, hidden_, row);
      }
    }
  }

  void Store(const T* from, T* to) const {
    if (to == nullptr) return;
    for (int64_t b = begin_; b < end_; ++b) {
      std::copy_n(from + b * hidden_, hidden_,
                  to + l_.StateRow(direction_, b) * hidden_);
    }
  }

  const T* Kept(int64_t t, int64_t b) const {
    const int64_t first = direction_ * l_.steps * l_.batch;
    return a_.reserve + (first + l_.XRow(t, b)) * l_.reserve_row();
  }

  // Whether row b has a step before its step t.
  bool HasBefore(int64_t t, int64_t b) const {
    const int64_t past = l_.Before(direction_, t);
    return past >= 0 && past < l_.steps && a_.Has(past, b);
  }

  template <typename Body>
  void ForRows(int64_t t, const Body& body) const {
    constexpr int64_t kElements = 32768;
    const int64_t grain = 1 + kElements / (1 + rows_);
    ParallelFor(end_ - begin_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin_ + begin; b < begin_ + end; ++b) {
        if (a_.Has(t, b)) body(b);
      }
    });
  }

  // product = gradients of gates [first, first + count) times R.
  void Multiply(int64_t t, int64_t first, int64_t count) const {
    Gemm<T>({.m = end_ - begin_,
             .n = hidden_,
             .k = count,
             .a = b_.gates + l_.XRow(t, begin_) * rows_ + first,
             .lda = l_.batch_first ? l_.steps * rows_ : rows_,
             .b = a_.r + (direction_ * rows_ + first) * hidden_,
             .ldb = hidden_,
             .c = b_.product + begin_ * hidden_,
             .ldc = hidden_});
  }

  void Step(int64_t t) const {
    const bool gru = l_.cell == RecurrentCell::kGru;
    for (int64_t b = begin_; a_.lens != nullptr && b < end_; ++b) {
      if (a_.Has(t, b)) continue;
      const int64_t x = l_.XRow(t, b);
      std::fill_n(b_.gates + x * rows_, rows_, T{0});
      std::fill_n(b_.before + x * hidden_, hidden_, T{0});
      if (gru) std::fill_n(b_.third + x * hidden_, hidden_, T{0});
    }
    ForRows(t, [&](int64_t b) {
      Prepare(t, b);
      const int64_t x = l_.XRow(t, b);
      T* gates = b_.gates + x * rows_;
      T* h = b_.h + b * hidden_;
      switch (l_.cell) {
        case RecurrentCell::kSimple:
          std::copy_n(h, hidden_, gates);
          return Slope(0, Kept(t, b), 0, hidden_, gates);
        case RecurrentCell::kGru:
          return GruGates(Kept(t, b), x, h);
        case RecurrentCell::kLstm:
          return LstmGates(t, b, gates);
      }
    });
    if (gru && !l_.linear_before_reset) {
      Multiply(t, 2 * hidden_, hidden_);
      ForRows(t, [&](int64_t b) { ResetGate(t, b); });
      Multiply(t, 0, 2 * hidden_);
    } else {
      Multiply(t, 0, rows_);
    }
    for (int64_t b = begin_; b < end_; ++b) {
      if (!a_.Has(t, b)) continue;
      T* h = b_.h + b * hidden_;
      const T* product = b_.product + b * hidden_;
      for (int64_t j = 0; j < hidden_; ++j) {
        h[j] = gru ? h[j] + product[j] : product[j];
      }
    }
  }

  // Adds the gradient of y to that of the state, and copies the state before.
  void Prepare(int64_t t, int64_t b) const {
    T* h = b_.h + b * hidden_;
    if (g_.y_grad != nullptr) {
      const T* y = g_.y_grad + l_.YRow(direction_, t, b) * hidden_;
      for (int64_t j = 0; j < hidden_; ++j) {
        h[j] += y[j];
      }
    }
    T* before = b_.before + l_.XRow(t, b) * hidden_;
    if (HasBefore(t, b)) {
      const int64_t past = l_.Before(direction_, t);
      std::copy_n(a_.y + l_.YRow(direction_, past, b) * hidden_, hidden_,
                  before);
    } else if (a_.first_h != nullptr) {
      std::copy_n(a_.first_h + l_.StateRow(direction_, b) * hidden_, hidden_,
                  before);
    } else {
      std::fill_n(before, hidden_, T{0});
    }
  }

  // Multiplies gradients of gates from element `first` on by the derivative of
  // their activation.
  void Slope(
      int which, const T* kept, int64_t first, int64_t count, T* grad) const {
    const T* gates = kept + first;
    l_.activation(direction_, which)
        .Gradient(gates + inputs_, gates, count, grad);
    if (l_.clip <= 0) return;
    const auto most = static_cast<T>(l_.clip);
    for (int64_t j = 0; j < count; ++j) {
      const T x = gates[inputs_ + j];
      if (x < -most || x > most) grad[j] = 0;
    }
  }

  // The gates are i, o, f and c.
  void LstmGates(int64_t t, int64_t b, T* __restrict in) const {
    const int64_t n = hidden_;
    const T* __restrict kept = Kept(t, b);
    const T* __restrict kept_c = kept + l_.extra_block() * n;
    T* __restrict out = in + n;
    T* __restrict forget = out + n;
    T* __restrict candidate = forget + n;
    T* __restrict h = b_.h + b * n;
    T* __restrict c = b_.c + b * n;
    const T* c_before = CellsBefore(t, b);
    for (int64_t j = 0; j < n; ++j) {
      out[j] = h[j] * kept_c[n + j];
      h[j] *= kept[n + j];
    }
    Slope(0, kept, n, n, out);
    l_.activation(direction_, 2).Gradient(kept_c, kept_c + n, n, h);
    for (int64_t j = 0; j < n; ++j) {
      c[j] += h[j];
    }
    Peep(1, out, c);
    for (int64_t j = 0; j < n; ++j) {
      forget[j] = c_before == nullptr ? c[j] * T{0} : c[j] * c_before[j];
    }
    for (int64_t j = 0; j < n; ++j) {
      in[j] = c[j] * kept[3 * n + j];
      candidate[j] = c[j] * kept[j];
      c[j] *= kept[2 * n + j];
    }
    if (l_.input_forget) {
      for (int64_t j = 0; j < n; ++j) {
        in[j] -= forget[j];
        forget[j] = 0;
      }
    } else {
      Slope(0, kept, 2 * n, n, forget);
    }
    Slope(0, kept, 0, n, in);
    Slope(1, kept, 3 * n, n, candidate);
    Peep(0, in, c);
    Peep(2, forget, c);
  }

  // Adds a gate's gradient times its peephole weights to that of the cells.
  void Peep(int64_t which, const T* gate, T* c) const {
    if (a_.peephole == nullptr) return;
    const T* weights = a_.peephole + (3 * direction_ + which) * hidden_;
    for (int64_t j = 0; j < hidden_; ++j) {
      c[j] += weights[j] * gate[j];
    }
  }

 public:
  // The cells before step t of row b; nullptr: they are 0.
  const T* CellsBefore(int64_t t, int64_t b) const {
    if (HasBefore(t, b)) {
      const int64_t past = l_.Before(direction_, t);
      return Kept(past, b) + l_.extra_block() * hidden_;
    }
    if (a_.first_c == nullptr) return nullptr;
    return a_.first_c + l_.StateRow(direction_, b) * hidden_;
  }

 private:
  // The gates are z, r and h. Computes all gradients but that of r, unless r
  // multiplies the product.
  void GruGates(const T* kept, int64_t x, T* h) const {
    const int64_t n = hidden_;
    T *update = b_.gates + x * rows_, *reset = update + n, *last = reset + n;
    T* third = b_.third + x * n;
    const T* before = b_.before + x * n;
    for (int64_t j = 0; j < n; ++j) {
      update[j] = h[j] * (before[j] - kept[2 * n + j]);
      last[j] = h[j] * (1 - kept[j]);
      h[j] *= kept[j];
    }
    Slope(0, kept, 0, n, update);
    Slope(1, kept, 2 * n, n, last);
    if (!l_.linear_before_reset) {
      for (int64_t j = 0; j < n; ++j) {
        third[j] = kept[n + j] * before[j];
      }
      return;
    }
    const T* product = kept + l_.extra_block() * n;
    for (int64_t j = 0; j < n; ++j) {
      third[j] = last[j];
      reset[j] = last[j] * product[j];
      last[j] *= kept[n + j];
    }
    Slope(0, kept, n, n, reset);
  }

  // `product` is the gradient of r times the state.
  void ResetGate(int64_t t, int64_t b) const {
    const int64_t n = hidden_, x = l_.XRow(t, b);
    const T* kept = Kept(t, b);
    const T* product = b_.product + b * n;
    const T* before = b_.before + x * n;
    T *h = b_.h + b * n, *reset = b_.gates + x * rows_ + n;
    for (int64_t j = 0; j < n; ++j) {
      reset[j] = product[j] * before[j];
      h[j] += product[j] * kept[n + j];
    }
    Slope(0, kept, n, n, reset);
  }

  const RecurrentLayer& l_;
  const RecurrentGradArgs<T>& g_;
  const RecurrentArgs<T>& a_;
  const Buffers<T>& b_;
  int64_t direction_;
  int64_t begin_, end_;
  int64_t rows_;
  int64_t hidden_;
  int64_t inputs_;  // from a gate to its input in the reserve
};

// Computes what all steps add to: the gradients of weights, biases and x, from
// those of the gates of one direction.
template <typename T>
class AllSteps {
 public:
  AllSteps(const RecurrentLayer& layer,
           const RecurrentGradArgs<T>& args,
           const Buffers<T>& buffers,
           int64_t direction,
           const T* x,
           T* turned,
           double* sums)
      : l_(layer),
        g_(args),
        b_(buffers),
        direction_(direction),
        x_(x),
        turned_(turned),
        sums_(sums),
        rows_(l_.gate_rows()),
        count_(l_.steps * l_.batch),
        gru_(l_.cell == RecurrentCell::kGru),
        both_(gru_ ? 2 * l_.hidden : rows_) {}

  void Run() const {
    Weights();
    if (g_.x_grad != nullptr) Inputs();
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
      Sum(b_.gates, rows_, both_, x_, input, w);
      if (gru_) {
        Sum(Third(), ThirdStride(), hidden, x_, input, w + both_ * input);
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

  void Inputs() const {
    const auto add = [&](const T* gates, int64_t stride, int64_t first,
                         int64_t gate_count) {
      Gemm<T>({.m = count_,
               .n = l_.input,
               .k = gate_count,
               .a = gates,
               .lda = stride,
               .b = g_.forward.w + (direction_ * rows_ + first) * l_.input,
               .ldb = l_.input,
               .beta = direction_ == 0 && first == 0 ? T{0} : T{1},
               .c = g_.x_grad,
               .ldc = l_.input});
    };
    add(b_.gates, rows_, 0, both_);
    if (gru_) add(Third(), ThirdStride(), both_, l_.hidden);
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
    const GradRows<T> rows(l_, g_, b_, direction_, 0, l_.batch);
    for (int64_t t = 0; t < l_.steps; ++t) {
      for (int64_t b = 0; b < l_.batch; ++b) {
        if (g_.forward.Has(t, b)) AddPeephole(t, b, rows.CellsBefore(t, b));
      }
    }
    std::transform(sums_, sums_ + 3 * n, g_.peephole_grad + 3 * direction_ * n,
                   [](double total) { return static_cast<T>(total); });
  }

  // The weights are of i, o and f, like the gates.
  void AddPeephole(int64_t t, int64_t b, const T* before) const {
    const int64_t n = l_.hidden, x = l_.XRow(t, b);
    const T* gates = b_.gates + x * rows_;
    const T* cells = g_.forward.reserve +
                     (direction_ * count_ + x) * l_.reserve_row() +
                     l_.extra_block() * n;
    for (int64_t j = 0; j < n; ++j) {
      const double past = before == nullptr ? 0 : before[j];
      sums_[j] += gates[j] * past;
      sums_[n + j] += static_cast<double>(gates[n + j]) * cells[j];
      sums_[2 * n + j] += gates[2 * n + j] * past;
    }
  }

  const RecurrentLayer& l_;
  const RecurrentGradArgs<T>& g_;
  const Buffers<T>& b_;
  int64_t direction_;
  const T* x_;
  T* turned_;
  double* sums_;
  int64_t rows_;
  int64_t count_;  // rows of x
  bool gru_;
  int64_t both_;  // gates whose products with W and R have one gradient
};

// Calls body(row of x) for the rows past the ends.
template <typename T, typename Body>
void ForPadding(const RecurrentLayer& l,
                const RecurrentArgs<T>& args,
                const Body& body) {
  if (args.lens == nullptr) return;
  for (int64_t b = 0; b < l.batch; ++b) {
    for (int64_t t = args.lens[b]; t < l.steps; ++t) {
      body(l.XRow(t, b));
    }
  }
}

// Doubles are counted as elements of T.
template <typename T>
constexpr int64_t kDouble = sizeof(double) / sizeof(T);

}  // namespace

// Sums in double, the buffers of all directions, x without its padding, and
// the transpose of a gradient.
int64_t RecurrentGradScratch(const RecurrentLayer& layer) {
  constexpr int64_t kEach = kDouble<float>;
  return kEach + kEach * layer.gate_rows() +
         layer.directions * Buffers<float>::Count(layer) +
         layer.steps * layer.batch * layer.input +
         layer.gate_rows() * std::max(layer.input, layer.hidden);
}

template <typename T>
void RecurrentGrad(const RecurrentLayer& layer,
                   const RecurrentGradArgs<T>& args,
                   T* scratch) {
  // Scratch memory is aligned for any type.
  auto* sums = reinterpret_cast<double*>(scratch);
  T* first = scratch + kDouble<float> * layer.gate_rows();
  const int64_t each = Buffers<T>::Count(layer);
  ForBatches(layer, sizeof(T),
             [&](int64_t direction, int64_t begin, int64_t end) {
               const Buffers<T> buffers(layer, first + direction * each);
               GradRows<T>(layer, args, buffers, direction, begin, end).Run();
             });
  // Past the ends, x may be anything; 0 times NaN would be NaN.
  const T* x = args.forward.x;
  const int64_t input = layer.input;
  T* copy = first + layer.directions * each;
  T* turned = copy + layer.steps * layer.batch * input;
  if (args.forward.lens != nullptr && args.w_grad != nullptr) {
    std::copy_n(x, layer.steps * layer.batch * input, copy);
    ForPadding(layer, args.forward, [&](int64_t row) {
      std::fill_n(copy + row * input, input, T{0});
    });
    x = copy;
  }
  for (int64_t direction = 0; direction < layer.directions; ++direction) {
    const Buffers<T> buffers(layer, first + direction * each);
    AllSteps<T>(layer, args, buffers, direction, x, turned, sums).Run();
  }
  if (args.x_grad == nullptr) return;
  ForPadding(layer, args.forward, [&](int64_t row) {
    std::fill_n(args.x_grad + row * input, input, T{0});
  });
}

SLUICE_INSTANTIATE_FLOATS(RecurrentGrad);

}  // namespace sluice
