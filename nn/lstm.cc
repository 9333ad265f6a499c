#include <cmath>
#include <string>
#include <vector>

#include "sluice/nn/check.h"
#include "sluice/nn/layers.h"

namespace sluice::nn {

namespace {

using Ints = std::vector<int64_t>;

// The stack of layers, one at a time.
class LstmStack {
 public:
  LstmStack(const Var& input,
            int64_t hidden,
            const LstmOptions& options,
            const SourceLocation& location)
      : helper_("lstm", input, options.name, location),
        options_(options),
        hidden_(hidden),
        ways_(options.direction == "bidirectional" ? 2 : 1),
        ragged_(input.offsets().valid()),
        batch_first_(!options.time_major && !ragged_) {
    const DDim& dims = input.dims();
    const int rank = ragged_ ? 2 : 3;
    Require(dims.rank() == rank && dims[rank - 1] > 0, location,
            ErrorCode::kInvalidArgument, "nn.lstm_input",
            "lstm: input {} must have rank {} and a known last size, got {}",
            input.name(), rank, dims);
    Require(hidden > 0 && options.num_layers > 0, location,
            ErrorCode::kInvalidArgument, "nn.lstm_sizes",
            "lstm: hidden_size and num_layers must be above 0, got {} and {}",
            hidden, options.num_layers);
  }

  LstmOutputs Append(Var x) {
    ArgVars last_h;
    ArgVars last_c;
    for (int64_t layer = 0; layer < options_.num_layers; ++layer) {
      if (layer > 0 && options_.dropout_prob != 0) {
        x = Dropout(x, options_.dropout_prob, {.seed = options_.seed},
                    helper_.location());
      }
      const Var y = Layer(x, layer);
      last_h.push_back(Turned(Last("LastH", layer)));
      last_c.push_back(Turned(Last("LastC", layer)));
      x = Merged(y);
    }
    return {x, Joined(last_h), Joined(last_c)};
  }

 private:
  std::string Last(const char* output, int64_t layer) const {
    return Format("{}.{}{}", helper_.name(), output, layer);
  }

  // Returns the name of a parameter of the layer; "" if it has none.
  std::string Weight(const char* kind,
                     int64_t layer,
                     const DDim& dims,
                     DType dtype) {
    ParamAttr attr = options_.weights;
    if (!attr.name.empty()) attr.name += Format(".{}{}", kind, layer);
    const double limit = 1 / std::sqrt(static_cast<double>(hidden_));
    return helper_.Parameter(attr, dims, dtype, Uniform(-limit, limit)).name();
  }

  Var Layer(const Var& x, int64_t layer) {
    const DType dtype = x.dtype();
    const int64_t gates = 4 * hidden_;
    const int64_t size = x.dims()[x.dims().rank() - 1];
    Program::ArgList inputs = {{"X", {x.name()}}};
    inputs.push_back({"W", {Weight("w", layer, {ways_, gates, size}, dtype)}});
    inputs.push_back(
        {"R", {Weight("r", layer, {ways_, gates, hidden_}, dtype)}});
    if (options_.use_peepholes) {
      inputs.push_back(
          {"Peephole", {Weight("p", layer, {ways_, 3 * hidden_}, dtype)}});
    }
    std::optional<ParamAttr> bias = options_.bias;
    if (bias && !bias->name.empty()) bias->name += Format(".b{}", layer);
    inputs.push_back(
        {"Bias", {helper_.Bias(bias, {ways_, 2 * gates}, dtype).name()}});
    inputs.push_back({"SequenceLens", {options_.sequence_length.name()}});
    inputs.push_back({"InitialH", {First(options_.init_h, layer)}});
    inputs.push_back({"InitialC", {First(options_.init_c, layer)}});
    // The gradient reads Reserve; otherwise it computes the layer again.
    Program::ArgList outputs;
    for (const char* output : {"LastH", "LastC", "Reserve"}) {
      outputs.push_back({output, {Last(output, layer)}});
    }
    return helper_.Append("lstm", inputs,
                          {{"direction", options_.direction},
                           {"batch_first", batch_first_},
                           {"activations", options_.activations},
                           {"clip", options_.clip}},
                          std::move(outputs));
  }

  // The layer's part of the initial states, as the op wants it.
  std::string First(const Var& state, int64_t layer) {
    if (!state.valid()) return "";
    std::string part = state.name();
    if (options_.num_layers > 1) {
      part = helper_
                 .Append("slice", {{"X", {part}}},
                         {{"axes", Ints{0}},
                          {"starts", Ints{layer * ways_}},
                          {"ends", Ints{(layer + 1) * ways_}}})
                 .name();
    }
    return Turned(part);
  }

  // [B, D, H] of [D, B, H], and the reverse, where the batch comes first.
  std::string Turned(const std::string& state) {
    if (!batch_first_) return state;
    return helper_
        .Append("transpose", {{"X", {state}}}, {{"axis", Ints{1, 0, 2}}})
        .name();
  }

  // [T, B, D * H] of [T, D, B, H]; [B, T, D * H] of [B, T, D, H]; [N, D * H] of
  // ragged [N, D, H].
  Var Merged(const Var& y) {
    if (ragged_) {
      return helper_.Append("reshape", {{"X", {y.name()}}},
                            {{"shape", Ints{0, ways_ * hidden_}}});
    }
    if (ways_ == 1) {
      return helper_.Append("squeeze", {{"X", {y.name()}}},
                            {{"axes", Ints{batch_first_ ? 2 : 1}}});
    }
    std::string name = y.name();
    if (!batch_first_) {
      name = helper_
                 .Append("transpose", {{"X", {name}}},
                         {{"axis", Ints{0, 2, 1, 3}}})
                 .name();
    }
    return helper_.Append("reshape", {{"X", {name}}},
                          {{"shape", Ints{0, 0, ways_ * hidden_}}});
  }

  Var Joined(const ArgVars& states) {
    if (states.size() == 1) return helper_.program().Find(states[0]);
    return helper_.Append("concat", {{"X", states}}, {{"axis", int64_t{0}}});
  }

  LayerHelper helper_;
  const LstmOptions& options_;
  int64_t hidden_;
  int64_t ways_;
  bool ragged_;
  bool batch_first_;
};

}  // namespace

LstmOutputs Lstm(const Var& input,
                 int64_t hidden_size,
                 const LstmOptions& options,
                 const SourceLocation& location) {
  return LstmStack(input, hidden_size, options, location).Append(input);
}

}  // namespace sluice::nn
