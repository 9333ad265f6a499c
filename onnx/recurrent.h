#pragma once

#include <string_view>

namespace sluice::onnx {

// The inputs of a recurrent layer in the order of ONNX's operators; only LSTM
// has the last two.
inline constexpr const char* kRecurrentInputs[] = {
    "X", "W", "R", "Bias", "SequenceLens", "InitialH", "InitialC", "Peephole"};

// An activation function in ONNX and in Sluice. `alpha` and `beta` are the
// defaults of its parameters in ONNX, if it has them.
struct Activation {
  std::string_view name;
  std::string_view ours;
  bool has_alpha = false, has_beta = false;
  double alpha = 0, beta = 0;
};
inline constexpr Activation kActivations[] = {
    {"Relu", "relu"},
    {"Tanh", "tanh"},
    {"Sigmoid", "sigmoid"},
    {"Softsign", "softsign"},
    {"Softplus", "softplus"},
    {"Affine", "affine", true, true, 1, 0},
    {"LeakyRelu", "leaky_relu", true, false, 0.01},
    {"ThresholdedRelu", "thresholded_relu", true, false, 1},
    {"ScaledTanh", "scaled_tanh", true, true, 1, 1},
    {"HardSigmoid", "hard_sigmoid", true, true, 0.2, 0.5},
    {"Elu", "elu", true, false, 1},
};

}  // namespace sluice::onnx
