#include "sluice/operators/math/recurrent/recurrent.h"

#include <algorithm>

#include "sluice/operators/math/gemm.h"
#include "sluice/platform/cancel.h"
#include "sluice/platform/dtype_sets.h"
#include "sluice/platform/parallel_for.h"

namespace sluice {
namespace {

// Gemm multiplies up to this many rows by a transposed matrix in place. For
// larger batches R is transposed once instead of at each step.
constexpr int64_t kDotRows = 2;

// The layout of the scratch memory of one direction.
struct Parts {
  explicit Parts(const RecurrentLayer& l)
      : gates(l.steps * l.batch * l.gate_rows()),
        state(l.batch * l.hidden),
        turned(l.batch > kDotRows ? l.hidden * l.gate_rows() : 0),
        row(l.gate_rows()) {}

  int64_t all() const { return gates + 3 * state + turned + row; }

  int64_t gates;   // for all steps
  int64_t state;   // three buffers: h, c and a product
  int64_t turned;  // R transposed
  int64_t row;     // biases
};

// Computes one direction of a layer.
template <typename T>
class Direction {
 public:
  Direction(const RecurrentLayer& layer,
            const RecurrentArgs<T>& args,
            int64_t direction,
            T* scratch)
      : l_(layer),
        a_(args),
        direction_(direction),
        rows_(l_.gate_rows()),
        // The stride between rows of the batch at one step.
        stride_(l_.batch_first ? l_.steps * rows_ : rows_) {
    const Parts parts(layer);
    gates_ = scratch + direction * parts.all();
    h_ = gates_ + parts.gates;
    c_ = h_ + parts.state;
    other_ = c_ + parts.state;
    turned_ = parts.turned > 0 ? other_ + parts.state : nullptr;
    bias_ = other_ + parts.state + parts.turned;
  }

  void Run() {
    Load(a_.first_h, h_);
    Load(a_.first_c, c_);
    MultiplyInputs();
    Turn();
    const bool reverse = l_.reverse || direction_ == 1;
    for (int64_t step = 0; step < l_.steps; ++step) {
      CheckCancelled();
      Step(reverse ? l_.steps - 1 - step : step);
    }
    Store(h_, a_.last_h);
    Store(c_, a_.last_c);
  }

 private:
  int64_t StateOf(int64_t row) const {
    const int64_t at = l_.batch_first ? row * l_.directions + direction_
                                      : direction_ * l_.batch + row;
    return at * l_.hidden;
  }

  void Load(const T* from, T* to) const {
    for (int64_t b = 0; b < l_.batch; ++b) {
      T* row = to + b * l_.hidden;
      if (from == nullptr) {
        std::fill_n(row, l_.hidden, T{0});
      } else {
        std::copy_n(from + StateOf(b), l_.hidden, row);
      }
    }
  }

  void Store(const T* from, T* to) const {
    if (to == nullptr) return;
    for (int64_t b = 0; b < l_.batch; ++b) {
      std::copy_n(from + b * l_.hidden, l_.hidden, to + StateOf(b));
    }
  }

  // Adds both biases of each gate, except the state's bias that a GRU resets.
  void AddBiases() {
    if (a_.bias == nullptr) {
      std::fill_n(bias_, rows_, T{0});
      return;
    }
    const T* bias = a_.bias + 2 * direction_ * rows_;
    const int64_t both = ResetsProduct() ? 2 * l_.hidden : rows_;
    for (int64_t n = 0; n < rows_; ++n) {
      bias_[n] = n < both ? bias[n] + bias[rows_ + n] : bias[n];
    }
  }

  bool ResetsProduct() const {
    return l_.cell == RecurrentCell::kGru && l_.linear_before_reset;
  }

  // Sets the gates of all steps to X W and the biases, without the states.
  void MultiplyInputs() {
    AddBiases();
    const int64_t count = l_.steps * l_.batch;
    for (int64_t i = 0; i < count; ++i) {
      std::copy_n(bias_, rows_, gates_ + i * rows_);
    }
    Gemm<T>({.transpose_b = true,
             .m = count,
             .n = rows_,
             .k = l_.input,
             .a = a_.x,
             .lda = l_.input,
             .b = a_.w + direction_ * rows_ * l_.input,
             .ldb = l_.input,
             .beta = 1,
             .c = gates_,
             .ldc = rows_});
  }

  const T* R() const { return a_.r + direction_ * rows_ * l_.hidden; }

  void Turn() {
    if (turned_ == nullptr) return;
    constexpr int64_t kBlock = 16;
    for (int64_t first = 0; first < rows_; first += kBlock) {
      const int64_t last = std::min(first + kBlock, rows_);
      for (int64_t j = 0; j < l_.hidden; ++j) {
        for (int64_t n = first; n < last; ++n) {
          turned_[j * rows_ + n] = R()[n * l_.hidden + j];
        }
      }
    }
  }

  // Adds state times rows [begin, begin + count) of R to `to`.
  void Multiply(
      const T* state, int64_t begin, int64_t count, T* to, int64_t stride) {
    GemmArgs<T> product{.m = l_.batch,
                        .n = count,
                        .k = l_.hidden,
                        .a = state,
                        .lda = l_.hidden,
                        .beta = 1,
                        .c = to,
                        .ldc = stride};
    product.transpose_b = turned_ == nullptr;
    product.ldb = turned_ == nullptr ? l_.hidden : rows_;
    product.b = turned_ == nullptr ? R() + begin * l_.hidden : turned_ + begin;
    Gemm(product);
  }

