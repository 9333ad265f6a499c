// Runs a program on a device of this project; what the device has no kernel
// for falls to the CPU.
#include <iostream>
#include <string>
#include <vector>

#include "sluice/sluice.h"

int main() {
  sluice::Program program;
  auto x = program.Data("x", sluice::DType::kFloat32, {-1});
  auto scaled = sluice::ops::Scale(x, {.scale = 3.0, .bias = 1.0});
  auto sum = sluice::ops::ElementwiseAdd(scaled, x);

  const sluice::CustomPlace place{sluice::InternPlaceKind("abacus"), 0};
  sluice::Executor executor(place);
  const auto fed = sluice::Tensor::FromVector<float>({3}, {-2, 0, 3});
  const auto result = executor.Run(program, {{"x", fed}}, {sum});
  const std::string explained = executor.Explain(program);
  std::cout << explained;
  if (result[0].ToVector<float>() != std::vector<float>{-7, 1, 13}) {
    std::cerr << "expected -7, 1, 13\n";
    return 1;
  }
  if (explained.find(" loop ") == std::string::npos) {
    std::cerr << "expected the kernel of abacus:0 to run\n";
    return 1;
  }
  return 0;
}
