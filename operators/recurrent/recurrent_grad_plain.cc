#include <algorithm>

#include "sluice/operators/recurrent/recurrent.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/dtype_sets.h"

namespace sluice {
namespace {

// The sums of the gradients over all rows and steps, in double.
struct Sums {
  Sums(const RecurrentLayer& l, double* scratch)
      : w(scratch),
        r(w + (l.projected ? 0 : l.directions * l.gate_rows() * l.input)),
        bias(r + l.directions * l.gate_rows() * l.hidden),
        peephole(bias + 2 * l.directions * l.gate_rows()),
        x(peephole + 3 * l.directions * l.hidden),
        row(x + l.rows * l.input) {}

  double* w;
  double* r;
  double* bias;
  double* peephole;
  double* x;
  double* row;  // for one row: gates, and 5 vectors of `hidden`
};

// Adds the gradients of one row of the batch in one direction.
template <typename T>
class GradRow {
 public:
  GradRow(const RecurrentLayer& layer,
          const RecurrentGradArgs<T>& args,
          const Sums& sums,
          int64_t direction,
          int64_t row)
      : l_(layer),
        g_(args),
        a_(args.forward),
        s_(sums),
        direction_(direction),
        row_(row),
        gate_(s_.row),
        h_(gate_ + l_.gate_rows()),
        c_(h_ + l_.hidden),
        before_(c_ + l_.hidden),
        c_before_(before_ + l_.hidden),
        third_(c_before_ + l_.hidden) {}

  void Run() const {
    const int64_t length = a_.lens == nullptr ? l_.steps : a_.lens[row_];
    const int64_t state = l_.StateRow(direction_, row_) * l_.hidden;
    const auto given = [&](const T* grad, int64_t j) {
      return grad == nullptr ? 0.0 : static_cast<double>(grad[state + j]);
    };
    for (int64_t j = 0; j < l_.hidden; ++j) {
      h_[j] = given(g_.last_h_grad, j);
      c_[j] = given(g_.last_c_grad, j);
    }
    const bool turned = l_.ragged == nullptr && l_.backwards(direction_);
    for (int64_t step = length - 1; step >= 0; --step) {
      CheckCancelled();
      Step(turned ? length - 1 - step : step, length);
    }
    for (int64_t j = 0; j < l_.hidden; ++j) {
      if (g_.first_h_grad != nullptr) {
        g_.first_h_grad[state + j] = static_cast<T>(h_[j]);
      }
      if (g_.first_c_grad != nullptr) {
        g_.first_c_grad[state + j] = static_cast<T>(c_[j]);
      }
    }
  }

 private:
  const T* Kept(int64_t t) const {
    const int64_t row = direction_ * l_.rows + l_.GateRow(t, row_);
    return a_.reserve + row * l_.reserve_row();
  }

  void Step(int64_t t, int64_t length) const {
    const int64_t hidden = l_.hidden;
    const int64_t y = l_.YRow(direction_, t, row_) * hidden;
    const int64_t state = l_.StateRow(direction_, row_) * hidden;
    const int64_t past = l_.Before(direction_, t);
    const bool first = past < 0 || past >= length;
    for (int64_t j = 0; j < hidden; ++j) {
      if (g_.y_grad != nullptr) h_[j] += g_.y_grad[y + j];
      before_[j] = first ? a_.first_h == nullptr ? 0 : a_.first_h[state + j]
                         : a_.y[l_.YRow(direction_, past, row_) * hidden + j];
      if (l_.cell != RecurrentCell::kLstm) continue;
      if (g_.cells_grad != nullptr) c_[j] += g_.cells_grad[y + j];
      c_before_[j] = first ? a_.first_c == nullptr ? 0 : a_.first_c[state + j]
                           : Kept(past)[l_.extra_block() * hidden + j];
    }
    const T* kept = Kept(t);
    switch (l_.cell) {
      case RecurrentCell::kSimple:
        for (int64_t j = 0; j < hidden; ++j) {
          gate_[j] = Through(0, kept, j, h_[j]);
          h_[j] = 0;
        }
        break;
      case RecurrentCell::kGru:
        GruGates(kept);
        break;
      case RecurrentCell::kLstm:
        for (int64_t j = 0; j < hidden; ++j) {
          LstmGates(kept, j);
        }
        break;
    }
    AddStep(t, kept);
  }

  // The gradient of the input of gate n, from that of the gate.
  double Through(int which, const T* kept, int64_t n, double grad) const {
    const double gate = kept[n];
    double x = 0;
    if (l_.keeps_inputs()) {
      x = kept[l_.inputs_block() * l_.hidden + n];
      if (l_.clip > 0 && (x < -l_.clip || x > l_.clip)) return 0;
    }
    l_.activation(direction_, which).Gradient(&x, &gate, 1, &grad);
    return grad;
  }

