#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/operators/harness/op_case.h"

// The formulas of recurrent layers, unit by unit, in numbers of type S: double,
// or Traced, which remembers how it was computed and so gives derivatives that
// no one had to derive.
namespace sluice::testing {

// A number with its place on a tape. The tape holds, for each number, those
// that it was computed of and the derivatives by them.
struct Traced {
  struct Step {
    int from[2];
    double slope[2];
  };
  inline static std::vector<Step> tape;

  double value = 0;
  int place = -1;  // -1: a constant

  Traced(double constant = 0) : value(constant) {}  // NOLINT(*-explicit-*)
  Traced(double result, Traced x, double dx, Traced y = {}, double dy = 0)
      : value(result), place(static_cast<int>(tape.size())) {
    tape.push_back({{x.place, y.place}, {dx, dy}});
  }
  static Traced Input(double value) { return {value, Traced(), 0}; }

  friend Traced operator+(Traced x, Traced y) {
    return {x.value + y.value, x, 1, y, 1};
  }
  friend Traced operator-(Traced x, Traced y) {
    return {x.value - y.value, x, 1, y, -1};
  }
  friend Traced operator*(Traced x, Traced y) {
    return {x.value * y.value, x, y.value, y, x.value};
  }
  Traced& operator+=(Traced y) { return *this = *this + y; }

  // Turns the derivatives by numbers of a result into those by all numbers.
  static void Backward(std::vector<double>* slopes) {
    for (size_t i = tape.size(); i-- > 0;) {
      for (int k = 0; k < 2; ++k) {
        const int from = tape[i].from[k];
        const double slope = (*slopes)[i] * tape[i].slope[k];
        if (from >= 0) (*slopes)[static_cast<size_t>(from)] += slope;
      }
    }
  }
};

inline double ValueOf(double x) {
  return x;
}
inline double ValueOf(Traced x) {
  return x.value;
}

// A function's value and derivative.
using Point = std::pair<double, double>;

inline double Through(double /*x*/, Point f) {
  return f.first;
}
inline Traced Through(Traced x, Point f) {
  return {f.first, x, f.second};
}

inline Point Activation(const std::string& name,
                        double x,
                        double alpha,
                        double beta) {
  if (name == "sigmoid") {
    const double f = 1 / (1 + std::exp(-x));
    return {f, f * (1 - f)};
  }
  if (name == "tanh" || name == "scaled_tanh") {
    if (name == "tanh") alpha = beta = 1;
    const double f = std::tanh(beta * x);
    return {alpha * f, alpha * beta * (1 - f * f)};
  }
  if (name == "affine") return {alpha * x + beta, alpha};
  if (name == "leaky_relu") return {x < 0 ? alpha * x : x, x < 0 ? alpha : 1};
  if (name == "hard_sigmoid") {
    const double f = alpha * x + beta;
    return {std::clamp(f, 0.0, 1.0), f > 0 && f < 1 ? alpha : 0};
  }
  if (name == "softsign") {
    const double below = 1 + std::abs(x);
    return {x / below, 1 / (below * below)};
  }
  return x < 0 ? Point{alpha * (std::exp(x) - 1), alpha * std::exp(x)}
               : Point{x, 1};  // elu
}

template <typename S>
class RecurrentReference {
 public:
  using Numbers = std::vector<S>;

