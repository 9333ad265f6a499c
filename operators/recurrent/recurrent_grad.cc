#include <algorithm>

#include "sluice/operators/math/elementwise.h"
#include "sluice/operators/math/gemm.h"
#include "sluice/operators/recurrent/lstm_row.h"
#include "sluice/operators/recurrent/recurrent.h"
#include "sluice/operators/recurrent/recurrent_batches.h"
#include "sluice/operators/recurrent/recurrent_grad_parts.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/dtype_sets.h"

namespace sluice {
namespace {

// Computes the gradients of the gates of rows of the batch in one direction,
// from the last step to the first.
template <typename T>
class GradRows {
 public:
  GradRows(const RecurrentLayer& layer,
           const RecurrentGradArgs<T>& args,
           const RecurrentGradBuffers<T>& buffers,
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
        inputs_(l_.keeps_inputs() ? l_.inputs_block() * hidden_ : 0),
        usual_lstm_(IsUsualLstm()) {}

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
  // Whether LstmRowGrad computes the gradients of the gates.
  bool IsUsualLstm() const {
    if (l_.cell != RecurrentCell::kLstm || l_.clip > 0 || l_.input_forget ||
        a_.peephole != nullptr) {
      return false;
    }
    const auto is = [this](int which, const char* name) {
      return l_.activation(direction_, which) ==
             RecurrentActivation::Find(name);
    };
    return is(0, "sigmoid") && is(1, "tanh") && is(2, "tanh");
  }

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
    return KeptGates(l_, a_, direction_, t, b);
  }

  // Calls body(row of the batch) for the first `now` rows, if they have step t.
  template <typename Body>
  void ForRows(int64_t t, int64_t now, const Body& body) const {
    constexpr int64_t kElements = 32768;
    slots_.ForEach(now, 1 + kElements / (1 + rows_), [&](int64_t b) {
      if (a_.Has(t, b)) body(b);
    });
  }

  // to = gradients of gates [first, first + count) times R.
  void Multiply(
      int64_t t, int64_t now, int64_t first, int64_t count, T* to) const {
    const int64_t stride = l_.batch_first ? l_.steps * rows_ : rows_;
    Gemm<T>({.m = now,
             .n = hidden_,
             .k = count,
             .a = b_.gates + l_.GateRow(t, slots_.first) * rows_ + first,
             .lda = slots_.by * stride,
             .b = a_.r + (direction_ * rows_ + first) * hidden_,
             .ldb = hidden_,
             .c = to + slots_.first * hidden_,
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
    // The gradients of states of rows without the step stay as they are.
    if (!gru && (a_.lens == nullptr || l_.packed)) {
      return Multiply(t, now, 0, rows_, b_.h);
    }
    if (gru && !l_.linear_before_reset) {
      Multiply(t, now, 2 * hidden_, hidden_, b_.product);
      ForRows(t, now, [&](int64_t b) { ResetGate(t, b); });
      Multiply(t, now, 0, 2 * hidden_, b_.product);
    } else {
      Multiply(t, now, 0, rows_, b_.product);
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
      AddContiguous(to, grads + l_.YRow(direction_, t, b) * hidden_, hidden_,
                    to);
    };
    add(g_.y_grad, b_.h + b * hidden_);
    add(g_.cells_grad, b_.c + b * hidden_);
    T* before = b_.before + l_.GateRow(t, b) * hidden_;
    if (HasStepBefore(l_, a_, direction_, t, b)) {
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

  LstmRowGradArgs<T> LstmRow(int64_t t, int64_t b, T* gates) const {
    const int64_t n = hidden_;
    const auto [in, out, forget, candidate] = l_.order;
    const T* kept = Kept(t, b);
    return {.count = n,
            .in = kept + in * n,
            .out = kept + out * n,
            .forget = kept + forget * n,
            .candidate = kept + candidate * n,
            .tanh_of_cells = kept + (l_.extra_block() + 1) * n,
            .cells_before = CellsBefore(l_, a_, direction_, t, b),
            .h_grad = b_.h + b * n,
            .c_grad = b_.c + b * n,
            .in_grad = gates + in * n,
            .out_grad = gates + out * n,
            .forget_grad = gates + forget * n,
            .candidate_grad = gates + candidate * n};
  }

  void LstmGates(int64_t t, int64_t b, T* gates) const {
    const LstmRowGradArgs<T> row = LstmRow(t, b, gates);
    if (usual_lstm_) return LstmRowGrad(row);
    const int64_t n = hidden_;
    const auto [at_in, at_out, at_forget, at_candidate] = l_.order;
    const T* kept = Kept(t, b);
    const T* __restrict kept_in = row.in;
    const T* __restrict kept_out = row.out;
    const T* __restrict kept_forget = row.forget;
    const T* __restrict kept_candidate = row.candidate;
    const T* __restrict kept_c = kept + l_.extra_block() * n;
    T* __restrict in = row.in_grad;
    T* __restrict out = row.out_grad;
    T* __restrict forget = row.forget_grad;
    T* __restrict candidate = row.candidate_grad;
    T* __restrict h = b_.h + b * n;
    T* __restrict c = row.c_grad;
    const T* c_before = row.cells_before;
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
  const RecurrentGradBuffers<T>& b_;
  int64_t direction_;
  RecurrentSlots slots_;
  int64_t all_;  // of the slots
  int64_t rows_;
  int64_t hidden_;
  int64_t inputs_;  // from a gate to its input in the reserve
  bool usual_lstm_;
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
         layer.directions * RecurrentGradBuffers<float>::Count(layer) +
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
  const int64_t each = RecurrentGradBuffers<T>::Count(layer);
  ForBatches(
      layer, sizeof(T), [&](int64_t direction, const RecurrentSlots& slots) {
        const RecurrentGradBuffers<T> buffers(layer, first + direction * each);
        GradRows<T>(layer, args, buffers, direction, slots).Run();
      });
  T* copy = first + layer.directions * each;
  T* turned = copy + layer.rows * layer.input;
  for (int64_t direction = 0; direction < layer.directions; ++direction) {
    const RecurrentGradBuffers<T> buffers(layer, first + direction * each);
    RecurrentGradSums(layer, args, buffers, direction, copy, turned, sums);
  }
  if (args.x_grad == nullptr) return;
  ForPadding(layer, args.forward, [&](int64_t row) {
    std::fill_n(args.x_grad + row * layer.input, layer.input, T{0});
  });
}

SLUICE_INSTANTIATE_FLOATS(RecurrentGrad);

}  // namespace sluice