  // Calls body(row of the batch) for all rows.
  template <typename Body>
  void ForRows(const Body& body) {
    constexpr int64_t kElements = 8192;  // about 10 us of activations
    const int64_t grain = 1 + kElements / (1 + rows_);
    ParallelFor(l_.batch, grain, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        body(b);
      }
    });
  }

  void Step(int64_t t) {
    T* gates = gates_ + t * (l_.batch_first ? rows_ : l_.batch * rows_);
    if (l_.cell == RecurrentCell::kGru) {
      MultiplyGru(gates);
    } else {
      Multiply(h_, 0, rows_, gates, stride_);
    }
    ForRows([&](int64_t b) {
      const int64_t at = l_.batch_first
                             ? (b * l_.steps + t) * l_.directions + direction_
                             : (t * l_.directions + direction_) * l_.batch + b;
      T* y = a_.y + at * l_.hidden;
      if (a_.lens != nullptr && t >= a_.lens[b]) {
        std::fill_n(y, l_.hidden, T{0});
        return;
      }
      Finish(gates + b * stride_, b);
      std::copy_n(h_ + b * l_.hidden, l_.hidden, y);
    });
  }

  // Computes gates z and r, and the state's contribution to the third gate.
  void MultiplyGru(T* gates) {
    const int64_t hidden = l_.hidden;
    Multiply(h_, 0, 2 * hidden, gates, stride_);
    ForRows([&](int64_t b) {
      T* gate = gates + b * stride_;
      Activate(0, gate, 2 * hidden);
      T* other = other_ + b * hidden;
      if (!l_.linear_before_reset) {
        Multiplied(gate + hidden, h_ + b * hidden, other);
      } else if (a_.bias == nullptr) {
        std::fill_n(other, hidden, T{0});
      } else {
        std::copy_n(a_.bias + 2 * direction_ * rows_ + rows_ + 2 * hidden,
                    hidden, other);
      }
    });
    if (l_.linear_before_reset) {
      Multiply(h_, 2 * hidden, hidden, other_, hidden);
    } else {
      Multiply(other_, 2 * hidden, hidden, gates + 2 * hidden, stride_);
    }
  }

  void Multiplied(const T* x, const T* y, T* out) const {
    for (int64_t j = 0; j < l_.hidden; ++j) {
      out[j] = x[j] * y[j];
    }
  }

  void Activate(int which, T* gate, int64_t count) const {
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
      for (int64_t j = 0; j < hidden; ++j) {
        last[j] += gate[hidden + j] * product[j];
      }
    }
    Activate(1, last, hidden);
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

  // The gates are i, o, f and c.
  void FinishLstm(T* gate, T* c, T* h) const {
    const int64_t hidden = l_.hidden;
    T* out = gate + hidden;
    T* forget = gate + 2 * hidden;
    T* candidate = gate + 3 * hidden;
    const bool peeps = a_.peephole != nullptr;
    if (peeps) {
      Peep(0, c, gate);
      Peep(2, c, forget);
      Activate(0, gate, hidden);
      Activate(0, forget, hidden);
    } else {
      Activate(0, gate, 3 * hidden);
    }
    if (l_.input_forget) {
      for (int64_t j = 0; j < hidden; ++j) {
        forget[j] = 1 - gate[j];
      }
    }
    Activate(1, candidate, hidden);
    for (int64_t j = 0; j < hidden; ++j) {
      c[j] = forget[j] * c[j] + gate[j] * candidate[j];
    }
    if (peeps) {
      Peep(1, c, out);
      Activate(0, out, hidden);
    }
    std::copy_n(c, hidden, h);
    l_.activation(direction_, 2).Apply(h, hidden);
    Multiplied(out, h, h);
  }

  const RecurrentLayer& l_;
  const RecurrentArgs<T>& a_;
  int64_t direction_;
  int64_t rows_;
  int64_t stride_;
  T* gates_;
  T* h_;
  T* c_;
  T* other_;
  T* turned_;
  T* bias_;
};

}  // namespace

int64_t RecurrentScratch(const RecurrentLayer& layer) {
  return layer.directions * Parts(layer).all();
}

template <typename T>
void Recurrent(const RecurrentLayer& layer,
               const RecurrentArgs<T>& args,
               T* scratch) {
  const auto run = [&](int64_t direction) {
    Direction<T>(layer, args, direction, scratch).Run();
  };
  // The two directions are independent. If products are too small to be shared
  // by two threads (gemm.cc), each direction runs on its own thread.
  constexpr int64_t kWork = 4'000'000;
  const int64_t work = layer.batch * layer.gate_rows() * layer.hidden;
  if (layer.directions == 2 && work < kWork) {
    ParallelFor(2, 1, [&](int64_t begin, int64_t end) {
      for (int64_t direction = begin; direction < end; ++direction) {
        run(direction);
      }
    });
    return;
  }
  for (int64_t direction = 0; direction < layer.directions; ++direction) {
    run(direction);
  }
}

SLUICE_INSTANTIATE_FLOATS(Recurrent);

}  // namespace sluice
