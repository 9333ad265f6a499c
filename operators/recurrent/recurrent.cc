#include "sluice/operators/recurrent/recurrent.h"

#include <algorithm>
#include <numeric>

#include "sluice/operators/math/elementwise.h"
#include "sluice/operators/math/gemm.h"
#include "sluice/operators/recurrent/lstm_row.h"
#include "sluice/operators/recurrent/recurrent_batches.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {

RecurrentSteps::RecurrentSteps(const Sequences& sequences)
    : sequences_(sequences), order_(static_cast<size_t>(sequences.count)) {
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](int64_t a, int64_t b) {
    return sequences.length(a) > sequences.length(b);
  });
  lengths_.reserve(order_.size());
  for (const int64_t b : order_) {
    lengths_.push_back(static_cast<int32_t>(sequences.length(b)));
  }
  const int32_t longest = lengths_.empty() ? 0 : lengths_[0];
  first_.reserve(static_cast<size_t>(longest) + 1);
  first_.push_back(0);
  auto slots = static_cast<int64_t>(lengths_.size());
  for (int32_t t = 0; t < longest; ++t) {
    while (lengths_[static_cast<size_t>(slots - 1)] <= t) {
      --slots;
    }
    first_.push_back(first_.back() + slots);
  }
}

namespace {

// Gemm multiplies up to this many rows by a transposed matrix in place. For
// larger batches R is transposed once instead of at each step.
constexpr int64_t kDotRows = 2;

// Computes rows of the batch in one direction.
template <typename T>
class Rows {
 public:
  // `biases` of all gates, or nullptr; `turned` is R transposed, or nullptr;
  // `states` holds three of [batch, hidden].
  Rows(const RecurrentLayer& layer,
       const RecurrentArgs<T>& args,
       int64_t direction,
       const RecurrentSlots& slots,
       const T* biases,
       const T* turned,
       T* states)
      : l_(layer),
        a_(args),
        direction_(direction),
        slots_(slots),
        all_(slots.Count(slots.end)),
        rows_(l_.gate_rows()),
        row_(l_.reserve_row()),
        stride_(slots.by * (l_.batch_first ? l_.steps * row_ : row_)),
        inputs_(l_.keeps_inputs() ? l_.inputs_block() * l_.hidden : 0),
        biases_(biases),
        turned_(turned),
        gates_(a_.reserve + direction * l_.rows * row_),
        h_(states),
        c_(h_ + l_.batch * l_.hidden),
        other_(c_ + l_.batch * l_.hidden) {}

  void Run() {
    Load(a_.first_h, h_);
    Load(a_.first_c, c_);
    for (int64_t number = 0; number < l_.steps; ++number) {
      CheckCancelled();
      const int64_t t = l_.Step(direction_, number);
      now_ = slots_.At(l_, t);
      if (now_ > 0) Step(t);
    }
    Store(h_, a_.last_h);
    Store(c_, a_.last_c);
  }

 private:
  T* Gates(int64_t t, int64_t b) const {
    return gates_ + l_.GateRow(t, b) * row_;
  }

  void Load(const T* from, T* to) const {
    slots_.ForEach(all_, [&](int64_t b) {
      T* row = to + b * l_.hidden;
      if (from == nullptr) {
        std::fill_n(row, l_.hidden, T{0});
      } else {
        std::copy_n(from + l_.StateRow(direction_, b) * l_.hidden, l_.hidden,
                    row);
      }
    });
  }

  void Store(const T* from, T* to) const {
    if (to == nullptr) return;
    slots_.ForEach(all_, [&](int64_t b) {
      std::copy_n(from + b * l_.hidden, l_.hidden,
                  to + l_.StateRow(direction_, b) * l_.hidden);
    });
  }

  // Adds states times rows [first, first + count) of R to `to`.
  void Multiply(
      const T* states, int64_t first, int64_t count, T* to, int64_t stride) {
    GemmArgs<T> product{.m = now_,
                        .n = count,
                        .k = l_.hidden,
                        .a = states + slots_.first * l_.hidden,
                        .lda = slots_.by * l_.hidden,
                        .beta = 1,
                        .c = to,
                        .ldc = stride};
    const T* r = a_.r + (direction_ * rows_ + first) * l_.hidden;
    product.transpose_b = turned_ == nullptr;
    product.ldb = turned_ == nullptr ? l_.hidden : rows_;
    product.b = turned_ == nullptr ? r : turned_ + first;
    Gemm(product);
  }

  void AddBiases(T* gate) const {
    if (biases_ != nullptr) AddContiguous(gate, biases_, rows_, gate);
  }

  // Calls body(row of the batch) for all rows that have the step.
  template <typename Body>
  void ForRows(const Body& body) {
    constexpr int64_t kElements = 8192;  // about 10 us of activations
    slots_.ForEach(now_, 1 + kElements / (1 + rows_), body);
  }