  void LstmGates(const T* kept, int64_t j) const {
    const int64_t n = l_.hidden;
    const int64_t peephole = 3 * direction_ * n + j;
    const int64_t at_in = l_.order.in * n + j, at_out = l_.order.out * n + j;
    const int64_t at_forget = l_.order.forget * n + j;
    const int64_t at_candidate = l_.order.candidate * n + j;
    const double c = kept[l_.extra_block() * n + j];
    const double activated = kept[(l_.extra_block() + 1) * n + j];
    const auto peep = [&](int64_t which, double grad, double by) {
      s_.peephole[peephole + which * n] += grad * by;
      return a_.peephole == nullptr ? 0
                                    : grad * a_.peephole[peephole + which * n];
    };
    gate_[at_out] = Through(0, kept, at_out, h_[j] * activated);
    double grad = h_[j] * kept[at_out];
    l_.activation(direction_, 2).Gradient(&c, &activated, 1, &grad);
    grad += c_[j] + peep(1, gate_[at_out], c);
    double in_grad = grad * kept[at_candidate];
    double forget_grad = grad * c_before_[j];
    if (l_.input_forget) {
      in_grad -= forget_grad;
      forget_grad = 0;
    } else {
      forget_grad = Through(0, kept, at_forget, forget_grad);
    }
    gate_[at_in] = Through(0, kept, at_in, in_grad);
    gate_[at_forget] = forget_grad;
    gate_[at_candidate] = Through(1, kept, at_candidate, grad * kept[at_in]);
    c_[j] = grad * kept[at_forget] + peep(0, gate_[at_in], c_before_[j]) +
            peep(2, forget_grad, c_before_[j]);
    h_[j] = 0;
  }

  // The gates are z, r and h. third_ becomes what R multiplies in the third.
  void GruGates(const T* kept) const {
    const int64_t hidden = l_.hidden;
    const T* r = a_.r + direction_ * l_.gate_rows() * hidden;
    for (int64_t j = 0; j < hidden; ++j) {
      const double update = kept[j], candidate = kept[2 * hidden + j];
      const double change = before_[j] - candidate;
      const double keeps = l_.update_takes_new ? 1 - update : update;
      gate_[j] =
          Through(0, kept, j, h_[j] * (l_.update_takes_new ? -change : change));
      gate_[2 * hidden + j] =
          Through(1, kept, 2 * hidden + j, h_[j] * (1 - keeps));
      h_[j] *= keeps;
      third_[j] = kept[hidden + j] * before_[j];
    }
    for (int64_t j = 0; j < hidden; ++j) {
      double reset_grad = 0;
      if (l_.linear_before_reset) {
        reset_grad =
            gate_[2 * hidden + j] * kept[l_.extra_block() * hidden + j];
      } else {
        for (int64_t n = 0; n < hidden; ++n) {
          reset_grad +=
              gate_[2 * hidden + n] * r[(2 * hidden + n) * hidden + j];
        }
        h_[j] += reset_grad * kept[hidden + j];
        reset_grad *= before_[j];
      }
      gate_[hidden + j] = Through(0, kept, hidden + j, reset_grad);
    }
  }

  // Adds the gradients of everything that the gates of a step are computed of.
  void AddStep(int64_t t, const T* kept) const {
    const int64_t hidden = l_.hidden, rows = l_.gate_rows();
    const int64_t x = l_.XRow(direction_, t, row_) * l_.input;
    const bool gru = l_.cell == RecurrentCell::kGru;
    for (int64_t n = 0; n < rows; ++n) {
      const bool third = gru && n >= 2 * hidden;
      const int64_t weights = direction_ * rows + n;
      // The gradient of the product with the state.
      double grad = gate_[n];
      if (third && l_.linear_before_reset) grad *= kept[n - hidden];
      if (l_.projected) s_.x[x + weights] += gate_[n];
      for (int64_t i = 0; !l_.projected && i < l_.input; ++i) {
        s_.w[weights * l_.input + i] += gate_[n] * a_.x[x + i];
        s_.x[x + i] += gate_[n] * a_.w[weights * l_.input + i];
      }
      const bool resets = third && !l_.linear_before_reset;
      for (int64_t j = 0; j < hidden; ++j) {
        s_.r[weights * hidden + j] += grad * (resets ? third_ : before_)[j];
        if (!resets) h_[j] += grad * a_.r[weights * hidden + j];
      }
      s_.bias[2 * direction_ * rows + n] += gate_[n];
      s_.bias[(2 * direction_ + 1) * rows + n] += grad;
    }
  }

  const RecurrentLayer& l_;
  const RecurrentGradArgs<T>& g_;
  const RecurrentArgs<T>& a_;
  const Sums& s_;
  int64_t direction_;
  int64_t row_;
  double* gate_;      // gradients of the gates' inputs
  double* h_;         // of the state
  double* c_;         // of the cells
  double* before_;    // the state before the step
  double* c_before_;  // the cells before it
  double* third_;
};

template <typename T>
void Round(const double* from, const double* end, T* to) {
  if (to == nullptr) return;
  std::transform(from, end, to, [](double x) { return static_cast<T>(x); });
}

}  // namespace

int64_t RecurrentGradPlainScratch(const RecurrentLayer& layer) {
  const RecurrentLayer& l = layer;
  const int64_t w = l.projected ? 0 : l.input;
  return l.directions * l.gate_rows() * (w + l.hidden + 2) +
         3 * l.directions * l.hidden + l.rows * l.input +
         (l.gates() + 5) * l.hidden;
}

template <typename T>
void RecurrentGradPlain(const RecurrentLayer& layer,
                        const RecurrentGradArgs<T>& args,
                        double* scratch) {
  const Sums sums(layer, scratch);
  std::fill(sums.w, sums.row, 0.0);
  for (int64_t direction = 0; direction < layer.directions; ++direction) {
    for (int64_t row = 0; row < layer.batch; ++row) {
      GradRow<T>(layer, args, sums, direction, row).Run();
    }
  }
  Round(sums.w, sums.r, args.w_grad);
  Round(sums.r, sums.bias, args.r_grad);
  Round(sums.bias, sums.peephole, args.bias_grad);
  Round(sums.peephole, sums.x, args.peephole_grad);
  Round(sums.x, sums.row, args.x_grad);
}

SLUICE_INSTANTIATE_FLOATS(RecurrentGradPlain);

}  // namespace sluice
