#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sluice/operators/math/ragged/rows.h"
#include "sluice/operators/math/unary/unary_row.h"
#include "sluice/platform/export.h"

// Recurrent layers as defined by ONNX's RNN, GRU and LSTM, over padded rows and
// over ragged ones.
namespace sluice {

enum class RecurrentCell : uint8_t { kSimple, kGru, kLstm };

// A function applied to gates and states: a unary op of the table, or one of
// two functions of several steps.
class SLUICE_API RecurrentActivation {
 public:
  // Finds a unary op by name, "affine" (alpha x + beta) or "scaled_tanh" (alpha
  // tanh(beta x)). Returns nothing for any other name. `alpha` and `beta` are
  // the first and second attribute of the op, with the op's defaults.
  static std::optional<RecurrentActivation> Find(
      std::string_view name,
      std::optional<double> alpha = {},
      std::optional<double> beta = {});

  // x[i] = f(x[i]), on the calling thread.
  template <typename T>
  void Apply(T* x, int64_t count) const;
  // grad[i] *= f'(x[i]), where out[i] = f(x[i]). Reads x only if reads_input().
  template <typename T>
  void Gradient(const T* x, const T* out, int64_t count, T* grad) const;
  bool reads_input() const;
  // Returns f(x), computed by the formula.
  double Of(double x) const;

  bool operator==(const RecurrentActivation&) const = default;

 private:
  enum class Kind : uint8_t { kRow, kAffine, kScaledTanh };

  const UnaryRow* row_ = nullptr;
  UnaryParams params_ = {};
  Kind kind_ = Kind::kRow;
};

// The steps of ragged rows. Sequences have slots, the longest first, so that
// those that have a step t are the first SlotsAt(t). "The order of steps" is
// that of the rows by step, and within a step by slot. A view of the offsets.
class SLUICE_API RecurrentSteps {
 public:
  explicit RecurrentSteps(const Sequences& sequences);

  int64_t count() const { return static_cast<int64_t>(first_.size()) - 1; }
  int64_t SlotsAt(int64_t t) const { return First(t + 1) - First(t); }
  // The place of step t's first row in the order of steps.
  int64_t First(int64_t t) const { return first_[static_cast<size_t>(t)]; }
  int64_t rows() const { return first_.back(); }
  // The sequence of a slot, and the lengths by slot.
  int64_t Sequence(int64_t slot) const {
    return order_[static_cast<size_t>(slot)];
  }
  const int32_t* lengths() const { return lengths_.data(); }
  // The row of a slot's step t, which is counted from the last row if
  // `backwards`.
  int64_t Row(bool backwards, int64_t t, int64_t slot) const {
    const int64_t b = Sequence(slot);
    return backwards ? sequences_.end(b) - 1 - t : sequences_.begin(b) + t;
  }

 private:
  Sequences sequences_;
  std::vector<int64_t> order_;
  std::vector<int32_t> lengths_;
  std::vector<int64_t> first_;
};

// The places of an LSTM's gates in W, R, biases and the reserve.
struct LstmGateOrder {
  int64_t in = 0, out = 1, forget = 2, candidate = 3;
  // The first of the three others, which follow each other.
  int64_t sigmoids() const { return candidate == 0 ? 1 : 0; }
};

// The options of a layer and the sizes of its tensors.
struct SLUICE_API RecurrentLayer {
  RecurrentCell cell = RecurrentCell::kSimple;
  int64_t steps = 0, batch = 0, input = 0, hidden = 0;
  int64_t rows = 0;  // of x: steps * batch; of ragged rows with padding
  int64_t directions = 1;
  bool reverse = false;  // the first direction runs backwards
  bool batch_first = false;
  double clip = 0;            // gates are clipped to [-clip, clip]; 0: not
  bool input_forget = false;  // LSTM: the forget gate is 1 - input gate
  bool linear_before_reset = false;  // GRU
  bool update_takes_new = false;     // GRU: h = z * g + (1 - z) * h
  LstmGateOrder order;
  // Without W: x has the products for each direction, side by side.
  bool projected = false;
  // Ragged rows: batch_first is false. In a run `ragged` is set, steps are
  // those of the longest sequence, rows of the batch are slots, and each
  // direction counts its steps from where it begins.
  bool packed = false;
  const RecurrentSteps* ragged = nullptr;
  bool has_turned = false;  // RecurrentArgs::turned is given
  // For each direction: f for RNN, f and g for GRU, f, g and h for LSTM.
  std::vector<RecurrentActivation> activations;

  // The number of matrices in W and R of one direction: 1, 3 and 4.
  int64_t gates() const;
  int64_t gate_rows() const { return gates() * hidden; }
  // Returns f, g or h of a direction.
  const RecurrentActivation& activation(int64_t direction, int which) const;
  bool resets_product() const {
    return cell == RecurrentCell::kGru && linear_before_reset;
  }
  // Whether the gradient needs the gates before their activations.
  bool keeps_inputs() const;
  // A row of the reserve has this many blocks of `hidden` elements: the gates;
  // LSTM: c and h(c), GRU with linear_before_reset: the product with the state;
  // then with keeps_inputs() the gates before their activations.
  int64_t reserve_blocks() const;
  int64_t reserve_row() const { return reserve_blocks() * hidden; }
  // The block after the gates, and the first of their inputs.
  int64_t extra_block() const { return gates(); }
  int64_t inputs_block() const;