  void Step(int64_t t) {
    if (l_.cell == RecurrentCell::kGru) {
      MultiplyGru(t);
    } else {
      Multiply(h_, 0, rows_, Gates(t, slots_.first), stride_);
    }
    ForRows([&](int64_t b) {
      const int64_t at = l_.YRow(direction_, t, b) * l_.hidden;
      if (!a_.Has(t, b)) {
        std::fill_n(a_.y + at, l_.hidden, T{0});
        if (a_.cells != nullptr) std::fill_n(a_.cells + at, l_.hidden, T{0});
        std::fill_n(Gates(t, b), row_, T{0});
        return;
      }
      if (l_.cell != RecurrentCell::kGru) AddBiases(Gates(t, b));
      Finish(Gates(t, b), b);
      std::copy_n(h_ + b * l_.hidden, l_.hidden, a_.y + at);
      if (a_.cells == nullptr) return;
      std::copy_n(c_ + b * l_.hidden, l_.hidden, a_.cells + at);
    });
  }

  // Computes gates z and r, and the state's contribution to the third gate.
  void MultiplyGru(int64_t t) {
    const int64_t hidden = l_.hidden;
    Multiply(h_, 0, 2 * hidden, Gates(t, slots_.first), stride_);
    ForRows([&](int64_t b) {
      T* gate = Gates(t, b);
      AddBiases(gate);
      Activate(0, gate, 2 * hidden);
      T* other = other_ + b * hidden;
      if (!l_.linear_before_reset) {
        MultiplyRow(gate + hidden, h_ + b * hidden, hidden, other);
      } else if (a_.bias == nullptr) {
        std::fill_n(other, hidden, T{0});
      } else {
        std::copy_n(a_.bias + 2 * direction_ * rows_ + rows_ + 2 * hidden,
                    hidden, other);
      }
    });
    if (l_.linear_before_reset) {
      Multiply(h_, 2 * hidden, hidden, other_ + slots_.first * hidden,
               slots_.by * hidden);
    } else {
      Multiply(other_, 2 * hidden, hidden, Gates(t, slots_.first) + 2 * hidden,
               stride_);
    }
  }

  void Activate(int which, T* gate, int64_t count) const {
    if (inputs_ > 0) std::copy_n(gate, count, gate + inputs_);
    if (l_.clip > 0) {
      const auto most = static_cast<T>(l_.clip);
      for (int64_t j = 0; j < count; ++j) {
        gate[j] = std::clamp(gate[j], -most, most);  // NaN is kept
      }
    }
    l_.activation(direction_, which).Apply(gate, count);
  }

  // Computes a row's new state from its gates.
  void Finish(T* gate, int64_t b) {
    T* h = h_ + b * l_.hidden;
    switch (l_.cell) {
      case RecurrentCell::kSimple:
        Activate(0, gate, l_.hidden);
        std::copy_n(gate, l_.hidden, h);
        return;
      case RecurrentCell::kGru:
        return FinishGru(gate, other_ + b * l_.hidden, h);
      case RecurrentCell::kLstm:
        return FinishLstm(gate, c_ + b * l_.hidden, h);
    }
  }

  // The gates are z, r and h.
  void FinishGru(T* gate, const T* product, T* h) const {
    const int64_t hidden = l_.hidden;
    T* last = gate + 2 * hidden;
    if (l_.linear_before_reset) {
      std::copy_n(product, hidden, gate + l_.extra_block() * hidden);
      for (int64_t j = 0; j < hidden; ++j) {
        last[j] += gate[hidden + j] * product[j];
      }
    }
    Activate(1, last, hidden);
    if (l_.update_takes_new) {
      for (int64_t j = 0; j < hidden; ++j) {
        h[j] = (1 - gate[j]) * h[j] + gate[j] * last[j];
      }
      return;
    }
    for (int64_t j = 0; j < hidden; ++j) {
      h[j] = (1 - gate[j]) * last[j] + gate[j] * h[j];
    }
  }

  // Adds the cell's state times a row of peephole weights to `gate`.
  void Peep(int64_t which, const T* c, T* gate) const {
    const T* weights = a_.peephole + (3 * direction_ + which) * l_.hidden;
    for (int64_t j = 0; j < l_.hidden; ++j) {
      gate[j] += weights[j] * c[j];
    }
  }

  void FinishLstm(T* gate, T* c, T* h) const {
    const int64_t hidden = l_.hidden;
    T* in = gate + l_.order.in * hidden;
    T* out = gate + l_.order.out * hidden;
    T* forget = gate + l_.order.forget * hidden;
    T* candidate = gate + l_.order.candidate * hidden;
    const bool peeps = a_.peephole != nullptr;
    if (peeps) {
      Peep(0, c, in);
      Peep(2, c, forget);
      Activate(0, in, hidden);
      Activate(0, forget, hidden);
    } else {
      Activate(0, gate + l_.order.sigmoids() * hidden, 3 * hidden);
    }
    if (l_.input_forget) {
      for (int64_t j = 0; j < hidden; ++j) {
        forget[j] = 1 - in[j];
      }
    }
    Activate(1, candidate, hidden);
    LstmCells(in, forget, candidate, hidden, c);
    if (peeps) {
      Peep(1, c, out);
      Activate(0, out, hidden);
    }
    T* kept = gate + l_.extra_block() * hidden;
    std::copy_n(c, hidden, kept);
    std::copy_n(c, hidden, kept + hidden);
    l_.activation(direction_, 2).Apply(kept + hidden, hidden);
    MultiplyRow(out, kept + hidden, hidden, h);
  }

