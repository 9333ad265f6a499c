#include <algorithm>

#include "sluice/operators/math/block_sums.h"
#include "sluice/operators/math/gemm.h"
#include "sluice/operators/math/recurrent/recurrent.h"
#include "sluice/operators/math/recurrent/recurrent_batches.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/dtype_sets.h"

namespace sluice {
namespace {

// The scratch memory of one direction. Rows of all steps are in the order of
// the gates.
template <typename T>
struct Buffers {
  Buffers(const RecurrentLayer& l, T* scratch)
      : gates(scratch),
        before(gates + l.rows * l.gate_rows()),
        third(before + l.rows * l.hidden),
        h(third + Third(l)),
        c(h + l.batch * l.hidden),
        product(c + l.batch * l.hidden) {}

  static int64_t Third(const RecurrentLayer& l) {
    return l.cell == RecurrentCell::kGru ? l.rows * l.hidden : 0;
  }
  static int64_t Count(const RecurrentLayer& l) {
    return l.rows * (l.gate_rows() + l.hidden) + Third(l) +
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

// Computes the gradients of the gates of rows of the batch in one direction,
// from the last step to the first.
template <typename T>
class GradRows {
 public:
  GradRows(const RecurrentLayer& layer,
           const RecurrentGradArgs<T>& args,
           const Buffers<T>& buffers,
           int64_t direction,
           const RecurrentSlots& slots)
      : l_(layer),
        g_(args),
        a_(args.forward),
        b_(buffers),
        direction_(direction),
        slots_(slots),
        all_(slots.Count(slots.end)),
        rows_(l_.gate_rows()),
        hidden_(l_.hidden),
        inputs_(l_.keeps_inputs() ? l_.inputs_block() * hidden_ : 0) {}

  void Run() const {
    Load(g_.last_h_grad, b_.h);
    Load(g_.last_c_grad, b_.c);
    for (int64_t number = l_.steps - 1; number >= 0; --number) {
      CheckCancelled();
      const int64_t t = l_.Step(direction_, number);
      const int64_t now = slots_.At(l_, t);
      if (now > 0) Step(t, now);
    }
    Store(b_.h, g_.first_h_grad);
    Store(b_.c, g_.first_c_grad);
  }

 private:
  void Load(const T* from, T* to) const {
    slots_.ForEach(all_, [&](int64_t b) {
      T* row = to + b * hidden_;
      if (from == nullptr) {
        std::fill_n(row, hidden_, T{0});
      } else {
        std::copy_n(from + l_.StateRow(direction_, b) * hidden_, hidden_, row);
      }
    });
  }

  void Store(const T* from, T* to) const {
    if (to == nullptr) return;
    slots_.ForEach(all_, [&](int64_t b) {
      std::copy_n(from + b * hidden_, hidden_,
                  to + l_.StateRow(direction_, b) * hidden_);
    });
  }

  const T* Kept(int64_t t, int64_t b) const {
    const int64_t row = direction_ * l_.rows + l_.GateRow(t, b);
    return a_.reserve + row * l_.reserve_row();
  }

  // Whether row b has a step before its step t.
  bool HasBefore(int64_t t, int64_t b) const {
    const int64_t past = l_.Before(direction_, t);
    return past >= 0 && past < l_.steps && a_.Has(past, b);
  }

  // Calls body(row of the batch) for the first `now` rows, if they have step t.
  template <typename Body>
  void ForRows(int64_t t, int64_t now, const Body& body) const {
    constexpr int64_t kElements = 32768;
    slots_.ForEach(now, 1 + kElements / (1 + rows_), [&](int64_t b) {
      if (a_.Has(t, b)) body(b);
    });
  }

  // product = gradients of gates [first, first + count) times R.
  void Multiply(int64_t t, int64_t now, int64_t first, int64_t count) const {
    const int64_t stride = l_.batch_first ? l_.steps * rows_ : rows_;
    Gemm<T>({.m = now,
             .n = hidden_,
             .k = count,
             .a = b_.gates + l_.GateRow(t, slots_.first) * rows_ + first,
             .lda = slots_.by * stride,
             .b = a_.r + (direction_ * rows_ + first) * hidden_,
             .ldb = hidden_,
             .c = b_.product + slots_.first * hidden_,
             .ldc = slots_.by * hidden_});
  }

  void Step(int64_t t, int64_t now) const {
    const bool gru = l_.cell == RecurrentCell::kGru;
    slots_.ForEach(a_.lens == nullptr ? 0 : now, [&](int64_t b) {
      if (a_.Has(t, b)) return;
      const int64_t x = l_.GateRow(t, b);
      std::fill_n(b_.gates + x * rows_, rows_, T{0});
      std::fill_n(b_.before + x * hidden_, hidden_, T{0});
      if (gru) std::fill_n(b_.third + x * hidden_, hidden_, T{0});
    });
    ForRows(t, now, [&](int64_t b) {
      Prepare(t, b);
      const int64_t x = l_.GateRow(t, b);
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
      Multiply(t, now, 2 * hidden_, hidden_);
      ForRows(t, now, [&](int64_t b) { ResetGate(t, b); });
      Multiply(t, now, 0, 2 * hidden_);
    } else {
      Multiply(t, now, 0, rows_);
    }
    slots_.ForEach(now, [&](int64_t b) {
      if (!a_.Has(t, b)) return;
      T* h = b_.h + b * hidden_;
      const T* product = b_.product + b * hidden_;
      for (int64_t j = 0; j < hidden_; ++j) {
        h[j] = gru ? h[j] + product[j] : product[j];
      }
    });
  }

  // Adds the gradients of y and the cells to those of the state, and copies the
  // state before.
  void Prepare(int64_t t, int64_t b) const {
    const auto add = [&](const T* grads, T* to) {
      if (grads == nullptr) return;
      const T* grad = grads + l_.YRow(direction_, t, b) * hidden_;
      for (int64_t j = 0; j < hidden_; ++j) {
        to[j] += grad[j];
      }
    };
    add(g_.y_grad, b_.h + b * hidden_);
    add(g_.cells_grad, b_.c + b * hidden_);
    T* before = b_.before + l_.GateRow(t, b) * hidden_;
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

  void LstmGates(int64_t t, int64_t b, T* gates) const {
    const int64_t n = hidden_;
    const auto [at_in, at_out, at_forget, at_candidate] = l_.order;
    const T* kept = Kept(t, b);
    const T* __restrict kept_in = kept + at_in * n;
    const T* __restrict kept_out = kept + at_out * n;
    const T* __restrict kept_forget = kept + at_forget * n;
    const T* __restrict kept_candidate = kept + at_candidate * n;
    const T* __restrict kept_c = kept + l_.extra_block() * n;
    T* __restrict in = gates + at_in * n;
    T* __restrict out = gates + at_out * n;
    T* __restrict forget = gates + at_forget * n;
    T* __restrict candidate = gates + at_candidate * n;
    T* __restrict h = b_.h + b * n;
    T* __restrict c = b_.c + b * n;
    const T* c_before = CellsBefore(t, b);
    for (int64_t j = 0; j < n; ++j) {
      out[j] = h[j] * kept_c[n + j];
      h[j] *= kept_out[j];
    }
    Slope(0, kept, at_out * n, n, out);
    l_.activation(direction_, 2).Gradient(kept_c, kept_c + n, n, h);
    for (int64_t j = 0; j < n; ++j) {
      c[j] += h[j];
    }
    Peep(1, out, c);
    for (int64_t j = 0; j < n; ++j) {
      forget[j] = c_before == nullptr ? c[j] * T{0} : c[j] * c_before[j];
    }
    for (int64_t j = 0; j < n; ++j) {
      in[j] = c[j] * kept_candidate[j];
      candidate[j] = c[j] * kept_in[j];
      c[j] *= kept_forget[j];
    }
    if (l_.input_forget) {
      for (int64_t j = 0; j < n; ++j) {
        in[j] -= forget[j];
        forget[j] = 0;
      }
    } else {
      Slope(0, kept, at_forget * n, n, forget);
    }
    Slope(0, kept, at_in * n, n, in);
    Slope(1, kept, at_candidate * n, n, candidate);
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
    if (l_.update_takes_new) {
      for (int64_t j = 0; j < n; ++j) {
        update[j] = h[j] * (kept[2 * n + j] - before[j]);
        last[j] = h[j] * kept[j];
        h[j] *= 1 - kept[j];
      }
    } else {
      for (int64_t j = 0; j < n; ++j) {
        update[j] = h[j] * (before[j] - kept[2 * n + j]);
        last[j] = h[j] * (1 - kept[j]);
        h[j] *= kept[j];
      }
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
    const int64_t n = hidden_, x = l_.GateRow(t, b);
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
  RecurrentSlots slots_;
  int64_t all_;  // of the slots
  int64_t rows_;
  int64_t hidden_;
  int64_t inputs_;  // from a gate to its input in the reserve
};

// Calls body(row of x) for the rows past the ends, unless they are ragged.
template <typename T, typename Body>
void ForPadding(const RecurrentLayer& l,
                const RecurrentArgs<T>& args,
                const Body& body) {
  if (args.lens == nullptr || l.packed) return;
  for (int64_t b = 0; b < l.batch; ++b) {
    for (int64_t t = args.lens[b]; t < l.steps; ++t) {
      body(l.GateRow(t, b));
    }
  }
}

// Computes what all steps add to: the gradients of weights, biases and x, from
// those of the gates of one direction.
template <typename T>
class AllSteps {
 public:
  AllSteps(const RecurrentLayer& layer,
           const RecurrentGradArgs<T>& args,
           const Buffers<T>& buffers,
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
    const GradRows<T> rows(l_, g_, b_, direction_, {0, l_.batch, 1});
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
    const int64_t n = l_.hidden, x = l_.GateRow(t, b);
    const T* gates = b_.gates + x * rows_;
    const T* in = gates + l_.order.in * n;
    const T* out = gates + l_.order.out * n;
    const T* forget = gates + l_.order.forget * n;
    const T* cells = g_.forward.reserve +
                     (direction_ * l_.rows + x) * l_.reserve_row() +
                     l_.extra_block() * n;
    for (int64_t j = 0; j < n; ++j) {
      const double past = before == nullptr ? 0 : before[j];
      sums_[j] += in[j] * past;
      sums_[n + j] += static_cast<double>(out[j]) * cells[j];
      sums_[2 * n + j] += forget[j] * past;
    }
  }

  const RecurrentLayer& l_;
  const RecurrentGradArgs<T>& g_;
  const Buffers<T>& b_;
  int64_t direction_;
  T* copy_;  // for x or its gradient
  T* turned_;
  double* sums_;
  int64_t rows_;
  int64_t count_;  // rows of the gates
  bool gru_;
  int64_t both_;  // gates whose products with W and R have one gradient
};

// Doubles are counted as elements of T.
template <typename T>
constexpr int64_t kDouble = sizeof(double) / sizeof(T);

}  // namespace

// Sums in double, the buffers of all directions, a copy of x, and the transpose
// of a gradient.
int64_t RecurrentGradScratch(const RecurrentLayer& layer) {
  constexpr int64_t kEach = kDouble<float>;
  return kEach + kEach * layer.gate_rows() +
         layer.directions * Buffers<float>::Count(layer) +
         layer.rows * layer.input +
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
             [&](int64_t direction, const RecurrentSlots& slots) {
               const Buffers<T> buffers(layer, first + direction * each);
               GradRows<T>(layer, args, buffers, direction, slots).Run();
             });
  T* copy = first + layer.directions * each;
  T* turned = copy + layer.rows * layer.input;
  for (int64_t direction = 0; direction < layer.directions; ++direction) {
    const Buffers<T> buffers(layer, first + direction * each);
    AllSteps<T>(layer, args, buffers, direction, copy, turned, sums).Run();
  }
  if (args.x_grad == nullptr) return;
  ForPadding(layer, args.forward, [&](int64_t row) {
    std::fill_n(args.x_grad + row * layer.input, layer.input, T{0});
  });
}

SLUICE_INSTANTIATE_FLOATS(RecurrentGrad);

}  // namespace sluice
