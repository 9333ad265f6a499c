#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/operators/harness/op_case.h"

// The cases of the harness for every kernel of simple_rnn, gru and lstm.
namespace sluice::testing {
namespace {

using Names = std::vector<std::string>;
using Doubles = std::vector<double>;

struct Sizes {
  int64_t steps, batch, input, hidden;
};

struct Options {
  const char* direction = "forward";
  bool batch_first = false, bias = false, lens = false, states = false;
  bool own = false;  // the attribute that only this op has
  double clip = 0;
  bool activations = false;  // those below
};

// Weights are small: states stay about 1.
Tensor Scaled(ExampleMaker& make, const DDim& dims) {
  Array values = ToArray(make.Values(dims));
  for (double& value : values.values) {
    value /= 8;
  }
  return ToTensor(values, make.dtype());
}

int64_t GatesOf(const std::string& op) {
  if (op == "lstm") return 4;
  return op == "gru" ? 3 : 1;
}

void AddActivations(const std::string& op,
                    int64_t directions,
                    AttributeMap* attributes) {
  // A GRU's gates are bounded, because large states would grow with every step.
  const bool gru = op == "gru";
  const Names names =
      gru ? Names{"scaled_tanh", "softsign", "hard_sigmoid", "affine"}
          : Names{"scaled_tanh",  "affine",   "leaky_relu",
                  "hard_sigmoid", "softsign", "elu"};
  const Doubles alpha = gru ? Doubles{0.75, 0, 0.25, 0.5}
                            : Doubles{0.75, 0.5, 0.125, 0.25, 0, 0.5};
  const Doubles beta =
      gru ? Doubles{1.25, 0, 0.375, 0.25} : Doubles{1.25, 0.25, 0, 0.375, 0, 0};
  const int64_t each = op == "lstm" ? 3 : op == "gru" ? 2 : 1;
  const int64_t count = each * directions;
  (*attributes)["activations"] = Names(names.begin(), names.begin() + count);
  (*attributes)["activation_alpha"] =
      Doubles(alpha.begin(), alpha.begin() + count);
  (*attributes)["activation_beta"] =
      Doubles(beta.begin(), beta.begin() + count);
}

OpExample Example(ExampleMaker& make,
                  const std::string& op,
                  const Sizes& sizes,
                  const Options& options) {
  const int64_t directions =
      std::string(options.direction) == "bidirectional" ? 2 : 1;
  const int64_t rows = GatesOf(op) * sizes.hidden;
  const bool first = options.batch_first;
  const DDim x = first ? DDim{sizes.batch, sizes.steps, sizes.input}
                       : DDim{sizes.steps, sizes.batch, sizes.input};
  const DDim state = first ? DDim{sizes.batch, directions, sizes.hidden}
                           : DDim{directions, sizes.batch, sizes.hidden};
  OpExample example;
  auto& inputs = example.inputs;
  inputs.emplace_back("X", make.Values(x));
  inputs.emplace_back("W", Scaled(make, {directions, rows, sizes.input}));
  inputs.emplace_back("R", Scaled(make, {directions, rows, sizes.hidden}));
  if (options.bias) {
    inputs.emplace_back("Bias", Scaled(make, {directions, 2 * rows}));
  }
  if (options.lens) {
    inputs.emplace_back(
        "SequenceLens",
        make.Integers(DType::kInt32, {sizes.batch}, 0, sizes.steps));
  }
  if (options.states) inputs.emplace_back("InitialH", Scaled(make, state));
  if (options.states && op == "lstm") {
    inputs.emplace_back("InitialC", Scaled(make, state));
    inputs.emplace_back("Peephole",
                        Scaled(make, {directions, 3 * sizes.hidden}));
  }
  example.attributes = {{"direction", std::string(options.direction)},
                        {"batch_first", first},
                        {"clip", options.clip}};
  if (op == "lstm") example.attributes["input_forget"] = options.own;
  if (op == "gru") example.attributes["linear_before_reset"] = options.own;
  if (options.activations) {
    AddActivations(op, directions, &example.attributes);
  }
  return example;
}

std::vector<OpExample> Examples(ExampleMaker& make, const std::string& op) {
  const Options all = {"bidirectional", true, true, true, true, true, 0.75};
  const Options bias = {.bias = true};
  Options both = bias;
  both.own = true;
  Options reverse = {"reverse", false, false, true, true};
  std::vector<OpExample> examples;
  const auto add = [&](const Sizes& sizes, const Options& options) {
    examples.push_back(Example(make, op, sizes, options));
  };
  add({3, 4, 3, 7}, all);
  add({4, 3, 2, 5}, {});
  add({3, 5, 2, 3}, reverse);
  add({3, 2, 3, 6}, both);
  add({3, 1, 1, 1}, {.direction = "bidirectional", .bias = true, .lens = true});
  add({4, 3, 3, 2},
      {.direction = "bidirectional", .states = true, .activations = true});
  add({2, 0, 3, 4}, all);
  add({0, 2, 3, 2}, all);
  add({2, 3, 0, 2}, bias);
  add({2, 3, 2, 0}, all);
  return examples;
}

double Activation(const std::string& name,
                  double x,
                  double alpha,
                  double beta) {
  if (name == "sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "tanh") return std::tanh(x);
  if (name == "scaled_tanh") return alpha * std::tanh(beta * x);
  if (name == "affine") return alpha * x + beta;
  if (name == "leaky_relu") return x < 0 ? alpha * x : x;
  if (name == "hard_sigmoid") return std::clamp(alpha * x + beta, 0.0, 1.0);
  if (name == "softsign") return x / (1 + std::abs(x));
  return x < 0 ? alpha * (std::exp(x) - 1) : x;  // elu
}

// The formulas of one row of the batch, unit by unit.
class Reference {
 public:
  Reference(const Arrays& inputs, const OpDesc& op) : in_(inputs), op_(op) {
    const Array& x = in_.at("X");
    first_ = GetAttr<bool>(op, "batch_first");
    batch_ = x.dims[first_ ? 0 : 1];
    steps_ = x.dims[first_ ? 1 : 0];
    hidden_ = in_.at("R").dims[2];
    const auto& direction = GetAttr<std::string>(op, "direction");
    directions_ = direction == "bidirectional" ? 2 : 1;
    reverse_ = direction == "reverse";
    y_ = Array(first_ ? DDim{batch_, steps_, directions_, hidden_}
                      : DDim{steps_, directions_, batch_, hidden_});
    last_h_ = last_c_ = Array(first_ ? DDim{batch_, directions_, hidden_}
                                     : DDim{directions_, batch_, hidden_});
  }

  Arrays Run() {
    for (int64_t d = 0; d < directions_; ++d) {
      for (int64_t b = 0; b < batch_; ++b) {
        RunRow(d, b);
      }
    }
    Arrays out = {{"Y", y_}, {"LastH", last_h_}};
    if (op_.type == "lstm") out["LastC"] = last_c_;
    return out;
  }

 private:
  double& State(Array& array, int64_t d, int64_t b, int64_t j) const {
    return first_ ? array(b, d, j) : array(d, b, j);
  }

  Doubles FirstState(const char* input, int64_t d, int64_t b) const {
    Doubles state(static_cast<size_t>(hidden_), 0);
    if (in_.count(input) == 0) return state;
    Array given = in_.at(input);
    for (int64_t j = 0; j < hidden_; ++j) {
      state[static_cast<size_t>(j)] = State(given, d, b, j);
    }
    return state;
  }

  void RunRow(int64_t d, int64_t b) {
    Doubles h = FirstState("InitialH", d, b);
    Doubles c = FirstState("InitialC", d, b);
    int64_t length = steps_;
    if (in_.count("SequenceLens") > 0) {
      length = static_cast<int64_t>(in_.at("SequenceLens")(b));
    }
    const bool back = reverse_ || d == 1;
    for (int64_t step = 0; step < length; ++step) {
      const int64_t t = back ? length - 1 - step : step;
      Step(d, b, t, &h, &c);
      for (int64_t j = 0; j < hidden_; ++j) {
        (first_ ? y_(b, t, d, j) : y_(t, d, b, j)) = h[static_cast<size_t>(j)];
      }
    }
    for (int64_t j = 0; j < hidden_; ++j) {
      State(last_h_, d, b, j) = h[static_cast<size_t>(j)];
      State(last_c_, d, b, j) = c[static_cast<size_t>(j)];
    }
  }

  double FromInput(int64_t d, int64_t b, int64_t t, int64_t n) const {
    const Array &x = in_.at("X"), &w = in_.at("W");
    double sum = Bias(d, n);
    for (int64_t i = 0; i < w.dims[2]; ++i) {
      sum += (first_ ? x(b, t, i) : x(t, b, i)) * w(d, n, i);
    }
    return sum;
  }

  double FromState(int64_t d, const Doubles& h, int64_t n) const {
    const Array& r = in_.at("R");
    double sum = Bias(d, r.dims[1] + n);
    for (int64_t j = 0; j < hidden_; ++j) {
      sum += h[static_cast<size_t>(j)] * r(d, n, j);
    }
    return sum;
  }

  double Bias(int64_t d, int64_t n) const {
    return in_.count("Bias") > 0 ? in_.at("Bias")(d, n) : 0;
  }

  double Peephole(int64_t d, int64_t n) const {
    return in_.count("Peephole") > 0 ? in_.at("Peephole")(d, n) : 0;
  }

  double Activate(int64_t d, int64_t which, double x, bool cut = true) const {
    const auto clip = GetAttr<double>(op_, "clip");
    if (cut && clip > 0) x = std::min(std::max(x, -clip), clip);
    const auto& names = GetAttr<Names>(op_, "activations");
    if (names.empty()) {
      const bool gate = which == 0 && op_.type != "simple_rnn";
      return Activation(gate ? "sigmoid" : "tanh", x, 0, 0);
    }
    const auto count = static_cast<int64_t>(names.size()) / directions_;
    const auto i = static_cast<size_t>(d * count + which);
    return Activation(names[i], x, GetAttr<Doubles>(op_, "activation_alpha")[i],
                      GetAttr<Doubles>(op_, "activation_beta")[i]);
  }

  void Step(int64_t d, int64_t b, int64_t t, Doubles* h, Doubles* c) const {
    const Doubles before = *h;
    Doubles sums;  // of each gate of each unit
    for (int64_t n = 0; n < in_.at("R").dims[1]; ++n) {
      sums.push_back(FromInput(d, b, t, n) + FromState(d, before, n));
    }
    if (op_.type == "gru") return GruStep(d, b, t, sums, h);
    const auto units = static_cast<size_t>(hidden_);
    for (size_t j = 0; j < units; ++j) {
      if (op_.type == "simple_rnn") {
        (*h)[j] = Activate(d, 0, sums[j]);
        continue;
      }
      double& cell = (*c)[j];
      const auto gate = [&](size_t which) {
        const size_t n = which * units + j;
        const double peep = Peephole(d, static_cast<int64_t>(n)) * cell;
        return Activate(d, 0, sums[n] + peep);
      };
      const double i = gate(0);
      const double f = GetAttr<bool>(op_, "input_forget") ? 1 - i : gate(2);
      cell = f * cell + i * Activate(d, 1, sums[3 * units + j]);
      (*h)[j] = gate(1) * Activate(d, 2, cell, false);
    }
  }

  void GruStep(
      int64_t d, int64_t b, int64_t t, const Doubles& sums, Doubles* h) const {
    const auto units = static_cast<size_t>(hidden_);
    const Doubles before = *h;
    Doubles reset = before;
    for (size_t j = 0; j < units; ++j) {
      reset[j] *= Activate(d, 0, sums[units + j]);
    }
    for (size_t j = 0; j < units; ++j) {
      const auto n = static_cast<int64_t>(2 * units + j);
      double g = FromInput(d, b, t, n);
      if (GetAttr<bool>(op_, "linear_before_reset")) {
        g += Activate(d, 0, sums[units + j]) * FromState(d, before, n);
      } else {
        g += FromState(d, reset, n);
      }
      const double z = Activate(d, 0, sums[j]);
      (*h)[j] = (1 - z) * Activate(d, 1, g) + z * before[j];
    }
  }

  const Arrays& in_;
  const OpDesc& op_;
  bool first_ = false, reverse_ = false;
  int64_t batch_ = 0, steps_ = 0, hidden_ = 0, directions_ = 1;
  Array y_, last_h_, last_c_;
};

Arrays RecurrentReference(const Arrays& inputs, const OpDesc& op) {
  return Reference(inputs, op).Run();
}

std::vector<OpExample> SimpleRnnExamples(ExampleMaker& make) {
  return Examples(make, "simple_rnn");
}
std::vector<OpExample> GruExamples(ExampleMaker& make) {
  return Examples(make, "gru");
}
std::vector<OpExample> LstmExamples(ExampleMaker& make) {
  return Examples(make, "lstm");
}

}  // namespace

REGISTER_OP_CASE(simple_rnn, SimpleRnnExamples, RecurrentReference, 4);
REGISTER_OP_CASE(gru, GruExamples, RecurrentReference, 4);
REGISTER_OP_CASE(lstm, LstmExamples, RecurrentReference, 4);

}  // namespace sluice::testing
