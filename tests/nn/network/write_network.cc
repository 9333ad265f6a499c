// Prints the startup and the main program of a network, for
// test_same_network.py, which makes the same one in Python.
#include <iostream>
#include <string>

#include "sluice/nn.h"
#include "sluice/sluice.h"

namespace sluice {
namespace {

void Layers(Program* program) {
  const Var image = program->Data("image", DType::kFloat32, {-1, 4, 8, 8});
  const Var words = program->Data("words", DType::kInt64, {-1, 3});
  const Var label = program->Data("label", DType::kInt64, {-1, 1});
  Var x = nn::Conv2d(image, 6, 3,
                     {.stride = 2,
                      .padding = 1,
                      .groups = 2,
                      .filter = {.initializer = nn::Msra({.seed = 3})},
                      .act = "relu"});
  x = nn::Conv2d(x, 4, {1, 3}, {.bias = std::nullopt});
  x = nn::BatchNorm(x, {.act = "relu", .momentum = 0.8});
  x = nn::Dropout(x, 0.25, {.seed = 5});
  Var y = nn::Embedding(words, 20, 7, {.padding_idx = -1});
  y = nn::Fc(y, 5, {.num_flatten_dims = 2, .weight = {.name = "shared"}});
  y = nn::Fc(
      y, 7,
      {.num_flatten_dims = 2, .weight = {.name = "y"}, .bias = std::nullopt});
  y = nn::Fc(y, 5, {.num_flatten_dims = 2, .weight = {.name = "shared"}});
  x = nn::Fc(x, 15,
             {.weight = {.initializer = nn::Uniform(-0.5, 0.5, 7)},
              .bias = nn::ParamAttr{.initializer = nn::Constant(0.1)},
              .act = "tanh",
              .name = "top"});
  y = nn::Fc(
      y, 15,
      {.weight = {.initializer = nn::Xavier({.uniform = false, .seed = 2}),
                  .trainable = false},
       .bias = nn::ParamAttr{.initializer = nn::Normal(1, 0.5, 4)}});
  const Var logits = nn::Fc(ops::ElementwiseAdd(x, y), 3);
  const Var loss = ops::Mean(ops::SoftmaxWithCrossEntropy(logits, label).loss);
  nn::Adam({.learning_rate = 0.01, .beta2 = 0.9}).Minimize(loss);
}

void Lstms(Program* program) {
  const Var x = program->Data("x", DType::kFloat32, {-1, 5, 3});
  const Var first = program->Data("first", DType::kFloat32, {2, 5, 4});
  const auto one = nn::Lstm(x, 4,
                            {.num_layers = 2,
                             .init_h = first,
                             .init_c = first,
                             .use_peepholes = true});
  const auto two = nn::Lstm(one.out, 2,
                            {.direction = "bidirectional",
                             .time_major = false,
                             .weights = {.name = "w"},
                             .bias = std::nullopt});
  nn::Sgd(0.1).Minimize(ops::Mean(two.out));
}

void Sequences(Program* program) {
  const Var x = program->RaggedData("x", DType::kFloat32, {-1, 2});
  const Var first = program->Data("first", DType::kFloat32, {-1, 3});
  const auto made = nn::SequenceScan(
      [](const Vars& carried, const Vars& rows) -> ScanStep {
        const Var both = ops::Concat({carried[0], rows[0]}, {.axis = 1});
        const Var state = nn::Fc(both, 3, {.act = "tanh"});
        return {{state, carried[1]}, {state, rows[0]}};
      },
      {first, {4, 2}}, {x}, {.reversed = true, .recompute = true});
  const Var sums = ops::SequencePool(made.stacked[0], {.pooltype = "SUM"}).out;
  nn::Sgd(0.1).Minimize(ops::Mean(sums));
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  sluice::Program program;
  const sluice::nn::Startup startup;
  const std::string network = argc > 1 ? argv[1] : "";
  if (network == "lstm") {
    sluice::Lstms(&program);
  } else if (network == "sequence") {
    sluice::Sequences(&program);
  } else {
    sluice::Layers(&program);
  }
  std::cout << ToString(startup) << "\n" << ToString(program) << "\n";
}
