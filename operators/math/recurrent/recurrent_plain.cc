#include <algorithm>

#include "sluice/operators/math/recurrent/recurrent.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Computes one row of the batch in one direction.
template <typename T>
class Row {
 public:
  // `scratch` holds gates, two states and a row of products.
  Row(const RecurrentLayer& layer,
      const RecurrentArgs<T>& args,
      int64_t direction,
      int64_t row,
      double* scratch)
      : l_(layer),
        a_(args),
        direction_(direction),
        row_(row),
        gate_(scratch),
        h_(gate_ + l_.gate_rows()),
        c_(h_ + l_.hidden),
        other_(c_ + l_.hidden) {}

  void Run() const {
    const int64_t length = a_.lens == nullptr ? l_.steps : a_.lens[row_];
    const bool reverse = l_.reverse || direction_ == 1;
    for (int64_t j = 0; j < l_.hidden; ++j) {
      h_[j] = a_.first_h == nullptr ? 0 : a_.first_h[State() + j];
      c_[j] = a_.first_c == nullptr ? 0 : a_.first_c[State() + j];
    }
    for (int64_t t = length; t < l_.steps; ++t) {
      std::fill_n(Y(t), l_.hidden, T{0});
    }
    for (int64_t step = 0; step < length; ++step) {
      CheckCancelled();
      const int64_t t = reverse ? length - 1 - step : step;
      Step(a_.x + (l_.batch_first ? row_ * l_.steps + t : t * l_.batch + row_) *
                      l_.input);
      for (int64_t j = 0; j < l_.hidden; ++j) {
        // The next step reads the state rounded to T.
        Y(t)[j] = static_cast<T>(h_[j]);
        h_[j] = Y(t)[j];
      }
    }
    for (int64_t j = 0; j < l_.hidden; ++j) {
      if (a_.last_h != nullptr) a_.last_h[State() + j] = static_cast<T>(h_[j]);
      if (a_.last_c != nullptr) a_.last_c[State() + j] = static_cast<T>(c_[j]);
    }
  }

 private:
  int64_t State() const {
    const int64_t at = l_.batch_first ? row_ * l_.directions + direction_
                                      : direction_ * l_.batch + row_;
    return at * l_.hidden;
  }

  T* Y(int64_t t) const {
    const int64_t at = l_.batch_first
                           ? (row_ * l_.steps + t) * l_.directions + direction_
                           : (t * l_.directions + direction_) * l_.batch + row_;
    return a_.y + at * l_.hidden;
  }

  // Returns row `n` of W times the input, plus the bias.
  double FromInput(const T* x, int64_t n) const {
    const T* w = a_.w + (direction_ * l_.gate_rows() + n) * l_.input;
    double sum = 0;
    for (int64_t i = 0; i < l_.input; ++i) {
      sum += static_cast<double>(x[i]) * w[i];
    }
    return sum + Bias(n);
  }

  // Returns row `n` of R times a state, plus the bias.
  double FromState(const double* state, int64_t n) const {
    const T* r = a_.r + (direction_ * l_.gate_rows() + n) * l_.hidden;
    double sum = 0;
    for (int64_t j = 0; j < l_.hidden; ++j) {
      sum += state[j] * r[j];
    }
    return sum + Bias(l_.gate_rows() + n);
  }

  double Bias(int64_t n) const {
    if (a_.bias == nullptr) return 0;
    return a_.bias[2 * direction_ * l_.gate_rows() + n];
  }

  double Peephole(int64_t which, int64_t j) const {
    if (a_.peephole == nullptr) return 0;
    const int64_t at = (3 * direction_ + which) * l_.hidden + j;
    return c_[j] * a_.peephole[at];
  }

  double Activate(int which, double x) const {
    if (l_.clip > 0) x = std::clamp(x, -l_.clip, l_.clip);
    return l_.activation(direction_, which).Of(x);
  }

  void Step(const T* x) const {
    if (l_.cell == RecurrentCell::kGru) return GruStep(x);
    for (int64_t n = 0; n < l_.gate_rows(); ++n) {
      gate_[n] = FromInput(x, n) + FromState(h_, n);
    }
    for (int64_t j = 0; j < l_.hidden; ++j) {
      if (l_.cell == RecurrentCell::kSimple) {
        h_[j] = Activate(0, gate_[j]);
      } else {
        LstmUnit(j);
      }
    }
  }

  // The gates are i, o, f and c.
  void LstmUnit(int64_t j) const {
    const auto gate = [&](int64_t which) {
      return gate_[which * l_.hidden + j];
    };
    const double in = Activate(0, gate(0) + Peephole(0, j));
    const double forget =
        l_.input_forget ? 1 - in : Activate(0, gate(2) + Peephole(2, j));
    c_[j] = static_cast<T>(forget * c_[j] + in * Activate(1, gate(3)));
    const double out = Activate(0, gate(1) + Peephole(1, j));
    h_[j] = out * l_.activation(direction_, 2).Of(c_[j]);
  }

  // The gates are z, r and h.
  void GruStep(const T* x) const {
    const int64_t hidden = l_.hidden;
    for (int64_t n = 0; n < 2 * hidden; ++n) {
      gate_[n] = Activate(0, FromInput(x, n) + FromState(h_, n));
    }
    for (int64_t j = 0; j < hidden; ++j) {
      other_[j] = gate_[hidden + j] * h_[j];
    }
    for (int64_t j = 0; j < hidden; ++j) {
      const int64_t n = 2 * hidden + j;
      const double state = l_.linear_before_reset
                               ? gate_[hidden + j] * FromState(h_, n)
                               : FromState(other_, n);
      gate_[n] = Activate(1, FromInput(x, n) + state);
    }
    for (int64_t j = 0; j < hidden; ++j) {
      h_[j] = (1 - gate_[j]) * gate_[2 * hidden + j] + gate_[j] * h_[j];
    }
  }

  const RecurrentLayer& l_;
  const RecurrentArgs<T>& a_;
  int64_t direction_;
  int64_t row_;
  double* gate_;
  double* h_;
  double* c_;
  double* other_;
};

}  // namespace

int64_t RecurrentPlainScratch(const RecurrentLayer& layer) {
  return layer.directions * layer.batch * (layer.gates() + 3) * layer.hidden;
}

template <typename T>
void RecurrentPlain(const RecurrentLayer& layer,
                    const RecurrentArgs<T>& args,
                    double* scratch) {
  const int64_t each = (layer.gates() + 3) * layer.hidden;
  const int64_t rows = layer.directions * layer.batch;
  ParallelFor(rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Row<T>(layer, args, i / layer.batch, i % layer.batch, scratch + i * each)
          .Run();
    }
  });
}

SLUICE_INSTANTIATE_FLOATS(RecurrentPlain);

}  // namespace sluice