  RecurrentReference(const Arrays& inputs, const OpDesc& op)
      : in_(inputs), op_(op) {
    for (const auto& [name, array] : in_) {
      for (const double value : array.values) {
        if constexpr (std::is_same_v<S, double>) {
          numbers_[name].push_back(value);
        } else {
          numbers_[name].push_back(Traced::Input(value));
        }
      }
    }
    lstm_ = op.type.starts_with("lstm");
    gru_ = op.type.starts_with("gru");
    const Array& x = in_.at("X");
    first_ = GetAttr<bool>(op, "batch_first");
    ragged_ = in_.count("Offsets") > 0;
    batch_ = ragged_ ? in_.at("Offsets").dims[0] - 1 : x.dims[first_ ? 0 : 1];
    steps_ = x.dims[first_ ? 1 : 0];  // of ragged rows all
    hidden_ = in_.at("R").dims[2];
    rows_ = in_.at("R").dims[1];
    const auto& direction = GetAttr<std::string>(op, "direction");
    directions_ = direction == "bidirectional" ? 2 : 1;
    reverse_ = direction == "reverse";
    for (const std::string& name :
         GetAttr<std::vector<std::string>>(op, "activations")) {
      keeps_ = keeps_ || name == "scaled_tanh" || name == "softsign" ||
               name == "leaky_relu" || name == "elu";
    }
    keeps_ = keeps_ || GetAttr<double>(op, "clip") > 0;
    resets_ = gru_ && GetAttr<bool>(op, "linear_before_reset");
    inputs_at_ = rows_ + (lstm_ ? 2 : resets_ ? 1 : 0) * hidden_;
    const int64_t row = inputs_at_ + (keeps_ ? rows_ : 0);
    y_dims_ = ragged_  ? DDim{steps_, directions_, hidden_}
              : first_ ? DDim{batch_, steps_, directions_, hidden_}
                       : DDim{steps_, directions_, batch_, hidden_};
    last_dims_ = first_ ? DDim{batch_, directions_, hidden_}
                        : DDim{directions_, batch_, hidden_};
    y_ = cells_ = Numbers(static_cast<size_t>(y_dims_.numel()));
    last_h_ = last_c_ = Numbers(static_cast<size_t>(last_dims_.numel()));
    reserve_ = Array(ragged_  ? DDim{directions_, steps_, row}
                     : first_ ? DDim{directions_, batch_, steps_, row}
                              : DDim{directions_, steps_, batch_, row});
    for (int64_t d = 0; d < directions_; ++d) {
      for (int64_t b = 0; b < batch_; ++b) {
        RunRow(d, b);
      }
    }
  }

  Arrays Outputs() const {
    Arrays out = {{"Y", Rounded(y_dims_, y_)},
                  {"LastH", Rounded(last_dims_, last_h_)},
                  {"Reserve", reserve_}};
    if (lstm_) out["LastC"] = Rounded(last_dims_, last_c_);
    if (lstm_) out["Cells"] = Rounded(y_dims_, cells_);
    return out;
  }

  // The gradients of the inputs of which `grads` has one for the outputs.
  Arrays Gradients() const {
    std::vector<double> slopes(Traced::tape.size());
    const auto seed = [&](const char* grad, const Numbers& output) {
      if (in_.count(grad) == 0) return;
      for (size_t i = 0; i < output.size(); ++i) {
        if (output[i].place < 0) continue;
        slopes[static_cast<size_t>(output[i].place)] += in_.at(grad).values[i];
      }
    };
    seed("Y@GRAD", y_);
    seed("LastH@GRAD", last_h_);
    if (lstm_) seed("LastC@GRAD", last_c_);
    if (lstm_) seed("Cells@GRAD", cells_);
    Traced::Backward(&slopes);
    Arrays grads;
    for (const char* name :
         {"X", "W", "R", "Bias", "InitialH", "InitialC", "Peephole"}) {
      if (in_.count(name) == 0) continue;
      Array grad(in_.at(name).dims);
      for (size_t i = 0; i < grad.values.size(); ++i) {
        grad.values[i] =
            slopes[static_cast<size_t>(numbers_.at(name)[i].place)];
      }
      grads[std::string(name) + "@GRAD"] = grad;
    }
    grads.emplace("W@GRAD", Array(DDim{0}));
    return grads;
  }

 private:
  static Array Rounded(const DDim& dims, const Numbers& numbers) {
    Array array(dims);
    for (size_t i = 0; i < numbers.size(); ++i) {
      array.values[i] = ValueOf(numbers[i]);
    }
    return array;
  }

  S In(const char* name, const std::vector<int64_t>& index) const {
    return numbers_.at(name)[in_.at(name).Offset(index)];
  }
  // 0 if the input is left out.
  S Maybe(const char* name, const std::vector<int64_t>& index) const {
    return in_.count(name) > 0 ? In(name, index) : S(0);
  }