  const RecurrentLayer& l_;
  const RecurrentArgs<T>& a_;
  int64_t direction_;
  RecurrentSlots slots_;
  int64_t all_;      // of the slots
  int64_t now_ = 0;  // those that have the step
  int64_t rows_;     // of R
  int64_t row_;      // of the reserve
  int64_t stride_;   // between rows of the batch at one step
  int64_t inputs_;   // from a gate to its input in the reserve; 0: not kept
  const T* biases_;
  const T* turned_;
  T* gates_;
  T* h_;
  T* c_;
  T* other_;
};

// What one direction needs of the scratch memory.
struct Parts {
  explicit Parts(const RecurrentLayer& l)
      : states(3 * l.batch * l.hidden),
        turned(l.batch > kDotRows && !l.has_turned ? l.hidden * l.gate_rows()
                                                   : 0),
        all(states + turned + l.gate_rows()) {}

  int64_t states;  // h, c and a product
  int64_t turned;  // R transposed, unless that is given
  int64_t all;     // the last are biases
};

// Adds both biases of each gate, except the state's bias that a GRU resets.
template <typename T>
void SumBiases(const RecurrentLayer& l, const T* bias, T* sums) {
  const int64_t rows = l.gate_rows();
  const int64_t both = l.resets_product() ? 2 * l.hidden : rows;
  for (int64_t n = 0; n < rows; ++n) {
    sums[n] = n < both ? bias[n] + bias[rows + n] : bias[n];
  }
}

// Sets the gates of all steps to X W, without biases and states.
template <typename T>
void MultiplyInputs(const RecurrentLayer& l,
                    const RecurrentArgs<T>& args,
                    int64_t direction,
                    T* copy) {
  const int64_t rows = l.gate_rows();
  const int64_t stride = l.reserve_row();
  T* gates = args.reserve + direction * l.rows * stride;
  if (l.projected) {
    ForRowsOfX(l, direction, [&](int64_t row, int64_t from) {
      std::copy_n(args.x + from * l.input + direction * rows, rows,
                  gates + row * stride);
    });
    return;
  }
  Gemm<T>({.transpose_b = true,
           .m = l.true_rows(),
           .n = rows,
           .k = l.input,
           .a = InOrderOfGates(l, direction, args.x, copy),
           .lda = l.input,
           .b = args.w + direction * rows * l.input,
           .ldb = l.input,
           .c = gates,
           .ldc = stride});
}

}  // namespace

int64_t RecurrentScratch(const RecurrentLayer& layer) {
  const int64_t copy =
      layer.packed && !layer.projected ? layer.rows * layer.input : 0;
  return layer.directions * Parts(layer).all + copy;
}

template <typename T>
void TurnRecurrent(const RecurrentLayer& layer, const T* r, T* turned) {
  const int64_t size = layer.gate_rows() * layer.hidden;
  for (int64_t direction = 0; direction < layer.directions; ++direction) {
    Transpose(r + direction * size, layer.gate_rows(), layer.hidden,
              turned + direction * size);
  }
}

template <typename T>
void Recurrent(const RecurrentLayer& layer,
               const RecurrentArgs<T>& args,
               T* scratch) {
  const Parts parts(layer);
  const int64_t size = layer.gate_rows() * layer.hidden;
  T* copy = scratch + layer.directions * parts.all;
  for (int64_t direction = 0; direction < layer.directions; ++direction) {
    T* turned = scratch + direction * parts.all + parts.states;
    if (parts.turned > 0) {
      Transpose(args.r + direction * size, layer.gate_rows(), layer.hidden,
                turned);
    }
    MultiplyInputs(layer, args, direction, copy);
    if (args.bias == nullptr) continue;
    SumBiases(layer, args.bias + 2 * direction * layer.gate_rows(),
              turned + parts.turned);
  }
  ForBatches(
      layer, sizeof(T), [&](int64_t direction, const RecurrentSlots& slots) {
        T* states = scratch + direction * parts.all;
        const T* made = states + parts.states;
        const T* biases = args.bias == nullptr ? nullptr : made + parts.turned;
        const T* turned = parts.turned > 0 ? made : nullptr;
        if (layer.has_turned) turned = args.turned + direction * size;
        Rows<T>(layer, args, direction, slots, biases, turned, states).Run();
      });
}

SLUICE_INSTANTIATE_FLOATS(TurnRecurrent);
SLUICE_INSTANTIATE_FLOATS(Recurrent);

}  // namespace sluice