  bool backwards(int64_t direction) const { return reverse || direction == 1; }
  // The step that is computed as number `number`.
  int64_t Step(int64_t direction, int64_t number) const {
    const bool turned = ragged == nullptr && backwards(direction);
    return turned ? steps - 1 - number : number;
  }
  // The step that direction `direction` computes before step t. -1 or `length`:
  // there is none.
  int64_t Before(int64_t direction, int64_t t) const {
    return ragged == nullptr && backwards(direction) ? t + 1 : t - 1;
  }
  // The rows that are no padding of ragged ones.
  int64_t true_rows() const {
    return ragged == nullptr ? rows : ragged->rows();
  }
  // The index of a row of the gates: that in x, or of ragged rows that in the
  // order of steps.
  int64_t GateRow(int64_t t, int64_t b) const {
    if (ragged != nullptr) return ragged->First(t) + b;
    return batch_first ? b * steps + t : t * batch + b;
  }
  // The index of a row in x, of a row of `hidden` elements in y, and in states.
  int64_t XRow(int64_t direction, int64_t t, int64_t b) const {
    if (ragged != nullptr) return ragged->Row(backwards(direction), t, b);
    return GateRow(t, b);
  }
  int64_t YRow(int64_t direction, int64_t t, int64_t b) const {
    return batch_first || ragged != nullptr
               ? XRow(direction, t, b) * directions + direction
               : (t * directions + direction) * batch + b;
  }
  int64_t StateRow(int64_t direction, int64_t b) const {
    if (ragged != nullptr) b = ragged->Sequence(b);
    return batch_first ? b * directions + direction : direction * batch + b;
  }
};

// Dense tensors. With batch_first, the batch comes before the steps in x, y and
// the reserve, and before the directions in the states. Of ragged rows x is
// [rows, input], y [rows, directions, hidden] and the reserve [directions,
// rows, reserve_row()], in the order of steps; rows of padding are neither read
// nor written. Optional tensors may be nullptr.
template <typename T>
struct RecurrentArgs {
  const T* x = nullptr;       // [steps, batch, input]
  const T* w = nullptr;       // [directions, gates * hidden, input], or none
  const T* r = nullptr;       // [directions, gates * hidden, hidden]
  const T* turned = nullptr;  // R transposed: [directions, hidden, gates *
                              // hidden], or none
  const T* bias = nullptr;    // [directions, 2 * gates * hidden], or none
  const int32_t* lens = nullptr;  // [batch], each 0 to steps; or none
  const T* first_h = nullptr;     // [directions, batch, hidden], or none
  const T* first_c = nullptr;     // like first_h
  const T* peephole = nullptr;    // [directions, 3 * hidden], or none
  T* y = nullptr;                 // [steps, directions, batch, hidden]
  T* cells = nullptr;             // LSTM: like y, or none
  T* reserve = nullptr;           // [directions, steps, batch, reserve_row()]
  T* last_h = nullptr;            // [directions, batch, hidden], or none
  T* last_c = nullptr;            // like last_h

  // Whether step t is one of row b.
  bool Has(int64_t t, int64_t b) const {
    return lens == nullptr || t < lens[b];
  }
};

// The gradients of a layer. `forward` has the inputs, and y and the reserve as
// the layer wrote them; its last_h and last_c are not used. Gradients of
// outputs that are nullptr are 0; those of inputs that are nullptr are not
// wanted.
template <typename T>
struct RecurrentGradArgs {
  RecurrentArgs<T> forward;
  const T* y_grad = nullptr;
  const T* cells_grad = nullptr;
  const T* last_h_grad = nullptr;
  const T* last_c_grad = nullptr;
  T* x_grad = nullptr;
  T* w_grad = nullptr;
  T* r_grad = nullptr;
  T* bias_grad = nullptr;
  T* first_h_grad = nullptr;
  T* first_c_grad = nullptr;
  T* peephole_grad = nullptr;
};

// The elements of T that the functions below need as `scratch`; for the plain
// ones those of double.
SLUICE_API int64_t RecurrentScratch(const RecurrentLayer& layer);
SLUICE_API int64_t RecurrentPlainScratch(const RecurrentLayer& layer);
SLUICE_API int64_t RecurrentGradScratch(const RecurrentLayer& layer);
SLUICE_API int64_t RecurrentGradPlainScratch(const RecurrentLayer& layer);

// Transposes R for RecurrentArgs::turned.
template <typename T>
SLUICE_API void TurnRecurrent(const RecurrentLayer& layer,
                              const T* r,
                              T* turned);

// Computes the layer through ParallelFor: one product X W for all steps, then a
// product with R per step. The bits do not depend on the number of threads.
template <typename T>
SLUICE_API void Recurrent(const RecurrentLayer& layer,
                          const RecurrentArgs<T>& args,
                          T* scratch);

// Computes the gradients through ParallelFor: a product with R per step, then
// one product for all steps for each of W, R and X. The bits do not depend on
// the number of threads.
template <typename T>
SLUICE_API void RecurrentGrad(const RecurrentLayer& layer,
                              const RecurrentGradArgs<T>& args,
                              T* scratch);

// Compute row by row and gate by gate, in double.
template <typename T>
SLUICE_API void RecurrentPlain(const RecurrentLayer& layer,
                               const RecurrentArgs<T>& args,
                               double* scratch);
template <typename T>
SLUICE_API void RecurrentGradPlain(const RecurrentLayer& layer,
                                   const RecurrentGradArgs<T>& args,
                                   double* scratch);

}  // namespace sluice
