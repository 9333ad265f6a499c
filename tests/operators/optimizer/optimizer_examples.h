#pragma once

#include <string>
#include <vector>

#include "tests/operators/harness/op_case.h"

// Inputs for the ops that update parameters.
namespace sluice::testing {

inline Tensor One(DType dtype, double value) {
  Array array(DDim({1}));
  array.values[0] = value;
  return ToTensor(array, dtype);
}

// Param, Grad and `states` (0 or more each) in several shapes, and a learning
// rate.
inline std::vector<OpExample> UpdateExamples(
    ExampleMaker& make, const std::vector<std::string>& states) {
  std::vector<OpExample> examples;
  double rate = 0.125;
  for (const DDim& dims : {DDim{3, 5}, {1}, {}, {0, 4}, {2, 1, 17}, {70001}}) {
    OpExample example;
    example.inputs = {{"Param", make.Values(dims)},
                      {"Grad", make.Values(dims)}};
    for (const std::string& state : states) {
      example.inputs.emplace_back(state,
                                  make.Integers(make.dtype(), dims, 0, 9));
    }
    example.inputs.emplace_back("LearningRate", One(make.dtype(), rate));
    examples.push_back(std::move(example));
    rate *= -1.5;
  }
  return examples;
}

}  // namespace sluice::testing
