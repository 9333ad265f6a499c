#include <algorithm>

#include "sluice/operators/recurrent/recurrent.h"
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
    const int64_t state = l_.StateRow(direction_, row_) * l_.hidden;
    for (int64_t j = 0; j < l_.hidden; ++j) {
      h_[j] = a_.first_h == nullptr ? 0 : a_.first_h[state + j];
      c_[j] = a_.first_c == nullptr ? 0 : a_.first_c[state + j];
    }
    for (int64_t t = length; l_.ragged == nullptr && t < l_.steps; ++t) {
      std::fill_n(Y(t), l_.hidden, T{0});
      if (a_.cells != nullptr) std::fill_n(Cells(t), l_.hidden, T{0});
      std::fill_n(Reserve(t), l_.reserve_row(), T{0});
    }
    for (int64_t step = 0; step < length; ++step) {
      CheckCancelled();
      const bool turned = l_.ragged == nullptr && l_.backwards(direction_);
      const int64_t t = turned ? length - 1 - step : step;
      Step(a_.x + l_.XRow(direction_, t, row_) * l_.input, Reserve(t));
      for (int64_t j = 0; j < l_.hidden; ++j) {
        // The next step reads the state rounded to T.
        Y(t)[j] = static_cast<T>(h_[j]);
        h_[j] = Y(t)[j];
        if (a_.cells != nullptr) Cells(t)[j] = static_cast<T>(c_[j]);
      }
    }
    for (int64_t j = 0; j < l_.hidden; ++j) {
      if (a_.last_h != nullptr) a_.last_h[state + j] = static_cast<T>(h_[j]);
      if (a_.last_c != nullptr) a_.last_c[state + j] = static_cast<T>(c_[j]);
    }
  }

 private:
  T* Y(int64_t t) const {
    return a_.y + l_.YRow(direction_, t, row_) * l_.hidden;
  }

  T* Cells(int64_t t) const {
    return a_.cells + l_.YRow(direction_, t, row_) * l_.hidden;
  }

  T* Reserve(int64_t t) const {
    const int64_t row = direction_ * l_.rows + l_.GateRow(t, row_);
    return a_.reserve + row * l_.reserve_row();
  }

  // Returns row `n` of W times the input, plus the bias.
  double FromInput(const T* x, int64_t n) const {
    const int64_t row = direction_ * l_.gate_rows() + n;
    if (l_.projected) return x[row] + Bias(n);
    const T* w = a_.w + row * l_.input;
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

  // Returns gate `n` after its activation, which the reserve keeps.
  double Activate(int which, double x, int64_t n, T* kept) const {
    if (l_.keeps_inputs()) {
      kept[l_.inputs_block() * l_.hidden + n] = static_cast<T>(x);
    }
    if (l_.clip > 0) x = std::clamp(x, -l_.clip, l_.clip);
    const double gate = l_.activation(direction_, which).Of(x);
    kept[n] = static_cast<T>(gate);
    return gate;
  }

  void Step(const T* x, T* kept) const {
    if (l_.cell == RecurrentCell::kGru) return GruStep(x, kept);
    for (int64_t n = 0; n < l_.gate_rows(); ++n) {
      gate_[n] = FromInput(x, n) + FromState(h_, n);
    }
    for (int64_t j = 0; j < l_.hidden; ++j) {
      if (l_.cell == RecurrentCell::kSimple) {
        h_[j] = Activate(0, gate_[j], j, kept);
      } else {
        LstmUnit(j, kept);
      }
    }
  }

  void LstmUnit(int64_t j, T* kept) const {
    const auto gate = [&](int which, int64_t index, double peep) {
      const int64_t n = index * l_.hidden + j;
      return Activate(which, gate_[n] + peep, n, kept);
    };
    const LstmGateOrder& at = l_.order;
    const double in = gate(0, at.in, Peephole(0, j));
    double forget = gate(0, at.forget, Peephole(2, j));
    if (l_.input_forget) {
      forget = 1 - in;
      kept[at.forget * l_.hidden + j] = static_cast<T>(forget);
    }
    c_[j] = static_cast<T>(forget * c_[j] + in * gate(1, at.candidate, 0));
    const double activated = l_.activation(direction_, 2).Of(c_[j]);
    h_[j] = gate(0, at.out, Peephole(1, j)) * activated;
    T* extra = kept + l_.extra_block() * l_.hidden + j;
    extra[0] = static_cast<T>(c_[j]);
    extra[l_.hidden] = static_cast<T>(activated);
  }

  // The gates are z, r and h.
  void GruStep(const T* x, T* kept) const {
    const int64_t hidden = l_.hidden;
    for (int64_t n = 0; n < 2 * hidden; ++n) {
      gate_[n] = Activate(0, FromInput(x, n) + FromState(h_, n), n, kept);
    }
    for (int64_t j = 0; j < hidden; ++j) {
      other_[j] = gate_[hidden + j] * h_[j];
    }
    for (int64_t j = 0; j < hidden; ++j) {
      const int64_t n = 2 * hidden + j;
      double state = FromState(l_.linear_before_reset ? h_ : other_, n);
      if (l_.linear_before_reset) {
        kept[l_.extra_block() * hidden + j] = static_cast<T>(state);
        state *= gate_[hidden + j];
      }
      gate_[n] = Activate(1, FromInput(x, n) + state, n, kept);
    }
    for (int64_t j = 0; j < hidden; ++j) {
      const double keeps = l_.update_takes_new ? 1 - gate_[j] : gate_[j];
      h_[j] = (1 - keeps) * gate_[2 * hidden + j] + keeps * h_[j];
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