  size_t StateAt(int64_t d, int64_t b, int64_t j) const {
    const int64_t row = first_ ? b * directions_ + d : d * batch_ + b;
    return static_cast<size_t>(row * hidden_ + j);
  }
  size_t YAt(int64_t d, int64_t b, int64_t t, int64_t j) const {
    const int64_t row = ragged_  ? (Begin(b) + t) * directions_ + d
                        : first_ ? (b * steps_ + t) * directions_ + d
                                 : (t * directions_ + d) * batch_ + b;
    return static_cast<size_t>(row * hidden_ + j);
  }

  int64_t Begin(int64_t b) const {
    return static_cast<int64_t>(in_.at("Offsets")(b));
  }
  int64_t Length(int64_t b) const {
    if (ragged_) return Begin(b + 1) - Begin(b);
    return in_.count("SequenceLens") > 0
               ? static_cast<int64_t>(in_.at("SequenceLens")(b))
               : steps_;
  }
  // The row of the reserve for a sequence's step: after the earlier steps of
  // all, and the step of longer sequences.
  int64_t ReserveRow(int64_t b, int64_t step) const {
    int64_t row = 0;
    for (int64_t other = 0; other < batch_; ++other) {
      row += std::min(Length(other), step);
      const bool longer = Length(other) > Length(b) ||
                          (Length(other) == Length(b) && other < b);
      if (Length(other) > step && longer) ++row;
    }
    return row;
  }
  S X(int64_t b, int64_t t, int64_t i) const {
    if (ragged_) return In("X", {Begin(b) + t, i});
    return first_ ? In("X", {b, t, i}) : In("X", {t, b, i});
  }

  Numbers FirstState(const char* input, int64_t d, int64_t b) const {
    Numbers state;
    for (int64_t j = 0; j < hidden_; ++j) {
      state.push_back(first_ ? Maybe(input, {b, d, j})
                             : Maybe(input, {d, b, j}));
    }
    return state;
  }

  void RunRow(int64_t d, int64_t b) {
    Numbers h = FirstState("InitialH", d, b);
    Numbers c = FirstState("InitialC", d, b);
    const int64_t length = Length(b);
    const bool back = reverse_ || d == 1;
    for (int64_t step = 0; step < length; ++step) {
      const int64_t t = back ? length - 1 - step : step;
      if (hidden_ > 0) {
        kept_ = ragged_
                    ? reserve_.Offset({d, ReserveRow(b, step), 0})
                    : reserve_.Offset({d, first_ ? b : t, first_ ? t : b, 0});
      }
      Step(d, b, t, &h, &c);
      for (int64_t j = 0; j < hidden_; ++j) {
        y_[YAt(d, b, t, j)] = h[static_cast<size_t>(j)];
        cells_[YAt(d, b, t, j)] = c[static_cast<size_t>(j)];
      }
    }
    for (int64_t j = 0; j < hidden_; ++j) {
      last_h_[StateAt(d, b, j)] = h[static_cast<size_t>(j)];
      last_c_[StateAt(d, b, j)] = c[static_cast<size_t>(j)];
    }
  }

  S FromInput(int64_t d, int64_t b, int64_t t, int64_t n) const {
    S sum = Maybe("Bias", {d, n});
    if (in_.count("W") == 0) return sum + X(b, t, d * rows_ + n);
    for (int64_t i = 0; i < in_.at("W").dims[2]; ++i) {
      sum += X(b, t, i) * In("W", {d, n, i});
    }
    return sum;
  }

  S FromState(int64_t d, const Numbers& h, int64_t n) const {
    S sum = Maybe("Bias", {d, rows_ + n});
    for (int64_t j = 0; j < hidden_; ++j) {
      sum += h[static_cast<size_t>(j)] * In("R", {d, n, j});
    }
    return sum;
  }

  void Keep(size_t at, S x) { reserve_.values[kept_ + at] = ValueOf(x); }

  // Activates gate n, or with n = -1 the cells.
  S Activate(int64_t d, int64_t which, S x, int64_t n) {
    const auto clip = GetAttr<double>(op_, "clip");
    if (n >= 0 && keeps_) Keep(static_cast<size_t>(inputs_at_ + n), x);
    if (n >= 0 && clip > 0) {
      const double value = ValueOf(x);
      x = Through(x, {std::min(std::max(value, -clip), clip),
                      std::abs(value) <= clip ? 1 : 0});
    }
    const auto& names = GetAttr<std::vector<std::string>>(op_, "activations");
    std::string name = which == 0 && (lstm_ || gru_) ? "sigmoid" : "tanh";
    double alpha = 0, beta = 0;
    if (!names.empty()) {
      const auto count = static_cast<int64_t>(names.size()) / directions_;
      const auto i = static_cast<size_t>(d * count + which);
      name = names[i];
      alpha = GetAttr<std::vector<double>>(op_, "activation_alpha")[i];
      beta = GetAttr<std::vector<double>>(op_, "activation_beta")[i];
    }
    const S out = Through(x, Activation(name, ValueOf(x), alpha, beta));
    if (n >= 0) Keep(static_cast<size_t>(n), out);
    return out;
  }

  void Step(int64_t d, int64_t b, int64_t t, Numbers* h, Numbers* c) {
    const Numbers before = *h;
    Numbers sums;  // of each gate of each unit
    for (int64_t n = 0; n < rows_; ++n) {
      sums.push_back(FromInput(d, b, t, n) + FromState(d, before, n));
    }
    if (gru_) return GruStep(d, b, t, sums, h);
    const auto units = static_cast<size_t>(hidden_);
    for (size_t j = 0; j < units; ++j) {
      if (!lstm_) {
        (*h)[j] = Activate(d, 0, sums[j], static_cast<int64_t>(j));
        continue;
      }
      S& cell = (*c)[j];
      const bool fluid = GetAttr<std::string>(op_, "gate_order") == "cifo";
      const auto place = [&](size_t which) {  // of i, o, f and c
        const size_t places[] = {1, 3, 2, 0};
        return (fluid ? places[which] : which) * units + j;
      };
      const auto gate = [&](size_t which) {
        const size_t n = place(which);
        const auto peep = static_cast<int64_t>(which * units + j);
        return Activate(d, 0, sums[n] + Maybe("Peephole", {d, peep}) * cell,
                        static_cast<int64_t>(n));
      };
      const S i = gate(0);
      S f = gate(2);
      if (GetAttr<bool>(op_, "input_forget")) f = S(1) - i;
      Keep(place(2), f);
      const size_t last = place(3);
      cell =
          f * cell + i * Activate(d, 1, sums[last], static_cast<int64_t>(last));
      const S activated = Activate(d, 2, cell, -1);
      (*h)[j] = gate(1) * activated;
      Keep(static_cast<size_t>(rows_) + j, cell);
      Keep(static_cast<size_t>(rows_) + units + j, activated);
    }
  }

  void GruStep(
      int64_t d, int64_t b, int64_t t, const Numbers& sums, Numbers* h) {
    const auto units = static_cast<size_t>(hidden_);
    const Numbers before = *h;
    Numbers update, reset, product = before;
    for (size_t j = 0; j < 2 * units; ++j) {
      (j < units ? update : reset)
          .push_back(Activate(d, 0, sums[j], static_cast<int64_t>(j)));
    }
    for (size_t j = 0; j < units; ++j) {
      product[j] = product[j] * reset[j];
    }
    for (size_t j = 0; j < units; ++j) {
      const auto n = static_cast<int64_t>(2 * units + j);
      S g = FromInput(d, b, t, n);
      if (resets_) {
        const S state = FromState(d, before, n);
        Keep(3 * units + j, state);
        g += reset[j] * state;
      } else {
        g += FromState(d, product, n);
      }
      const bool takes_new = GetAttr<bool>(op_, "update_takes_new");
      const S z = takes_new ? S(1) - update[j] : update[j];
      (*h)[j] = (S(1) - z) * Activate(d, 1, g, n) + z * before[j];
    }
  }

  const Arrays& in_;
  const OpDesc& op_;
  std::map<std::string, Numbers> numbers_;
  bool first_ = false, reverse_ = false, lstm_ = false, gru_ = false;
  bool keeps_ = false, resets_ = false, ragged_ = false;
  int64_t batch_ = 0, steps_ = 0, hidden_ = 0, rows_ = 0, directions_ = 1;
  int64_t inputs_at_ = 0;
  size_t kept_ = 0;  // where the reserve of this step begins
  DDim y_dims_, last_dims_;
  Numbers y_, cells_, last_h_, last_c_;
  Array reserve_;
};

}  // namespace sluice::testing
